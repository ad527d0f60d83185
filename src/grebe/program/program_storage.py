"""The storage table: the view's own columns under their public names, and hidden ones beside them.

DuckLake keeps values in Parquet, where a HUGEINT becomes a DOUBLE and an INTERVAL loses its
microseconds. What is known to be a HUGEINT is stored as DECIMAL(38,0) and cast back on read; a
computed value of unknown type is written only if it survives.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from grebe.compiler.algebra.key_bounds import origin
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Filter,
    Node,
    OuterJoin,
    Projection,
    Stored,
    TopK,
)
from grebe.compiler.algebra.origins import origin as type_origin
from grebe.compiler.algebra.scalar import Scalar, column, substitute
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.write.groups import COUNT
from grebe.compiler.write.touched_rows import CHECKSUM
from grebe.errors import UnsupportedSQLError
from grebe.program.duckdb_text import ident, literal
from grebe.program.naming import Naming
from grebe.sql_text import is_made, plain

_PURPOSES = {COUNT: "count", CHECKSUM: "check"}
_EXACT = 9007199254740992
"""The integers up to 2^53 are the same as DOUBLE."""


@dataclass(frozen=True, slots=True)
class ProgramStorage:
    """The columns of the table: what each is called, and the value that is written to it."""

    table: str
    kept: tuple[tuple[str, str], ...]
    """(internal column, column of the table) of everything that the plan stores."""
    written: tuple[tuple[str, str], ...]
    """(column of the table, SQL over the internal columns), public columns first."""
    wide: frozenset[str]
    """Internal columns that are stored as DECIMAL(38,0) in the place of HUGEINT."""
    shown: frozenset[str]
    """Running sums that are stored as readers see them: NULL where nothing was added up."""
    floats: bool = False
    """True unless no column can hold a floating point value."""

    def select(self) -> str:
        """The stored rows under their internal names."""
        items = ", ".join(self.item(*pair) for pair in self.kept)
        return f"SELECT {items} FROM {self.table}"

    def select_raw(self, row_id: str) -> str:
        """The stored rows as they are in the files, with their row ids."""
        items = [_renamed(ident(name), internal) for internal, name in self.kept]
        return f"SELECT {', '.join([*items, _renamed('rowid', row_id)])} FROM {self.table}"

    def select_kept(self, table: str, names: Collection[str] | None = None, *more: str) -> str:
        """Some columns of rows that `select_raw` gave, with the values that readers know."""
        items = [
            self.item(internal, internal)
            for internal, _ in self.kept
            if names is None or internal in names
        ]
        return f"SELECT {', '.join([*items, *more])} FROM {table}"

    def item(self, internal: str, name: str) -> str:
        """One column under its internal name."""
        value = ident(name)
        if internal in self.shown:
            value = f"COALESCE({value}, 0)"
        if internal in self.wide:
            value = f"CAST({value} AS HUGEINT)"
        return _renamed(value, internal)

    def values(self) -> str:
        """The values to write, over rows with internal names."""
        return ", ".join(f"{sql} AS {ident(name)}" for name, sql in self.written)

    @property
    def hashes(self) -> bool:
        """True when the rows carry a checksum."""
        return any(internal == CHECKSUM for internal, _ in self.kept)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table in order."""
        return tuple(name for name, _ in self.written)


def _renamed(value: str, name: str) -> str:
    return value if value.lower() == ident(name).lower() else f"{value} AS {ident(name)}"


