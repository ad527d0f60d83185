"""The same program for Spark SQL: versions are literals that the caller supplies.

Spark reads no version from a variable, and has no transaction over several statements. So the
statements hold a place for every version (`MaterializedView.pinned` fills them), and the cursor is
a hidden row of the view's own table: rows and cursor move in one MERGE, compared with what the
caller says the view shows. It works on table formats with MERGE and `VERSION AS OF`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import WEIGHT, At, Named, Node, Scan, Stored, Verbatim, walk
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.lower import Lowered
from grebe.compiler.lower.scope import dotted
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.write.steps import COPIES, AppendStep, CheckStep, Compute, MergeStep
from grebe.errors import InternalError, UnsupportedSQLError
from grebe.model import ACTION
from grebe.program.naming import Naming
from grebe.program.program_sources import ProgramSource, TablePlace
from grebe.program.program_storage import storage_of
from grebe.program.program_view import MaterializedView, place_of
from grebe.program.verbatim_program import pinned_text
from grebe.sql_text import literal, quote_path

_R, _S, _T = "__grebe_rows", "__grebe_stored", "__grebe_table"
_DATA, _CURSOR, _INSERT = 0, 1, 2
"""What a row of the table is; rows to insert carry a third value, which matches nothing."""


def listed(names: Iterable[str]) -> str:
    """Quoted names, separated by commas."""
    return ", ".join(quote_path(name) for name in names)


@dataclass(frozen=True, slots=True)
class SparkProgram:
    """A planned view as statements for Spark."""

    plan: RefreshPlan
    lowered: Lowered
    types: Types
    sources: tuple[ProgramSource, ...]
    place: TablePlace
    naming: Naming

    def view(self) -> MaterializedView:
        """The finished program, with a place for every version."""
        storage = storage_of(self.plan, self.types, self.naming, self.table)
        publics = {public for _, public in self.plan.outputs}
        self._check_names(storage.columns)
        steps = _Steps(self, dict(storage.kept), storage.written)
        return MaterializedView(
            view_sql=self.lowered.sql,
            create_cursors_table=f"CREATE NAMESPACE IF NOT EXISTS {quote_path(*self._namespace)}",
            create_mv=steps.create(),
            initialize_cursors=[],
            maintain=steps.maintain(),
            base_tables={s.written.split("\0")[0]: s.catalog for s in self.sources},
            features=set(self.lowered.features),
            query_mv=steps.query(),
            strategy=str(self.plan.strategy) if self.plan.steps else "full_refresh",
            fallback_reason="; ".join(str(reason) for reason in self.plan.reasons) or None,
            name=".".join((*self._namespace, self.naming.mv_table())),
            definition=self.definition,
            sources=tuple(source.key for source in self.sources),
            notes=self.plan.notes,
            hidden=(*(n for n in storage.columns if n not in publics), self.kind, self.cursor),
            hides_rows=True,
            read_cursor=f"SELECT {quote_path(self.cursor)} FROM {self.table}"
            f" WHERE {quote_path(self.kind)} = {_CURSOR}",
        )

    @property
    def _namespace(self) -> tuple[str, str]:
        return self.place.catalog, self.place.schema

    @property
    def table(self) -> str:
        return quote_path(*self._namespace, self.naming.mv_table())

    @property
    def kind(self) -> str:
        """The column that tells the cursor's row from the others."""
        return self.naming.aux_column("row")

    @property
    def cursor(self) -> str:
        """The column that holds the versions that the view shows, in the cursor's row."""
        return self.naming.aux_column("cursor")

    @property
    def definition(self) -> str:
        parts = [self.lowered.sql, self.plan.fingerprint, *(s.key for s in self.sources)]
        return blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()

    def pins(self, when: str) -> str:
        """The versions of all sources, as the cursor's row holds them."""
        fields = ", ".join(f'"{s.key}": {place_of(when, s.number)}' for s in self.sources)
        return literal(f'{{{fields}, "definition": "{self.definition}"}}')

    def _check_names(self, columns: Iterable[str]) -> None:
        taken = {name.lower() for name in columns} & {self.kind.lower(), self.cursor.lower()}
        if taken:
            message = f'the output "{min(taken)}" has the name of a hidden column'
            hint = "rename the output, or override Naming.aux_column"
            raise UnsupportedSQLError("reserved_name", message, hint=hint)


