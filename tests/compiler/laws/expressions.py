"""Random scalar expressions, predicates and aggregate calls over a scope of typed columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

KINDS: Final = ("int", "dec", "flt", "str", "date", "bool")
"""The kinds that can be compared, grouped and ordered; lists come from columns only."""

_CONSTANTS: Final = {
    "int": ("0", "1", "2", "3", "-1", "NULL"),
    "dec": ("CAST(1.10 AS DECIMAL(10,2))", "CAST(0 AS DECIMAL(10,2))"),
    "flt": ("CAST(0.5 AS DOUBLE)", "CAST(1 AS DOUBLE)", "CAST(0 AS DOUBLE)"),
    "str": ("'a'", "'b'", "''", "'ab'"),
    "date": ("DATE '2024-02-28'", "DATE '2024-12-28'"),
    "bool": ("TRUE", "FALSE"),
}

TYPES: Final = {
    "int": "BIGINT",
    "dec": "DECIMAL(12,2)",
    "flt": "DOUBLE",
    "str": "VARCHAR",
    "date": "DATE",
    "bool": "BOOLEAN",
}


@dataclass(frozen=True, slots=True)
class Typed:
    """A column or an expression, with its kind."""

    text: str
    kind: str


Scope = Sequence[Typed]
Shaped = tuple[str, str]
"""An aggregate call with `@` where its FILTER goes, and its kind."""


def of_kind(scope: Scope, kind: str) -> list[Typed]:
    return [item for item in scope if item.kind == kind]


def constant(rng: Random, kind: str) -> str:
    return rng.choice(_CONSTANTS[kind])


def expression(rng: Random, scope: Scope, kind: str, depth: int = 1) -> str:
    """An expression of the kind; mostly a column when the scope has one."""
    columns = of_kind(scope, kind)
    if columns and (depth <= 0 or rng.random() < 0.55):
        return rng.choice(columns).text
    if depth <= 0:
        return constant(rng, kind)
    return _COMPOUND[kind](rng, scope, depth - 1)


def _case(rng: Random, scope: Scope, kind: str, depth: int) -> str:
    tested = predicate(rng, scope, depth)
    then, other = (expression(rng, scope, kind, depth) for _ in range(2))
    if rng.random() < 0.3:
        return f"CASE WHEN {tested} THEN {then} END"
    return f"CASE WHEN {tested} THEN {then} ELSE {other} END"


def _general(rng: Random, scope: Scope, kind: str, depth: int) -> str:
    form = rng.randrange(3)
    one, two = (expression(rng, scope, kind, depth) for _ in range(2))
    if form == 0:
        return _case(rng, scope, kind, depth)
    if form == 1:
        return f"COALESCE({one}, {constant(rng, kind)})"
    return f"NULLIF({one}, {two})"


def _integer(rng: Random, scope: Scope, depth: int) -> str:
    one, two = (expression(rng, scope, "int", depth) for _ in range(2))
    forms: list[Callable[[], str]] = [
        lambda: f"({one} + {two})",
        lambda: f"({one} - {rng.randint(1, 3)})",
        lambda: f"({one} * {rng.randint(2, 3)})",
        lambda: f"({one} % 2)",
        lambda: f"ABS({one})",
        lambda: f"(-{one})" if not one.startswith("-") else f"({one} + 0)",
        lambda: f"LENGTH({expression(rng, scope, 'str', depth)})",
        lambda: f"YEAR({expression(rng, scope, 'date', depth)})",
        lambda: f"GREATEST({one}, {two})",
        lambda: _general(rng, scope, "int", depth),
    ]
    return rng.choice(forms)()


def _decimal(rng: Random, scope: Scope, depth: int) -> str:
    one = expression(rng, scope, "dec", depth)
    if rng.random() < 0.4:
        return f"CAST({expression(rng, scope, 'int', depth)} AS DECIMAL(10,2))"
    if rng.random() < 0.5:
        return f"(-{one})"
    return _general(rng, scope, "dec", depth)


def _float(rng: Random, scope: Scope, depth: int) -> str:
    one = expression(rng, scope, "flt", depth)
    if rng.random() < 0.4:
        return f"CAST({expression(rng, scope, 'int', depth)} AS DOUBLE)"
    if rng.random() < 0.5:
        return f"({one} * 2)"
    return _general(rng, scope, "flt", depth)


def _string(rng: Random, scope: Scope, depth: int) -> str:
    one, two = (expression(rng, scope, "str", depth) for _ in range(2))
    forms: list[Callable[[], str]] = [
        lambda: f"UPPER({one})",
        lambda: f"CONCAT({one}, {two})",
        lambda: f"({one} || {two})",
        lambda: f"SUBSTRING({one}, 1, 1)",
        lambda: f"CAST({expression(rng, scope, 'int', depth)} AS VARCHAR)",
        lambda: _general(rng, scope, "str", depth),
    ]
    return rng.choice(forms)()


def _date(rng: Random, scope: Scope, depth: int) -> str:
    if rng.random() < 0.4:
        return f"CAST({expression(rng, scope, 'date', depth)} + INTERVAL 1 DAY AS DATE)"
    return _general(rng, scope, "date", depth)


def _boolean(rng: Random, scope: Scope, depth: int) -> str:
    return f"({predicate(rng, scope, depth)})"


_COMPOUND: Final = {
    "int": _integer,
    "dec": _decimal,
    "flt": _float,
    "str": _string,
    "date": _date,
    "bool": _boolean,
}


def predicate(rng: Random, scope: Scope, depth: int = 1) -> str:
    """A predicate that may be NULL."""
    if depth > 0 and rng.random() < 0.35:
        one, two = (predicate(rng, scope, depth - 1) for _ in range(2))
        return rng.choice((f"({one} AND {two})", f"({one} OR {two})", f"NOT ({one})"))
    kinds = sorted({item.kind for item in scope} - {"list"}) or ["int"]
    return _simple(rng, scope, rng.choice(kinds), depth)


def _simple(rng: Random, scope: Scope, kind: str, depth: int) -> str:
    one = expression(rng, scope, kind, depth - 1)
    two = expression(rng, scope, kind, depth - 1) if rng.random() < 0.5 else constant(rng, kind)
    sign = rng.choice(("=", "<>", "<", "<=", ">", ">="))
    forms = [
        f"{one} {sign} {two}",
        f"{one} {sign} {two}",
        f"{one} IS NULL",
        f"{one} IS NOT NULL",
        f"{one} IS DISTINCT FROM {two}",
        f"{one} IN ({constant(rng, kind)}, {constant(rng, kind)})",
        f"{one} NOT IN ({constant(rng, kind)}, {constant(rng, kind)})",
        f"{one} BETWEEN {constant(rng, kind)} AND {constant(rng, kind)}",
    ]
    if kind == "str":
        forms.append(f"{one} LIKE 'a%'")
    if kind == "bool":
        forms += [one, f"NOT {one}"]
    return rng.choice(forms)


def aggregate(rng: Random, scope: Scope) -> Typed:
    """An aggregate call whose value does not depend on the order of rows."""
    shaped, kind = rng.choice(_AGGREGATES)(rng, scope)
    cut = f" FILTER (WHERE {predicate(rng, scope)})" if rng.random() < 0.15 else ""
    return Typed(shaped.replace("@", cut), kind)


def _count(rng: Random, scope: Scope) -> Shaped:
    if rng.random() < 0.5:
        return "COUNT(*)@", "int"
    return f"COUNT({expression(rng, scope, _a_kind(rng, scope))})@", "int"


def _count_distinct(rng: Random, scope: Scope) -> Shaped:
    return f"COUNT(DISTINCT {expression(rng, scope, _a_kind(rng, scope))})@", "int"


def _sum(rng: Random, scope: Scope) -> Shaped:
    kind = rng.choice(("int", "int", "dec", "flt"))
    distinct = "DISTINCT " if rng.random() < 0.2 else ""
    text = f"SUM({distinct}{expression(rng, scope, kind)})@"
    return (text if kind == "flt" else f"CAST({text} AS {TYPES[kind]})"), kind


def _avg(rng: Random, scope: Scope) -> Shaped:
    return f"AVG({expression(rng, scope, rng.choice(('int', 'flt', 'dec')))})@", "flt"


def _extremum(rng: Random, scope: Scope) -> Shaped:
    kind = _a_kind(rng, scope)
    return f"{rng.choice(('MIN', 'MAX'))}({expression(rng, scope, kind)})@", kind


def _boolean_fold(rng: Random, scope: Scope) -> Shaped:
    return f"{rng.choice(('BOOL_AND', 'BOOL_OR'))}({predicate(rng, scope, 0)})@", "bool"


def _spread(rng: Random, scope: Scope) -> Shaped:
    name = rng.choice(("VAR_POP", "STDDEV_SAMP", "VAR_SAMP", "STDDEV_POP"))
    return _steady(f"{name}({expression(rng, scope, 'int')})@"), "flt"


def _joined_text(rng: Random, scope: Scope) -> Shaped:
    one = _no_literal(expression(rng, scope, "str"), "|| ''")
    return f"STRING_AGG({one}, ',' ORDER BY {one})@", "str"


def _median(rng: Random, scope: Scope) -> Shaped:
    return f"MEDIAN({expression(rng, scope, 'int')})@", "flt"


def _filtered_case(rng: Random, scope: Scope) -> Shaped:
    one = expression(rng, scope, "int")
    text = f"SUM(CASE WHEN {predicate(rng, scope)} THEN {one} ELSE 0 END)@"
    return f"CAST({text} AS BIGINT)", "int"


def _bits(rng: Random, scope: Scope) -> Shaped:
    name = rng.choice(("BIT_AND", "BIT_OR", "BIT_XOR"))
    return f"{name}({expression(rng, scope, 'int', 0)})@", "int"


def _two_columns(rng: Random, scope: Scope) -> Shaped:
    one, two = (expression(rng, scope, "int", 0) for _ in range(2))
    if rng.random() < 0.5:
        return _steady(f"{rng.choice(('COVAR_POP', 'COVAR_SAMP'))}({one}, {two})@"), "flt"
    # Among equal orders any row may win, so the value is its own order.
    return f"{rng.choice(('MAX_BY', 'MIN_BY'))}({one}, {one} + 0)@", "int"


def _steady(text: str) -> str:
    """A float sum without the digits that depend on its order; moved, as 0.0390625 is a tie."""
    return f"ROUND({text} + 1.2345E-7, 6)"


def _no_literal(text: str, with_nothing: str) -> str:
    """The same value by an expression: DuckDB refuses to order by a literal."""
    return text if "." in text else f"({text} {with_nothing})"


def _collected(rng: Random, scope: Scope) -> Shaped:
    one = _no_literal(expression(rng, scope, "int", 0), "+ 0")
    distinct = "DISTINCT " if rng.random() < 0.3 else ""
    return f"CAST(LIST({distinct}{one} ORDER BY {one})@ AS VARCHAR)", "str"


_AGGREGATES: Final = (
    _count,
    _count,
    _count_distinct,
    _sum,
    _sum,
    _sum,
    _avg,
    _extremum,
    _extremum,
    _boolean_fold,
    _spread,
    _joined_text,
    _median,
    _filtered_case,
    _bits,
    _two_columns,
    _collected,
)


def _a_kind(rng: Random, scope: Scope) -> str:
    present = sorted({item.kind for item in scope} - {"list"})
    return rng.choice(present or ["int"])


def total_order(rng: Random, scope: Scope) -> str:
    """An order in which only equal rows are tied."""
    return ", ".join(_directed(rng, item.text) for item in rng.sample(list(scope), len(scope)))


def window_call(
    rng: Random, scope: Scope, *, partition: Sequence[str], total: str | None = None
) -> Typed:
    """A window call that equal inputs give equal values.

    Calls that tell tied rows apart take the one total order of their block: two different orders
    may number equal rows differently, and then no two runs have to agree.
    """
    split = f"PARTITION BY {', '.join(partition)}"
    loose = _directed(rng, rng.choice([item.text for item in scope]))
    form = rng.randrange(5 if total else 2)
    if form == 0:
        name = rng.choice(("RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"))
        kind = "int" if name in {"RANK()", "DENSE_RANK()"} else "flt"
        return Typed(f"{name} OVER ({split} ORDER BY {loose})", kind)
    if form == 1 or total is None:
        frames = [split, f"{split} ORDER BY {loose}"]
        numbers = of_kind(scope, "int")
        if numbers:
            ranged = rng.choice(("1 PRECEDING AND CURRENT ROW", "1 PRECEDING AND 1 FOLLOWING"))
            by = f"{split} ORDER BY {rng.choice(numbers).text}"
            frames.append(f"{by} RANGE BETWEEN {ranged}")
        return _framed(rng, scope, rng.choice(frames))
    if form == 2:
        return _offset_call(rng, scope, split, total)
    if form == 3:
        name = rng.choice(("NTILE(2)", "ROW_NUMBER()"))
        return Typed(f"{name} OVER ({split} ORDER BY {total})", "int")
    rows = rng.choice(("1 PRECEDING AND CURRENT ROW", "UNBOUNDED PRECEDING AND 1 FOLLOWING"))
    return _framed(rng, scope, f"{split} ORDER BY {total} ROWS BETWEEN {rows}")


def _offset_call(rng: Random, scope: Scope, split: str, total: str) -> Typed:
    kind = _a_kind(rng, scope)
    one = expression(rng, scope, kind, 0)
    name = rng.choice(
        (f"LAG({one})", f"LEAD({one}, 2)", f"FIRST_VALUE({one})", f"LAST_VALUE({one})")
    )
    frame = ""
    if name.startswith("LAST"):
        frame = " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    return Typed(f"{name} OVER ({split} ORDER BY {total}{frame})", kind)


def _framed(rng: Random, scope: Scope, frame: str) -> Typed:
    one = expression(rng, scope, "int", 0)
    kind, call = rng.choice(
        (
            ("int", f"CAST(SUM({one}) OVER (@) AS BIGINT)"),
            ("int", "COUNT(*) OVER (@)"),
            ("int", f"MIN({one}) OVER (@)"),
            ("int", f"MAX({one}) OVER (@)"),
            ("flt", f"AVG({one}) OVER (@)"),
        )
    )
    return Typed(call.replace("@", frame), kind)


def _directed(rng: Random, text: str) -> str:
    return text + rng.choice(("", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
