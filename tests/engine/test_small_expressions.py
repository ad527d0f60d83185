"""What small steps allow gives the same bits in both engines, over values at which they go apart."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp

from engine.small_fuzz import Expressions, Fuzz
from evidence import LongRun
from grebe.compiler.bind import small_expressions
from grebe.compiler.bind.small_expressions import SmallWriter, Typed
from grebe.compiler.bind.small_kinds import STRING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
BATCH = 150


def compared(spark: SparkSession, seed: int, batches: int) -> tuple[int, list[str]]:
    """How many expressions of a seed were compared, and which differ."""
    rng = random.Random(seed)
    fuzz = Fuzz.opened(spark, rng)
    expressions = Expressions(rng)
    found: list[str] = []
    for number in range(batches):
        grouped = number % 3 == 2
        texts = [expressions.aggregate() if grouped else expressions.text(3) for _ in range(BATCH)]
        found += fuzz.differences(texts, grouped=grouped)
    fuzz.runner.close()
    return fuzz.compared, found


def test_expressions_are_the_same_in_both_engines(spark: SparkSession) -> None:
    count, found = compared(spark, 1, 6)
    assert not found, "\n".join(found)
    assert count >= 250


def test_a_function_that_differs_would_be_found(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allowed(writer: SmallWriter, tree: exp.Upper) -> Typed:
        return Typed(exp.Anonymous(this="upper", expressions=[writer.string(tree.this)]), STRING)

    monkeypatch.setitem(small_expressions._FORMS, exp.Upper, allowed)
    fuzz = Fuzz.opened(spark, random.Random(3))
    assert fuzz.differences(["UPPER(`c9`)", "UPPER('ß')"], grouped=False)


@pytest.mark.laws
@pytest.mark.timeout(0)
def test_many_expressions_are_the_same_in_both_engines(
    spark: SparkSession, long_run: LongRun
) -> None:
    for seed in long_run.seeds():
        count, found = compared(spark, seed, 12)
        assert not found, "\n".join(found)
        long_run.add(expressions=count)
