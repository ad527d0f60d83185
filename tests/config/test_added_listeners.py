"""[listeners] names what installed packages bring; what is not installed is told, what cannot be made harms nobody."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from grebe.config import load
from grebe.errors import ConfigError
from grebe.events import Preparing
from grebe.project.added_listeners import added_listeners

PACKAGE = """
HEARD = []

def make(options, folder):
    return lambda event: HEARD.append((dict(options), folder.name, event))

def broken(options, folder):
    raise OSError("no such place")
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that brings two listeners, and the folder of a project."""
    site = tmp_path / "site"
    meta = site / "hears-1.0.dist-info"
    meta.mkdir(parents=True)
    (site / "hears_of_it.py").write_text(PACKAGE)
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: hears\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text(
        "[grebe.listeners]\nhears = hears_of_it:make\nbroken = hears_of_it:broken\n"
    )
    monkeypatch.syspath_prepend(str(site))
    project = tmp_path / "shop"
    project.mkdir()
    return project


def test_listeners_of_packages_are_made_with_their_settings(installed: Path) -> None:
    (installed / "grebe.toml").write_text(
        '[listeners.hears]\nurl = "http://x"\nretry.times = 3\n[listeners]\nbroken = {}\n'
    )
    settings = load(installed, {"GREBE_LISTENERS__HEARS__COLOUR": "blue"})
    assert dict(settings.listeners).keys() == {"hears", "broken"}
    listen, *others = added_listeners(settings)
    assert others == []
    listen(Preparing("x"))
    import hears_of_it  # type: ignore[import-not-found]

    expected = {"url": "http://x", "retry.times": "3", "colour": "blue"}
    assert [(expected, "shop", Preparing("x"))] == hears_of_it.HEARD


def test_a_listener_that_cannot_be_made_is_told_and_left_out(
    installed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (installed / "grebe.toml").write_text("[listeners]\nbroken = {}\n")
    with caplog.at_level(logging.WARNING):
        assert added_listeners(load(installed, {})) == []
    assert "no such place" in caplog.text


def test_a_listener_that_nobody_brings_is_refused(installed: Path) -> None:
    (installed / "grebe.toml").write_text("[listeners]\nhear = {}\n")
    with pytest.raises(ConfigError, match='listener "hear"') as caught:
        added_listeners(load(installed, {}))
    assert caught.value.code == "unknown-listener"
    assert "hears" in (caught.value.hint or "")


@pytest.mark.parametrize("line", ["hears = true", 'hears = "x"', "hears = 3"])
def test_a_listener_is_a_table(installed: Path, line: str) -> None:
    (installed / "grebe.toml").write_text(f"[listeners]\n{line}\n")
    with pytest.raises(ConfigError, match="must be a table"):
        load(installed, {})


def test_secrets_of_listeners_come_from_the_environment(installed: Path) -> None:
    (installed / "grebe.toml").write_text('[listeners.hears]\ntoken = "abc"\n')
    with pytest.raises(ConfigError, match="secret in plain text"):
        load(installed, {})
    (installed / "grebe.toml").write_text('[listeners.hears]\ntoken = "${HEARS}"\n')
    assert dict(load(installed, {"HEARS": "abc"}).listeners)["hears"] == (("token", "abc"),)
