"""The plan's steps as statements: computed and checked first, written last, all in one catalog.

DuckLake's MERGE takes a single UPDATE or DELETE action, and a pin would show the transaction's own
writes. So the stored rows that go are found by their row ids before anything is written, and each
is proved to be there as often as the plan says.
"""

from __future__ import annotations

from dataclasses import dataclass

from grebe.compiler.algebra.nodes import At, Named, Node, Projection, Scan, Stored, Verbatim, walk
from grebe.compiler.algebra.signed_zeros import among, unsteady_columns
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.lower.scope import dotted
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.write.steps import COPIES, AppendStep, CheckStep, Compute, MergeStep, Step
from grebe.compiler.write.touched_rows import CHECKSUM
from grebe.errors import InternalError
from grebe.model import ACTION
from grebe.program.duckdb_text import (
    assign,
    ident,
    keep,
    listed,
    literal,
    require_none,
    same,
    temporary,
    variable,
)
from grebe.program.program_sources import ProgramSource
from grebe.program.program_storage import ProgramStorage
from grebe.program.stored_rows import HELD, ROW_ID, holding
from grebe.program.verbatim_program import pinned_text

_ROW = "__grebe_row"
_COPY = "__grebe_copy"
_ID, _VALUE = ident(ROW_ID), ident("__grebe_value")
_ROWS, _STORED = "__grebe_rows", "__grebe_stored"
_WANTED, _PRESENT = "__grebe_wanted", "__grebe_present"
_APPLIES = variable("__grebe_applies")
_HELD = temporary(f"step_{HELD}")


