"""What runs cost, what verify said, and which versions of sources were seen when."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    """One more column of runs, and two tables."""
    op.add_column("grebe_runs", sa.Column("cost", sa.Text))
    op.create_table(
        "grebe_checks",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("view", sa.Text, nullable=False),
        sa.Column("checked_at", sa.Float, nullable=False),
        sa.Column("equal", sa.Boolean),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("differing", sa.BigInteger, nullable=False),
        sa.Column("sample", sa.Float),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("versions", sa.Text, nullable=False),
        sa.Column("trouble", sa.Text),
        sa.Column("error", sa.Text),
    )
    op.create_index("grebe_checks_by_view", "grebe_checks", ["view", "number"])
    op.create_table(
        "grebe_sources",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("identity", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("committed_at", sa.Float),
        sa.Column("seen_at", sa.Float, nullable=False),
    )
    columns = ["source", "identity", "version"]
    op.create_index("grebe_sources_by_version", "grebe_sources", columns, unique=True)
