"""Every statement that grebe gives to Spark: a name in it is a user's, or has the prefix."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.lawful import Lake
from engine.mixed_lake import MixedLake
from engine.test_laws import drop, held
from grebe.config import Settings
from grebe.engine import tiny
from grebe.engine.engine import Engine
from grebe.errors import UnsupportedSQLError
from made_names import strangers, words_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

WRITES = ("WITH", "SELECT", "INSERT", "MERGE")


class Recorded(list[str]):
    """The statements that the package itself gave to Spark."""

    def __init__(self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = type(spark).sql

        def sql(session: SparkSession, text: str, *args: Any, **options: Any) -> DataFrame:
            caller = str(sys._getframe(1).f_globals["__name__"])
            if caller.startswith("grebe."):
                self.append(text)
            return plain(session, text, *args, **options)

        monkeypatch.setattr(type(spark), "sql", sql)

    def check(self, lake: Lake) -> int:
        """Read them all; how many there are that can hold a name of a column or a relation."""
        known = {"lake", lake.schema, *lake.names.values()}
        for view in lake.engine.views.values():
            known |= set(view.plan.shape.columns) | words_of(view.definition.sql, "spark")
        read = [text for text in dict.fromkeys(self) if text.startswith(WRITES)]
        for text in read:
            plain = text.replace(" REPLACE WHERE true", "", 1)
            assert not strangers(plain, "spark", known), text
        return len(read)


def test_statements_over_iceberg(
    spark: SparkSession, project: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny, "ROWS", -1)
    recorded = Recorded(spark, monkeypatch)
    lake = Lake.opened(spark, Engine(project, spark), "made_names", 3)
    held(lake, views=4, rounds=1)
    for name in lake.views:
        lake.engine.verify(f"{lake.schema}.{name}")
    assert recorded.check(lake) > 40
    drop(lake)


def test_a_view_has_no_name_of_grebes_own(spark: SparkSession, project: Settings) -> None:
    engine = Engine(project, spark)
    with pytest.raises(UnsupportedSQLError) as caught:
        engine.define("made.__grebe_v", "SELECT 1 AS a")
    assert caught.value.feature == "reserved_name"


def test_statements_over_delta(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny, "ROWS", -1)
    recorded = Recorded(spark, monkeypatch)
    lake = MixedLake.made(spark, tmp_path / "lake", "made_names_delta", "delta", 5)
    held(lake, views=3, rounds=1)
    assert recorded.check(lake) > 20
    drop(lake)
