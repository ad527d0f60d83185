"""kill -9 of `grebe refresh` at random times; then recover, refresh and verify are green."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from cli.conftest import Grebe
from cli.test_two_at_once import prepared
from grebe.api import Project
from grebe.registry import Registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evidence import LongRun

pytestmark = pytest.mark.spark


@pytest.mark.crash
def test_refreshes_killed_at_random_times(
    tmp_path: Path, spark: SparkSession, grebe: Grebe, long_run: LongRun
) -> None:
    prepared(tmp_path, spark, None)
    took = 0.0
    for seed in long_run.seeds():
        draw = random.Random(seed)
        changed(tmp_path, spark, seed, draw)
        # More of the times lie late: the start of Spark is long, and the same every time.
        limit = took * math.sqrt(draw.random()) if took else None
        began = time.monotonic()
        if killed(tmp_path, limit):
            long_run.add(kills=1, in_a_run=int(has_begun(tmp_path)))
        else:
            took = time.monotonic() - began
        expire_leases(tmp_path)
        for command in ("recover", "refresh", "verify"):
            said = grebe("-q", command)
            assert said.code == 0, (seed, command, said)
        assert not has_begun(tmp_path)
        long_run.add(verified=1)


def changed(folder: Path, spark: SparkSession, seed: int, draw: random.Random) -> None:
    """The source moves by an insert, an update and sometimes a delete."""
    with Project.open(folder, spark=spark) as project:
        for text in (
            f"INSERT INTO lake.main.t VALUES ({seed + 10}, 'k{seed % 4}', {draw.randrange(50)})",
            f"UPDATE lake.main.t SET x = x + 1 WHERE id % 3 = {seed % 3}",
            f"DELETE FROM lake.main.t WHERE id = {draw.randrange(seed + 20)}",
        ):
            project.sql(text).collect()


def killed(folder: Path, limit: float | None) -> bool:
    """True when `grebe refresh` was killed after some seconds; False when it had ended by then."""
    command = [sys.executable, "-m", "grebe", "-C", str(folder), "-q", "refresh"]
    # A session of its own, so that its JVM dies with it.
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        said, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    assert process.returncode == 0, said
    return False


def registry_of(folder: Path) -> Registry:
    return Registry.open(f"sqlite:///{folder}/.grebe/registry.db")


def has_begun(folder: Path) -> bool:
    """Whether a run is in the journal that did not end."""
    with registry_of(folder) as registry:
        return bool(registry.unfinished())


def expire_leases(folder: Path) -> None:
    """What a minute of waiting would do."""
    with registry_of(folder) as registry, registry.database.writing() as connection:
        connection.execute(sa.text("UPDATE grebe_leases SET expires_at = 0"))
