"""F028-F049: one view per form of each rule, all kept over one random history of a real DuckLake."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from grebe import MaterializedView, compile_ivm
from programs.lake import Lake, Named, Rows, difference, maintain, set_up

SCHEMAS = {
    "t": {"g": "INTEGER", "x": "INTEGER", "s": "VARCHAR", "d": "DECIMAL(10,2)"},
    "u": {"g": "INTEGER", "y": "INTEGER"},
    "w": {"y": "INTEGER", "z": "INTEGER"},
}
FORMS: dict[str, dict[str, str]] = {
    "F028": {
        "count": "SELECT g, COUNT(*) AS n, COUNT(x) AS nx FROM t GROUP BY g",
        "sum": "SELECT g, SUM(x) AS a, SUM(d) AS b FROM t GROUP BY g",
        "ordinal": "SELECT g, SUM(x) AS a FROM t GROUP BY 1",
        "alias of an expression": "SELECT x % 2 AS k, SUM(d) AS a FROM t GROUP BY k",
        "key not selected": "SELECT SUM(x) AS a FROM t GROUP BY g, s",
        "no group": "SELECT COUNT(*) AS n, SUM(d) AS a FROM t",
    },
    "F029": {
        "integers": "SELECT g, AVG(x) AS a FROM t GROUP BY g",
        "decimals beside a sum": "SELECT g, AVG(d) AS a, SUM(d) AS b FROM t GROUP BY g",
        "no group": "SELECT AVG(x) AS a FROM t",
    },
    "F030": {
        "min and max": "SELECT g, MIN(x) AS a, MAX(x) AS b FROM t GROUP BY g",
        "with WHERE": "SELECT g, MIN(x) AS a FROM t WHERE x > 1 GROUP BY g",
        "text": "SELECT g, MAX(s) AS a FROM t GROUP BY g",
        "over a join": "SELECT t.g, MIN(y) AS a, MAX(x) AS b FROM t JOIN u ON t.g = u.g GROUP BY t.g",
        "no group": "SELECT MIN(x) AS a, MAX(d) AS b FROM t",
    },
    "F031": {
        "basic": "SELECT DISTINCT g FROM t",
        "with_where": "SELECT DISTINCT g, s FROM t WHERE x > 1",
        "all_unique": "SELECT DISTINCT g, x, s, d FROM t",
        "with a join": "SELECT DISTINCT t.s, u.y FROM t JOIN u ON t.g = u.g",
    },
    "F033": {
        "ON": "SELECT t.g, x, y FROM t JOIN u ON t.g = u.g",
        "USING": "SELECT g, x, y FROM t JOIN u USING (g)",
        "NATURAL": "SELECT g, x, y FROM t NATURAL JOIN u",
        "comma": "SELECT t.x, u.y FROM t, u WHERE t.g = u.g AND u.y > 1",
        "not an equality": "SELECT t.x, u.y FROM t JOIN u ON t.x < u.y",
        "NULL-safe": "SELECT t.x, u.y FROM t JOIN u ON t.g IS NOT DISTINCT FROM u.g",
        "WHERE on both sides": "SELECT t.x, u.y FROM t JOIN u ON t.g = u.g WHERE x > 0 AND y < 3",
        "CROSS": "SELECT t.s, w.z FROM t CROSS JOIN w",
    },
    "F036": {
        "sum": "SELECT u.y, SUM(x) AS a, COUNT(*) AS n FROM t JOIN u ON t.g = u.g GROUP BY u.y",
        "three tables": "SELECT w.z, SUM(d) AS a FROM t JOIN u ON t.g = u.g JOIN w ON u.y = w.y"
        " GROUP BY w.z",
        "HAVING": "SELECT t.g, SUM(y) AS a FROM t JOIN u ON t.g = u.g WHERE x > 0 GROUP BY t.g"
        " HAVING COUNT(*) > 1",
    },
    "F037": {
        "three tables": "SELECT t.x, u.y, w.z FROM t JOIN u ON t.g = u.g JOIN w ON u.y = w.y",
    },
    "F038": {
        "twice": "SELECT a.x, b.x AS other FROM t AS a JOIN t AS b ON a.g = b.g",
        "with a filter": "SELECT a.x, b.s FROM t AS a JOIN t AS b ON a.g = b.g WHERE a.x < b.x",
        "three times": "SELECT a.y, b.y AS p, c.y AS q FROM u AS a JOIN u AS b ON a.g = b.g"
        " JOIN u AS c ON b.y = c.g",
    },
    "F039": {
        "left": "SELECT t.g, x, y FROM t LEFT JOIN u ON t.g = u.g",
        "right": "SELECT t.x, u.g, y FROM t RIGHT JOIN u ON t.g = u.g",
        "full": "SELECT t.g, x, u.g AS h, y FROM t FULL JOIN u ON t.g = u.g",
        "unmatched only": "SELECT t.g, x FROM t LEFT JOIN u ON t.g = u.g WHERE u.g IS NULL",
        "not an equality": "SELECT t.x, u.y FROM t LEFT JOIN u ON t.x < u.y AND t.g > 0",
        "with an aggregate": "SELECT t.g, COUNT(y) AS n, SUM(y) AS a FROM t LEFT JOIN u ON t.g = u.g"
        " GROUP BY t.g",
        "chain": "SELECT t.x, u.y, w.z FROM t LEFT JOIN u ON t.g = u.g LEFT JOIN w ON u.y = w.y",
        "full USING": "SELECT g, x, y FROM t FULL JOIN u USING (g)",
    },
    "F040": {
        "UNION ALL": "SELECT g FROM t UNION ALL SELECT y FROM u",
        "UNION": "SELECT g FROM t UNION SELECT y FROM u",
        "EXCEPT": "SELECT g FROM t EXCEPT SELECT y FROM u",
        "EXCEPT ALL": "SELECT g FROM t EXCEPT ALL SELECT y FROM u",
        "INTERSECT": "SELECT g FROM t INTERSECT SELECT y FROM u",
        "INTERSECT ALL": "SELECT g FROM t INTERSECT ALL SELECT y FROM u",
        "three branches": "SELECT g FROM t UNION ALL SELECT y FROM u UNION SELECT z FROM w",
        "same table twice": "SELECT g FROM t WHERE x > 1 EXCEPT ALL SELECT g FROM t WHERE x < 3",
        "types of two kinds": "SELECT g FROM t UNION ALL SELECT d FROM t",
    },
    "F041": {
        "not selected": "SELECT g FROM t GROUP BY g HAVING SUM(x) > 3",
        "alias": "SELECT g, SUM(x) AS a FROM t GROUP BY g HAVING a > 3",
        "count": "SELECT g, MIN(s) AS a FROM t GROUP BY g HAVING COUNT(*) BETWEEN 2 AND 4",
        "no group": "SELECT SUM(x) AS a FROM t HAVING COUNT(*) > 3",
    },
    "F042": {
        "FROM": "SELECT g, a FROM (SELECT g, SUM(x) AS a FROM t GROUP BY g) AS q WHERE a > 2",
        "IN": "SELECT g, x FROM t WHERE g IN (SELECT g FROM u)",
        "NOT IN": "SELECT g, x FROM t WHERE g NOT IN (SELECT g FROM u WHERE y > 2)",
        "NOT IN with NULL": "SELECT g, x FROM t WHERE g NOT IN (SELECT y FROM u)",
        "EXISTS": "SELECT g, x FROM t WHERE EXISTS (SELECT 1 FROM w WHERE z > 2)",
        "scalar": "SELECT g, x FROM t WHERE x > (SELECT AVG(y) FROM u)",
        "scalar over nothing": "SELECT g, (SELECT MAX(z) FROM w WHERE z > 99) AS m FROM u",
    },
    "F043": {
        "plain": "WITH a AS (SELECT g, x FROM t WHERE x > 1) SELECT g, SUM(x) AS s FROM a GROUP BY g",
        "twice": "WITH a AS (SELECT g, SUM(x) AS s FROM t GROUP BY g)"
        " SELECT p.g, q.s FROM a AS p JOIN a AS q ON p.s = q.s",
        "nested": "WITH a AS (SELECT g FROM t), b AS (SELECT g FROM a WHERE g > 0) SELECT g FROM b",
        "shadow": "WITH t AS (SELECT g, x FROM t WHERE x > 1) SELECT g, x FROM t",
    },
    "F046": {
        "EXISTS": "SELECT g, x FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g = t.g AND u.y > t.x)",
        "NOT EXISTS": "SELECT g, x FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.g = t.g)",
        "scalar": "SELECT g, x, (SELECT SUM(y) FROM u WHERE u.g = t.g) AS a FROM t",
        "scalar in WHERE": "SELECT g, x FROM t WHERE x >= (SELECT COUNT(*) FROM u WHERE u.g = t.g)",
        "IN": "SELECT g, x FROM t WHERE x IN (SELECT y FROM u WHERE u.g = t.g)",
        "NOT IN": "SELECT g, x FROM t WHERE x NOT IN (SELECT y FROM u WHERE u.g = t.g)",
    },
    "F047": {
        "top": "SELECT g, x, s, d FROM t ORDER BY x, g, s, d LIMIT 3",
        "offset": "SELECT y, z FROM w ORDER BY y DESC, z LIMIT 2 OFFSET 1",
    },
    "F049": {
        "STDDEV": "SELECT g, ROUND(STDDEV(x), 6) AS a FROM t GROUP BY g",
        "VAR_POP": "SELECT g, ROUND(VAR_POP(x), 6) AS a FROM t GROUP BY g",
        "MEDIAN": "SELECT g, MEDIAN(x) AS a FROM t GROUP BY g",
        "COUNT DISTINCT": "SELECT g, COUNT(DISTINCT x) AS a, SUM(DISTINCT x) AS b FROM t GROUP BY g",
        "FILTER": "SELECT g, SUM(x) FILTER (WHERE s = 'a') AS a FROM t GROUP BY g",
        "ordered list": "SELECT g, LIST(x ORDER BY x, s) AS a FROM t GROUP BY g",
        "STRING_AGG": "SELECT g, STRING_AGG(s, ',' ORDER BY s) AS a FROM t GROUP BY g",
        "BOOL_OR": "SELECT g, BOOL_OR(x > 2) AS a FROM t GROUP BY g",
    },
}  # fmt: skip
WINDOWS = 2
Found = dict[tuple[str, str], list[tuple[Rows, Rows]]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What each view showed and should not have, and the other way round, after every window."""
    return _kept(tmp_path_factory.mktemp("rules"), seed=28)


