"""The same laws, the same trees, the same databases: on Spark, for a sample of the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from compiler.laws.batching import batch
from compiler.laws.databases import CASES, arrow, draw
from compiler.laws.plans import lowered_tree
from compiler.laws.trees import TREES
from compiler.small_spark import small
from grebe.compiler.algebra.known_types import Types, wanted
from grebe.compiler.algebra.nodes import WEIGHT, At, Named, Node, Scan, Stored, walk
from grebe.compiler.algebra.rewriting import pinned
from grebe.compiler.delta import change
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.plan.refresh_plan import Strategy
from grebe.compiler.plan.strategy import make_plan
from grebe.compiler.write.steps import Compute

if TYPE_CHECKING:
    from pyspark.sql import Row as SparkRow
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DATABASES = 200
Row = tuple[str, ...]
SAMPLE = (
    "filter",
    "unnest/outer",
    "inner/three",
    "left/residual",
    "full",
    "semi/residual",
    "anti/not in",
    "mark/not",
    "union all",
    "set/except",
    "set/intersect_all",
    "distinct/over join",
    "aggregate/linear",
    "aggregate/decimal",
    "aggregate/extrema",
    "aggregate/over left",
    "window/rank",
    "top-k/per group",
)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    history = draw(31, cases=DATABASES)
    for name, table in history.tables.items():
        rows, weights = history.deltas[name][0]
        old, new = history.states[name]
        for suffix, found in (
            ("old", arrow(table, old)),
            ("new", arrow(table, new)),
            ("delta", arrow(table, rows, weights)),
        ):
            spark.createDataFrame(found).createOrReplaceTempView(f"law_{name}_{suffix}")
    with small(spark):
        yield spark


def table(leaf: Leaf) -> str:
    if isinstance(leaf, Named):
        return f"law_{leaf.step}"
    if not isinstance(leaf, Scan) or leaf.table == CASES:
        raise AssertionError("the sample reads sources only")
    return f"law_{leaf.table}_{'new' if leaf.at is At.QUERY else leaf.at}"


def types_of(session: SparkSession, root: Node) -> Types:
    found: dict[str, str] = {}
    for relation, items in wanted(root):
        body = emit(relation, "spark", table)
        for item in items:
            text = item.ast.sql("spark", comments=False)
            if text != "*":
                analysed = session.sql(f"SELECT {text} AS value FROM (\n{body}\n) AS q")
                found[item.text] = analysed.schema["value"].dataType.simpleString()
    return Types("spark", found)


MARKED = ("mark/twice", "mark/not", "mark/correlated")


@pytest.mark.parametrize("name", MARKED)
def test_marks_are_maintained_on_spark(session: SparkSession, name: str) -> None:
    """Step by step as the engine runs them: Spark cannot optimize the whole in one statement."""
    root = batch(TREES[name])
    plan = make_plan(lowered_tree(root), types_of(session, root))
    assert plan.strategy is Strategy.BAG
    kept: list[SparkRow] = []
    for step in plan.steps:
        if isinstance(step, Compute) and not reads_storage(step.node):
            frame = session.sql(emit(step.node, "spark", table))
            kept = frame.collect()
            session.createDataFrame(kept, frame.schema).createOrReplaceTempView(f"law_{step.name}")
        if isinstance(step, Compute) and step.name == "delta":
            break
    total = Counter(rows_of(root.columns, kept, 1))
    for node, sign in ((pinned(root, At.OLD), 1), (pinned(root, At.NEW), -1)):
        found = session.sql(emit(node, "spark", table)).collect()
        total.update(rows_of(root.columns, found, sign))
    assert {row: count for row, count in total.items() if count} == {}


def reads_storage(node: Node) -> bool:
    return any(isinstance(item, Stored) for item in walk(node))


@pytest.mark.parametrize("name", SAMPLE)
def test_law_holds_on_spark(session: SparkSession, name: str) -> None:
    """Three statements added up here: Spark cannot optimize the union of some of them."""
    root = batch(TREES[name])
    delta = change(root, types_of(session, root))
    total: Counter[Row] = Counter()
    for node, sign in ((pinned(root, At.OLD), 1), (delta, 1), (pinned(root, At.NEW), -1)):
        found = session.sql(emit(node, "spark", table)).collect()
        total.update(rows_of(root.columns, found, sign))
    assert {row: count for row, count in total.items() if count} == {}


def rows_of(columns: Sequence[str], rows: Iterable[SparkRow], sign: int) -> dict[Row, int]:
    """How often each row occurs, by its weight if it has one."""
    total: Counter[Row] = Counter()
    for row in rows:
        found = row.asDict()
        weight = int(found.pop(WEIGHT, 1))
        total[tuple(str(found[column]) for column in columns)] += sign * weight
    return dict(total)
