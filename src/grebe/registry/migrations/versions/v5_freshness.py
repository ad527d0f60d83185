"""What the scheduler keeps: polls of sources, what it does with views, notices; and the slots that runs served."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "5"
down_revision = "4"


def upgrade() -> None:
    """Three more tables, and three more columns of runs."""
    op.add_column("grebe_runs", sa.Column("slot", sa.Float))
    op.add_column("grebe_runs", sa.Column("stale_since", sa.Float))
    op.add_column("grebe_runs", sa.Column("lag", sa.Float))
    op.create_table(
        "grebe_polls",
        sa.Column("source", sa.Text, primary_key=True),
        sa.Column("claimed_at", sa.Float, nullable=False),
        sa.Column("head", sa.Text),
        sa.Column("committed_at", sa.Float),
        sa.Column("moves", sa.Text, nullable=False),
        sa.Column("absences", sa.Integer, nullable=False),
        sa.Column("problem", sa.Text),
    )
    op.create_table(
        "grebe_activity",
        sa.Column("view", sa.Text, primary_key=True),
        sa.Column("claim", sa.Text),
        sa.Column("claim_until", sa.Float),
        sa.Column("last_slot", sa.Float),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("retry_at", sa.Float),
        sa.Column("failed_inputs", sa.Text),
        sa.Column("alone", sa.Boolean, nullable=False),
        sa.Column("suspended", sa.Text),
        sa.Column("wanted", sa.Boolean, nullable=False),
        sa.Column("checked_at", sa.Float),
        sa.Column("started_at", sa.Float),
        sa.Column("ended_at", sa.Float),
        sa.Column("durations", sa.Text, nullable=False),
        sa.Column("no_ops", sa.Integer, nullable=False),
        sa.Column("edges", sa.Text, nullable=False),
    )
    op.create_table(
        "grebe_notices",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("view", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("since", sa.Float, nullable=False),
        sa.Column("sink", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.Float, nullable=False),
        sa.Column("sent_at", sa.Float),
    )
    op.create_index(
        "grebe_notices_once", "grebe_notices", ["view", "kind", "since", "sink"], unique=True
    )