def storage_of(plan: RefreshPlan, types: Types, naming: Naming, table: str) -> ProgramStorage:
    """The layout of the table for a plan."""
    shown = {public: _per_row(plan.public, internal) for internal, public in plan.outputs}
    is_duckdb = types.dialect == "duckdb"
    sums = {name: _shown_sum(value) if is_duckdb else None for name, value in shown.items()}
    names = _table_names(plan, shown, sums, naming)
    wide = frozenset(name for name in plan.shape.columns if _is_wide(plan, name, types))
    kept = tuple((internal, names[internal]) for internal in plan.shape.columns)
    taken = {public: internal for internal, public in names.items()}
    written: list[tuple[str, str]] = []
    seen = frozenset(name for public, name in sums.items() if name and names[name] == public)
    for public, value in shown.items():
        internal = taken.pop(public, None)
        if value is not None and internal in seen:
            written.append((public, _computed(value, wide, seen, types)))
        elif internal is not None:
            written.append((public, _stored(plan, internal, wide, types)))
        elif value is not None:
            written.append((public, _computed(value, wide, seen, types)))
    written += [(name, _stored(plan, internal, wide, types)) for name, internal in taken.items()]
    floats = is_duckdb and (
        any(_may_float(plan, name, types) for name in plan.shape.columns)
        or not all(value is None or value.column or sums[name] for name, value in shown.items())
    )
    return ProgramStorage(table, kept, tuple(written), wide, seen, floats)


def _per_row(node: Node, name: str) -> Scalar | None:
    """A public column as an expression over the stored columns of one row."""
    match node:
        case Stored():
            return column(name)
        case Projection():
            item = dict(node.outputs)[name]
            below = {used: _per_row(node.input, used) for used in item.columns}
            found = {used: value for used, value in below.items() if value is not None}
            return substitute(item, found) if len(found) == len(below) else None
        case Filter() | TopK():
            return _per_row(node.input, name)
        case OuterJoin():
            return _per_row(node.right, name) if name in node.right.columns else None
    return None


def _shown_sum(value: Scalar | None) -> str | None:
    """The running sum that a value shows unless nothing was added up; NULL then means zero."""
    tree = value.ast if value is not None else None
    if not isinstance(tree, exp.Case) or tree.args.get("default") or len(tree.args["ifs"]) != 1:
        return None
    result = tree.args["ifs"][0].args["true"]
    is_sum = isinstance(result, exp.Column) and _purpose(result.name) == "sum"
    return result.name if is_sum and _tests_count(tree.args["ifs"][0].this, result.name) else None


def _tests_count(test: exp.Expr, total: str) -> bool:
    """True for "something was added up": the count of the same argument is above zero."""
    count = f"{total.removesuffix('_s')}_n"
    is_above = isinstance(test, exp.GT) and test.expression == exp.Literal.number(0)
    return is_above and isinstance(test.this, exp.Column) and test.this.name == count


def _table_names(
    plan: RefreshPlan,
    shown: Mapping[str, Scalar | None],
    sums: Mapping[str, str | None],
    naming: Naming,
) -> dict[str, str]:
    """What each internal column is called in the table."""
    names: dict[str, str] = {}
    for public, value in shown.items():
        internal = value.column if value is not None else None
        internal = internal or sums[public]
        if internal is not None and internal not in names:
            names[internal] = public
    publics = {public.lower() for public in shown}
    if "rowid" in publics:
        raise UnsupportedSQLError("reserved_name", 'an output cannot be called "rowid"')
    used = set(publics)
    for internal in plan.shape.columns:
        if internal not in names:
            names[internal] = _hidden_name(internal, naming, publics, used)
    return names


def _hidden_name(internal: str, naming: Naming, publics: set[str], used: set[str]) -> str:
    purpose = _purpose(internal)
    name, number = naming.aux_column(purpose), 1
    while name.lower() in used - publics:
        number += 1
        before, name = name, naming.aux_column(f"{purpose}_{number}")
        if name == before:
            message = f'Naming.aux_column calls two hidden columns "{name}"'
            hint = "make the name depend on the purpose"
            raise UnsupportedSQLError("reserved_name", message, hint=hint)
    if name.lower() in publics:
        message = f'the output "{name}" has the name of a hidden column'
        hint = "rename the output, or override Naming.aux_column"
        raise UnsupportedSQLError("reserved_name", message, hint=hint)
    used.add(name.lower())
    return name


def _purpose(internal: str) -> str:
    if internal in _PURPOSES:
        return _PURPOSES[internal]
    if _is_state(internal):
        return {"n": "count", "s": "sum"}.get(internal.rpartition("_")[2], "state")
    return f"key_{plain(internal)}"