@dataclass(frozen=True, slots=True)
class _Steps:
    program: SparkProgram
    names: dict[str, str]
    """Internal column -> column of the table."""
    written: tuple[tuple[str, str], ...]

    def sql(self, node: Node) -> str:
        return emit(node, "spark", self._leaf)

    def _leaf(self, leaf: Leaf) -> str:
        match leaf:
            case Stored():
                items = ", ".join(
                    f"{quote_path(n)} AS {quote_path(i)}" for i, n in self.names.items()
                )
                rows = f"{quote_path(self.program.kind)} = {_DATA}"
                return f"(SELECT {items} FROM {self.program.table} WHERE {rows}) AS __grebe_stored"
            case Named():
                return self._kept(f"step_{leaf.step}")
            case Scan() if leaf.at is At.DELTA:
                return self._kept(f"delta_{self._source(leaf.table).number}")
            case Scan():
                source = self._source(leaf.table)
                return _at(source, "after" if leaf.at is At.OLD else "upto")
            case Verbatim():
                text = pinned_text(leaf.sql, "spark", self._written)
                return f"(\n{text}\n) AS __grebe_definition({listed(leaf.names)})"
        raise InternalError.broken(f"no table for {type(leaf).__name__}")

    def _source(self, key: str) -> ProgramSource:
        return next(source for source in self.program.sources if source.key == key)

    def _written(self, parts: tuple[str, ...]) -> str:
        name = dotted(parts).lower()
        found = (s for s in self.program.sources if name in s.written.lower().split("\0"))
        return _at(next(found), "upto")

    def _kept(self, name: str) -> str:
        """A kept relation: a temporary view of the session, cached."""
        return quote_path(f"__grebe_{self.program.definition[:8]}_{name}")

    def _keep(self, name: str, query: str) -> list[str]:
        return [
            f"DROP VIEW IF EXISTS {self._kept(name)}",
            f"CACHE TABLE {self._kept(name)} AS\n{query}",
        ]

    def _require_none(self, name: str, query: str, message: str) -> list[str]:
        """Statements that raise when a query gives any row; caching makes Spark run it."""
        text = literal(f'{message} ("{self.program.naming.mv_table()}")')
        asked = f"SELECT assert_true(COUNT(*) = 0, {text}) AS __grebe_ok FROM (\n{query}\n) AS __grebe_wrong"
        return self._keep(name, asked)

    def _values(self, rows: str, kind: str, more: str = "") -> str:
        values = ", ".join(f"{sql} AS {quote_path(name)}" for name, sql in self.written)
        hidden = f"{kind} AS {quote_path(self.program.kind)}"
        cursor = f"CAST(NULL AS STRING) AS {quote_path(self.program.cursor)}"
        return f"SELECT {values}, {hidden}, {cursor}{more} FROM {rows}"

    def _cursor_row(self, value: str, more: str = "") -> str:
        nothing = ", ".join(f"NULL AS {quote_path(name)}" for name, _ in self.written)
        hidden = f"{_CURSOR} AS {quote_path(self.program.kind)}"
        return f"SELECT {nothing}, {hidden}, {value} AS {quote_path(self.program.cursor)}{more}"

    def _all(self, cursor: str) -> str:
        built = f"(\n{self.sql(self.program.plan.build)}\n) AS __grebe_build"
        return f"{self._values(built, str(_DATA))}\nUNION ALL\n{self._cursor_row(cursor)}"

    def create(self) -> str:
        return f"CREATE TABLE {self.program.table} AS\n{self._all(self.program.pins('upto'))}"

    def query(self) -> str:
        outputs = self.program.plan.outputs
        items = ", ".join(
            f"{quote_path(internal)} AS {quote_path(public)}" for internal, public in outputs
        )
        return f"SELECT {items} FROM (\n{self.sql(self.program.plan.public)}\n) AS __grebe_visible"

    def maintain(self) -> list[str]:
        plan = self.program.plan
        if not plan.steps:
            return [self._overwrite()]
        used = {
            node.table
            for step in plan.steps
            for node in walk(step.node)
            if isinstance(node, Scan) and node.at is At.DELTA
        }
        made = [
            statement
            for source in self.program.sources
            if source.key in used
            for statement in self._keep(f"delta_{source.number}", _delta(source))
        ]
        for step in plan.steps:
            if isinstance(step, Compute):
                made += self._keep(f"step_{step.name}", self.sql(step.node))
            elif isinstance(step, CheckStep):
                message = f"[integrity] {step.message}"
                made += self._require_none(f"check_{step.name}", self.sql(step.node), message)
            elif isinstance(step, (AppendStep, MergeStep)):
                made += self._merge(step)
        views = [s for s in made if s.startswith("DROP VIEW")]
        return [*made, *views]

    def _overwrite(self) -> str:
        """Everything anew, in one commit; still only from where the caller says the view is."""
        seen = (
            f"(SELECT MAX({quote_path(self.program.cursor)}) FROM {self.program.table}"
            f" WHERE {quote_path(self.program.kind)} = {_CURSOR})"
        )
        return f"INSERT OVERWRITE {self.program.table}\n{self._all(self._compared(seen))}"

    def _compared(self, seen: str) -> str:
        message = literal("[conflict] the view does not show the versions that were given as after")
        after, upto = self.program.pins("after"), self.program.pins("upto")
        return f"CASE WHEN {seen} = {after} THEN {upto} ELSE raise_error({message}) END"

    def _merge(self, step: AppendStep | MergeStep) -> list[str]:
        on, signed = (step.on, step.signed) if isinstance(step, MergeStep) else ((), ())
        action, copies = quote_path(ACTION), quote_path(COPIES)
        node = self.sql(step.node)
        if isinstance(step, AppendStep):
            node = (
                f"SELECT *, 'insert' AS {action}, 0 AS {copies} FROM (\n{node}\n) AS __grebe_added"
            )
        rows = self._kept("rows")
        made = self._keep("rows", node)
        made += self._require_none("check_copies", self._miscounted(on, signed), _NOT_STORED)
        kind = f"CASE WHEN {action} = 'insert' THEN {_INSERT} ELSE {_DATA} END"
        cursor = self._cursor_row(literal(""), f", 'cursor' AS {action}")
        source = f"{self._values(rows, kind, f', {action}')}\nUNION ALL\n{cursor}"
        return [*made, self._merge_text(source, on, signed)]

    def _miscounted(self, on: tuple[str, ...], signed: tuple[str, ...]) -> str:
        """Rows to be replaced that are stored more or less often than the plan says."""
        keys = "".join(f", {quote_path(_R, name)}" for name in on)
        keys += "".join(f", CAST({quote_path(_R, name)} AS STRING)" for name in signed)
        tests = [f"{quote_path(_S, n)} <=> {quote_path(_R, n)}" for n in on]
        tests += [_same_text(quote_path(_S, n), quote_path(_R, n)) for n in signed]
        match = " AND ".join(tests) or "TRUE"
        stored = self._leaf(Stored(tuple(self.names))).removesuffix(" AS __grebe_stored")
        copies = quote_path(_R, COPIES)
        return (
            f"SELECT {copies} FROM {self._kept('rows')} AS {_R}"
            f" LEFT JOIN (SELECT *, 1 AS __grebe_found FROM {stored}) AS {_S} ON {match}\nWHERE {quote_path(_R, ACTION)} <> 'insert'\n"
            f"GROUP BY {copies}{keys} HAVING COUNT({_S}.__grebe_found) <> {copies}"
        )

    def _merge_text(self, source: str, on: tuple[str, ...], signed: tuple[str, ...]) -> str:
        kind, cursor = quote_path(self.program.kind), quote_path(self.program.cursor)
        keys = "".join(
            f" AND {_T}.{quote_path(self.names[name])} <=> {_S}.{quote_path(self.names[name])}"
            for name in on
        )
        keys += "".join(
            f" AND {_same_text(*(quote_path(side, self.names[name]) for side in (_T, _S)))}"
            for name in signed
        )
        columns = [name for name, _ in self.written]
        moved = self._compared(f"{_T}.{cursor}")
        updates = ", ".join(
            f"{_T}.{quote_path(name)} = {_S}.{quote_path(name)}" for name in columns
        )
        names = f"({listed(columns)}, {kind}, {cursor})"
        fresh = ", ".join(f"{_S}.{quote_path(name)}" for name in columns)
        lost = f"CAST(raise_error({literal(_NOT_STORED)}) AS INT)"
        action = f"{_S}.{quote_path(ACTION)}"
        return (
            f"MERGE INTO {self.program.table} AS {_T} USING (\n{source}\n) AS {_S}\n"
            f"ON {_T}.{kind} = {_S}.{kind}{keys}\n"
            f"WHEN MATCHED AND {action} = 'cursor' THEN UPDATE SET {_T}.{cursor} = {moved}\n"
            f"WHEN MATCHED AND {action} = 'delete' THEN DELETE\n"
            f"WHEN MATCHED THEN UPDATE SET {updates}\n"
            f"WHEN NOT MATCHED AND {action} = 'insert' THEN INSERT {names}"
            f" VALUES ({fresh}, {_DATA}, NULL)\n"
            f"WHEN NOT MATCHED THEN INSERT {names} VALUES ({fresh}, {lost}, NULL)"
        )


