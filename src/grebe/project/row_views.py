"""What people ask of a row view beside refresh and verify: its plan, its errors, its metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grebe.errors import NotBuiltError, RefreshError, RowViewError
from grebe.model import Position, TableName
from grebe.project.plans import plan
from grebe.project.reading import compile_one
from grebe.tabular import Tabular

if TYPE_CHECKING:
    from grebe.engine.compiled_view import CompiledView
    from grebe.engine.rows.row_preview import RowNumbers
    from grebe.project.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RowPlan(Tabular):
    """What a refresh of a row view would do."""

    view: TableName
    numbers: RowNumbers

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line."""
        return self.numbers.headings(), [self.numbers.cells()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"view": str(self.view), **self.numbers.to_dict()}


class RowErrors(list[dict[str, Any]], Tabular):
    """Rows that were skipped: the id, the column, and what went wrong."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line for each."""
        names = ("row_id", "column", "type", "message", "attempts", "run_id")
        return names, [[item[name] for name in names] for item in self]

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain values, ready for JSON."""
        return list(self)

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


def refuse_unbuilt(more: Mapping[str, object]) -> None:
    """Nothing, unless something is asked of a refresh that does not exist.

    Raises:
        NotBuiltError: with what there is instead.
    """
    hints = {
        "where": "refresh(max_rows=…) limits the work; a view with a filter limits the rows",
        "src_version": "the view follows its source's newest version",
        "max_rows_per_fragment": "files are written as Spark divides them",
        "priority": "refresh(max_rows=…) takes rows in a fixed order",
        "commit_every": "call refresh(max_seconds=600) again and again",
    }
    for name in more:
        if name not in hints:
            raise TypeError(f"refresh() got an unexpected keyword argument '{name}'")
        raise NotBuiltError(f"refresh({name}=…) is not there yet", hint=hints[name])


def columns_of(workspace: Workspace, name: str) -> Sequence[str]:
    """The columns of a table or view as it is now.

    Raises:
        UnknownTableError: there is none.
    """
    full = workspace.settings.resolve(name)
    view = workspace.written().get(str(full))
    if view is not None:
        return [column for column, _ in compile_one(workspace, view).columns]
    return workspace.tables.source(full, workspace.session).head().schema.names


def _rows_of(workspace: Workspace, name: TableName) -> CompiledView:
    view = compile_one(workspace, workspace.named(name))
    if view.rows is None:
        raise RowViewError(
            f'view "{name}" is no row view',
            hint="make one with project.table(…).select(…).create_materialized_view(…)",
            code="not-a-row-view",
        )
    return view


def _position(workspace: Workspace, view: CompiledView) -> Position:
    found = workspace.tables.position(view.storage_name, workspace.session)
    if found is None or found.frontier is None:
        raise RefreshError(
            f'view "{view.name}" was never refreshed',
            hint=f"grebe refresh {view.name}",
            code="never-refreshed",
        )
    return found


def plan_rows(workspace: Workspace, name: TableName) -> RowPlan:
    """What a refresh would do now; nothing is written, no function is called."""
    from grebe.engine.rows.row_preview import RowNumbers

    _rows_of(workspace, name)
    (found,) = plan(workspace, str(name), None)
    if found.error is not None:
        raise found.error
    return RowPlan(name, found.numbers or RowNumbers())


def errors_of(workspace: Workspace, name: TableName) -> RowErrors:
    """The rows that were skipped."""
    from grebe.compiler.rows.row_layout import ERRORS, ROW_ID

    view = _rows_of(workspace, name)
    position = _position(workspace, view)
    if position.version is None:
        return RowErrors()
    source = workspace.tables.source(view.storage_name, workspace.session)
    ids = {column.name: column.id for column in source.schema_at(position.version).columns}
    rows = source.read_at(position.version, [ids[ROW_ID], ids[ERRORS]])
    found = rows.where(f"size({ERRORS}) > 0").orderBy(ROW_ID).collect()
    return RowErrors(
        {"row_id": row[ROW_ID], **error.asDict()} for row in found for error in row[ERRORS]
    )


def metadata_of(workspace: Workspace, name: TableName) -> dict[str, str]:
    """The definition, and which version of the source the rows show."""
    view = _rows_of(workspace, name)
    position = _position(workspace, view)
    if view.rows is None or position.frontier is None:
        return {}
    definition = view.rows.definition
    functions = {
        use.column: {key: value for key, value in use.said.items() if key != "packed"}
        for use in definition.functions
    }
    points = position.frontier.sources
    query = {
        "table": definition.relation,
        "columns": list(definition.outputs),
        "where": definition.where,
        "shuffle": False,
        "shuffle_seed": None,
        "limit": definition.limit,
        "offset": definition.offset,
        "column_udfs": sorted(functions),
        "key": list(definition.key),
        "row_ids": str(definition.identity),
    }
    found = {
        "grebe.view.query": json.dumps(query),
        "grebe.view.base_table": ", ".join(source for source, _ in points),
        "grebe.view.base_table_version": ", ".join(str(point.version) for _, point in points),
        "grebe.view.base_table_db_uri": str(workspace.settings.folder),
        "grebe.view.version": "2",
    }
    return found | {f"grebe.function.{name}": json.dumps(said) for name, said in functions.items()}


def clean(workspace: Workspace, name: TableName) -> int:
    """Remove the result files of a view."""
    from grebe.engine.rows.row_results import remove_results

    view = _rows_of(workspace, name)
    return remove_results(workspace.settings.home / "results" / str(view.name))
