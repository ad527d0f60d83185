"""Random queries: every operator of the compiler, composed at random, as DuckDB SQL.

``generate(seed)`` gives one query. Everything in it is deterministic as SQL (orders are total where
they count, floats sum exactly), so that two ways of computing it must agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from compiler.laws.databases import tables_of
from compiler.laws.expressions import (
    KINDS,
    TYPES,
    Scope,
    Typed,
    aggregate,
    constant,
    expression,
    of_kind,
    predicate,
    total_order,
    window_call,
)
from compiler.laws.from_items import SPECIAL, lateral

_KIND_OF: Final = {
    "INTEGER": "int",
    "BIGINT": "int",
    "DECIMAL(10,2)": "dec",
    "DOUBLE": "flt",
    "VARCHAR": "str",
    "DATE": "date",
    "BOOLEAN": "bool",
    "INTEGER[]": "list",
}
TABLES: Final = {
    name: tuple(Typed(key, _KIND_OF[kind]) for key, kind in table.types.items())
    for name, table in tables_of().items()
}


@dataclass(frozen=True, slots=True)
class Query:
    """A generated query, and the names of what it is made of."""

    sql: str
    features: frozenset[str]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Relation:
    """SQL text that gives rows, and its columns."""

    sql: str
    columns: tuple[Typed, ...]


@dataclass(slots=True)
class Writer:
    """What one generated query needs to remember while it is written."""

    rng: Random
    features: set[str] = field(default_factory=set)
    ctes: list[tuple[str, tuple[Typed, ...], int]] = field(default_factory=list)
    counter: int = 0
    leaves: int = 0
    """Sources that are read, those of a CTE once for each use."""

    def alias(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def mark(self, feature: str) -> None:
        self.features.add(feature)


LARGE: Final = 14
"""More sources than that make a query that nobody writes and that takes minutes to check."""
MODERATE: Final = 7
"""What `make test` has the time for: the cost of a check grows faster than the query."""


def generate(seed: int, size: int = 3, *, largest: int = MODERATE) -> Query:
    """The query of a seed; ``size`` bounds how deeply it nests, ``largest`` how much it reads."""
    rng = Random(seed)
    while True:
        writer = Writer(rng)
        relation = query(writer, size)
        if writer.leaves <= largest:
            return Query(relation.sql, frozenset(writer.features), seed)


def query(w: Writer, size: int, kinds: tuple[str, ...] | None = None) -> Relation:
    """A whole query expression: a select, a set operation, one with CTEs, or a cut."""
    luck = w.rng.random()
    if size >= 2 and luck < 0.14:
        return set_operation(w, size - 1, kinds)
    if size >= 2 and luck < 0.24 and not w.ctes:
        return with_ctes(w, size - 1, kinds)
    if size >= 2 and luck < 0.30:
        return top_k(w, size - 1, kinds)
    return select(w, size, kinds)


def set_operation(w: Writer, size: int, kinds: tuple[str, ...] | None) -> Relation:
    wanted = kinds or tuple(w.rng.choice(KINDS) for _ in range(w.rng.randint(1, 3)))
    sign = w.rng.choice(
        ("UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")
    )
    w.mark(sign.lower())
    left, right = (query(w, size - 1, wanted) for _ in range(2))
    sql = f"({left.sql}) {sign} ({right.sql})"
    if w.chance(0.2):
        third = w.rng.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
        w.mark("set operation of three")
        sql = f"({sql}) {third} ({query(w, size - 1, wanted).sql})"
    return Relation(sql, left.columns)


def with_ctes(w: Writer, size: int, kinds: tuple[str, ...] | None) -> Relation:
    w.mark("cte")
    parts = []
    for _ in range(w.rng.randint(1, 2)):
        before = w.leaves
        body = query(w, size - 1)
        name = w.alias("q")
        parts.append(f"{name} AS ({body.sql})")
        w.ctes.append((name, body.columns, w.leaves - before))
        w.leaves = before
    main = select(w, size, kinds)
    w.ctes.clear()
    return Relation(f"WITH {', '.join(parts)} {main.sql}", main.columns)


def top_k(w: Writer, size: int, kinds: tuple[str, ...] | None) -> Relation:
    w.mark("top-k")
    body = query(w, size, kinds)
    name = w.alias("k")
    order = ", ".join(
        f"{column.text}{w.rng.choice(('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'))}"
        for column in w.rng.sample(body.columns, len(body.columns))
    )
    cut = f"LIMIT {w.rng.randint(1, 3)}" + (" OFFSET 1" if w.chance(0.3) else "")
    names = ", ".join(column.text for column in body.columns)
    return Relation(
        f"SELECT {names} FROM ({body.sql}) AS {name} ORDER BY {order} {cut}", body.columns
    )


def select(w: Writer, size: int, kinds: tuple[str, ...] | None = None) -> Relation:
    """One SELECT block."""
    source, scope = from_clause(w, size)
    conditions = []
    if w.chance(0.55):
        conditions.append(predicate(w.rng, scope))
        w.mark("filter")
    if size >= 1 and w.chance(0.3):
        conditions.append(subquery_predicate(w, scope, size - 1))
    shapes: list[Callable[..., Relation]] = [plain, plain, grouped, grouped, windowed, distinct]
    if kinds is None:
        shapes.append(total)
    body = w.rng.choice(shapes)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return body(w, f"{source}{where}", scope, kinds, size)


def _outputs(w: Writer, items: list[Typed]) -> tuple[str, tuple[Typed, ...]]:
    named = [(item, w.alias("c")) for item in items]
    text = ", ".join(f"{item.text} AS {name}" for item, name in named)
    return text, tuple(Typed(name, item.kind) for item, name in named)


def _exactly(text: str, kind: str) -> Typed:
    return Typed(f"CAST({text} AS {TYPES[kind]})", kind)


def _listed(w: Writer, scope: Scope, kinds: tuple[str, ...] | None) -> list[Typed]:
    if kinds is not None:
        return [_exactly(expression(w.rng, scope, kind), kind) for kind in kinds]
    chosen = [w.rng.choice(KINDS) for _ in range(w.rng.randint(1, 3))]
    return [Typed(expression(w.rng, scope, kind), kind) for kind in chosen]


def plain(
    w: Writer, source: str, scope: Scope, kinds: tuple[str, ...] | None, size: int
) -> Relation:
    items = _listed(w, scope, kinds)
    if kinds is None and size >= 1 and w.chance(0.25):
        items.append(subquery_value(w, scope, size - 1))
    text, columns = _outputs(w, items)
    return Relation(f"SELECT {text} {source}", columns)


def distinct(
    w: Writer, source: str, scope: Scope, kinds: tuple[str, ...] | None, size: int
) -> Relation:
    w.mark("distinct")
    text, columns = _outputs(w, _listed(w, scope, kinds))
    return Relation(f"SELECT DISTINCT {text} {source}", columns)


def total(
    w: Writer, source: str, scope: Scope, kinds: tuple[str, ...] | None, size: int
) -> Relation:
    w.mark("aggregate without keys")
    items = [aggregate(w.rng, scope) for _ in range(w.rng.randint(1, 3))]
    text, columns = _outputs(w, items)
    having = f" HAVING {_having(w, scope)}" if w.chance(0.15) else ""
    return Relation(f"SELECT {text} {source}{having}", columns)


def _having(w: Writer, scope: Scope) -> str:
    w.mark("having")
    call = aggregate(w.rng, scope)
    if w.chance(0.2):
        return f"{call.text} IS NOT NULL"
    return f"{call.text} {w.rng.choice(('>', '<=', '=', '<>'))} {constant(w.rng, call.kind)}"


def grouped(
    w: Writer, source: str, scope: Scope, kinds: tuple[str, ...] | None, size: int
) -> Relation:
    w.mark("group by")
    chosen = [w.rng.choice(KINDS) for _ in range(w.rng.randint(1, 2))]
    keys = [Typed(expression(w.rng, scope, kind, w.rng.randint(0, 1)), kind) for kind in chosen]
    keys = [key for key in keys if _reads(key, scope)] or [_any_column(w, scope)]
    calls = [aggregate(w.rng, scope) for _ in range(w.rng.randint(1, 3))]
    over = [_over_aggregate(w, call) for call in calls]
    by = _group_clause(w, keys, fixed=kinds is not None)
    if by.startswith(("ROLLUP", "CUBE", "GROUPING")) and w.chance(0.5):
        over.append(_grouping_call(w, keys))
    items = [*keys, *over]
    if kinds is not None:
        items = [_fitted(w, [*keys, *over], kind) for kind in kinds]
    text, columns = _outputs(w, items)
    having = f" HAVING {_having(w, scope)}" if w.chance(0.25) else ""
    return Relation(f"SELECT {text} {source} GROUP BY {by}{having}", columns)


def _reads(key: Typed, scope: Scope) -> bool:
    return any(item.text in key.text for item in scope)


def _any_column(w: Writer, scope: Scope) -> Typed:
    return w.rng.choice([item for item in scope if item.kind != "list"] or list(scope))


def _over_aggregate(w: Writer, call: Typed) -> Typed:
    if call.kind == "int" and w.chance(0.3):
        return Typed(f"COALESCE({call.text}, 0) + 1", "int")
    return call


def _fitted(w: Writer, items: list[Typed], kind: str) -> Typed:
    fitting = of_kind(items, kind)
    text = w.rng.choice(fitting).text if fitting else constant(w.rng, kind)
    return _exactly(text, kind)


def _grouping_call(w: Writer, keys: list[Typed]) -> Typed:
    """Which keys a row is not grouped by: one bit, or all of them."""
    if w.chance(0.5):
        w.mark("grouping()")
        return Typed(f"CAST(GROUPING({w.rng.choice(keys).text}) AS BIGINT)", "int")
    w.mark("grouping_id()")
    listed = ", ".join(key.text for key in keys)
    return Typed(f"CAST(GROUPING_ID({listed}) AS BIGINT)", "int")


def _group_clause(w: Writer, keys: list[Typed], *, fixed: bool) -> str:
    texts = [key.text for key in keys]
    plainly = ", ".join(texts)
    luck = w.rng.random()
    if luck < 0.08:
        w.mark("rollup")
        return f"ROLLUP ({plainly})"
    if luck < 0.12:
        w.mark("cube")
        return f"CUBE ({plainly})"
    if luck < 0.18:
        w.mark("grouping sets")
        return f"GROUPING SETS (({plainly}), ({texts[0]}), ())"
    if luck < 0.28 and not fixed:
        w.mark("group by ordinal")
        return ", ".join(str(place) for place in range(1, len(keys) + 1))
    if luck < 0.34 and not fixed:
        w.mark("group by all")
        return "ALL"
    return plainly


def windowed(
    w: Writer, source: str, scope: Scope, kinds: tuple[str, ...] | None, size: int
) -> Relation:
    w.mark("window")
    usable = [item for item in scope if item.kind != "list"]
    split = [item.text for item in w.rng.sample(usable, min(len(usable), w.rng.randint(1, 2)))]
    order = total_order(w.rng, scope)
    calls = [
        window_call(w.rng, scope, partition=split, total=order) for _ in range(w.rng.randint(1, 2))
    ]
    if w.chance(0.15):
        other = w.rng.choice(usable).text
        w.mark("windows over different partitions")
        calls.append(window_call(w.rng, scope, partition=[other]))
    if kinds is not None:
        items = [_fitted(w, [*scope, *calls], kind) for kind in kinds]
    else:
        items = [*_listed(w, scope, None), *calls]
    text, columns = _outputs(w, items)
    qualify = ""
    if w.chance(0.3):
        w.mark("qualify")
        number = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(split)} ORDER BY {order})"
        qualify = f" QUALIFY {number} <= {w.rng.randint(1, 2)}"
    return Relation(f"SELECT {text} {source}{qualify}", columns)


def from_clause(w: Writer, size: int) -> tuple[str, list[Typed]]:
    """FROM … with everything that is in scope after it."""
    text, scope = from_item(w, size)
    for _ in range(w.rng.choice((0, 0, 0, 1, 1, 1, 2) if size >= 1 else (0, 0, 1))):
        text, scope = _joined(w, text, scope, size - 1)
    text, scope = _unnested(w, text, scope)
    if w.chance(0.06):
        w.leaves += 1
        more, columns = lateral(w.rng, TABLES, scope, w.alias("l"), w.mark)
        text, scope = f"{text}{more}", [*scope, *columns]
    return f"FROM {text}", scope


def from_item(w: Writer, size: int) -> tuple[str, list[Typed]]:
    name = w.alias("t")
    luck = w.rng.random()
    if w.ctes and luck > 0.5:
        cte, columns, leaves = w.rng.choice(w.ctes)
        w.leaves += leaves
        return f"{cte} AS {name}", _qualified(name, columns)
    if size >= 2 and 0.04 < luck < 0.34:
        w.mark("subquery in from")
        body = query(w, size - 1)
        return f"({body.sql}) AS {name}", _qualified(name, body.columns)
    if luck < 0.04:
        w.mark("values")
        rows = "(1, 'a'), (2, 'b'), (2, NULL)"
        columns = (Typed("v", "int"), Typed("u", "str"))
        return f"(VALUES {rows}) AS {name}(v, u)", _qualified(name, columns)
    if w.chance(0.1):
        w.leaves += 2
        text, columns = w.rng.choice(SPECIAL)(w.rng, TABLES, w.mark)
        return f"{text} AS {name}", _qualified(name, columns)
    table = w.rng.choice(tuple(TABLES))
    w.leaves += 1
    return f"{table} AS {name}", _qualified(name, TABLES[table])


def _qualified(alias: str, columns: tuple[Typed, ...]) -> list[Typed]:
    return [Typed(f"{alias}.{column.text}", column.kind) for column in columns]


def _joined(w: Writer, text: str, scope: list[Typed], size: int) -> tuple[str, list[Typed]]:
    right, columns = from_item(w, size)
    luck = w.rng.random()
    both = [*scope, *columns]
    if luck < 0.06:
        w.mark("comma join")
        return f"{text} CROSS JOIN {right}", both
    condition = _join_condition(w, scope, columns)
    if luck < 0.14:
        w.mark("semi join")
        return f"{text} SEMI JOIN {right} ON {condition}", scope
    if luck < 0.22:
        w.mark("anti join")
        return f"{text} ANTI JOIN {right} ON {condition}", scope
    kind = w.rng.choice(
        ("JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
    )
    w.mark(kind.lower())
    return f"{text} {kind} {right} ON {condition}", both


def _join_condition(w: Writer, left: Scope, right: Scope) -> str:
    shared = sorted({item.kind for item in left} & {item.kind for item in right} - {"list"})
    if not shared:
        return predicate(w.rng, [*left, *right])
    kind = "int" if "int" in shared and w.chance(0.7) else w.rng.choice(shared)
    one, two = (w.rng.choice(of_kind(side, kind)).text for side in (left, right))
    luck = w.rng.random()
    if luck < 0.15:
        w.mark("non-equi join")
        return f"{one} {w.rng.choice(('<', '<=', '<>'))} {two}"
    if luck < 0.25:
        w.mark("null-safe join")
        return f"{one} IS NOT DISTINCT FROM {two}"
    if luck < 0.35 and kind == "int":
        return f"{one} + 1 = {two}"
    if luck < 0.5:
        return f"{one} = {two} AND {predicate(w.rng, [*left, *right], 0)}"
    return f"{one} = {two}"


def _unnested(w: Writer, text: str, scope: list[Typed]) -> tuple[str, list[Typed]]:
    lists = of_kind(scope, "list")
    if not lists or not w.chance(0.2):
        return text, scope
    w.mark("unnest")
    name = w.alias("u")
    chosen = w.rng.choice(lists).text
    return f"{text}, UNNEST({chosen}) AS {name}(e)", [*scope, Typed(f"{name}.e", "int")]


def subquery_predicate(w: Writer, scope: Scope, size: int) -> str:
    """A predicate made of a subquery: bare, negated, or under OR."""
    inner, columns = from_clause(w, size)
    correlated = w.chance(0.6)
    test = _correlation(w, scope, columns) if correlated else predicate(w.rng, columns)
    where = f" WHERE {test}" if correlated or w.chance(0.6) else ""
    w.mark("correlated subquery" if correlated else "uncorrelated subquery")
    text = _quantified(w, scope, f"{inner}{where}", columns)
    luck = w.rng.random()
    if luck < 0.25:
        w.mark("subquery under or")
        return f"({text} OR {predicate(w.rng, scope, 0)})"
    return f"NOT ({text})" if luck < 0.35 else text


def _correlation(w: Writer, outer: Scope, inner: Scope) -> str:
    shared = sorted({item.kind for item in outer} & {item.kind for item in inner} - {"list"})
    kind = w.rng.choice(shared) if shared else None
    if kind is None:
        return predicate(w.rng, inner)
    one, two = w.rng.choice(of_kind(inner, kind)).text, w.rng.choice(of_kind(outer, kind)).text
    sign = "=" if w.chance(0.75) else w.rng.choice(("<", "<>"))
    extra = f" AND {predicate(w.rng, inner, 0)}" if w.chance(0.3) else ""
    return f"{one} {sign} {two}{extra}"


def _quantified(w: Writer, scope: Scope, body: str, columns: Scope) -> str:
    usable = [item for item in columns if item.kind != "list"]
    picked = w.rng.choice(usable) if usable else Typed("1", "int")
    outer = expression(w.rng, scope, picked.kind, 0)
    form = w.rng.choice(("exists", "not exists", "in", "not in", "any", "all", "scalar"))
    w.mark(form)
    if form in ("exists", "not exists"):
        return f"{form.upper()} (SELECT 1 {body})"
    if form in ("in", "not in"):
        return f"{outer} {form.upper()} (SELECT {picked.text} {body})"
    if form in ("any", "all"):
        sign = w.rng.choice(("=", "<", ">=", "<>"))
        return f"{outer} {sign} {form.upper()} (SELECT {picked.text} {body})"
    call = aggregate(w.rng, columns)
    return f"{expression(w.rng, scope, call.kind, 0)} >= (SELECT {call.text} {body})"


def subquery_value(w: Writer, scope: Scope, size: int) -> Typed:
    """A subquery in the select list: a scalar, or the truth of EXISTS or IN."""
    inner, columns = from_clause(w, size)
    correlated = w.chance(0.6)
    where = f" WHERE {_correlation(w, scope, columns)}" if correlated else ""
    if w.chance(0.4):
        w.mark("mark in select")
        usable = [item for item in columns if item.kind != "list"]
        if not usable or w.chance(0.4):
            return Typed(f"EXISTS (SELECT 1 {inner}{where})", "bool")
        picked = w.rng.choice(usable)
        outer = expression(w.rng, scope, picked.kind, 0)
        return Typed(f"{outer} IN (SELECT {picked.text} {inner}{where})", "bool")
    w.mark("scalar subquery in select")
    call = aggregate(w.rng, columns)
    return Typed(f"(SELECT {call.text} {inner}{where})", call.kind)
