"""What an explanation prints of a run is what ran: run by hand, it gives the rows of the refresh."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from engine.shop import Shop
from grebe import thresholds
from grebe.compiler.algebra.nodes import At, Distinct, Node
from grebe.compiler.bind.known import Known
from grebe.compiler.bind.situation import Steps
from grebe.compiler.bind.trail import Trail
from grebe.compiler.explain import step_text
from grebe.compiler.write.steps import COPIES, Compute, Step
from grebe.config import Settings
from grebe.engine import execute
from grebe.engine.result import StepRun
from grebe.model import ACTION, WEIGHT, Outcome, Policy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

VIEWS = {
    "append": "SELECT id, amount FROM {s}.orders WHERE amount > 90",
    "groups": "SELECT cust, SUM(amount) AS total, MAX(amount) AS most FROM {s}.orders GROUP BY cust",
    "replace": "SELECT cust, id, RANK() OVER (PARTITION BY cust ORDER BY amount) AS place"
    " FROM {s}.orders",
    "bag": "SELECT o.id, c.nation FROM {s}.orders AS o LEFT JOIN {s}.customers AS c"
    " ON o.cust = c.cust",
    "largest": "SELECT c.nation, q.most FROM {s}.customers AS c LEFT JOIN"
    " (SELECT cust, MAX(amount) AS most FROM {s}.orders GROUP BY cust) AS q ON q.cust = c.cust",
    "overwrite": "SELECT cust, COUNT(*) AS n FROM {s}.orders GROUP BY cust",
}
CHANGES = {
    "append": "INSERT INTO {s}.orders VALUES (9001, 3, 95, DATE'2026-01-01', 0.5)",
}
MIXED = (
    "INSERT INTO {s}.orders VALUES (9001, 3, 95, DATE'2026-01-01', 0.5), (9002, NULL, 1, NULL, NULL)",
    "UPDATE {s}.orders SET amount = amount + 5 WHERE id % 40 = 7",
    "DELETE FROM {s}.orders WHERE id % 60 = 11",
    "UPDATE {s}.customers SET nation = 'n9' WHERE cust = 3",
)
_numbers = itertools.count()
_LEAF = re.compile(
    r"(lake\.\w+\.\w+)@(old|new|delta)(?: near \w+)?|step:(\w+)|(?<=FROM )(stored)\b|(?<=JOIN )(stored)\b"
)


class ByHand:
    """Runs the printed texts over tables at the versions before and after."""

    def __init__(self, spark: SparkSession, stored: DataFrame) -> None:
        self.spark = spark
        self.names: dict[str, str] = {}
        self.rows = Counter(map(tuple, stored.collect()))
        self.columns = stored.columns
        self.show("stored", stored)

    def show(self, leaf: str, frame: DataFrame) -> None:
        self.names[leaf] = f"by_hand_{len(self.names)}"
        frame.createOrReplaceTempView(self.names[leaf])

    def source(self, table: str, old: int, new: int) -> None:
        """A source under the names of its versions and of its change."""
        frames = {
            at: self.spark.read.option("versionAsOf", version).table(table)
            for at, version in (("old", old), ("new", new))
        }
        for at, frame in frames.items():
            self.show(f"{table}@{at}", frame)
        came = frames["new"].exceptAll(frames["old"]).selectExpr("*", f"1L AS {WEIGHT}")
        went = frames["old"].exceptAll(frames["new"]).selectExpr("*", f"-1L AS {WEIGHT}")
        names = [f"`{name}`" for name in frames["new"].columns]
        both = came.unionAll(went).groupBy(*names).sum(WEIGHT)
        self.show(f"{table}@delta", both.withColumnRenamed(f"sum({WEIGHT})", WEIGHT))

    def run(self, step: StepRun) -> None:
        """One step, as it is printed."""
        rows = self.spark.sql(_LEAF.sub(self._name, step.sql))
        match step.kind:
            case "compute":
                self.show(f"step:{step.name}", self._fixed(rows))
            case "check":
                assert not rows.collect(), step
            case "read both versions":
                self._apart(step.name, rows)
            case "append":
                self.rows.update(self._values(rows))
            case "overwrite":
                self.rows = Counter(self._values(rows))
            case "merge":
                on = re.findall(r"[^\s,()]+", step.name.removeprefix("on "))
                self._merge(rows, on)

    def _merge(self, rows: DataFrame, on: list[str]) -> None:
        def key(row: Any) -> tuple[object, ...]:
            return tuple(row[name] for name in on)

        actions = [row.asDict() for row in rows.collect()]
        gone = {key(row) for row in actions if row[ACTION] != "insert"}
        kept = Counter[tuple[object, ...]]()
        met = 0
        for row, copies in self.rows.items():
            matched = key(dict(zip(self.columns, row, strict=True))) in gone
            met += copies if matched else 0
            if not matched:
                kept[row] = copies
        assert met == sum(row[COPIES] for row in actions if row[ACTION] != "insert")
        kept.update(
            tuple(row[name] for name in self.columns) for row in actions if row[ACTION] != "delete"
        )
        self.rows = kept

    def _apart(self, name: str, rows: DataFrame) -> None:
        from grebe.engine.kept_rows import taken_apart

        for at, part in zip((At.NEW, At.OLD), taken_apart(rows.toArrow()), strict=True):
            self.show(f"step:{name}_{at}", self.spark.createDataFrame(part))

    def _values(self, rows: DataFrame) -> list[tuple[object, ...]]:
        return [
            tuple(row) for row in rows.select(*[f"`{name}`" for name in self.columns]).collect()
        ]

    def _fixed(self, rows: DataFrame) -> DataFrame:
        return self.spark.createDataFrame(rows.collect(), schema=rows.schema)

    def _name(self, found: re.Match[str]) -> str:
        table, at, step, *_ = found.groups()
        leaf = f"{table}@{at}" if table else f"step:{step}" if step else "stored"
        return self.names[leaf]


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    return Shop.opened(spark, project, f"explained_runs_{next(_numbers)}", orders=200)


def _head(shop: Shop, table: str) -> int:
    rows = shop.spark.sql(f"SELECT snapshot_id FROM {table}.history ORDER BY made_current_at")
    return int(rows.collect()[-1][0])


def _rows(shop: Shop, view: str) -> DataFrame:
    storage = shop.storage(view)
    return shop.spark.read.option("versionAsOf", _head(shop, str(storage))).table(str(storage))


Bound = list[tuple[str, str, str]]


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> Bound:
    """What the passes gave to the executor, in the words of an explanation."""
    found: Bound = []
    plain = execute.rebind

    def noted(step: Step, known: Known, trail: Trail | None = None) -> Steps:
        steps = plain(step, known, trail)
        for item in steps:
            text = step_text(item, "spark")
            found.append((text.kind, text.name, text.sql))
        return steps

    monkeypatch.setattr(execute, "rebind", noted)
    return found


SIZES = {
    "small": {},
    "kept": {"KEPT_SOURCE_ROWS": 0, "KEPT_SHARE": 0.001, "REWRITTEN_ROWS": -1},
    "shared": {"SHARED_SOURCE_ROWS": 0, "WHOLE_STATE_ROWS": 0, "REWRITTEN_ROWS": -1},
}
"""Thresholds by which the tables are small, or so large that their rows are read in other ways."""


@pytest.mark.parametrize("size", SIZES)
def test_printed_texts_give_the_rows_of_the_refresh(
    shop: Shop, bound: Bound, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    for name, value in SIZES[size].items():
        monkeypatch.setattr(thresholds, name, value)
    small = size == "small"
    names = list(VIEWS) if small else ["groups", "largest"]
    for name in names:
        policy = Policy.FULL if name == "overwrite" else Policy.INCREMENTAL
        shop.view(name, VIEWS[name], policy)
    shop.engine.refresh()
    kinds: set[str] = set()
    texts: list[str] = []
    for changes in ((CHANGES["append"],), MIXED) if small else (MIXED,):
        tables = {f"lake.{shop.schema}.{name}" for name in ("orders", "customers")}
        old = {table: _head(shop, table) for table in tables}
        before = {name: _rows(shop, name) for name in names}
        for change in changes:
            shop.sql(change)
        for name in names:
            bound.clear()
            (result,) = shop.engine.refresh([f"{shop.schema}.{name}"])
            assert result.outcome in (Outcome.INCREMENTAL, Outcome.FULL), result
            assert result.steps
            assert [(s.kind, s.name, s.sql) for s in result.steps] == bound
            hand = ByHand(shop.spark, before[name])
            for table in tables:
                hand.source(table, old[table], _head(shop, table))
            for step in result.steps:
                hand.run(step)
            assert hand.rows == Counter(map(tuple, _rows(shop, name).collect())), name
            kinds |= {step.kind for step in result.steps}
            texts += [step.sql for step in result.steps]
    expected = {"compute", "check", "append", "merge", "overwrite"} if small else {"merge"}
    assert kinds >= expected
    assert ("read both versions" in kinds) is (size == "shared")
    assert any(" near " in text for text in texts) is (size == "kept")


def test_an_executor_that_decides_by_itself_is_noticed(
    shop: Shop, bound: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It means the same, it gives the same rows, and still it is not what was bound."""
    shop.view("groups", VIEWS["groups"])
    shop.refreshed()
    plain = execute.Execution._step

    def own(self: execute.Execution, step: Step) -> list[object]:
        node: Node = step.node
        decided = replace(step, node=Distinct(node)) if isinstance(step, Compute) else step
        return plain(self, decided)  # type: ignore[return-value]

    monkeypatch.setattr(thresholds, "WHOLE_STATE_ROWS", 0)
    monkeypatch.setattr(execute.Execution, "_step", own)
    shop.sql(CHANGES["append"])
    bound.clear()
    (result,) = shop.engine.refresh([f"{shop.schema}.groups"])
    assert result.outcome is Outcome.INCREMENTAL
    assert [(step.kind, step.name, step.sql) for step in result.steps] != bound


def test_a_plan_prints_the_steps_that_will_run(shop: Shop) -> None:
    """Bound to what changed: a source that did not is in no term."""
    for name in ("groups", "bag"):
        shop.view(name, VIEWS[name])
    shop.engine.refresh()
    shop.sql(CHANGES["append"])
    plans = {item.view.name: item for item in shop.engine.plan()}
    assert "customers@delta" not in "".join(sql for _, _, sql in plans["bag"].steps)
    (result,) = shop.engine.refresh([f"{shop.schema}.groups"])
    assert [(step.kind, step.name, step.sql) for step in result.steps] == list(
        plans["groups"].steps
    )
