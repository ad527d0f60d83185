"""kill -9 of `grebe refresh` at random times; then recover, refresh and verify are green."""

from __future__ import annotations

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

from cli.test_two_at_once import prepared
from grebe.registry import Registry

if TYPE_CHECKING:
    from evidence import LongRun


@pytest.mark.crash
def test_killed_at_random_times(tmp_path: Path, long_run: LongRun) -> None:
    prepared(tmp_path, None, None)
    command = [sys.executable, "-m", "grebe", "-C", str(tmp_path), "-q"]
    change = (
        "import grebe, sys; p = grebe.open(sys.argv[1]); [p.sql(s).collect() for s in sys.argv[2:]]"
    )

    def green(*arguments: str) -> None:
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (arguments, done)

    took = 30.0
    for seed in long_run.seeds():
        draw = random.Random(seed)
        statements = [
            f"INSERT INTO lake.main.t VALUES ({seed + 10}, 'k{seed % 4}', {draw.randrange(50)})",
            f"UPDATE lake.main.t SET x = x + 1 WHERE id % 3 = {seed % 3}",
        ]
        subprocess.run([sys.executable, "-c", change, str(tmp_path), *statements], check=True)
        began = time.monotonic()
        # A session of its own, so that its JVM dies with it.
        process = subprocess.Popen([*command, "refresh"], start_new_session=True)
        try:
            process.wait(draw.uniform(0.1, took))
            took = max(5.0, time.monotonic() - began)
        except subprocess.TimeoutExpired:
            kill_session(process)
            long_run.add(kills=1)
        expire_leases(tmp_path)
        green("recover")
        green("refresh")
        green("verify")
        long_run.add(refreshes=1)


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """kill -9 to the program and the JVM that it started, both ours."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def expire_leases(folder: Path) -> None:
    """What a minute of waiting would do."""
    url = f"sqlite:///{folder}/.grebe/registry.db"
    with Registry.open(url) as registry, registry.database.writing() as connection:
        connection.execute(sa.text("UPDATE grebe_leases SET expires_at = 0"))
