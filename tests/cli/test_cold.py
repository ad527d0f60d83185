"""What needs no Spark starts none, and brings little: fresh processes on a machine without any Java.

A command is quick by what it does not import; that is counted, as seconds depend on the machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
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
HEAVY = {"pyspark", "py4j", "pyarrow", "pandas", "numpy", "pyiceberg", "deltalake", "alembic"}
_IMPORT = re.compile(r"^import time: .*\| +(\S+)\n", re.MULTILINE)


def cold(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "grebe", "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )


def light(folder: Path, limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that succeeds and imports at most so many modules, none of them heavy."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "grebe", "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, _IMPORT.sub("", done.stderr)
    imported = _IMPORT.findall(done.stderr)
    assert {name.partition(".")[0] for name in imported} & HEAVY == set(), arguments
    assert 100 < len(imported) <= limit, (arguments, len(imported))
    return done


def test_help_brings_the_command_line_alone(tmp_path: Path) -> None:
    assert "refresh" in light(tmp_path, 450, "--help").stdout


def test_a_new_project_is_looked_at_without_java(tmp_path: Path) -> None:
    for arguments in (["init"], ["status"], ["dag"], ["history"], ["retention"]):
        done = cold(tmp_path, *arguments)
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
        assert sign in light(tmp_path, 1500, *arguments).stdout
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("INSERT INTO lake.s.t VALUES (3, 30)").collect()
    done = cold(tmp_path, "refresh")
    assert done.returncode in (1, 2)
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
