"""Which Java is taken, and what is said when none does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from grebe.errors import ConfigError
from grebe.spark import java
from grebe.spark.java import find_java


def fake_java(home: Path, version: str, *, modules: bool = True) -> Path:
    """A Java home whose program answers like that version; without modules as a cut-down one."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    refusal = "" if modules else 'case "$1" in --add-modules*) exit 1;; esac\n'
    program.write_text(f"#!/bin/sh\n{refusal}echo 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def nothing_else_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_USUAL_PLACES", ())
    monkeypatch.setattr(java, "_bundled", lambda _variables: None)


def test_java_home_comes_first(tmp_path: Path) -> None:
    first, second = fake_java(tmp_path / "a", "21.0.4"), fake_java(tmp_path / "b", "17.0.1")
    found = find_java(environ={"JAVA_HOME": str(first), "PATH": str(second / "bin")})
    assert (found.home, found.version, found.found) == (first, 21, "JAVA_HOME")


def test_a_wrong_java_home_is_passed_over(tmp_path: Path) -> None:
    old, good = fake_java(tmp_path / "a", "11.0.2"), fake_java(tmp_path / "b", "17.0.1")
    found = find_java(environ={"JAVA_HOME": str(old), "PATH": str(good / "bin")})
    assert (found.home, found.found) == (good, "PATH")


def test_the_usual_places_come_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "jvm" / "java-17", "17.0.1")
    monkeypatch.setattr(java, "_USUAL_PLACES", (f"{tmp_path}/jvm/*",))
    assert find_java(environ={}).home == home


@pytest.mark.parametrize(
    ("version", "modules", "says"),
    [
        ("1.8.0_392", True, "it is Java 8"),
        ("25.0.1", True, "it is Java 25"),
        ("21.0.8", False, "it lacks the module jdk.incubator.vector"),
    ],
)
def test_every_refusal_has_its_reason(
    tmp_path: Path, version: str, modules: bool, says: str
) -> None:
    home = fake_java(tmp_path / "a", version, modules=modules)
    with pytest.raises(ConfigError) as caught:
        find_java(environ={"JAVA_HOME": str(home)})
    assert caught.value.code == "java-missing"
    assert f"JAVA_HOME {home}: {says}" in str(caught.value.detail)
    assert "grebe[java]" in str(caught.value.hint)


def test_a_chosen_java_is_the_only_one_looked_at(tmp_path: Path) -> None:
    good = fake_java(tmp_path / "b", "17.0.1")
    with pytest.raises(ConfigError, match="no Java 17 or 21"):
        find_java(str(tmp_path / "missing"), {"JAVA_HOME": str(good)})


def test_the_shim_drops_only_the_module(tmp_path: Path) -> None:
    program = tmp_path / "java"
    program.write_text('#!/bin/sh\nfor word in "$@"; do echo "<$word>"; done\n')
    program.chmod(0o755)
    shim = tmp_path / "shim"
    shim.write_text(java._SHIM.format(java=program))
    shim.chmod(0o755)
    words = ["-Da=b c", "--add-modules=jdk.incubator.vector", "-cp", "x y/*", "", "Main"]
    done = subprocess.run([shim, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["<-Da=b c>", "<-cp>", "<x y/*>", "<>", "<Main>"]
