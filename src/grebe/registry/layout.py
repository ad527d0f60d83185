"""The layout of the registry's tables: made by Alembic, looked at with one SELECT."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import sqlalchemy as sa

from grebe.errors import RegistryVersionError
from grebe.registry.database import Database

HEAD: Final = "5"
"""The last migration. A test holds it to what the migrations say."""
KNOWN: Final = ("1", "2", "3", "4", "5")
MIGRATIONS: Final = Path(__file__).with_name("migrations")
_VERSIONS: Final = sa.table("grebe_layout", sa.column("version_num"))
_LOCK: Final = 0x67726562
"""PostgreSQL's lock against two programs that make the tables at once."""


def bring_up(database: Database) -> None:
    """Make the tables, or move them to this layout; one SELECT when there is nothing to do.

    Raises:
        RegistryVersionError: a newer grebe has written them.
    """
    with database.reading() as connection:
        if _found(connection, database) == HEAD:
            return
    with database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        if _found(connection, database) != HEAD:
            _migrate(connection)


def _found(connection: sa.Connection, database: Database) -> str | None:
    if not sa.inspect(connection).has_table(_VERSIONS.name):
        return None
    version = connection.execute(sa.select(_VERSIONS.c.version_num)).scalar_one_or_none()
    if version is None or version in KNOWN:
        return version
    raise RegistryVersionError(
        f'registry "{database.place}" was written by a newer grebe',
        detail=f"its layout is {version}, this version knows {HEAD}",
        hint="install that version, or move the registry away and run `grebe recover`",
    )


def _migrate(connection: sa.Connection) -> None:
    # Loaded only here: it takes longer than everything else that a command does.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
