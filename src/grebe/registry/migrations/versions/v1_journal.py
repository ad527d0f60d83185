"""Views, runs and leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """The first tables."""
    op.create_table(
        "grebe_views",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("lag", sa.Text),
        sa.Column("schedule", sa.Text),
        sa.Column("properties", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text),
        sa.Column("storage", sa.Text),
        sa.Column("state", sa.Text),
        sa.Column("compiled", sa.Text),
        sa.Column("updated_at", sa.Float, nullable=False),
    )
    op.create_table(
        "grebe_runs",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("view", sa.Text, nullable=False),
        sa.Column("trigger", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("begun_at", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float),
        sa.Column("outcome", sa.Text),
        sa.Column("reasons", sa.Text, nullable=False),
        sa.Column("rows_in", sa.BigInteger, nullable=False),
        sa.Column("rows_out", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Float),
        sa.Column("frontier", sa.Text),
        sa.Column("error", sa.Text),
    )
    op.create_index("grebe_runs_by_view", "grebe_runs", ["view", "number"])
    op.create_index("grebe_runs_by_id", "grebe_runs", ["run_id", "view"], unique=True)
    op.create_table(
        "grebe_leases",
        sa.Column("view", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
