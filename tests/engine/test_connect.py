"""A graph of views over Spark Connect: the package touches nothing that Connect lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent

# A Spark of its own for minutes; `make test` has its share of Connect in test_session.py and in the formats' contract.
pytestmark = pytest.mark.cluster


def test_a_graph_of_views_over_connect(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "engine.over_connect", str(tmp_path)],
        cwd=TESTS,
        # A Connect server then takes any free port instead of its usual one.
        env={**os.environ, "SPARK_TESTING": "1", "PYTHONPATH": f"{TESTS}:{TESTS.parent}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["True full", "True incremental", "True incremental"]
