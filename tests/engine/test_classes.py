"""The archive of Spark's classes: used when it fits, left alone when it is damaged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grebe.spark import class_archive as classes
from grebe.spark.class_archive import archive_file, archive_options, prepare
from grebe.spark.jars import ensure_jars
from grebe.spark.java import Java, find_java

PROGRAM = """
import sys
from grebe.config import load
from grebe.spark.session import open_session
spark = open_session(load(sys.argv[1]))
spark.sql("CREATE NAMESPACE lake.warm").collect()
spark.sql(f"CREATE TABLE delta.`{sys.argv[1]}/t` (k INT) USING delta").collect()
"""
JAVA = find_java()
JARS = ensure_jars(JAVA)


@pytest.fixture
def archive() -> Path:
    made = prepare(JAVA, JARS)
    if made is None:
        pytest.skip("this Java makes no archive of classes")
    return made


def test_spark_and_its_formats_come_from_the_archive(archive: Path, tmp_path: Path) -> None:
    log = tmp_path / "classes.log"
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, "SPARK_SUBMIT_OPTS": f"-Xlog:class+load:file={log}"},
        check=True,
    )
    sources = dict(re.findall(r"\] (\S+) source: (.+)", log.read_text()))
    for name in (
        "deploy.SparkSubmit",
        "sql.classic.SparkSession",
        "sql.delta.DeltaLog",
    ):
        assert sources[f"org.apache.spark.{name}"] == "shared objects file (top)"
    assert sources["org.apache.iceberg.spark.SparkCatalog"] == "shared objects file (top)"


def test_an_archive_that_was_cut_off_is_not_given_to_java(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classes, "cache_folder", lambda: tmp_path)
    copy = tmp_path / "classes" / archive.name
    copy.parent.mkdir()
    assert archive_options(JAVA, JARS) == ""
    with archive.open("rb") as stream:
        copy.write_bytes(stream.read(1000))
    assert archive_options(JAVA, JARS) == ""
    os.truncate(copy, archive.stat().st_size)
    assert f"-XX:SharedArchiveFile={copy}" in archive_options(JAVA, JARS)


def test_another_java_or_other_jars_have_an_archive_of_their_own(archive: Path) -> None:
    assert archive_file(JAVA, JARS) == archive
    assert archive_file(JAVA, JARS[1:]) is None
    assert archive_file(Java(Path("/nowhere"), 17, "test"), JARS) is None


def test_a_jar_that_was_installed_again_has_an_archive_of_its_own(
    archive: Path, tmp_path: Path
) -> None:
    """Java would not take the old one, and say nothing."""
    again = tmp_path / JARS[0].name
    again.symlink_to(JARS[0])
    same = [again, *JARS[1:]]
    before = classes._key(JAVA, same)
    again.unlink()
    again.write_bytes(JARS[0].read_bytes())
    assert classes._key(JAVA, same) != before
    assert archive_file(JAVA, JARS) == archive


def test_a_java_that_makes_none_is_gone_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classes, "cache_folder", lambda: tmp_path)
    nowhere = Java(Path("/nowhere"), 17, "test")
    assert prepare(nowhere, JARS) is None
    assert not list(tmp_path.glob("classes/make-*"))
    # That is known from then on: nobody tries again.
    monkeypatch.setattr(classes, "_make", pytest.fail)
    assert prepare(nowhere, JARS) is None
    assert archive_options(nowhere, JARS) == ""


def test_a_cache_that_cannot_be_written_is_gone_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "classes").write_text("no folder")
    monkeypatch.setattr(classes, "cache_folder", lambda: tmp_path)
    assert prepare(JAVA, JARS) is None


def test_old_archives_are_forgotten(tmp_path: Path) -> None:
    for age in range(5):
        file = tmp_path / f"{age}.jsa"
        file.touch()
        os.utime(file, (1000 - age, 1000 - age))
    classes._forget_old(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"0.jsa", "1.jsa", "2.jsa"}
