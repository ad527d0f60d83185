"""The storage table and the public name: what is made around the rows of a view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grebe.compiler.emit import Leaf, emit
from grebe.engine.views import View
from grebe.formats.identity import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def public_sql(view: View) -> str:
    """The SELECT behind the public name: exactly the columns, types and rows of the query."""

    def stored(_: Leaf) -> str:
        return view.storage_name.quoted()

    body = emit(view.plan.public, "spark", stored)
    items = ", ".join(
        f"CAST({quoted(own)} AS {kind}) AS {quoted(name)}"
        for (own, _), (name, kind) in zip(view.plan.outputs, view.columns, strict=True)
    )
    return f"SELECT {items} FROM (\n{body}\n) AS visible"


def publish(spark: SparkSession, view: View) -> None:
    """Make the public name show this view's storage table."""
    spark.sql(f"CREATE OR REPLACE VIEW {view.name.quoted()} AS {public_sql(view)}").collect()