def _kept(folder: Path, seed: int) -> Found:
    rng = Random(seed)
    lake = Lake(folder)
    for table, columns in SCHEMAS.items():
        fields = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        lake.run(f"CREATE TABLE dl.{table} ({fields})")
        lake.run(f"INSERT INTO dl.{table} VALUES {_rows(rng, columns, 9)}")
    views: dict[tuple[str, str], tuple[MaterializedView, str]] = {}
    for feature, forms in FORMS.items():
        for name, sql in forms.items():
            view = compile_ivm(sql, naming=Named(f"v{len(views)}"), schemas=SCHEMAS)
            set_up(lake, view)
            views[feature, name] = view, sql
    result: Found = {key: [] for key in views}
    for window in range(WINDOWS):
        _change(lake, rng, last=window == WINDOWS - 1)
        for key, (view, sql) in views.items():
            maintain(lake.con, view)
            result[key].append(difference(lake, view, sql))
    lake.close()
    return result


def _rows(rng: Random, columns: dict[str, str], count: int) -> str:
    """Values from a small range, nearly a third of them NULL, so that rows repeat and join."""

    def cell(kind: str) -> str:
        if rng.random() < 0.3:
            return "NULL"
        return f"'{rng.choice('abc')}'" if kind == "VARCHAR" else str(rng.randint(0, 4))

    made = [f"({', '.join(cell(kind) for kind in columns.values())})" for _ in range(count)]
    return ", ".join([*made, made[0]])


