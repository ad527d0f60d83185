"""F018, F027: a maintainer killed after any statement, and two of them at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

import postgres
from evidence import LongRun
from grebe import MaterializedView, compile_ivm
from programs.lake import KINDS, Kind, Lake, check, cursor, maintain, roll_back, set_up

MIXED = (
    "INSERT INTO dl.t VALUES (1, {0}), (3, {0})",
    "UPDATE dl.u SET y = y + 1 WHERE g = 1",
    "INSERT INTO dl.u VALUES (3, {0})",
    "DELETE FROM dl.t WHERE x = 10",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A view, and what changes between two of its maintains."""

    sql: str
    strategy: str
    policy: str = "strict"
    changes: tuple[str, ...] = MIXED
    tables: tuple[str, ...] = ("t", "u")

    def cursor(self, end: int) -> dict[str, int]:
        return dict.fromkeys(self.tables, end)


CASES = {
    "groups": Case(
        "SELECT t.g, SUM(u.y) AS s, MIN(t.x) AS m FROM t JOIN u ON t.g = u.g GROUP BY t.g",
        "upsert groups",
    ),
    "inserts": Case(
        "SELECT g, x FROM t", "bag", changes=("INSERT INTO dl.t VALUES (1, {0})",), tables=("t",)
    ),
    "keys": Case(
        "SELECT t.g, t.x, ROW_NUMBER() OVER (PARTITION BY t.g ORDER BY t.x, u.y) AS n FROM t"
        " JOIN u ON t.g = u.g",
        "replace keys",
    ),
    "full": Case(
        "SELECT t.g, u.y, SUM(t.x) OVER () AS s FROM t JOIN u ON t.g = u.g",
        "full_refresh",
        policy="auto",
    ),
    "cursor": Case("SELECT t.g FROM t JOIN u ON t.g = u.g WHERE t.x < 0", "bag"),
}
OTHERS = [name for name in CASES if name != "groups"]
SCHEMAS = {"t": {"g": "INTEGER", "x": "INTEGER"}, "u": {"g": "INTEGER", "y": "INTEGER"}}
IN_FILES_TOO = [KINDS[0], pytest.param(KINDS[1], marks=pytest.mark.laws)]
METADATA = ("duckdb", "sqlite", "postgres")

_OTHER = """
import json, os, signal, sys
from pathlib import Path
from programs.lake import Kind, Lake, roll_back
folder, metadata, server = sys.argv[1:]
lake = Lake(Path(folder), Kind(metadata, server=server))
print("answer", json.dumps("ready"), flush=True)
for line in sys.stdin:
    try:
        for statement in json.loads(line):
            lake.run(statement) if statement != "KILL" else os.kill(os.getpid(), signal.SIGKILL)
        answer = None
    except Exception as error:
        roll_back(lake.con)
        answer = str(error)
    print("answer", json.dumps(answer), flush=True)
"""


