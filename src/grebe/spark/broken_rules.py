"""What Spark's optimizer does wrong around unions and subqueries (SPARK-59042), and how sessions of ours do without.

Two of its rules lose the columns of a correlated subquery that is selected from a UNION ALL. Its fix (apache/spark#58348)
is not in Spark 4.1. A third thing, the inference of filters, takes the answer of an EXISTS or IN that is a column for an
equation, which it cannot carry through a UNION ALL either ("key not found"). A program runs in somebody else's session, so
there the plan keeps such unions apart itself (`compiler.plan.spark_marks`).
"""

from __future__ import annotations

from typing import Final

BROKEN_RULES: Final = tuple(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in ("PushProjectionThroughUnion", "CombineUnions")
)
"""Every session of ours is opened without them."""

WITHOUT_CONSTRAINTS: Final = {"spark.sql.constraintPropagation.enabled": "false"}
"""Spark infers no filters from others: for plans with the shape of a refresh or a comparison.

What it infers also grows exponentially with the columns that a plan renames, until memory is gone.
"""
