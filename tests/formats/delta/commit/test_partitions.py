"""Values that a partition of a Delta table cannot hold: empty texts come back as NULL."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from formats.commit.client import arrow
from formats.commit.lake import COLUMNS, frontier
from formats.delta.commit.test_commit import append, merge
from formats.delta.commit.test_spark import storage_of
from grebe.errors import RefreshError
from grebe.formats.base import Append, Merge, Overwrite, Rows, Write
from grebe.formats.delta.partitions import NULL_FOLDER
from grebe.formats.delta.storage import DeltaStorage
from grebe.model import Column, Partition, Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EMPTY = "SELECT 5L AS k, '' AS v, 1L AS n"


@pytest.fixture(scope="module")
def storage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DeltaStorage:
    """Partitioned by a text, with a row in a partition of a text and one in that of NULL."""
    made = storage_of(spark, tmp_path_factory.mktemp("parts") / "t", by_driver=True)
    made.create(Schema("0", COLUMNS), {}, [Partition("v")])
    made.commit([append([[1, "a", 1], [2, None, 2]])], frontier("r1"), made.position())
    return made


@pytest.mark.parametrize("by_driver", [True, False], ids=["delta-rs", "spark"])
@pytest.mark.parametrize(
    "write",
    [
        append([[5, "", 1], [6, "b", 1]]),
        append([[5, NULL_FOLDER, 1]]),
        Overwrite(Rows(arrow=arrow([[5, "", 1]]))),
        merge([[5, "", 1, "insert"]], expect_updated=0, expect_deleted=0),
        merge([[1, "", 1, "update"]], expect_deleted=0),
        merge([[1, "", 1, "update"]], expect_updated=None, expect_deleted=None),
        Append(Rows(sql=EMPTY)),
        Overwrite(Rows(sql=EMPTY)),
        Merge(Rows(sql=f"SELECT *, 'insert' AS __grebe_action FROM ({EMPTY})"), ("k", "v"), 0, 0),
    ],
    ids=lambda write: type(write).__name__,
)
def test_an_empty_text_is_refused(storage: DeltaStorage, write: Write, *, by_driver: bool) -> None:
    before = storage.position()
    with pytest.raises(RefreshError) as caught:
        replace(storage, by_driver=by_driver).commit([write], frontier("r2"), before)
    assert caught.value.code == "empty-partition-value"
    assert '"v"' in str(caught.value)
    assert caught.value.hint
    assert storage.position() == before


@pytest.mark.parametrize("by_driver", [True, False], ids=["delta-rs", "spark"])
def test_what_a_partition_can_hold(spark: SparkSession, tmp_path: Path, *, by_driver: bool) -> None:
    storage = storage_of(spark, tmp_path / "t", by_driver=by_driver)
    storage.create(Schema("0", COLUMNS), {}, [Partition("v")])
    texts = ["a", None, " ", "x=1/y", "%", "ü'\"\\"]
    rows: list[list[object]] = [[number, text, 1] for number, text in enumerate(texts)]
    storage.commit([append(rows)], frontier("r1"), storage.position())
    gone = merge([[0, "", None, "delete"]], expect_updated=0)  # of its key alone
    storage.commit([gone], frontier("r2"), storage.position())
    stored = spark.read.format("delta").load(str(tmp_path / "t"))
    assert {row.k: row.v for row in stored.collect()} == dict(enumerate(texts[1:], 1))


@pytest.mark.parametrize("by_driver", [True, False], ids=["delta-rs", "spark"])
def test_empty_bytes_are_refused(spark: SparkSession, tmp_path: Path, *, by_driver: bool) -> None:
    storage = storage_of(spark, tmp_path / "t", by_driver=by_driver)
    storage.create(
        Schema("0", (Column(1, "k", "INT"), Column(2, "b c", "BINARY"))), {}, [Partition("b c")]
    )
    rows = pa.table({"k": pa.array([1], pa.int32()), "b c": pa.array([b""])})
    before = storage.position()
    with pytest.raises(RefreshError) as caught:
        storage.commit([Append(Rows(arrow=rows))], frontier("r1"), before)
    assert caught.value.code == "empty-partition-value"
    assert storage.position() == before
