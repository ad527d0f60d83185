"""Corpus: every operator of Spark's grammar inside of every other, without brackets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator with its operands open: what each of them has to be, and what comes out."""

    text: str
    kinds: str
    """A letter per operand, as in `KINDS`; X stands for anything, the same for all of one operator."""
    result: str


def _all(signs: str, text: str, kinds: str, result: str) -> list[Operator]:
    return [Operator(text.format(sign), kinds, result) for sign in signs.split()]


OPERATORS = (
    *_all("+ - * / %", "{{}} {} {{}}", "NN", "N"),
    *_all("DIV & | ^ << >> >>>", "{{}} {} {{}}", "II", "I"),
    *_all("= == <=> <> != < <= > >=", "{{}} {} {{}}", "XX", "B"),
    *_all("AND OR", "{{}} {} {{}}", "BB", "B"),
    *_all("LIKE ILIKE RLIKE", "{{}} {} {{}}", "SP", "B"),
    *_all("- +", "{} {{}}", "N", "N"),
    *_all("NOT !", "{} {{}}", "B", "B"),
    *_all("INT DOUBLE DECIMAL(9,2)", "{{}} :: {}", "N", "N"),
    Operator("{} || {}", "SS", "S"),
    Operator("~ {}", "I", "I"),
    Operator("{} :: STRING", "X", "S"),
    Operator("{} :: BOOLEAN", "B", "B"),
    Operator("{} :: DATE", "D", "D"),
    Operator("{} IS NULL", "X", "B"),
    Operator("{} IS NOT NULL", "X", "B"),
    Operator("{} IS TRUE", "B", "B"),
    Operator("{} IS NOT FALSE", "B", "B"),
    Operator("{} IS UNKNOWN", "B", "B"),
    Operator("{} BETWEEN {} AND {}", "XXX", "B"),
    Operator("{} NOT BETWEEN {} AND {}", "XXX", "B"),
    Operator("{} IN ({}, {})", "XXX", "B"),
    Operator("{} NOT IN ({}, {})", "XXX", "B"),
    Operator("{} IS DISTINCT FROM {}", "XX", "B"),
    Operator("{} IS NOT DISTINCT FROM {}", "XX", "B"),
    Operator("{} NOT LIKE {}", "SP", "B"),
    Operator("{} LIKE ANY ({}, {})", "SPP", "B"),
    Operator("{} LIKE {} ESCAPE '!'", "SP", "B"),
    Operator("CASE {} WHEN {} THEN {} ELSE {} END", "XXXX", "X"),
    Operator("CASE WHEN {} THEN {} END", "BX", "X"),
    Operator("abs({})", "N", "N"),
    Operator("coalesce({}, {})", "XX", "X"),
    Operator("array({}, {})[0]", "XX", "X"),
    Operator("{}[1]", "A", "N"),
    Operator("{}['k']", "M", "N"),
    Operator("{}.f", "R", "N"),
    Operator("named_struct('f', {}).f", "X", "X"),
    Operator("CAST({} AS STRING)", "X", "S"),
    Operator("DATE '2024-02-29' + {}", "I", "D"),
    Operator("{} - {}", "DD", "V"),
    Operator("{} + {}", "DV", "D"),
    Operator("{} - INTERVAL 1 MONTH", "D", "D"),
    Operator("INTERVAL '1' DAY * {}", "N", "V"),
    Operator("{} * INTERVAL '1 2' DAY TO HOUR", "N", "V"),
    Operator("INTERVAL '3' HOUR + {}", "D", "D"),
    Operator("- INTERVAL '1' DAY / {}", "N", "V"),
    Operator("{} COLLATE UTF8_BINARY", "S", "S"),
)
KINDS = {
    "N": "ijlfdnwhy", "I": "ijlhy", "S": "su", "P": "tv", "B": "bc", "D": "egz", "A": "a", "M": "m", "R": "r",
    "V": ("INTERVAL '1' DAY", "INTERVAL 2 HOURS"),
}  # fmt: skip
"""What may stand in an operand of a kind: columns, for intervals literals."""
ANY = "NNISBD"

