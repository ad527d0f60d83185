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
    rows_written: int = 0
    bytes_written: int = 0


@contextmanager
def measured(spark: SparkSession, folder: Path) -> Iterator[Work]:
    """Counts the jobs, tasks, rows and bytes of the block, and its time.

    Every job between two of our own counts, whichever session or thread has started it.
    """
    work = Work()
    first = _marker(spark)
    begun = time.perf_counter()
    try:
        yield work
    finally:
        work.seconds = time.perf_counter() - begun
    last = _marker(spark)
    events, jobs = _events_until(folder, first, last)
    _count(events, jobs, work)


def _marker(spark: SparkSession) -> str:
    """Starts a job of our own that can be found in the log."""
    marker = f"marker-{uuid.uuid4().hex}"
    spark.addTag(marker)
    try:
        spark.range(1).count()
    finally:
        spark.removeTag(marker)
    return marker


def _events_until(folder: Path, first: str, last: str) -> tuple[list[dict[str, Any]], set[int]]:
    """The events of the log, and the jobs between the two markers.

    Spark writes its log behind the work; when the marker's end is in it, all before it is too.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        events = list(_read(folder))
        low = [event["Job ID"] for event in events if _has_tag(event, first)]
        high = [event["Job ID"] for event in events if _has_tag(event, last)]
        ended = {e["Job ID"] for e in events if e["Event"] == "SparkListenerJobEnd"}
        if low and high and ended.issuperset(high):
            return events, set(range(max(low) + 1, min(high)))
        time.sleep(_PAUSE_SECONDS)
    raise TimeoutError(f"Spark's event log in {folder} does not move")


def _read(folder: Path) -> Iterator[dict[str, Any]]:
    newest = max(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    with newest.open(encoding="utf-8") as lines:
        # The last line may be half written.
        yield from (json.loads(line) for line in lines if line.endswith("}\n"))


def _has_tag(event: dict[str, Any], tag: str) -> bool:
    # Connect adds its own prefix to a tag, so it is looked for inside.
    if event["Event"] != "SparkListenerJobStart":
        return False
    return tag in (event.get("Properties") or {}).get("spark.job.tags", "")


def _count(events: list[dict[str, Any]], numbers: set[int], work: Work) -> None:
    started = (event for event in events if event["Event"] == "SparkListenerJobStart")
    jobs = [event for event in started if event["Job ID"] in numbers]
    stages = {stage for job in jobs for stage in job["Stage IDs"]}
    work.jobs = len(jobs)
    for event in events:
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
            metrics = event.get("Task Metrics") or {}
            read, written = metrics.get("Input Metrics", {}), metrics.get("Output Metrics", {})
            work.tasks += 1
            work.rows_read += read.get("Records Read", 0)
            work.bytes_read += read.get("Bytes Read", 0)
            work.rows_written += written.get("Records Written", 0)
            work.bytes_written += written.get("Bytes Written", 0)
