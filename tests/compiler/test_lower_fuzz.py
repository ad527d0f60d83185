"""Garbage in: always a meaning or a typed error with a position, never another exception."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from compiler.databases import lowered
from grebe.compiler.lower import Lowered
from grebe.errors import GrebeError, InternalError

SEEDS = [
    text.strip()
    for text in (Path(__file__).parent / "queries.sql").read_text().split(";\n")
    if text.strip()
]
TOKEN = re.compile(r"\w+|'[^']*'|\s+|.", re.DOTALL)
WORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "JOIN",
    "LEFT",
    "RIGHT",
    "FULL",
    "ON",
    "USING",
    "NATURAL",
    "LATERAL",
    "UNION",
    "ALL",
    "EXCEPT",
    "INTERSECT",
    "DISTINCT",
    "WITH",
    "RECURSIVE",
    "AS",
    "EXISTS",
    "NOT",
    "IN",
    "ANY",
    "NULL",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "CAST",
    "OVER",
    "PARTITION",
    "ROWS",
    "RANGE",
    "QUALIFY",
    "WINDOW",
    "ROLLUP",
    "CUBE",
    "GROUPING",
    "SETS",
    "PIVOT",
    "UNPIVOT",
    "UNNEST",
    "VALUES",
    "FILTER",
    "r",
    "t",
    "u",
    "n",
    "k",
    "x",
    "s",
    "y",
    "z",
    "st",
    "arr",
    "1",
    "0",
    "2.5",
    "'a'",
    "(",
    ")",
    ",",
    ".",
    "*",
    "+",
    "-",
    "/",
    "=",
    "<",
    ">",
    ";",
    "?",
    ":p",
    "::",
    "[",
    "]",
    "{",
    "}",
    "--",
    "/*",
    "*/",
    "@",
    "$1",
    "#",
    "\\",
    "`",
    '"',
    "now()",
    "random()",
    "sum(x)",
    "count(*)",
    "row_number()",
    "unknown_fn(x)",
    "explode(arr)",
    "interval",
    "'1'",
    "day",
    "x",
    "->",
    "x",
    "+",
    "1",
    "TABLESAMPLE",
    "FOR",
    "UPDATE",
    "INSERT",
    "DELETE",
    "CREATE",
    "DROP",
    "COLLATE",
    "IGNORE",
    "NULLS",
    "WITHIN",
    "FETCH",
    "FIRST",
    "TIES",
]


KINDS = [
    ["r", "t", "u", "n"],
    ["k", "x", "s", "y", "z", "d", "q", "arr", "st", "a", "b", "c"],
    ["sum", "max", "count", "rank", "avg", "lag", "first", "array_agg"],
]


def mutated(rng: random.Random) -> str:
    tokens = TOKEN.findall(rng.choice(SEEDS))
    if rng.random() < 0.7:
        renamed(rng, tokens)
    else:
        for _ in range(rng.randint(1, 3)):
            broken(rng, tokens)
    return "".join(tokens) or "SELECT"


def renamed(rng: random.Random, tokens: list[str]) -> None:
    """Other names and literals in the same places: mostly still SQL, seldom still right."""
    words = [i for i, token in enumerate(tokens) if token.isidentifier() and token.islower()]
    numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
    for place in rng.sample(words, min(len(words), rng.randint(1, 3))):
        kind = next((kind for kind in KINDS if tokens[place] in kind), KINDS[1])
        tokens[place] = rng.choice(kind if rng.random() < 0.9 else KINDS[1])
    for place in rng.sample(numbers, min(len(numbers), rng.randint(0, 1))):
        tokens[place] = rng.choice(("0", "99", "NULL", "'a'", "x", "(SELECT MAX(y) FROM t)"))
    if rng.random() < 0.3:
        broken(rng, tokens)


def broken(rng: random.Random, tokens: list[str]) -> None:
    place = rng.randrange(len(tokens) + 1)
    match rng.randrange(6):
        case 0:
            tokens[place : place + 1] = []
        case 1:
            tokens.insert(place, f" {rng.choice(WORDS)} ")
        case 2:
            tokens[place : place + 1] = [rng.choice(WORDS)]
        case 3:
            other = TOKEN.findall(rng.choice(SEEDS))
            start = rng.randrange(len(other))
            tokens[place:place] = other[start : start + rng.randint(1, 12)]
        case 4:
            end = place + rng.randint(1, 6)
            tokens[place:end] = ["(", *tokens[place:end], ")"]
        case _:
            end = place + rng.randint(1, 6)
            tokens[place:place] = tokens[place:end]


def check(sql: str, dialect: str) -> type[object]:
    try:
        found = lowered(sql, dialect)
    except GrebeError as error:
        assert not isinstance(error, InternalError), sql
        assert error.where is not None, sql
        assert error.where.line >= 1, sql
        assert error.where.column >= 1, sql
        return type(error)
    assert isinstance(found, Lowered)
    assert all(reason.where is not None for reason in found.reasons), sql
    assert (found.root is None) <= bool(found.reasons), sql
    return Lowered


@pytest.mark.parametrize("part", range(10))
def test_mutated_text_is_understood_or_refused_with_a_position(part: int) -> None:
    rng = random.Random(7919 + part)
    seen = {check(mutated(rng), rng.choice(("duckdb", "spark"))) for _ in range(1000)}
    assert Lowered in seen


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 3000 + "1" + ")" * 3000 + " AS x",
        "SELECT " + "NOT " * 5000 + "TRUE AS x",
        "SELECT " + " + ".join(["x"] * 20000) + " AS x FROM r",
        "SELECT k FROM " + "(SELECT k FROM " * 400 + "r" + ")" * 400,
        " UNION ALL ".join(["SELECT k FROM r"] * 2000),
        "SELECT 1 AS x WHERE " + " AND ".join(["TRUE"] * 20000),
        "\x00", "", ";;", "--", "/*", "'", "SELECT", "\ud800",
    ],
)  # fmt: skip
def test_deep_or_empty_text_gives_a_typed_error_or_a_meaning(sql: str) -> None:
    for dialect in ("spark", "duckdb"):
        check(sql, dialect)
