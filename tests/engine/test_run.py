"""The parts of a run that need no Spark: leases, sessions and their settings, shared deltas."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from formats.memory import MemoryTable
from grebe.engine import run
from grebe.engine.run import Run
from grebe.engine.source_deltas import Deltas
from grebe.errors import SchemaChangedError
from grebe.model import Column, TableName, Window
from grebe.registry import Registry
from grebe.spark import pool
from grebe.spark.pool import Pool


def test_an_interrupt_while_cleaning_frees_the_leases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry.open(f"sqlite:///{tmp_path}/registry.db")
    view: Any = SimpleNamespace(parents=(), sources=())

    def reach(place: str) -> None:
        if place == "run.leased":
            raise RuntimeError("nothing more is needed")
        if place == "run.cleaned":
            raise KeyboardInterrupt

    monkeypatch.setattr(run, "reach", reach)
    one = Run(None, None, None, {"a.b.v": view}, {}, registry=registry)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        one.refresh()
    assert registry.acquire("a.b.v", "somebody else", 60) is not None


class Forgotten:
    """A session that answers with an error."""

    def __init__(self, text: str | None) -> None:
        self.conf = self
        self.text = text

    def get(self, key: str) -> str:
        if self.text:
            raise RuntimeError(self.text)
        return key


def test_a_session_that_the_server_forgot_is_not_lent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: Any = Forgotten("[INVALID_HANDLE.SESSION_CLOSED] The handle is invalid.")
    alive: Any = Forgotten(None)
    fresh: Any = Forgotten(None)
    sessions = Pool(lambda: fresh, [(alive, 0.0), (closed, 0.0)])
    monkeypatch.setattr(pool, "ASKED_AFTER", 0.0)
    with sessions.lend() as first, sessions.lend() as second:
        assert first() is alive
        assert second() is fresh
    assert [session for session, _ in sessions.idle] == [fresh, alive]


def test_a_delta_leaves_out_what_only_others_cannot_read() -> None:
    """A column that came within the window, one of another type, one that is gone."""
    name = TableName("mem", "shop", "orders")
    old = [Column(1, "k", "int"), Column(2, "v", "int"), Column(3, "w", "int")]
    new = [Column(1, "k", "int"), Column(2, "v", "bigint"), Column(4, "z", "int")]
    table = MemoryTable(name, old)
    first = table.write(pa.table({"k": [1], "v": [1], "w": [1]}))
    second = table.write(pa.table({"k": [1, 2], "v": [1, 2], "z": [1, 2]}), columns=new)
    deltas = Deltas({name: (1, 2, 3, 4)}, stage=lambda rows: "")
    window = Window(first, second)
    found = deltas.read(name, table, window, [1])
    assert found.arrow is not None
    assert found.arrow.to_pylist() == [{"k": 2, "__grebe_weight": 1}]
    assert deltas.read(name, table, window, [1]) is found
    with pytest.raises(SchemaChangedError):
        deltas.read(name, table, window, [2])
