"""The rows of a view as Arrow, without Spark: its storage table, read on the driver, without what is hidden in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from grebe.engine.public_name import PUBLIC, shown_storage
from grebe.errors import MissingExtraError, RefreshError, UnknownTableError, did_you_mean
from grebe.model import TableName, Window
from grebe.project.arrow_select import filtered, needs_spark, select_from

if TYPE_CHECKING:
    import pyarrow as pa

    from grebe.formats.base import Session
    from grebe.project.definitions import Definition
    from grebe.project.workspace import Workspace


def arrow_rows(
    workspace: Workspace,
    view: Definition,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    limit: int | None = None,
) -> pa.Table:
    """The rows that a view shows.

    Raises:
        RefreshError: the view was never refreshed, or only Spark can read it: the hint says how.
        UnknownTableError: a column that it does not have.
    """
    if limit is not None and limit < 0:
        raise RefreshError(f"a limit of {limit} rows means nothing", code="negative-limit")
    try:
        rows = _shown_rows(workspace, view)
    except ImportError as error:
        raise MissingExtraError.of(str(error.name), "all") from error
    if where is not None:
        rows = filtered(rows, where)
    if columns is not None:
        for name in columns:
            if name not in rows.column_names:
                raise UnknownTableError(
                    f'view "{view.name}" has no column "{name}"',
                    detail=f"columns: {', '.join(rows.column_names)}",
                    hint=did_you_mean(name, rows.column_names) or "see the columns of the view",
                    code="unknown-column",
                )
        rows = rows.select(list(columns))
    return rows if limit is None else rows.slice(0, limit)


def _shown_rows(workspace: Workspace, view: Definition) -> pa.Table:
    from grebe.engine.small_views import repeated

    tables, session = workspace.tables, _session(workspace, view.name)
    storage = shown_storage(view.name, tables.shown(view.name, session))
    storage = storage or (view.facts.storage if view.facts else None)
    position = tables.position(storage, session) if storage else None
    if storage is None or position is None or position.frontier is None or not position.version:
        raise RefreshError(
            f'view "{view.name}" was never refreshed',
            hint=f"grebe refresh {view.name}",
            code="never-refreshed",
        )
    kept = (tables.properties(storage, session) or {}).get(PUBLIC)
    if kept is None:
        raise needs_spark("its storage table keeps no SELECT: an older grebe made it")
    source = tables.source(storage, session)
    ids = [column.id for column in source.schema_at(position.version).columns]
    found = source.changes(Window(None, position.version), ids).arrow
    if found is None:
        raise needs_spark("it is too large for one process, or has types that only Spark reads")
    return select_from(kept, repeated(found))


def _session(workspace: Workspace, name: TableName) -> Session:
    """The project's Spark only where the catalog is Spark's own."""
    if workspace.settings.catalog(name.catalog).spark_catalog:
        return workspace.session

    def nobody() -> NoReturn:
        raise needs_spark("it is too large for one process, or has types that only Spark reads")

    return nobody


def frame_of(rows: pa.Table, package: str) -> object:
    """The rows as a frame of pandas or polars.

    Raises:
        MissingExtraError: that package is not installed.
    """
    try:
        if package == "pandas":
            return rows.to_pandas()
        import polars

        return polars.from_arrow(rows)
    except ImportError as error:
        raise MissingExtraError.of(package, "spark" if package == "pandas" else "polars") from error
