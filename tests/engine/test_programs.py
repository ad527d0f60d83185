"""F004: programs for Spark SQL, with versions supplied by the caller, on real Iceberg tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evidence import LongRun
from grebe import MaterializedView, Naming, compile_ivm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPACE = "lake.programs"
SCHEMAS = {
    "t": {"g": "INT", "x": "INT", "d": "DECIMAL(10,2)"},
    "u": {"g": "INT", "y": "INT"},
}
SHORT = {
    "groups": "SELECT t.g, SUM(u.y) AS s, MIN(t.x) AS m, COUNT(*) AS n FROM t JOIN u ON t.g = u.g"
    " GROUP BY t.g",
    "bag": "SELECT g, x * 2 AS z FROM t WHERE x > 1",
}
LONG = SHORT | {
    "replace": "SELECT g, x, SUM(x) OVER (PARTITION BY g) AS a FROM t",
    "global": "SELECT COUNT(*) AS n, SUM(d) AS s FROM t",
    "average": "SELECT g, AVG(d) AS a FROM t GROUP BY g HAVING COUNT(*) > 1",
    "outer": "SELECT t.x, u.y FROM t LEFT JOIN u ON t.g = u.g",
    "except": "SELECT g FROM t EXCEPT ALL SELECT y FROM u",
    "not in": "SELECT g, x FROM t WHERE g NOT IN (SELECT y FROM u)",
    "distinct": "SELECT DISTINCT g FROM t",
}
WINDOWS = (
    (
        "INSERT INTO {t} VALUES (1, 7, 1.25), (NULL, 3, NULL), (3, 3, 0.5), (3, 3, 0.5)",
        "DELETE FROM {t} WHERE x = 5",
        "UPDATE {u} SET y = y + 1 WHERE g = 1",
        "INSERT INTO {u} VALUES (3, 3), (NULL, 1)",
    ),
    (
        "DELETE FROM {t} WHERE g = 1",
        "UPDATE {t} SET g = 1 WHERE g = 3",
        "INSERT INTO {u} VALUES (9, 9)",
        "DELETE FROM {u} WHERE g = 9",
        "DELETE FROM {u} WHERE g IS NULL",
    ),
)


@dataclass
class Shop:
    """Two Iceberg tables, and views kept by their programs."""

    spark: SparkSession

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement.format(t=f"{SPACE}.t", u=f"{SPACE}.u"))

    def run_all(self, statements: list[str]) -> None:
        for statement in statements:
            self.spark.sql(statement)

    def heads(self) -> dict[str, int]:
        newest = "SELECT snapshot_id FROM {}.snapshots ORDER BY committed_at DESC LIMIT 1"
        return {
            f"{SPACE}.{table}": self.spark.sql(newest.format(f"{SPACE}.{table}")).collect()[0][0]
            for table in SCHEMAS
        }

    def seen(self, view: MaterializedView) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.spark.sql(view.read_cursor).collect()[0][0])
        return found

    def create(self, view: MaterializedView) -> None:
        made = view.pinned(self.heads())
        self.run_all([made.create_cursors_table, made.create_mv, *made.initialize_cursors])

    def maintain(self, view: MaterializedView, upto: dict[str, int]) -> None:
        self.run_all(view.pinned(upto, after=self.seen(view)).maintain)

    def check(self, view: MaterializedView, sql: str) -> None:
        self.spark.sql(f"USE {SPACE}")
        shown, truth = (
            Counter(tuple(row) for row in self.spark.sql(text).collect())
            for text in (view.query_mv, sql)
        )
        assert shown == truth, sql


class Named(Naming):
    def __init__(self, name: str) -> None:
        self.name = name

    def mv_table(self) -> str:
        return self.name


def compiled(name: str, sql: str, **options: str) -> MaterializedView:
    naming = Named(name.replace(" ", "_"))
    return compile_ivm(
        sql,
        dialect="spark",
        naming=naming,
        mv_catalog="lake",
        mv_schema="programs",
        schemas=SCHEMAS,
        **options,  # type: ignore[arg-type]
    )


@pytest.fixture
def shop(spark: SparkSession) -> Iterator[Shop]:
    made = Shop(spark)
    made.run(
        f"CREATE NAMESPACE IF NOT EXISTS {SPACE}",
        "CREATE TABLE {t} (g INT, x INT, d DECIMAL(10,2))",
        "CREATE TABLE {u} (g INT, y INT)",
        "INSERT INTO {t} VALUES (1, 5, 1), (1, 2, 2.5), (2, 5, 3), (NULL, 3, 4), (1, 2, 2.5)",
        "INSERT INTO {u} VALUES (1, 10), (2, 3), (1, 10), (NULL, 5)",
    )
    yield made
    spark.sql("USE spark_catalog.default")  # other tests say nothing of the current catalog
    for row in spark.sql(f"SHOW TABLES IN {SPACE}").collect():
        spark.sql(f"DROP TABLE {SPACE}.{row['tableName']} PURGE")


def kept(shop: Shop, views: dict[str, str], windows: int) -> None:
    made = {name: (compiled(name, sql), sql) for name, sql in views.items()}
    for view, sql in made.values():
        shop.create(view)
        shop.check(view, sql)
    for window in WINDOWS[:windows]:
        shop.run(*window)
        upto = shop.heads()
        for view, sql in made.values():
            shop.maintain(view, upto)
            shop.check(view, sql)
            seen = shop.seen(view)
            assert all(seen[name] == upto[name] for name in view.sources)


@pytest.mark.laws
def test_F004_a_program_for_spark_equals_its_query(shop: Shop) -> None:
    kept(shop, SHORT, 1)


def test_F004_a_program_for_spark_applies_a_window_once(shop: Shop) -> None:
    """A second run from the same place is refused, and writes nothing."""
    from pyspark.errors import PySparkException

    view = compiled("once", SHORT["groups"])
    shop.create(view)
    before = shop.seen(view)
    shop.run(*WINDOWS[0])
    upto = shop.heads()
    again = view.pinned(upto, after=before)
    shop.maintain(view, upto)
    head = f"SELECT COUNT(*) FROM {SPACE}.once.snapshots"
    commits = shop.spark.sql(head).collect()
    with pytest.raises(PySparkException):
        shop.run_all(again.maintain)
    assert shop.spark.sql(head).collect() == commits
    shop.check(view, SHORT["groups"])


@pytest.mark.laws
@pytest.mark.timeout(3000)
def test_F004_programs_for_spark_of_every_strategy(
    shop: Shop, tmp_path: Path, long_run: LongRun
) -> None:
    for _ in long_run.seeds():
        kept(shop, LONG, 2)
        long_run.add(views=len(LONG), checks=len(LONG) * 3)
        for name in LONG:
            shop.spark.sql(f"DROP TABLE {SPACE}.{name.replace(' ', '_')} PURGE")
