"""Two writers that fight for one table, whatever its format: exactly one may win."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from formats.commit.client import Client
from formats.commit.lake import Barrier, Row, readable
from grebe.formats.base import Storage
from grebe.model import TableName

KINDS = ("first build", "append", "merge", "large", "overwrite", "frontier")
RACES_PER_TABLE = 12


class Contested(Protocol):
    """A storage table that can be looked at."""

    @property
    def name(self) -> TableName: ...

    @property
    def storage(self) -> Storage: ...

    def rows(self) -> Sequence[Row]:
        """All rows, sorted, NULLs first."""

    def left_behind(self) -> set[str]:
        """What unfinished runs left."""


class Tables(Protocol):
    """Makes empty storage tables."""

    def create(self) -> Contested: ...


@dataclass(slots=True)
class Arena:
    """Two long-lived writers and the table they fight for, with the rows it must hold."""

    tables: Tables
    writers: tuple[Client, Client]
    barrier: Barrier
    table: Contested
    rows: list[Row] = field(default_factory=list)
    races: int = 0

    def race(self, place: str, seed: int) -> str:
        """Which kind of commit was raced; raises when there is not exactly one winner."""
        chance = random.Random(seed)
        kind = KINDS[seed % len(KINDS)]
        if kind == "first build" or self.races >= RACES_PER_TABLE:
            self.table, self.rows, self.races = self.tables.create(), [], 0
        self.races += 1
        if kind != "first build" and not self.rows:
            self._build(seed)
        answers = self._run(place, kind, seed, together=chance.random() < 0.5, chance=chance)
        self._check(kind, seed, answers)
        return kind

    def _build(self, seed: int) -> None:
        first = self.writers[0]
        first.ask("position", self.table.name)
        rows = [[0, "base", 0]]
        done = first.ask("commit", self.table.name, run=f"b{seed}", kind="append", rows=rows)
        assert "version" in done, done
        self.rows = [(0, "base", 0)]

    def _run(
        self, place: str, kind: str, seed: int, *, together: bool, chance: random.Random
    ) -> list[dict[str, Any]]:
        for writer in self.writers:
            writer.ask("position", self.table.name)
        for number, writer in enumerate(self.writers):
            writer.send(
                "commit",
                self.table.name,
                run=f"s{seed}w{number}",
                failpoints=self.barrier.at(place),
                **self._command(kind, seed, number),
            )
        waiting = [self.barrier.arrive(), self.barrier.arrive()]
        chance.shuffle(waiting)
        self.barrier.release(*(waiting if together else waiting[:1]))
        first = self._next({0, 1})
        answers = {first: self.writers[first].answer()}
        if not together:
            self.barrier.release(waiting[1])
        second = self._next({1 - first})
        answers[second] = self.writers[second].answer()
        return [answers[0], answers[1]]

    def _next(self, numbers: set[int]) -> int:
        """The writer that answers next; one that has to try again comes by once more, and may go."""
        streams = {number: self.writers[number].process.stdout for number in numbers}
        while True:
            ready = readable([*streams.values(), self.barrier.listener], 120)
            assert ready, "nobody answers"
            for number, stream in streams.items():
                if stream in ready:
                    return number
            self.barrier.release(self.barrier.arrive())

    def _command(self, kind: str, seed: int, number: int) -> dict[str, Any]:
        mine = [seed * 2 + number + 1, f"w{number}", seed]
        match kind:
            case "first build" | "append":
                return {"kind": "append", "rows": [mine]}
            case "merge" | "large":
                kept = self.rows[0]
                update = [kept[0], f"w{number}", seed, "update"]
                return {"kind": kind, "rows": [update, [*mine, "insert"]]}
            case "overwrite":
                return {"kind": "overwrite", "rows": [mine]}
            case _:
                return {"kind": "frontier"}

    def _check(self, kind: str, seed: int, answers: list[dict[str, Any]]) -> None:
        outcomes = sorted(answer.get("error", "won") for answer in answers)
        assert outcomes == ["ConflictError", "won"], (kind, seed, answers)
        winner = next(number for number in (0, 1) if "version" in answers[number])
        mine: Row = (seed * 2 + winner + 1, f"w{winner}", seed)
        match kind:
            case "first build" | "append":
                self.rows = [*self.rows, mine]
            case "merge" | "large":
                self.rows = [(self.rows[0][0], f"w{winner}", seed), *self.rows[1:], mine]
            case "overwrite":
                self.rows = [mine]
        found = self.table.storage.position()
        assert found.frontier is not None
        assert found.frontier.run_id == f"s{seed}w{winner}"
        assert (found.version, found.foreign) == (answers[winner]["version"], ())
        assert self.table.rows() == sorted(self.rows, key=lambda row: str(row[0]))
        assert self.table.left_behind() == set()
