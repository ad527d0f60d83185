"""Which columns of which table a query reads, found by scope; without schemas, from the text alone.

A guess is allowed only where a wrong one cannot stay silent: every scan names its columns, so a
column that a table does not have stops `create_mv`. Where two readings are both possible, the
text is refused and the caller is asked for schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from sqlglot import exp

from grebe.compiler.parser.parse import place_of
from grebe.compiler.reasons import ReasonCode, feature_of
from grebe.compiler.text.references import base_tables
from grebe.errors import AmbiguousColumnError, UnsupportedSQLError

WINDOW_MESSAGE = "Window functions are not supported for incremental maintenance"
_HINT = "give the columns of the tables: schemas={table: {column: type}}"
_CLAUSES = ("where", "group", "having", "qualify")


Tree = TypeVar("Tree", bound=exp.Expr)


@dataclass(slots=True)
class Reader:
    """The base tables of a query, and the columns that are read from each."""

    text: str
    used: dict[tuple[str, ...], dict[str, None]] = field(default_factory=dict)
    base: frozenset[int] = frozenset()
    """The references that mean base tables, by their place in memory: their scopes are found once."""

    def read(self, tree: exp.Query) -> None:
        """Collect what the whole query reads."""
        self.base = frozenset(id(table) for table in base_tables(tree))
        for select in _selects(tree):
            self._select(select)

    def _select(self, select: exp.Select) -> None:
        scope = self._scope(select)
        for parts in scope.values():
            if parts is not None:
                self.used.setdefault(parts, {})
        for column in _own(select, exp.Column):
            self._column(column, select, scope)
        self._using(select, scope)
        for star in _own(select, exp.Star):
            if any(scope.values()) and not isinstance(star.parent, (exp.Count, exp.Column)):
                self._star(select, star)

    def _column(self, column: exp.Column, select: exp.Select, scope: Scope) -> None:
        parts = [part.name for part in column.parts]
        if isinstance(column.this, exp.Star):
            if self._qualified(select, parts[0]) is not None:
                self._star(select, column)
            return
        if len(parts) > 1:
            self._qualified_column(parts, select, column)
            return
        self._bare(parts[0], column, select, scope)

    def _qualified_column(self, parts: list[str], select: exp.Select, column: exp.Column) -> None:
        current: exp.Select | None = select
        while current is not None:
            for length in range(len(parts) - 1, 0, -1):
                found, known = self._find(current, parts[:length])
                if known:
                    if found is not None:
                        self.used[found][parts[length]] = None
                    return
            current = _outer(current)
        self._bare(parts[0], column, select, self._scope(select))  # a field of a struct column

    def _bare(self, name: str, column: exp.Column, select: exp.Select, scope: Scope) -> None:
        if _is_alias(name, column, select):
            if _clause_of(column, select) in _CLAUSES:
                self._ambiguous(name, column, "an output and perhaps a column have this name")
            return
        if name.lower() in _joined_by_name(select):
            return
        tables = list(scope.values())
        around = _outer(select)
        if not tables and around is not None:
            self._bare(name, column, around, self._scope(around))
            return
        if len(tables) > 1:
            self._ambiguous(name, column, "several tables may have it")
        if tables and tables[0] is not None:
            self.used[tables[0]][name] = None

    def _using(self, select: exp.Select, scope: Scope) -> None:
        for join in select.args.get("joins") or []:
            if (join.args.get("method") or "").upper() == "NATURAL":
                self._ambiguous("NATURAL JOIN", join, "the joined columns are not in the text")
            for item in join.args.get("using") or []:
                for parts in scope.values():
                    if parts is not None:
                        self.used[parts][item.name] = None

    def _ambiguous(self, name: str, tree: exp.Expr, detail: str) -> NoReturn:
        raise AmbiguousColumnError(
            f'column "{name}" cannot be resolved without schemas',
            detail=detail,
            hint=_HINT,
            where=place_of(tree, self.text),
        )

    def _star(self, select: exp.Select, star: exp.Expr) -> NoReturn:
        where = place_of(star, self.text)
        for window in _own(select, exp.Window):
            if not window.args.get("partition_by"):
                feature = feature_of(ReasonCode.WINDOW_WITHOUT_PARTITION)
                raise UnsupportedSQLError(
                    feature, WINDOW_MESSAGE, where=place_of(window, self.text)
                )
        message = "SELECT * cannot be expanded without schemas"
        raise UnsupportedSQLError("select_star", message, hint=_HINT, where=where)

    def _scope(self, select: exp.Select) -> Scope:
        found: Scope = {}
        clause = select.args.get("from_")
        items = [clause.this] if clause is not None else []
        items += [join.this for join in select.args.get("joins") or []]
        items += select.args.get("laterals") or []
        for item in items:
            self._add(found, item)
        return found

    def _add(self, found: Scope, item: exp.Expr) -> None:
        """One item of FROM with the joins nested in it."""
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table) and not item.alias:
            self._add(found, item.this)
        elif isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
            parts = tuple(part.name for part in item.parts)
            alias = item.alias or parts[-1]
            found[_free(found, alias)] = parts if id(item) in self.base else None
        elif isinstance(item, exp.Expr):
            found[_free(found, item.alias)] = None
        for join in item.args.get("joins") or []:
            self._add(found, join.this)

    def _find(
        self, select: exp.Select, qualifier: list[str]
    ) -> tuple[tuple[str, ...] | None, bool]:
        """The base table behind a qualifier, and whether the qualifier is known here at all."""
        wanted = [part.lower() for part in qualifier]
        for alias, parts in self._scope(select).items():
            own = [alias] if parts is None else [part.lower() for part in parts]
            plain = parts is not None and alias == own[-1]
            if [alias] == wanted or (plain and own[-len(wanted) :] == wanted):
                return parts, True
        return None, False

    def _qualified(self, select: exp.Select, alias: str) -> tuple[str, ...] | None:
        return self._find(select, [alias])[0]


Scope = dict[str, tuple[str, ...] | None]
"""Relations of one FROM by alias: the written name of a base table, or None for a query."""


def _selects(tree: exp.Expr) -> Iterator[exp.Select]:
    yield from (node for node in tree.walk(bfs=True) if isinstance(node, exp.Select))


def _free(found: Scope, alias: str) -> str:
    name = alias.lower()
    while name in found:
        name += "\0"
    return name


def _joined_by_name(select: exp.Select) -> set[str]:
    """The columns of USING: every joined table has them."""
    joins = select.args.get("joins") or []
    return {item.name.lower() for join in joins for item in join.args.get("using") or []}


def _outer(select: exp.Select) -> exp.Select | None:
    """The query around a subquery; what stands in FROM cannot see its neighbours."""
    parent = select.parent
    while parent is not None and not isinstance(parent, exp.Select):
        parent = parent.parent
    return parent


def _own(select: exp.Select, kind: type[Tree]) -> Iterator[Tree]:
    """Nodes of a kind in this query's own clauses, not in the queries inside it."""
    stack: list[exp.Expr] = [select]
    while stack:
        current = stack.pop()
        for child in current.iter_expressions():
            if isinstance(child, (exp.Select, exp.SetOperation, exp.With)):
                continue
            if isinstance(child, kind):
                yield child
            stack.append(child)


def _is_alias(name: str, column: exp.Column, select: exp.Select) -> bool:
    """True when the name is that of an output that is not simply the column itself."""
    if _clause_of(column, select) == "expressions":
        return False
    for item in select.expressions:
        if isinstance(item, exp.Alias) and item.alias.lower() == name.lower():
            inner = item.this
            return not (isinstance(inner, exp.Column) and inner.name.lower() == name.lower())
    return False


def _clause_of(tree: exp.Expr, select: exp.Select) -> str:
    current: exp.Expr = tree
    while current.parent is not None and current.parent is not select:
        current = current.parent
    return current.arg_key or ""
