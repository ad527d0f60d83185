"""F011: every shape equals its query after every window, or is refused at compile with a code."""

from __future__ import annotations

from hashlib import blake2b

import pytest

from compiler.test_shapes import LOUD, ORDINARY, REFUSED, SILENTLY_WRONG, Feed, Shape
from grebe import MaterializedView, compile_ivm
from grebe.errors import DefinitionError
from programs.lake import Lake, maintain

SCHEMAS = {"t": {"g": "INTEGER", "x": "INTEGER"}, "u": {"g": "INTEGER", "y": "INTEGER"}}

PLAIN = {
    "projection": Shape("SELECT g FROM t", ORDINARY),
    "computed column": Shape("SELECT g, x * 2 + g AS z FROM t", ORDINARY),
    "WHERE that NULL decides": Shape("SELECT g, x FROM t WHERE x <> 5", ORDINARY),
    "CASE": Shape("SELECT CASE WHEN x > 9 THEN 'big' ELSE 'small' END AS k, g FROM t", ORDINARY),
    "DISTINCT": Shape("SELECT DISTINCT g FROM t", ORDINARY),
    "COUNT and SUM": Shape("SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g", ORDINARY),
    "MIN and MAX": Shape("SELECT g, MIN(x) AS a, MAX(x) AS b FROM t GROUP BY g", ORDINARY),
    "AVG": Shape("SELECT g, AVG(x) AS a FROM t GROUP BY g", ORDINARY),
    "HAVING": Shape("SELECT g, SUM(x) AS s FROM t GROUP BY g HAVING COUNT(*) > 1", ORDINARY),
    "FILTER": Shape("SELECT g, SUM(x) FILTER (WHERE x > 5) AS s FROM t GROUP BY g", ORDINARY),
    "MEDIAN": Shape("SELECT g, MEDIAN(x) AS m FROM t GROUP BY g", ORDINARY),
    "LEFT JOIN": Shape("SELECT t.g, x, y FROM t LEFT JOIN u ON t.g = u.g", ORDINARY),
    "FULL JOIN": Shape("SELECT t.g, x, y FROM t FULL JOIN u ON t.g = u.g", ORDINARY),
    "anti join": Shape("SELECT g, x FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.g = t.g)", ORDINARY),
    "NOT IN": Shape("SELECT g, x FROM t WHERE g NOT IN (SELECT g FROM u WHERE g IS NOT NULL)", ORDINARY),
    "scalar subquery": Shape("SELECT g, x FROM t WHERE x > (SELECT MIN(y) / 50 FROM u)", ORDINARY),
    "correlated scalar": Shape(
        "SELECT g, x, (SELECT SUM(y) FROM u WHERE u.g = t.g) AS s FROM t", ORDINARY
    ),
    "UNION ALL": Shape("SELECT g FROM t UNION ALL SELECT g FROM u", ORDINARY),
    "UNION": Shape("SELECT g FROM t UNION SELECT g FROM u", ORDINARY),
    "EXCEPT": Shape("SELECT g FROM t EXCEPT SELECT g FROM u", ORDINARY),
    "EXCEPT ALL": Shape("SELECT g FROM t EXCEPT ALL SELECT g FROM u", ORDINARY),
    "INTERSECT": Shape("SELECT g FROM t INTERSECT SELECT g FROM u", ORDINARY),
    "INTERSECT ALL": Shape("SELECT g FROM t INTERSECT ALL SELECT g FROM u", ORDINARY),
    "CTE used twice": Shape(
        "WITH a AS (SELECT g, SUM(x) AS s FROM t GROUP BY g)"
        " SELECT p.g, p.s, q.s AS other FROM a AS p JOIN a AS q ON p.s = q.s",
        ORDINARY,
    ),
    "CTE named like a table": Shape("WITH t AS (SELECT g, x FROM t WHERE x > 5) SELECT g FROM t", ORDINARY),
}  # fmt: skip
UNNAMED = "expression without alias"
ALL = {name: item for name, item in {**SILENTLY_WRONG, **LOUD, **PLAIN}.items() if name != UNNAMED}
STOPPED = {**REFUSED, UNNAMED: "SELECT g, x + 1 FROM t"}


def test_F011_there_are_at_least_fifty_one_shapes() -> None:
    assert len(ALL) + len(STOPPED) >= 51


@pytest.mark.parametrize("name", ALL)
def test_F011_shape_equals_its_query_after_every_window(shared: Lake, name: str) -> None:
    shape = ALL[name]
    place = f"s{blake2b(name.encode(), digest_size=4).hexdigest()}"
    shared.run(f"CREATE SCHEMA dl.{place}")
    for table, columns in SCHEMAS.items():
        fields = ", ".join(f"{key} {kind}" for key, kind in columns.items())
        shared.run(f"CREATE TABLE dl.{place}.{table} ({fields})")
    view: MaterializedView | None = None
    for window in shape.windows:
        for table, feed in window.items():
            _write(shared, f"dl.{place}.{table}", feed)
        if view is None:
            view = compile_ivm(shape.sql, mv_schema=place, schemas=SCHEMAS)
            shared.run(view.create_cursors_table, view.create_mv, *view.initialize_cursors)
        else:
            maintain(shared.con, view)
        _equal(shared, view, shape.sql, place)


def _write(lake: Lake, table: str, feed: Feed) -> None:
    """Every change as a commit of its own, in order."""
    for weight, row in feed:
        values = ", ".join("NULL" if value is None else str(value) for value in row)
        if weight > 0:
            lake.run(f"INSERT INTO {table} VALUES ({values})")
            continue
        named = ", ".join(f"c{place}" for place in range(len(row)))
        on = " AND ".join(
            f"c{place} IS NOT DISTINCT FROM {'NULL' if value is None else value}"
            for place, value in enumerate(row)
        )
        found = f"SELECT MIN(id) FROM (SELECT *, rowid FROM {table}) AS h({named}, id) WHERE {on}"
        lake.run(f"DELETE FROM {table} WHERE rowid = ({found})")


def _equal(lake: Lake, view: MaterializedView, sql: str, place: str) -> None:
    lake.run(f"USE dl.{place}")
    shown, truth = f"SELECT * FROM ({view.query_mv})", f"SELECT * FROM ({sql})"
    found = lake.rows(f"{shown} EXCEPT ALL {truth}"), lake.rows(f"{truth} EXCEPT ALL {shown}")
    lake.run("USE memory")
    assert found == ([], []), sql


@pytest.mark.parametrize("name", STOPPED)
def test_F011_shape_is_refused_at_compile_with_a_code(name: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        compile_ivm(STOPPED[name], schemas=SCHEMAS)
    assert caught.value.code
