"""When views are refreshed, beside lag and schedule."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"


def upgrade() -> None:
    """One more column of views; NULL where an older version wrote the record."""
    op.add_column("grebe_views", sa.Column("timing", sa.Text))
