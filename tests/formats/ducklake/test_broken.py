"""A catalog that breaks after it was opened is a typed error, whatever was asked of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from formats.commit.client import arrow
from formats.commit.lake import frontier
from formats.ducklake.lakes import Lake, drop_database
from formats.ducklake.views import View
from grebe.errors import GrebeError, SourceError, StepFailedError, UnknownOutcomeError
from grebe.formats.base import Append, Rows
from grebe.formats.ducklake.connections import session
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.formats.failpoints import VARIABLE

Lakes = Callable[..., Lake]
LOCK = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""
ADDED = Append(Rows(arrow=arrow([[1, "a", 1]])))


@contextmanager
def locked(lake: Lake) -> Iterator[None]:
    """By another process, all to itself."""
    command = [sys.executable, "-c", LOCK, lake.address.metadata]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            holder.communicate()


def broken(view: View) -> set[str]:
    """The codes of what each question fails with."""
    storage = view.storage
    expected = storage.position()

    def asked() -> Iterator[str]:
        source = DuckLakeSource(view.name, view.lake.address)
        for question in (
            source.head,
            storage.position,
            storage.properties,
            storage.orphans,
            lambda: storage.commit([ADDED], frontier("late"), expected),
        ):
            with pytest.raises(GrebeError) as caught:
                question()
            assert not isinstance(caught.value, UnknownOutcomeError)
            assert "secret" not in caught.value.explain()
            yield caught.value.code

    if view.lake.kind == "sqlite":
        with locked(view.lake):
            return set(asked())
    drop_database(view.lake.address.metadata)
    return set(asked())


def test_a_catalog_that_is_locked_later_is_named(opened: Lakes) -> None:
    lake = opened("sqlite")
    # Without a log beside the file, a writer stops readers too.
    options = (("META_BUSY_TIMEOUT", "50"), ("META_JOURNAL_MODE", "DELETE"))
    lake.address = replace(lake.address, options=options)
    view = View(lake).create()
    view.build([[1, "a", 1]])
    assert broken(view) == {"catalog-locked"}
    view.storage.commit([ADDED], frontier("next"), view.storage.position())


def test_a_server_that_goes_away_later_is_named(opened: Lakes) -> None:
    view = View(opened("postgres")).create()
    view.build([[1, "a", 1]])
    assert broken(view) == {"catalog-unreachable"}


def test_a_commit_that_was_never_sent_has_failed_and_is_not_unknown(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = View(lake).create()
    view.build([[1, "a", 1]])
    monkeypatch.setenv(VARIABLE, "ducklake.written=raise;ducklake.outcome=raise")
    with pytest.raises(StepFailedError):
        view.storage.commit([ADDED], frontier("r"), view.storage.position())
    monkeypatch.setenv(VARIABLE, "")
    assert len(view.rows()) == 1


def test_a_statement_that_fails_is_named(lake: Lake) -> None:
    lake.run("CREATE TABLE lake.t (id INTEGER)", "INSERT INTO lake.t SELECT i FROM range(40) r(i)")
    with session(lake.address) as opened, pytest.raises(SourceError) as caught:
        opened.rows("SELECT 1 FROM nowhere")
    assert "nowhere" in (caught.value.detail or "")
