"""The registry's tables. A change here needs a migration and a new head in `layout`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, Table, Text

metadata = MetaData()

views = Table(
    "grebe_views",
    metadata,
    Column("name", Text, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("lag", Text),
    Column("schedule", Text),
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
