"""The shop over Spark Connect, as a program of its own: one process has one kind of Spark."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.shop import Shop
from grebe.config import load
from grebe.engine.refresh import RefreshResult
from grebe.spark.session import is_connect, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(folder: Path) -> None:
    """Build, change, refresh and compare; prints what every refresh did."""
    (folder / "grebe.toml").write_text('[spark]\nremote = "local[2]"\n')
    settings = load(folder, {})
    spark = open_session(settings)
    shop = Shop.opened(spark, settings, "shop", orders=100)
    shop.define("by_nation", "late", "ranked", "days", "best")
    for step in range(2):
        results = shop.refreshed()
        tell(spark, results)
        shop.batch(step)
    tell(spark, shop.refreshed())
    spark.stop()


def tell(spark: SparkSession, results: Mapping[str, RefreshResult]) -> None:
    """One line: over Connect or not, and the outcomes."""
    outcomes = sorted({result.outcome for result in results.values()})
    sys.stdout.write(f"{is_connect(spark)} {' '.join(outcomes)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
