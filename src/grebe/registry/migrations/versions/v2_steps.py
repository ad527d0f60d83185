"""The steps of a run, as they ran."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """One more column of runs; older ones have no steps."""
    op.add_column("grebe_runs", sa.Column("steps", sa.Text))
