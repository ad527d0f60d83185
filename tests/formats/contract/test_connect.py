"""The marked subset of the suite, once more over Spark Connect."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from formats.contract.replay import Playground

FOLDER = Path(__file__).parent


@pytest.mark.cluster
def test_the_marked_subset_over_spark_connect(playground: Playground) -> None:
    """A process can have a classic session or a Connect session, not both: so a second process."""
    command = [sys.executable, "-m", "pytest", str(FOLDER), "-q", "-m", "connect", "--tb=short"]
    command += ["--formats=iceberg-v3-mor"]
    environment = {**os.environ, "GREBE_SPARK__REMOTE": "local[2]"}
    done = subprocess.run(
        command, cwd=FOLDER.parents[2], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    playground.count(connect=int(passed[1]))
