"""The jars are fetched once, checked, and then only files."""

from __future__ import annotations

from pathlib import Path

import pytest

from grebe.errors import ConfigError
from grebe.spark import jars
from grebe.spark.jars import coordinates, ensure_jars, jar_folder, locked
from grebe.spark.java import Java, find_java

NO_JAVA = Java(Path("/nowhere"), 17, "test")


def test_the_lock_holds_every_coordinate() -> None:
    for coordinate in coordinates():
        group, artifact, version = coordinate.split(":")
        assert f"{group}_{artifact}-{version}.jar" in locked()


def test_the_lock_holds_nothing_that_spark_ships() -> None:
    import pyspark

    shipped = {file.name for file in Path(pyspark.__path__[0], "jars").glob("*.jar")}
    assert not shipped & {name.partition("_")[2] for name in locked()}


def test_a_warm_cache_starts_nothing() -> None:
    ensure_jars(find_java())
    assert [jar.name for jar in ensure_jars(NO_JAVA)] == sorted(locked())


def test_without_network_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", "http://127.0.0.1:9/")
    with pytest.raises(ConfigError) as caught:
        ensure_jars(find_java(), cache=tmp_path)
    assert caught.value.code == "jars-missing"
    assert coordinates()[0] in str(caught.value.detail)
    assert "connect to the network once" in str(caught.value.hint)
    assert not jar_folder(tmp_path).exists()
    assert (tmp_path / "jars" / "resolve.log").read_text()


def test_a_file_that_differs_from_the_lock_is_refused(tmp_path: Path) -> None:
    for jar in ensure_jars(find_java()):
        (tmp_path / jar.name).symlink_to(jar)
    jars._check(tmp_path)
    victim = tmp_path / next(iter(locked()))
    victim.unlink()
    with pytest.raises(ConfigError, match="did not bring"):
        jars._check(tmp_path)
    victim.write_bytes(b"something else")
    with pytest.raises(ConfigError, match="is not the file that is locked"):
        jars._check(tmp_path)
