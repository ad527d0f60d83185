"""A small shop lake for the engine's tests, and batches that mix every kind of change."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from grebe.config import Settings
from grebe.engine.engine import Engine
from grebe.engine.refresh import RefreshResult
from grebe.errors import GrebeError, StepFailedError
from grebe.model import Outcome, Policy, TableName
from same_rows import assert_same_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MERGE_ON_READ = (
    "TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read',"
    " 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')"
)

Results = dict[str, RefreshResult]

At = Callable[[str, Callable[[], None]], None]
"""What the fixture `at` gives."""

VIEWS = {
    "by_nation": """
        SELECT nation, day, SUM(amount) AS total, COUNT(*) AS n, AVG(amount) AS mean,
               MAX(amount) AS largest, SUM(score) AS scores
        FROM {s}.orders AS o JOIN {s}.customers AS c ON o.cust = c.cust
        GROUP BY nation, day""",
    "late": """
        SELECT o.id, o.amount, c.nation
        FROM {s}.orders AS o LEFT JOIN {s}.customers AS c ON o.cust = c.cust
        WHERE o.amount > 90""",
    "ranked": """
        SELECT cust, id, amount, RANK() OVER (PARTITION BY cust ORDER BY amount DESC) AS place
        FROM {s}.orders QUALIFY place <= 3""",
    "days": "SELECT DISTINCT cust, day FROM {s}.orders",
    "best": """
        SELECT nation, SUM(total) AS total, SUM(n) AS n
        FROM {s}.by_nation GROUP BY nation HAVING SUM(n) > 10""",
}


def is_first(result: RefreshResult) -> bool:
    """Whether a view was built for the first time."""
    return any(reason.code == "first-refresh" for reason in result.reasons)


@dataclass(slots=True)
class Shop:
    """Orders and customers in a schema of their own, and an engine over them."""

    spark: SparkSession
    engine: Engine
    schema: str

    @staticmethod
    def opened(spark: SparkSession, project: Settings, schema: str, orders: int = 400) -> Shop:
        """A new lake."""
        shop = Shop(spark, Engine(project, spark), schema)
        spark.sql(f"CREATE NAMESPACE lake.{schema}")
        spark.sql(
            f"CREATE TABLE lake.{schema}.orders (id BIGINT, cust BIGINT, amount DECIMAL(10,2),"
            f" day DATE, score DOUBLE) USING iceberg {MERGE_ON_READ}"
        )
        spark.sql(
            f"CREATE TABLE lake.{schema}.customers (cust BIGINT, nation STRING) USING iceberg"
        )
        shop.sql(
            "INSERT INTO {s}.orders SELECT id, id % 20, CAST(id % 100 AS DECIMAL(10,2)),"
            f" DATE'2026-01-01' + CAST(id % 5 AS INT), id / 7.0 FROM range({orders})"
        )
        shop.sql("INSERT INTO {s}.customers SELECT id, concat('n', id % 4) FROM range(17)")
        return shop

    def sql(self, text: str) -> None:
        """Run a statement; {s} is the schema."""
        self.spark.sql(text.format(s=f"lake.{self.schema}")).collect()

    def define(self, *names: str, policy: Policy = Policy.INCREMENTAL) -> None:
        """Define some of the views."""
        for name in names:
            self.view(name, VIEWS[name], policy)

    def view(self, name: str, text: str, policy: Policy = Policy.INCREMENTAL) -> None:
        """Define a view of one's own."""
        self.engine.define(f"{self.schema}.{name}", text.format(s=self.schema), policy)

    def refreshed(
        self,
        *,
        failing: Set[str] = frozenset(),
        raising: Set[str] = frozenset(),
        first: bool = False,
        **options: object,
    ) -> Results:
        """The results by short name; every view equals its query but those that have to fail.

        ``raising`` are views whose text plain Spark cannot run on this data. A first build is its text's own answer, and
        where a test begins: it is compared when the test is about that, which ``first`` says.
        """
        results = self.engine.refresh(**options)  # type: ignore[arg-type]
        failed = {item.view.name: item.error for item in results if item.error is not None}
        assert failed.keys() == failing, failed
        for result in results:
            if result.view.name in raising:
                with pytest.raises(StepFailedError):
                    self.engine.verify(f"{self.schema}.{result.view.name}")
            elif result.view.name not in failed and (first or not is_first(result)):
                self.engine.verify(f"{self.schema}.{result.view.name}")
        return {result.view.name: result for result in results}

    def storage(self, name: str) -> TableName:
        """The table behind a view."""
        return self.engine.view(f"{self.schema}.{name}").storage_name

    def rows(self, name: str) -> list[str]:
        """What readers see, in no order."""
        return sorted(map(str, self.spark.table(f"lake.{self.schema}.{name}").collect()))

    def failed(self, name: str) -> GrebeError:
        """The error of a refresh that must fail, and must leave what readers see as it is."""
        before = self.rows(name)
        (result,) = self.engine.refresh([f"{self.schema}.{name}"])
        assert result.outcome is Outcome.FAILED, result
        assert result.error is not None
        assert self.rows(name) == before
        return result.error

    def equals(self, name: str, text: str) -> None:
        """The view is its query over the sources as they are now."""
        shown = self.spark.table(f"lake.{self.schema}.{name}")
        query = self.spark.sql(text.format(s=f"lake.{self.schema}"))
        assert_same_rows(shown, query)

    def batch(self, step: int) -> None:
        """Inserts, updates and deletes on both tables, NULLs, duplicates, rows that come and go."""
        base = 10_000 * (step + 1)
        self.sql(
            f"INSERT INTO {{s}}.orders VALUES ({base}, 3, 99.5, DATE'2026-01-02', 1.5),"
            f" ({base}, 3, 99.5, DATE'2026-01-02', 1.5), ({base + 1}, NULL, NULL, NULL, NULL),"
            f" ({base + 2}, 18, 95, DATE'2026-02-01', 0.1), ({base + 3}, 2, 1, NULL, NULL)"
        )
        self.sql(f"DELETE FROM {{s}}.orders WHERE id % 37 = {step} OR id = {base + 3}")
        self.sql(f"UPDATE {{s}}.orders SET amount = amount + 1 WHERE id % 41 = {step}")
        self.sql(f"UPDATE {{s}}.orders SET cust = cust + 1 WHERE id % 43 = {step}")
        self.sql(f"UPDATE {{s}}.customers SET nation = 'n{step}x' WHERE cust = {step + 3}")
        self.sql(f"INSERT INTO {{s}}.customers VALUES ({18 + step}, 'late'), (NULL, 'none')")
        self.sql(f"DELETE FROM {{s}}.customers WHERE cust = {10 + step}")
