"""A disk that takes no more: a typed error that says so, and all goes on when there is room again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe, Said
from grebe.api import Project
from grebe.model import State
from grebe.registry import Registry, ViewRecord

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CODE = """
import resource, sys
from grebe.errors import RegistryError
from grebe.registry import Registry, ViewRecord
registry = Registry.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    for number in range(1000):
        registry.save_view(ViewRecord(f"v{number}", "x" * 10_000))
except RegistryError as error:
    print(error.code, number, bool(error.hint))
"""


def test_a_full_disk_is_a_typed_error_and_loses_nothing_written(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"
    done = subprocess.run(
        [sys.executable, "-c", CODE, url], capture_output=True, text=True, check=True
    )
    code, number, has_hint = done.stdout.split()
    assert (code, has_hint) == ("registry", "True")
    with Registry.open(url) as registry:
        assert len(registry.views()) == int(number)
        registry.save_view(ViewRecord("after", "SELECT 1"))


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of its own, of that size; only root can make one."""
    folder.mkdir()
    made = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(made, check=False, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


def told(said: Said, what: str, todo: str) -> None:
    assert said.code == 1, said
    assert what in said.err
    assert "hint:" in said.err
    assert todo in said.err
    assert "Traceback" not in said.err


@pytest.mark.usefixtures("no_spark")
def test_a_registry_on_a_full_disk_is_told(grebe: Grebe, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "64k") as small:
        (tmp_path / "grebe.toml").write_text(f'[registry]\nurl = "sqlite:///{small}/registry.db"\n')
        (tmp_path / "views").mkdir()
        (tmp_path / "views" / "v.sql").write_text("no SQL")
        with (small / "filler").open("wb") as file:
            file.write(bytes(48 * 1024))
        told(grebe("refresh"), "disk", "make room on the disk")
        (small / "filler").unlink()
        remount(small, "size=8m")
        assert "[sql-syntax]" in grebe("refresh").err


@pytest.mark.crash
@pytest.mark.spark
def test_a_warehouse_on_a_full_disk_is_told(
    spark: SparkSession, grebe: Grebe, tmp_path: Path
) -> None:
    del spark  # started once for all
    with small_disk(tmp_path / "small", "1m") as small:
        (tmp_path / "grebe.toml").write_text(
            '[defaults]\ncatalog = "lake"\n'
            '[catalogs.lake]\nformat = "iceberg"\nroot = "lake"\n'
            f'[catalogs.small]\nformat = "iceberg"\nroot = "{small}"\n'
        )
        (tmp_path / "views" / "small" / "s").mkdir(parents=True)
        (tmp_path / "views" / "small" / "s" / "v.sql").write_text("SELECT id, word FROM lake.s.t")
        with Project.open(tmp_path) as project:
            project.sql("CREATE NAMESPACE lake.s").collect()
            project.sql("CREATE NAMESPACE small.s").collect()
            project.sql(
                "CREATE TABLE lake.s.t USING iceberg AS"
                " SELECT id, uuid() AS word FROM range(100000)"
            ).collect()
            told(grebe("refresh"), "the disk is full", "make room on the disk")
            assert project.view("small.s.v").state is State.NEVER_REFRESHED
            remount(small, "size=64m")
            assert grebe("refresh").code == 0
            assert grebe("verify").code == 0
            project.sql("INSERT INTO lake.s.t VALUES (-1, 'x')").collect()
            fill(small)
            told(grebe("refresh"), "disk", "make room on the disk")
            (small / "filler").unlink()
            assert grebe("refresh").code == 0
            assert grebe("verify").code == 0


def fill(folder: Path) -> None:
    """Write until the disk takes no more."""
    with (folder / "filler").open("wb", buffering=0) as file:
        for size in (2**16, 2**10, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
