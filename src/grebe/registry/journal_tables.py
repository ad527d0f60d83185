"""The registry's tables. A change here needs a migration and a new head in `layout`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, Table, Text

metadata = MetaData()

views = Table(
    "grebe_views",
    metadata,
    Column("name", Text, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("lag", Text),
    Column("schedule", Text),
    Column("timing", Text),
    Column("properties", Text, nullable=False),
    Column("fingerprint", Text),
    Column("storage", Text),
    Column("state", Text),
    Column("compiled", Text),
    Column("updated_at", Float, nullable=False),
)

runs = Table(
    "grebe_runs",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("run_id", Text, nullable=False),
    Column("view", Text, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("begun_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("outcome", Text),
    Column("reasons", Text, nullable=False),
    Column("rows_in", BigInteger, nullable=False),
    Column("rows_out", BigInteger, nullable=False),
    Column("seconds", Float),
    Column("frontier", Text),
    Column("error", Text),
    Column("steps", Text),
    Column("cost", Text),
    Column("slot", Float),
    Column("stale_since", Float),
    Column("lag", Float),
    Index("grebe_runs_by_view", "view", "number"),
    Index("grebe_runs_by_id", "run_id", "view", unique=True),
)

leases = Table(
    "grebe_leases",
    metadata,
    Column("view", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("expires_at", Float, nullable=False),
)

checks = Table(
    "grebe_checks",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("view", Text, nullable=False),
    Column("checked_at", Float, nullable=False),
    Column("equal", Boolean),
    Column("rows", BigInteger, nullable=False),
    Column("differing", BigInteger, nullable=False),
    Column("sample", Float),
    Column("seconds", Float, nullable=False),
    Column("versions", Text, nullable=False),
    Column("trouble", Text),
    Column("error", Text),
    Index("grebe_checks_by_view", "view", "number"),
)

sources = Table(
    "grebe_sources",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("source", Text, nullable=False),
    Column("identity", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("committed_at", Float),
    Column("seen_at", Float, nullable=False),
    Index("grebe_sources_by_version", "source", "identity", "version", unique=True),
)

polls = Table(
    "grebe_polls",
    metadata,
    Column("source", Text, primary_key=True),
    Column("claimed_at", Float, nullable=False),
    Column("head", Text),
    Column("committed_at", Float),
    Column("moves", Text, nullable=False),
    Column("absences", Integer, nullable=False),
    Column("problem", Text),
)

activity = Table(
    "grebe_activity",
    metadata,
    Column("view", Text, primary_key=True),
    Column("claim", Text),
    Column("claim_until", Float),
    Column("last_slot", Float),
    Column("failures", Integer, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("retry_at", Float),
    Column("failed_inputs", Text),
    Column("alone", Boolean, nullable=False),
    Column("suspended", Text),
    Column("wanted", Boolean, nullable=False),
    Column("checked_at", Float),
    Column("started_at", Float),
    Column("ended_at", Float),
    Column("durations", Text, nullable=False),
    Column("no_ops", Integer, nullable=False),
    Column("edges", Text, nullable=False),
)

notices = Table(
    "grebe_notices",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("view", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("since", Float, nullable=False),
    Column("sink", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("made_at", Float, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", Float, nullable=False),
    Column("sent_at", Float),
    Index("grebe_notices_once", "view", "kind", "since", "sink", unique=True),
)
