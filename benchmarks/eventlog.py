"""Spark's own account of what it did, read from its event log.

The package itself never counts jobs; tests, benchmarks and examples do, with this file.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.005


def event_log_conf(folder: Path) -> dict[str, str]:
    """The settings that make Spark write a plain event log into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


@dataclass
class Work:
    """What Spark did inside a `measured` block; complete when the block is over."""

    seconds: float = 0.0
    jobs: int = 0
    tasks: int = 0
    rows_read: int = 0
    bytes_read: int = 0


@contextmanager
def measured(spark: SparkSession, folder: Path) -> Iterator[Work]:
    """Counts the jobs, tasks, rows and bytes of the block, and its time."""
    tag = f"measured-{uuid.uuid4().hex}"
    work = Work()
    spark.addTag(tag)
    begun = time.perf_counter()
    try:
        yield work
    finally:
        work.seconds = time.perf_counter() - begun
        spark.removeTag(tag)
    events = _events_until_marker(spark, folder)
    _count(events, tag, work)


def _events_until_marker(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    """The events of the log up to a job of our own that is started now.

    Spark writes its log behind the work; when the marker's end is in it, all before it is too.
    """
    marker = f"marker-{uuid.uuid4().hex}"
    spark.addTag(marker)
    try:
        spark.range(1).count()
    finally:
        spark.removeTag(marker)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        events = list(_read(folder))
        started = [e["Job ID"] for e in events if _has_tag(e, marker)]
        ended = {e["Job ID"] for e in events if e["Event"] == "SparkListenerJobEnd"}
        if started and ended.issuperset(started):
            return events
        time.sleep(_PAUSE_SECONDS)
    raise TimeoutError(f"Spark's event log in {folder} does not move")


def _read(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.iterdir()):
        with file.open(encoding="utf-8") as lines:
            # The last line may be half written.
            yield from (json.loads(line) for line in lines if line.endswith("}\n"))


def _has_tag(event: dict[str, Any], tag: str) -> bool:
    # Connect adds its own prefix to a tag, so it is looked for inside.
    if event["Event"] != "SparkListenerJobStart":
        return False
    return tag in (event.get("Properties") or {}).get("spark.job.tags", "")


def _count(events: list[dict[str, Any]], tag: str, work: Work) -> None:
    jobs = [event for event in events if _has_tag(event, tag)]
    stages = {stage for job in jobs for stage in job["Stage IDs"]}
    work.jobs = len(jobs)
    for event in events:
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
            read = (event.get("Task Metrics") or {}).get("Input Metrics", {})
            work.tasks += 1
            work.rows_read += read.get("Records Read", 0)
            work.bytes_read += read.get("Bytes Read", 0)
