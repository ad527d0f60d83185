"""The first start of Spark on a machine: what is fetched is told, and nothing that only saves time is waited for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from grebe.config import load
from grebe.events import Event, Preparing
from grebe.spark import class_archive, session
from grebe.spark.jars import WHAT, WHOLE, _told, jar_folder, locked
from grebe.spark.java import find_java, quiet_home


def test_what_is_fetched_is_told_with_how_far_it_is(tmp_path: Path) -> None:
    heard: list[Event] = []
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "one.jar.part").write_bytes(b"x" * 1000)
    with _told(tmp_path, heard.append):
        while not heard:
            pass
    assert heard[0] == Preparing(WHAT, 1000, WHOLE)


def test_all_bytes_are_those_of_the_locked_jars() -> None:
    sizes = [(jar_folder() / name).stat().st_size for name in locked()]
    assert sum(sizes) == WHOLE


def test_java_says_nothing_of_modules() -> None:
    java = find_java()
    program = quiet_home(java.home) / "bin" / "java"
    command = [str(program), "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "WARNING" not in done.stderr + done.stdout
    assert f'"{java.version}' in done.stderr
    assert quiet_home(program.parent.parent) == program.parent.parent


def test_the_archive_is_not_made_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache without an archive: nothing makes one while settings for the start are put together."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the archive is being made")

    monkeypatch.setattr(class_archive, "prepare", refuse)
    monkeypatch.setattr(class_archive, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(session, "_WITHOUT_ARCHIVE", [])
    options = session.launch_conf(load(tmp_path, {}))
    assert "SharedArchiveFile" not in options["spark.driver.extraJavaOptions"]
    assert [java.home for java in session._WITHOUT_ARCHIVE] == [find_java().home]
