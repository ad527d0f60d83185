"""The rows of a view: now, or as it was at a version or a time of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe.errors import GrebeError, HistoryExpiredError, RefreshError
from grebe.model import Version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from grebe.api.project import Project
    from grebe.api.written import Written
    from grebe.engine.views import View as Compiled


def compiled(project: Project, view: Written) -> Compiled:
    """A view that the engine knows, and all that it reads."""
    done, failed = project.builder.added(project.written(), [view.key])
    if failed:
        raise next(iter(failed.values()))
    return done[view.key]


def read(project: Project, view: Written, as_of: str | int | datetime | None) -> DataFrame:
    """The rows that a view shows.

    Raises:
        RefreshError: the view was never refreshed.
        HistoryExpiredError: there is no such version any more.
    """
    from grebe.engine.public import public_sql

    made = compiled(project, view)
    position = project.tables.position(made.storage_name, lambda: project.spark)
    if position is None or position.frontier is None or position.version is None:
        raise RefreshError(
            f'view "{view.name}" was never refreshed',
            hint=f"grebe refresh {view.name}",
            code="never-refreshed",
        )
    version = _version(project, made, as_of) if as_of is not None else position.version
    return project.spark.sql(public_sql(made, _at_version(project, made, version)))


def _version(project: Project, made: Compiled, as_of: str | int | datetime) -> Version:
    moment = _moment(as_of)
    if moment is None:
        return Version(str(as_of))
    found = project.tables.version_at(made.storage_name, moment, lambda: project.spark)
    if found is None:
        raise HistoryExpiredError(
            f'view "{made.name}" cannot be read as of "{as_of}"',
            detail="no version from that time or before is left",
            hint="`grebe history` names the runs",
        )
    return found


def _at_version(project: Project, made: Compiled, version: Version) -> str:
    source = project.tables.source(made.storage_name, lambda: project.spark)
    try:
        ids = [column.id for column in source.schema_at(version).columns]
        rows = source.read_at(version, ids)
    except (GrebeError, ValueError) as error:
        raise HistoryExpiredError(
            f'view "{made.name}" has no version "{version}"',
            detail=str(error),
            hint="`grebe history` names the runs",
        ) from error
    name = f"__grebe_read_{abs(hash((str(made.storage_name), version)))}"
    rows.createOrReplaceTempView(name)
    return f"`{name}`"


def _moment(as_of: str | int | datetime) -> datetime | None:
    """The time that is meant; None when it is a version."""
    if isinstance(as_of, str) and not as_of.lstrip("-").isdecimal():
        try:
            as_of = datetime.fromisoformat(as_of)
        except ValueError:
            return None
    if not isinstance(as_of, datetime):
        return None
    return as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)
