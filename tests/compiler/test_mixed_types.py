"""Keys are never carried over an equality of two types: "01" = 1 and 1 = "1", but "01" is not "1"."""

from __future__ import annotations

import pytest

from compiler.laws.plans import Runner, Sources

BIG = 2**53
"""The first integer from which a DOUBLE takes two of them for the same."""
TEXTS = ({"l": "VARCHAR", "t": "INT", "u": "VARCHAR"}, ("1", 1, "1", "01"))
NUMBERS = ({"l": "BIGINT", "t": "DOUBLE", "u": "BIGINT"}, (BIG, float(BIG), BIG, BIG + 1))
DECIMALS = (
    {"l": "DECIMAL(20,1)", "t": "DOUBLE", "u": "DECIMAL(18,0)"},
    (BIG, float(BIG), BIG, BIG + 1),
)
VIEWS = (
    "SELECT q.x, q.z FROM (SELECT t.x, MAX(u.z) AS z FROM t JOIN u ON t.x = u.s GROUP BY t.x) AS q"
    " JOIN l ON l.v < q.z",
    "SELECT q.x, q.z FROM (SELECT t.x, SUM(u.z) AS z FROM t LEFT JOIN u ON t.x = u.s GROUP BY t.x)"
    " AS q JOIN l ON l.v < q.z",
    "SELECT q.x, q.r FROM (SELECT t.x, COUNT(*) OVER (PARTITION BY t.x) AS r"
    " FROM t JOIN u ON t.x = u.s) AS q JOIN l ON l.v < q.r",
    "SELECT l.v, q.z FROM l LEFT JOIN (SELECT t.x, u.z FROM t LEFT JOIN u ON t.x = u.s) AS q"
    " ON l.k = q.x",
    "SELECT l.v, t.x, u.z FROM l JOIN t ON l.k = t.x LEFT JOIN u ON t.x = u.s",
    "SELECT l.v, t.x FROM l JOIN t ON l.k = t.x"
    " WHERE EXISTS (SELECT 1 FROM u WHERE u.s = t.x AND u.z < 6)",
    "SELECT l.v, t.x FROM l JOIN t ON l.k = t.x"
    " WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.s = t.x AND u.z < 6)",
    "SELECT l.v, (SELECT SUM(u.z) FROM t JOIN u ON t.x = u.s WHERE t.x = l.k) AS q FROM l",
    "SELECT l.v, EXISTS (SELECT 1 FROM t JOIN u ON t.x = u.s WHERE t.x = l.k AND u.z < 6) AS m"
    " FROM l",
)


@pytest.mark.parametrize("kinds", [TEXTS, NUMBERS, DECIMALS], ids=["texts", "numbers", "decimals"])
@pytest.mark.parametrize("sql", VIEWS)
def test_equal_values_of_two_types_are_not_the_same(
    sql: str, kinds: tuple[dict[str, str], tuple[object, ...]]
) -> None:
    types, (key, number, text, other) = kinds
    sources = Sources.of(
        {
            "l": {"k": types["l"], "v": "INT"},
            "t": {"x": types["t"]},
            "u": {"s": types["u"], "z": "INT"},
        }
    )
    sources.take({"l": {(key, 0): 1}, "t": {(number,): 1}, "u": {(text, 9): 1}})
    runner = Runner.build(sql, sources)
    for changes in (
        {"u": {(other, 5): 1}},
        {"t": {(number,): 1}},
        {"u": {(text, 9): -1}, "l": {(key, 1): 1}},
        {"u": {(other, 5): -1, (text, 7): 1}},
        {"t": {(number,): -1}, "l": {(key, 0): -1}},
    ):
        sources.take(changes)
        runner.refresh()
        assert not runner.difference(), changes


def test_what_follows_from_an_empty_step_still_has_its_columns() -> None:
    sources = Sources.of(
        {
            "a": {"k": "INT", "v": "INT"},
            "b": {"k": "INT", "v": "INT"},
            "c": {"y": "INT", "z": "INT"},
        }
    )
    sources.take({"a": {(1, 1): 1, (2, 2): 1}, "b": {(1, 1): 1, (2, 2): 1}, "c": {(1, 1): 1}})
    sql = (
        "SELECT MAX(c.z) AS m FROM (SELECT a.k, COUNT(*) AS x FROM a JOIN b ON a.k = b.k"
        " GROUP BY a.k) AS q LEFT JOIN c ON c.y = q.k"
    )
    runner = Runner.build(sql, sources)
    for changes in ({"a": {(7, 9): 1}}, {"b": {(7, 1): 1}}, {"c": {(7, 8): 1}}):
        sources.take(changes)
        runner.refresh()
        assert not runner.difference(), changes
