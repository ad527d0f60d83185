"""What needs no Spark starts none, and is quick: fresh processes on a machine without any Java.

Time is counted in seconds of the processor, so that a busy machine does not change the answer.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

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


def test_help_is_quick(tmp_path: Path) -> None:
    cold(tmp_path, "--help")
    done, seconds = cold(tmp_path, "--help")
    assert done.returncode == 0
    assert "refresh" in done.stdout
    assert seconds < 0.5


def test_a_new_project_is_looked_at_without_java(tmp_path: Path) -> None:
    for arguments in (["init"], ["status"], ["dag"], ["history"], ["retention"]):
        done, _ = cold(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr
