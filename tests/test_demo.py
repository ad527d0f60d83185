"""`make demo` as a newcomer runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from examples.demo.shop import TABLES, VIEWS

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = "SPARK_SUBMIT_OPTS"
CHEAP = [word for word in os.environ.get(OPTIONS, "").split() if not word.startswith("-Dspark.")]
GENERATED = {**os.environ, OPTIONS: " ".join(CHEAP)}
"""Spark generates code here, as it does for users; most other tests do without."""
# It starts a Spark of its own, which takes minutes on a busy machine.
pytestmark = pytest.mark.spark


def test_the_demo_refreshes_five_views_at_the_cost_of_what_changed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo", str(tmp_path)],
        cwd=ROOT,
        env={**GENERATED, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    cells = [
        tuple(cell.strip() for cell in line.strip("│").split("│"))
        for line in done.stdout.splitlines()
        if line.startswith("│")
    ]
    found = {row[0]: (row[1], row[2], row[5]) for row in cells if row[0] in TABLES}
    assert found == {
        "shop.customers": ("301", "1", "0"),
        "shop.orders": ("20001", "7", "0"),
        "shop.order_lines": ("60002", "4", "0"),
    }
    assert ("+1", "301", "Ada", "Bodø") in cells
    # The one who moved away and back is not a change, nor is compaction.
    assert not any(row[1] == "7" for row in cells if len(row) == 4)
    names = [name.removeprefix("shop.") for name in VIEWS]
    runs = [row for row in cells if row[0] in names]
    assert [row[:3] for row in runs[:5]] == [
        (name, "full", "first-refresh")
        for name in sorted(names, key=lambda name: (name == "best_days", name))
    ]
    assert {row[1] for row in runs[5:]} <= {"incremental", "no_op"}
    assert len(runs) == 10
    assert "nothing having changed: no_op" in done.stdout
    assert done.stdout.count("equals its query") == len(VIEWS)