@dataclass(frozen=True, slots=True)
class StepWriter:
    """A plan over a storage table in DuckLake."""

    plan: RefreshPlan
    storage: ProgramStorage
    sources: tuple[ProgramSource, ...]
    view: str
    falls_back: bool

    @property
    def steps(self) -> tuple[Step, ...]:
        return holding(self.plan.steps)

    @property
    def holds(self) -> bool:
        """True when the stored rows that may go are kept by a step."""
        return any(isinstance(step, Compute) and step.name == HELD for step in self.steps)

    def sql(self, node: Node, pins: str = "new") -> str:
        """The text of a relation; new states are read at the versions of a variable."""

        def names(leaf: Leaf) -> str:
            return self._leaf(leaf, pins)

        return emit(node, "duckdb", names)

    def _leaf(self, leaf: Leaf, pins: str) -> str:
        match leaf:
            case Stored() if ROW_ID in leaf.columns:
                return f"({self.storage.select_raw(ROW_ID)}) AS __grebe_stored"
            case Stored():
                return f"({self.storage.select()}) AS __grebe_stored"
            case Named() if leaf.step == HELD:
                return f"({self.storage.select_kept(_HELD)}) AS __grebe_stored"
            case Named():
                return temporary(f"step_{leaf.step}")
            case Scan():
                return self._scan(leaf, pins)
            case Verbatim():
                text = pinned_text(leaf.sql, "duckdb", lambda parts: self._written(parts, pins))
                return f"(\n{text}\n) AS __grebe_definition({listed(leaf.names)})"
        raise InternalError.broken(f"no table for {type(leaf).__name__}")

    def _scan(self, leaf: Scan, pins: str) -> str:
        source = next(item for item in self.sources if item.key == leaf.table)
        if leaf.at is At.DELTA:
            moved = source.value("__grebe_moved")
            delta = temporary(f"delta_{source.number}")
            return f"(SELECT * FROM {delta} WHERE {moved}) AS __grebe_delta"
        if leaf.at is At.OLD:
            return source.old()
        return source.at(pins)

    def _written(self, parts: tuple[str, ...], pins: str) -> str:
        name = dotted(parts).lower()
        source = next(item for item in self.sources if name in item.written.lower().split("\0"))
        return source.at(pins)

    def create(self, pins: str) -> str:
        """The statement that makes the table with the rows at the versions of a variable."""
        build = self.sql(self.plan.build, pins)
        return (
            f"CREATE TABLE {self.storage.table} AS\n"
            f"SELECT {self.storage.values()} FROM (\n{build}\n) AS __grebe_build"
        )

    def rehash(self) -> str:
        """The statement that gives every stored row the checksum of this version of DuckDB."""
        made = next(
            item
            for node in walk(self.plan.build)
            if isinstance(node, Projection)
            for name, item in node.outputs
            if name == CHECKSUM
        )
        items = ", ".join(self.storage.item(*p) for p in self.storage.kept if p[0] != CHECKSUM)
        hashed = listed(column.name for column in made.ast.expressions)
        check = ident(dict(self.storage.kept)[CHECKSUM])
        return (
            f"UPDATE {self.storage.table} AS __grebe_mine SET {check} = __grebe_fresh.{_VALUE}"
            f" FROM (\nSELECT HASH({hashed}) AS {_VALUE}, {_ID} FROM (\n"
            f"SELECT {items}, rowid AS {_ID} FROM {self.storage.table}) AS __grebe_stored\n"
            f") AS __grebe_fresh WHERE __grebe_mine.rowid = __grebe_fresh.{_ID}"
        )

    def query(self) -> str:
        """What readers see."""
        items = ", ".join(
            f"{ident(internal)} AS {ident(public)}" for internal, public in self.plan.outputs
        )
        return f"SELECT {items} FROM (\n{self.sql(self.plan.public)}\n) AS __grebe_visible"

    def statements(self) -> list[str]:
        """From the deltas to the written rows."""
        steps = [self._step(step) for step in self.steps if isinstance(step, (Compute, CheckStep))]
        return [*steps, *self._rows(), *self._doomed(), *self._write()]

    def _step(self, step: Step) -> str:
        if isinstance(step, CheckStep):
            message = f'[integrity] materialized view "{self.view}": {step.message}'
            wrong = f"SELECT 1 FROM (\n{self.sql(step.node)}\n) AS __grebe_found WHERE {_APPLIES}"
            return require_none(wrong, message)
        if isinstance(step, Compute):
            return keep(f"step_{step.name}", self.sql(step.node))
        raise InternalError.broken(f"{type(step).__name__} is no computation")

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(internal for internal, _ in self.storage.kept)

    def _rows(self) -> list[str]:
        """The rows to write: those of the plan's merge, or what a recomputation adds."""
        parts = [
            self._merged(step)
            for step in self.plan.steps
            if isinstance(step, (AppendStep, MergeStep))
        ]
        made = []
        if self.falls_back or not parts:
            made += self._compared()
            parts.append(self._missing())
        if self._ready is not None:
            return made
        return [*made, keep("rows", "\nUNION ALL\n".join(parts))]

    @property
    def _ready(self) -> str | None:
        """The step that already holds the rows to write, when there is nothing to add to them."""
        last = self.steps[-1] if self.steps else None
        if (
            self.falls_back
            or not isinstance(last, MergeStep)
            or not isinstance(last.node, Projection)
        ):
            return None
        below = last.node.input
        plain = all(item.column == name for name, item in last.node.outputs)
        return below.step if isinstance(below, Named) and plain else None

    @property
    def _to_write(self) -> str:
        """The rows to write, as SQL."""
        name = "rows" if self._ready is None else f"step_{self._ready}"
        where = "" if self._ready is None else f" WHERE {_APPLIES}"
        # A column of the rows may have the name of what DuckDB calls its own numbers of rows.
        named = any(name.lower() == "rowid" for name in self._names)
        number = "ROW_NUMBER() OVER ()" if named else "rowid"
        return f"(SELECT *, {number} AS {ident(_ROW)} FROM {temporary(name)}{where}) AS {_ROWS}"

    def _merged(self, step: AppendStep | MergeStep) -> str:
        columns = listed(self._names)
        if isinstance(step, AppendStep):
            action = f"'insert' AS {ident(ACTION)}, 0 AS {ident(COPIES)}"
        else:
            action = listed((ACTION, COPIES))
        rows = f"(\n{self.sql(step.node)}\n) AS __grebe_merged"
        return f"SELECT {columns}, {action} FROM {rows} WHERE {_APPLIES}"

    @property
    def _signed(self) -> tuple[str, ...]:
        """The stored columns whose equal values need not be the same."""
        return among(self._names, unsteady_columns(self.plan.definition, self.plan.types))

    def _compared(self) -> list[str]:
        """Both sides of a recomputation, copies of equal rows numbered."""
        columns = listed(self._names)
        full = f"{variable('__grebe_window')}.full"
        texts = (f", CAST({ident(name)} AS VARCHAR)" for name in self._signed)
        copy = f"ROW_NUMBER() OVER (PARTITION BY {columns}{''.join(texts)}) AS {ident(_COPY)}"
        stored = ", ".join(self.storage.item(*pair) for pair in self.storage.kept)
        return [
            keep(
                "wanted",
                f"SELECT {columns}, {copy} FROM (\n{self.sql(self.plan.build)}\n) AS __grebe_build"
                f" WHERE {full}",
            ),
            keep(
                "present",
                f"SELECT {columns}, {copy}, {ident(_ROW)} FROM (\n"
                f"SELECT {stored}, rowid AS {ident(_ROW)} FROM {self.storage.table}"
                f" WHERE {full}) AS __grebe_stored",
            ),
        ]

    def _missing(self) -> str:
        on = same(_WANTED, _PRESENT, (*self._names, _COPY), self._signed)
        columns = ", ".join(ident(_WANTED, name) for name in self._names)
        return (
            f"SELECT {columns}, 'insert' AS {ident(ACTION)}, 0 AS {ident(COPIES)}"
            f" FROM {temporary('wanted')} AS {_WANTED}"
            f" ANTI JOIN {temporary('present')} AS {_PRESENT} ON {on}"
        )

    def _doomed(self) -> list[str]:
        """The row ids that go, with the proof that each change found what it must replace."""
        parts: list[str] = []
        merge = next((step for step in self.plan.steps if isinstance(step, MergeStep)), None)
        if merge is not None:
            parts.append(self._matched(merge))
        if self.falls_back or not self.plan.steps:
            surplus = same(_PRESENT, _WANTED, (*self._names, _COPY), self._signed)
            parts.append(
                f"SELECT {ident(_PRESENT, _ROW)} AS {_ID} FROM {temporary('present')} AS {_PRESENT}"
                f" ANTI JOIN {temporary('wanted')} AS {_WANTED} ON {surplus}"
            )
        return [keep("doomed", "\nUNION ALL\n".join(parts))] if parts else []

    def _matched(self, merge: MergeStep) -> str:
        """The stored rows of every change, which must be as many as it says."""
        on = merge.on
        if self.holds:
            inner = self.storage.select_kept(_HELD, on, _ID)
        else:
            stored = ", ".join(self.storage.item(*p) for p in self.storage.kept if p[0] in on)
            inner = (
                f"SELECT {stored + ', ' if stored else ''}rowid AS {_ID} FROM {self.storage.table}"
            )
        message = f'[integrity] materialized view "{self.view}": a row to be replaced is not stored'
        known, copies = ident(_STORED, ROW_ID), ident(_ROWS, COPIES)
        found = (
            f"SELECT list({known}) FILTER ({known} IS NOT NULL) AS __grebe_ids,"
            f" {copies} AS __grebe_copies FROM {self._to_write}\n"
            f"LEFT JOIN ({inner}) AS {_STORED} ON {same(_STORED, _ROWS, on, merge.signed)}\n"
            f"WHERE {ident(_ROWS, ACTION)} <> 'insert'"
            f" GROUP BY {ident(_ROWS, _ROW)}, {copies}"
        )
        return (
            "SELECT UNNEST(CASE WHEN COALESCE(len(__grebe_ids), 0) = __grebe_copies THEN __grebe_ids"
            f" ELSE error({literal(message)}) END) AS {_ID} FROM (\n{found}\n) AS __grebe_found"
        )

    def _write(self) -> list[str]:
        rows, doomed = self._to_write, temporary("doomed")
        table = self.storage.table
        deletes = any(isinstance(step, MergeStep) for step in self.plan.steps)
        made = []
        if deletes or self.falls_back or not self.plan.steps:
            made.append(f"DELETE FROM {table} WHERE rowid IN (SELECT {_ID} FROM {doomed})")
        made.append(
            f"INSERT INTO {table} ({listed(self.storage.columns)})\n"
            f"SELECT {self.storage.values()} FROM {rows} WHERE {ident(ACTION)} <> 'delete'"
        )
        written = f"EXISTS (SELECT 1 FROM {rows})"
        if deletes or self.falls_back or not self.plan.steps:
            written += f" OR EXISTS (SELECT 1 FROM {doomed})"
        advance = f"SELECT {variable('__grebe_window')}.advance OR {written}"
        return [*made, assign("__grebe_advance", advance)]


def kept_relations(statements: list[str]) -> list[str]:
    """The statements that drop what the others kept."""
    start = "CREATE OR REPLACE TEMP TABLE "
    names = [
        statement.removeprefix(start).split(" AS", 1)[0]
        for statement in statements
        if statement.startswith(start)
    ]
    return [f"DROP TABLE {name}" for name in names]
