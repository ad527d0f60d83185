"""What needs no Spark starts none, and is quick: fresh processes on a machine without any Java.

Time is counted twice: in seconds of the processor, which a busy machine does not change, and on the
wall, where the best of a few counts, as long as others leave the machine a core.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grebe.api import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if not key.startswith(("SPARK", "GREBE_G"))},
    "JAVA_HOME": "/nowhere",
    "PATH": "/nowhere",
}


def cold(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """A command in a process of its own, and the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "grebe", "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def quick(folder: Path, limit: float, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that takes less than so many seconds, by the processor and by the wall."""
    walls, processors = [], []
    for _ in range(5):
        began = time.perf_counter()
        done, seconds = cold(folder, *arguments)
        walls.append(time.perf_counter() - began)
        processors.append(seconds)
        assert done.returncode == 0, done.stderr
        if walls[-1] < limit and seconds < limit:
            return done
    assert min(processors) < limit, (arguments, processors)
    is_busy = os.getloadavg()[0] > (os.cpu_count() or 1) + 1
    assert min(walls) < limit or is_busy, (arguments, walls, os.getloadavg())
    return done


def test_help_is_quick(tmp_path: Path) -> None:
    cold(tmp_path, "--help")
    assert "refresh" in quick(tmp_path, 0.5, "--help").stdout


def test_a_new_project_is_looked_at_without_java(tmp_path: Path) -> None:
    for arguments in (["init"], ["status"], ["dag"], ["history"], ["retention"]):
        done, _ = cold(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr


@pytest.mark.spark
def test_ten_views_are_seen_to_be_fresh_without_java(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "views" / "s").mkdir(parents=True)
    for number in range(10):
        source = "s.t" if number < 8 else f"s.v{number - 8}"
        (tmp_path / "views" / "s" / f"v{number}.sql").write_text(
            f"SELECT id, x FROM {source} WHERE id <> {number}"
        )
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("CREATE NAMESPACE lake.s").collect()
        project.sql("CREATE TABLE lake.s.t (id INT, x INT) USING iceberg").collect()
        project.sql("INSERT INTO lake.s.t VALUES (1, 10), (2, 20), (77, 30)").collect()
        assert not project.refresh().failed
    for arguments, sign in (
        (["status"], "fresh"),
        (["refresh"], "no_op"),
        (["explain", "s.v9"], "incremental"),
        (["dag"], "[fresh]"),
        (["history"], "first-refresh"),
        (["retention"], "expire_snapshots"),
    ):
        assert sign in quick(tmp_path, 2.0, *arguments).stdout
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("INSERT INTO lake.s.t VALUES (3, 30)").collect()
    done, _ = cold(tmp_path, "refresh")
    assert done.returncode in (1, 2)
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