def _is_state(internal: str) -> bool:
    """True for a count, a sum or a checksum that a strategy keeps for itself."""
    return is_made(internal) and plain(internal) == internal


def _call(plan: RefreshPlan, name: str) -> Scalar | None:
    """The aggregate call that a stored column holds."""
    node: Node = plan.shape.node
    while isinstance(node, (Projection, Filter)):
        if isinstance(node, Projection):
            item = dict(node.outputs).get(name)
            if item is None or item.column is None:
                return None
            name = item.column
        node = node.input
    return dict(node.calls).get(name) if isinstance(node, Aggregate) else None


def _is_wide(plan: RefreshPlan, name: str, types: Types) -> bool:
    call = _call(plan, name)
    if call is None or types.dialect != "duckdb":
        return False
    tree = call.ast
    if isinstance(tree, exp.Cast):
        return bool(tree.to.is_type("int128"))
    if isinstance(tree, exp.Sum):
        exact = types.exact(Scalar.of(tree.this.copy()))
        return exact is not None and exact.integer
    return False


def _stored(plan: RefreshPlan, name: str, wide: frozenset[str], types: Types) -> str:
    value = exp.to_identifier(name, quoted=True).sql(types.dialect)
    if name in wide:
        return f"CAST({value} AS DECIMAL(38, 0))"
    return value if types.dialect != "duckdb" or _is_faithful(plan, name) else _guarded(value)


def _is_faithful(plan: RefreshPlan, name: str) -> bool:
    """True when the value is a count, a hash, or a copy of a column of a source."""
    if _is_state(name):
        return True
    call = _call(plan, name)
    if call is not None:
        return isinstance(call.ast, exp.Count)
    node: Node = plan.shape.node
    while isinstance(node, (Projection, Filter)):
        if isinstance(node, Projection):
            found = dict(node.outputs).get(name)
            if found is None or found.column is None:
                return False
            name = found.column
        node = node.input
    below = node.input if isinstance(node, Aggregate) else node
    return origin(below, name) is not None


def _may_float(plan: RefreshPlan, name: str, types: Types) -> bool:
    """True unless a stored column is known to hold no floating point values."""
    if _is_state(name):
        return False
    call = _call(plan, name)
    tree = call.ast if call is not None else None
    if isinstance(tree, exp.Count):
        return False
    if isinstance(tree, (exp.Sum, exp.Min, exp.Max)):
        value: Scalar | None = Scalar.of(tree.this.copy())
    elif tree is not None:
        return True
    else:
        made = type_origin(plan.shape.node, name)
        value = made.value if made.is_scan else None
    kind = types.of(value) if value is not None else None
    return kind is None or any(word in kind for word in ("FLOAT", "DOUBLE", "REAL"))


def _computed(value: Scalar, wide: frozenset[str], sums: frozenset[str], types: Types) -> str:
    text = value.ast.sql(types.dialect, comments=False)
    if types.dialect != "duckdb":
        return text
    total = _shown_sum(value)
    if total in wide:
        return f"CAST({text} AS DECIMAL(38, 0))"
    return text if total in sums else _guarded(text)


def _guarded(value: str) -> str:
    """The value, or an error when DuckLake would store another one."""
    kind = f"typeof({value})"
    number = f"TRY_CAST(CAST({value} AS VARCHAR) AS HUGEINT)"
    large = f"COALESCE({number} NOT BETWEEN -{_EXACT} AND {_EXACT}, {value} IS NOT NULL)"
    micro = f"CAST({value} AS VARCHAR) SIMILAR TO '.*\\.[0-9]{{3}}[0-9]*[1-9][0-9]*'"
    message = literal("a value would change its digits in DuckLake's files: cast it to DECIMAL")
    return (
        f"CASE WHEN {kind} LIKE '%HUGEINT%' AND {large} THEN error({message})"
        f" WHEN {kind} = 'INTERVAL' AND {micro} THEN error({message})"
        f" ELSE {value} END"
    )