def _change(lake: Lake, rng: Random, *, last: bool) -> None:
    """Several commits: rows that come and go, moves between groups, double updates, emptied groups."""
    for table, columns in SCHEMAS.items():
        key, value = [name for name, kind in columns.items() if kind == "INTEGER"]
        g = rng.randint(0, 4)
        lake.run(
            f"INSERT INTO dl.{table} VALUES {_rows(rng, columns, 3)}",
            f"UPDATE dl.{table} SET {value} = {value} + 1 WHERE {key} = {g}",
            f"UPDATE dl.{table} SET {value} = {value} + 1 WHERE {key} = {g}",
            f"UPDATE dl.{table} SET {key} = {rng.randint(0, 4)} WHERE {value} = {rng.randint(0, 4)}",
            f"DELETE FROM dl.{table} WHERE {key} = {rng.randint(0, 4)}",
            f"INSERT INTO dl.{table} SELECT * FROM dl.{table} WHERE {key} IS NULL LIMIT 1",
            f"INSERT INTO dl.{table} ({key}) VALUES (77)",
            f"DELETE FROM dl.{table} WHERE {key} = 77",
        )
    if last:
        lake.run("DELETE FROM dl.t WHERE g IS NOT NULL", "DELETE FROM dl.w")


def _forms(feature: str) -> list[str]:
    return list(FORMS[feature])