COLUMNS = {
    "y": ("TINYINT", "3", "-1", "NULL"),
    "h": ("SMALLINT", "5", "-2", "7"),
    "i": ("INT", "6", "-3", "9"),
    "j": ("INT", "2", "1", "4"),
    "l": ("BIGINT", "12", "-7", "1"),
    "f": ("FLOAT", "1.5", "-0.25", "2"),
    "d": ("DOUBLE", "2.5", "-1e10", "'NaN'"),
    "n": ("DECIMAL(9,2)", "3.25", "-0.5", "NULL"),
    "w": ("DECIMAL(20,0)", "7", "-9", "11"),
    "s": ("STRING", "'12'", "'1'", "NULL"),
    "u": ("STRING", "'3'", "'12'", "'7'"),
    "t": ("STRING", "'1%'", "'_'", "'%2'"),
    "v": ("STRING", "'12'", "'3|1'", "NULL"),
    "b": ("BOOLEAN", "TRUE", "FALSE", "NULL"),
    "c": ("BOOLEAN", "FALSE", "TRUE", "TRUE"),
    "e": ("DATE", "'2024-02-28'", "'1970-01-01'", "NULL"),
    "g": ("TIMESTAMP", "'2024-02-28 23:59:58.5'", "'1969-12-31 00:00:01'", "NULL"),
    "z": ("TIMESTAMP_NTZ", "'2024-02-28 23:59:58.5'", "'1969-12-31 00:00:01'", "NULL"),
    "a": ("ARRAY<INT>", "array(1, 2)", "array(3, NULL)", "array(0, 5)"),
    "m": ("MAP<STRING, INT>", "map('k', 1)", "map('k', 2)", "map('k', 3)"),
    "r": (
        "STRUCT<f: INT, g: STRING>",
        "named_struct('f', 1, 'g', 'x')",
        "named_struct('f', 2, 'g', '')",
        "NULL",
    ),
}
"""Columns by name: the type and a value for each row."""
SMALL = {name: kind for name, (kind, *_) in COLUMNS.items() if kind in ("TINYINT", "SMALLINT")}
"""Types that no Iceberg table has: made from others by the query."""


def rows(first: int, last: int, *, narrow: bool = False) -> str:
    """A query of some rows of the table, from 1 to 3; `narrow`: with columns of every type."""
    values = (
        ", ".join(
            [
                str(row),
                *(f"CAST({v[row]} AS {v[0] if narrow else wide(v[0])})" for v in COLUMNS.values()),
            ]
        )
        for row in range(first, last + 1)
    )
    listed = ", ".join(f"({value})" for value in values)
    return f"SELECT * FROM VALUES {listed} AS t(id, {', '.join(COLUMNS)})"


def wide(kind: str) -> str:
    """The type in the table."""
    return "INT" if kind in ("TINYINT", "SMALLINT") else kind


def relation(table: str) -> str:
    """The table with its columns of every type, as a query reads it."""
    names = (f"CAST({n} AS {SMALL[n]}) AS {n}" if n in SMALL else n for n in COLUMNS)
    return f"(SELECT id, {', '.join(names)} FROM {table}) AS r"


def inside(outer: Operator, inner: Operator, slot: int) -> Operator:
    """One operator in an operand of another, without brackets."""
    holes = ["{}"] * len(outer.kinds)
    holes[slot] = inner.text
    same = inner.result if outer.kinds[slot] == "X" else "X"
    kinds = [same if kind == "X" else kind for kind in outer.kinds]
    kinds[slot] = inner.kinds
    result = same if outer.result == "X" else outer.result
    return Operator(outer.text.format(*holes), "".join(kinds), result)


def pairs() -> list[Operator]:
    """Every operator in every operand of every other; operands are still open."""
    made = (
        inside(outer, inner, slot)
        for outer, inner in product(OPERATORS, OPERATORS)
        for slot in range(len(outer.kinds))
    )
    return list({(item.text, item.kinds): item for item in made}.values())


def triples(rng: Random, count: int) -> Iterator[Operator]:
    """Some of three operators, one inside the other or side by side."""
    for _ in range(count):
        one, two, three = rng.choices(OPERATORS, k=3)
        made = inside(one, two, rng.randrange(len(one.kinds)))
        yield inside(made, three, rng.randrange(len(made.kinds)))


def filled(operator: Operator, rng: Random) -> str:
    """The operator over columns of the kinds that it wants."""
    same = rng.choice(ANY)
    operands = (rng.choice(KINDS[same if kind == "X" else kind]) for kind in operator.kinds)
    return operator.text.format(*operands)
