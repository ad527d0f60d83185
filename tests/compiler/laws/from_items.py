"""Random items of FROM with a syntax of their own: USING, NATURAL, LATERAL, PIVOT and UNPIVOT."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from compiler.laws.expressions import Scope, Typed, aggregate, constant, of_kind, predicate

Columns = tuple[Typed, ...]
Tables = Mapping[str, Columns]
Item = tuple[str, Columns]
"""The text of a relation without its alias, and its columns."""

_SHARED: Final = (("r", "s", "a"), ("s", "r", "a"), ("s", "t", "c"), ("t", "s", "c"))
_KINDS: Final = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


def merged_join(rng: Random, tables: Tables, mark: Callable[[str], None]) -> Item:
    """A join by a shared name: its column stands once, as COALESCE of both for FULL."""
    left, right, shared = rng.choice(_SHARED)
    kind = rng.choice(_KINDS)
    natural = rng.random() < 0.4
    mark("natural" if natural else f"{kind.lower()} using")
    word = f"NATURAL {kind}" if natural else kind
    by = "" if natural else f" USING ({shared})"
    columns = {item.text: item for item in (*tables[left], *tables[right])}
    names = [name for name in columns if name == shared or rng.random() < 0.6]
    listed = ", ".join(f"{name} AS j_{name}" for name in names)
    sql = f"(SELECT {listed} FROM {left} {word} {right}{by})"
    return sql, tuple(Typed(f"j_{name}", columns[name].kind) for name in names)


def pivoted(rng: Random, tables: Tables, mark: Callable[[str], None]) -> Item:
    """Rows to columns for fixed values."""
    mark("pivot")
    call = rng.choice(("SUM(x)", "COUNT(*)", "MAX(x)", "COUNT(s)"))
    spread, values = rng.choice((("b", ("1", "2")), ("b", ("3", "1")), ("s", ("'a'", "'b'"))))
    body = f"(SELECT a, {spread}, x{', s' if spread != 's' else ''} FROM r)"
    listed = ", ".join(f"{value} AS p{place}" for place, value in enumerate(values))
    sql = f"(SELECT a, p0, p1 FROM {body} PIVOT ({call} FOR {spread} IN ({listed}) GROUP BY a))"
    return sql, (Typed("a", "int"), Typed("p0", "int"), Typed("p1", "int"))


def unpivoted(rng: Random, tables: Tables, mark: Callable[[str], None]) -> Item:
    """Columns to rows, with and without the NULLs."""
    mark("unpivot")
    nulls = "INCLUDE NULLS " if rng.random() < 0.5 else ""
    names = ", ".join(rng.sample(("b", "x", "a"), 2))
    sql = f"(SELECT n, v, s FROM r UNPIVOT {nulls}(v FOR n IN ({names})))"
    return sql, (Typed("n", "str"), Typed("v", "int"), Typed("s", "str"))


SPECIAL: Final = (merged_join, merged_join, pivoted, unpivoted)


def lateral(
    rng: Random, tables: Tables, scope: Scope, name: str, mark: Callable[[str], None]
) -> tuple[str, Columns]:
    """What follows a FROM clause: a subquery that reads the rows before it."""
    table = rng.choice(tuple(tables))
    inner = tuple(Typed(f"{name}_i.{item.text}", item.kind) for item in tables[table])
    test = _tied(rng, scope, inner)
    body = f"FROM {table} AS {name}_i WHERE {test}"
    form = rng.randrange(4)
    picked = [item for item in inner if item.kind != "list"]
    mark("lateral")
    if form == 0:
        call = aggregate(rng, inner)
        text, kinds = f"SELECT {call.text} AS l0 {body}", (call.kind,)
    elif form == 1:
        order = ", ".join(item.text for item in picked)
        text, kinds = f"SELECT {order_free(picked)} {body} ORDER BY {order} LIMIT 1", None
    elif form == 2:
        outer = rng.choice(of_kind(scope, "int") or [Typed("1", "int")]).text
        mine = rng.choice(of_kind(inner, "int")).text
        text, kinds = f"SELECT {outer} + {mine} AS l0 {body}", ("int",)
    else:
        text, kinds = f"SELECT DISTINCT {order_free(picked)} {body}", None
    found = kinds or tuple(item.kind for item in picked)
    columns = tuple(Typed(f"{name}.l{place}", kind) for place, kind in enumerate(found))
    if rng.random() < 0.5:
        return f", LATERAL ({text}) AS {name}", columns
    mark("left lateral")
    return f" LEFT JOIN LATERAL ({text}) AS {name} ON TRUE", columns


def order_free(items: list[Typed]) -> str:
    return ", ".join(f"{item.text} AS l{place}" for place, item in enumerate(items))


def _tied(rng: Random, outer: Scope, inner: Scope) -> str:
    shared = sorted({item.kind for item in outer} & {item.kind for item in inner} - {"list"})
    if not shared:
        return predicate(rng, inner)
    kind = "int" if "int" in shared else rng.choice(shared)
    one, two = rng.choice(of_kind(inner, kind)).text, rng.choice(of_kind(outer, kind)).text
    sign = rng.choice(("=", "=", "=", "<", "IS NOT DISTINCT FROM"))
    extra = f" AND {rng.choice(list(inner)).text} IS NOT NULL" if rng.random() < 0.3 else ""
    extra += f" AND {one} <> {constant(rng, 'int')}" if kind == "int" and rng.random() < 0.2 else ""
    return f"{one} {sign} {two}{extra}"