class Other:
    """A process of its own with the same catalog, told what to run line by line."""

    def __init__(self, lake: Lake) -> None:
        tests = Path(__file__).resolve().parent.parent
        arguments = [str(lake.folder), lake.kind.metadata, lake.kind.server]
        self.process = subprocess.Popen(
            [sys.executable, "-c", _OTHER, *arguments],
            env={**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent / 'src'}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready"

    def run(self, statements: list[str]) -> str | None:
        """Runs them; gives the error that stopped it, if one did."""
        self._tell(statements)
        answer = self._answer()
        assert answer is None or isinstance(answer, str)
        return answer

    def die_after(self, statements: list[str]) -> None:
        self._tell([*statements, "KILL"])
        assert self.process.wait() == -signal.SIGKILL

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _tell(self, statements: list[str]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(statements) + "\n")
        self.process.stdin.flush()

    def _answer(self) -> object:
        assert self.process.stdout is not None
        for line in self.process.stdout:  # DuckDB may draw a progress bar in between
            if line.startswith("answer "):
                return json.loads(line.removeprefix("answer "))
        raise AssertionError("the other process is gone")


@contextmanager
def kind_of(metadata: str, folder: Path) -> Iterator[Kind]:
    """A kind of catalog, with its server while it is needed."""
    if metadata != "postgres":
        yield Kind(metadata)
        return
    with postgres.server() as server:
        socket = server.get_postmaster_info().socket_dir
        yield Kind(metadata, server=f"host={socket} user=postgres dbname=postgres")


def prepared(
    folder: Path, kind: Kind, case: Case = CASES["groups"]
) -> tuple[Lake, MaterializedView]:
    lake = Lake(folder, kind)
    lake.run(
        "CREATE TABLE dl.t (g INTEGER, x INTEGER)",
        "CREATE TABLE dl.u (g INTEGER, y INTEGER)",
        "INSERT INTO dl.t VALUES (1, 10), (1, 20), (2, 5), (NULL, 7)",
        "INSERT INTO dl.u VALUES (1, 100), (2, 200), (1, 100)",
    )
    view = compile_ivm(case.sql, schemas=SCHEMAS, policy=case.policy)
    assert view.strategy == case.strategy
    set_up(lake, view)
    return lake, view


def change(lake: Lake, number: int, case: Case = CASES["groups"]) -> None:
    lake.run(*(text.format(number) for text in case.changes))


@pytest.mark.parametrize("kind", IN_FILES_TOO, ids=str)
def test_F018_a_connection_lost_after_each_statement(tmp_path: Path, kind: Kind) -> None:
    lost(Lake(tmp_path, kind), CASES["groups"], step=1)


@pytest.mark.parametrize("name", OTHERS)
def test_F018_a_connection_lost_on_the_way(tmp_path: Path, name: str) -> None:
    lost(Lake(tmp_path), CASES[name], step=7)


def lost(empty: Lake, case: Case, step: int) -> None:
    """Connections that go away after some statements leave nothing behind."""
    empty.close()
    lake, view = prepared(empty.folder, empty.kind, case)
    before = cursor(lake)
    change(lake, 1, case)
    end, rows = lake.head(), lake.rows("SELECT * FROM dl.mv ORDER BY ALL")
    for count in range(1, len(view.maintain), step):
        other = lake.con.cursor()
        for statement in view.maintain[:count]:
            other.execute(statement)
        other.close()
        assert (cursor(lake), lake.rows("SELECT * FROM dl.mv ORDER BY ALL")) == (before, rows)
    maintain(lake.con, view)
    check(lake, view, case.sql)
    assert cursor(lake) == case.cursor(end)
    lake.close()


def killed(lake: Lake, view: MaterializedView, number: int, count: int, case: Case) -> None:
    """A process that dies after so many statements; then this one maintains."""
    change(lake, number, case)
    end = lake.head()
    lake.close()
    Other(lake).die_after(view.maintain[:count])
    lake.connect()
    maintain(lake.con, view)
    check(lake, view, case.sql)
    # What the dead one committed is in the window of nobody: the next one finds nothing to do.
    assert cursor(lake) == case.cursor(end)


@pytest.mark.parametrize("name", CASES)
def test_F018_a_process_killed_on_the_way(tmp_path: Path, name: str) -> None:
    lake, view = prepared(tmp_path, Kind("sqlite"), CASES[name])
    total = len(view.maintain)
    counts = (total // 3, total - 1, total) if name == "groups" else (total - 1,)
    for number, count in enumerate(counts):
        killed(lake, view, number, count, CASES[name])
    lake.close()


@pytest.mark.crash
@pytest.mark.parametrize("metadata", METADATA)
def test_F018_a_process_killed_after_every_statement(
    tmp_path: Path, metadata: str, long_run: LongRun
) -> None:
    with kind_of(metadata, tmp_path) as kind:
        lake, view = prepared(tmp_path, kind)
        for seed in long_run.seeds():
            killed(lake, view, seed, seed % len(view.maintain) + 1, CASES["groups"])
            long_run.add(kills=1, last=int(seed % len(view.maintain) + 1 == len(view.maintain)))
        lake.close()


@pytest.mark.crash
@pytest.mark.parametrize("name", OTHERS)
def test_F018_a_process_killed_after_every_statement_of_another_strategy(
    tmp_path: Path, name: str, long_run: LongRun
) -> None:
    lake, view = prepared(tmp_path, Kind("sqlite"), CASES[name])
    for seed in long_run.seeds():
        count = seed % len(view.maintain) + 1
        killed(lake, view, seed, count, CASES[name])
        long_run.add(kills=1, last=int(count == len(view.maintain)))
    lake.close()


@pytest.mark.parametrize("metadata", ["sqlite", "postgres"])
def test_F027_of_two_processes_exactly_one_applies(tmp_path: Path, metadata: str) -> None:
    """The other one pauses in the middle of its transaction while this one runs as a whole."""
    with kind_of(metadata, tmp_path) as kind:
        lake, view = prepared(tmp_path, kind)
        other = Other(lake)
        total = len(view.maintain)
        for number, pause in enumerate((1, 2, total // 2, total - 1)):
            raced(lake, view, other, number, pause, CASES["groups"])
        other.end()
        lake.close()


@pytest.mark.parametrize("name", OTHERS)
def test_F027_of_two_processes_exactly_one_applies_another_strategy(
    tmp_path: Path, name: str
) -> None:
    lake, view = prepared(tmp_path, Kind("sqlite"), CASES[name])
    other = Other(lake)
    for number, pause in enumerate((len(view.maintain) // 2, len(view.maintain) - 1)):
        raced(lake, view, other, number, pause, CASES[name])
    other.end()
    lake.close()


@pytest.mark.races
@pytest.mark.parametrize("metadata", ["sqlite", "postgres"])
def test_F027_two_processes_after_every_statement(
    tmp_path: Path, metadata: str, long_run: LongRun
) -> None:
    with kind_of(metadata, tmp_path) as kind:
        race(*prepared(tmp_path, kind), CASES["groups"], long_run)


@pytest.mark.races
@pytest.mark.parametrize("name", OTHERS)
def test_F027_two_processes_after_every_statement_of_another_strategy(
    tmp_path: Path, name: str, long_run: LongRun
) -> None:
    race(*prepared(tmp_path, Kind("sqlite"), CASES[name]), CASES[name], long_run)


def race(lake: Lake, view: MaterializedView, case: Case, long_run: LongRun) -> None:
    other = Other(lake)
    for seed in long_run.seeds():
        raced(lake, view, other, seed, seed % (len(view.maintain) - 1) + 1, case)
        long_run.add(races=1)
    other.end()
    lake.close()


def raced(
    lake: Lake, view: MaterializedView, other: Other, number: int, pause: int, case: Case
) -> None:
    change(lake, number, case)
    end = lake.head()
    assert other.run(view.maintain[:pause]) is None
    outcome: str | None = None
    try:
        maintain(lake.con, view)
    except duckdb.Error as error:
        outcome = str(error)  # the other one may hold what this one needs, as in SQLite
    answer = other.run(view.maintain[pause:])
    if pause > 1:
        assert [outcome, answer].count(None) == 1, (pause, outcome, answer)
    else:
        assert (outcome, answer) == (None, None)  # BEGIN alone has read nothing yet
    assert lake.head() == end + 1
    check(lake, view, case.sql)
    assert cursor(lake) == case.cursor(end)


@pytest.mark.parametrize("kind", IN_FILES_TOO, ids=str)
def test_F027_of_two_maintainers_exactly_one_applies(tmp_path: Path, kind: Kind) -> None:
    """The second one runs as a whole while the first one pauses after each statement."""
    lake, view = prepared(tmp_path, kind)
    pauses = range(1, len(view.maintain), 4)
    for number, pause in enumerate(pauses):
        change(lake, number)
        first, second = lake.con.cursor(), lake.con.cursor()
        for statement in view.maintain[:pause]:
            first.execute(statement)
        maintain(second, view)
        head = lake.head()
        if pause > 1:
            with pytest.raises(duckdb.Error, match=r"[Cc]onflict"):
                _finish(first, view, pause)
            roll_back(first)
        else:
            _finish(first, view, pause)
        assert lake.head() == head
        check(lake, view, CASES["groups"].sql)
    lake.close()


def _finish(con: duckdb.DuckDBPyConnection, view: MaterializedView, start: int) -> None:
    for statement in view.maintain[start:]:
        con.execute(statement)


def test_C6_a_commit_during_maintain_is_taken_by_the_next(tmp_path: Path) -> None:
    lake, view = prepared(tmp_path, Kind())
    for pause in range(1, len(view.maintain), 5):
        change(lake, pause)
        first = lake.con.cursor()
        for statement in view.maintain[:pause]:
            first.execute(statement)
        change(lake, pause + 1000)
        _finish(first, view, pause)
        maintain(lake.con, view)
        check(lake, view, CASES["groups"].sql)
    lake.close()