def _equal(found: Found, feature: str, name: str) -> None:
    assert found[feature, name] == [([], [])] * WINDOWS, FORMS[feature][name]


@pytest.mark.parametrize("name", _forms("F028"))
def test_F028_sums_and_counts_per_group(found: Found, name: str) -> None:
    _equal(found, "F028", name)


@pytest.mark.parametrize("name", _forms("F029"))
def test_F029_averages_also_with_nulls(found: Found, name: str) -> None:
    _equal(found, "F029", name)


@pytest.mark.parametrize("name", _forms("F030"))
def test_F030_extremes(found: Found, name: str) -> None:
    _equal(found, "F030", name)


@pytest.mark.parametrize("name", _forms("F031"))
def test_F031_distinct(found: Found, name: str) -> None:
    _equal(found, "F031", name)


@pytest.mark.parametrize("name", _forms("F033"))
def test_F033_join_of_two_tables(found: Found, name: str) -> None:
    _equal(found, "F033", name)


@pytest.mark.parametrize("name", _forms("F036"))
def test_F036_aggregate_over_a_join(found: Found, name: str) -> None:
    _equal(found, "F036", name)


@pytest.mark.parametrize("name", _forms("F037"))
def test_F037_join_of_three_tables(found: Found, name: str) -> None:
    _equal(found, "F037", name)


@pytest.mark.parametrize("name", _forms("F038"))
def test_F038_self_join(found: Found, name: str) -> None:
    _equal(found, "F038", name)


@pytest.mark.parametrize("name", _forms("F039"))
def test_F039_outer_joins(found: Found, name: str) -> None:
    _equal(found, "F039", name)


@pytest.mark.parametrize("name", _forms("F040"))
def test_F040_set_operations(found: Found, name: str) -> None:
    _equal(found, "F040", name)


@pytest.mark.parametrize("name", _forms("F041"))
def test_F041_having(found: Found, name: str) -> None:
    _equal(found, "F041", name)


@pytest.mark.parametrize("name", _forms("F042"))
def test_F042_uncorrelated_subqueries(found: Found, name: str) -> None:
    _equal(found, "F042", name)


@pytest.mark.parametrize("name", _forms("F043"))
def test_F043_common_table_expressions(found: Found, name: str) -> None:
    _equal(found, "F043", name)


@pytest.mark.parametrize("name", _forms("F046"))
def test_F046_correlated_subqueries(found: Found, name: str) -> None:
    _equal(found, "F046", name)


@pytest.mark.parametrize("name", _forms("F047"))
def test_F047_top_rows(found: Found, name: str) -> None:
    _equal(found, "F047", name)


@pytest.mark.parametrize("name", _forms("F049"))
def test_F049_other_aggregates_are_never_stale(found: Found, name: str) -> None:
    _equal(found, "F049", name)