_NOT_STORED = "[integrity] a row to be replaced is not stored"


def _at(source: ProgramSource, when: str) -> str:
    table = quote_path(source.catalog, *source.schema.split("."), source.table)
    return f"{table} VERSION AS OF {place_of(when, source.number)}"


def _delta(source: ProgramSource) -> str:
    """What the two versions differ by, with every copy counted."""
    names, weight = listed(name for name, _ in source.columns), quote_path(WEIGHT)
    moved = f"{place_of('after', source.number)} <> {place_of('upto', source.number)}"
    parts = "\nUNION ALL\n".join(
        f"SELECT {names}, {sign} AS {weight} FROM {_at(source, when)} WHERE {moved}"
        for when, sign in (("upto", 1), ("after", -1))
    )
    # The sign of a floating zero tells values apart that GROUP BY takes for equal.
    signs = [f"CAST({quote_path(n)} AS STRING)" for n, kind in source.columns if _may_float(kind)]
    grouped = ", ".join([names, *signs])
    return (
        f"SELECT {names}, CAST(SUM({weight}) AS BIGINT) AS {weight} FROM (\n{parts}\n) AS __grebe_changes\n"
        f"GROUP BY {grouped} HAVING SUM({weight}) <> 0"
    )


def _may_float(kind: str | None) -> bool:
    return kind is None or any(word in kind.upper() for word in ("FLOAT", "DOUBLE", "REAL"))


def _same_text(one: str, two: str) -> str:
    """That two values are the same to readers: -0.0 is not 0.0."""
    return f"CAST({one} AS STRING) <=> CAST({two} AS STRING)"
