"""The same laws, the same trees, the same databases: on Spark, for a sample of the rules."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from compiler.laws.batching import batch
from compiler.laws.databases import CASES, arrow, draw
from compiler.laws.trees import TREES
from grebe.compiler.delta import change
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.nodes import WEIGHT, At, Node, Scan
from grebe.compiler.pin import pinned
from grebe.compiler.types import Types, wanted

if TYPE_CHECKING:
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
def session(spark: SparkSession) -> SparkSession:
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
    return spark


def table(leaf: Leaf) -> str:
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


@pytest.mark.parametrize("name", SAMPLE)
def test_law_holds_on_spark(session: SparkSession, name: str) -> None:
    """Three statements added up here: Spark cannot optimize the union of some of them."""
    root = batch(TREES[name])
    delta = change(root, types_of(session, root))
    total: Counter[Row] = Counter()
    for node, sign in ((pinned(root, At.OLD), 1), (delta, 1), (pinned(root, At.NEW), -1)):
        for row in session.sql(emit(node, "spark", table)).collect():
            found = row.asDict()
            weight = int(found.pop(WEIGHT, 1))
            total[tuple(str(found[column]) for column in root.columns)] += sign * weight
    assert {row: count for row, count in total.items() if count} == {}
