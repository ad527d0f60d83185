"""F018 and conflicts: a maintainer killed after any statement, and two of them at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from grebe import MaterializedView, compile_ivm
from programs.lake import KINDS, Kind, Lake, check, cursor, maintain, roll_back, set_up

SQL = "SELECT t.g, SUM(u.y) AS s, MIN(t.x) AS m FROM t JOIN u ON t.g = u.g GROUP BY t.g"
SCHEMAS = {"t": {"g": "INTEGER", "x": "INTEGER"}, "u": {"g": "INTEGER", "y": "INTEGER"}}

_KILLED = """
import json, os, signal, sys
from pathlib import Path
from programs.lake import Kind, Lake
folder, metadata, inlining, file, count = sys.argv[1:]
lake = Lake(Path(folder), Kind(metadata, inlining=inlining == "True"))
for statement in json.loads(Path(file).read_text())[: int(count)]:
    lake.run(statement)
os.kill(os.getpid(), signal.SIGKILL)
"""


def prepared(folder: Path, kind: Kind) -> tuple[Lake, MaterializedView]:
    lake = Lake(folder, kind)
    lake.run(
        "CREATE TABLE dl.t (g INTEGER, x INTEGER)",
        "CREATE TABLE dl.u (g INTEGER, y INTEGER)",
        "INSERT INTO dl.t VALUES (1, 10), (1, 20), (2, 5), (NULL, 7)",
        "INSERT INTO dl.u VALUES (1, 100), (2, 200), (1, 100)",
    )
    view = compile_ivm(SQL, schemas=SCHEMAS)
    set_up(lake, view)
    return lake, view


def change(lake: Lake, number: int) -> None:
    lake.run(
        f"INSERT INTO dl.t VALUES (1, {number}), (3, {number})",
        "UPDATE dl.u SET y = y + 1 WHERE g = 1",
        f"INSERT INTO dl.u VALUES (3, {number})",
        "DELETE FROM dl.t WHERE x = 10",
    )


@pytest.mark.parametrize("kind", KINDS[:2], ids=str)
def test_F018_a_connection_lost_after_each_statement(tmp_path: Path, kind: Kind) -> None:
    lake, view = prepared(tmp_path, kind)
    before = cursor(lake)
    change(lake, 1)
    end, rows = lake.head(), lake.rows("SELECT * FROM dl.mv ORDER BY ALL")
    for count in range(1, len(view.maintain)):
        other = lake.con.cursor()
        for statement in view.maintain[:count]:
            other.execute(statement)
        other.close()
        assert (cursor(lake), lake.rows("SELECT * FROM dl.mv ORDER BY ALL")) == (before, rows)
    maintain(lake.con, view)
    check(lake, view, SQL)
    assert cursor(lake) == {"t": end, "u": end}
    lake.close()


def kill_after(lake: Lake, view: MaterializedView, count: int) -> None:
    """A process of its own that runs so many statements and is then killed."""
    file = lake.folder / "statements.json"
    file.write_text(json.dumps(view.maintain))
    arguments = [str(lake.folder), lake.kind.metadata, str(lake.kind.inlining), str(file)]
    tests = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, *arguments, str(count)],
        env={**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("share", [0.3, 0.75, 1.0])
def test_F018_a_process_killed_on_the_way(tmp_path: Path, share: float) -> None:
    _killed(tmp_path, Kind("sqlite"), [share])


@pytest.mark.crash
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_F018_a_process_killed_after_every_statement(tmp_path: Path, kind: Kind) -> None:
    _killed(tmp_path, kind, None)


def _killed(folder: Path, kind: Kind, shares: list[float] | None) -> None:
    lake, view = prepared(folder, kind)
    total = len(view.maintain)
    counts = range(1, total + 1) if shares is None else [round(total * s) for s in shares]
    for number, count in enumerate(counts):
        change(lake, number)
        end = lake.head()
        lake.close()
        kill_after(lake, view, count)
        lake.con = lake.connect()
        maintain(lake.con, view)
        check(lake, view, SQL)
        seen = end if count == total else lake.head() - 1
        assert cursor(lake) == {"t": seen, "u": seen}
    lake.close()


@pytest.mark.parametrize("kind", KINDS[:2], ids=str)
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
        began = any("CREATE" in statement for statement in view.maintain[:pause])
        if began:
            with pytest.raises(duckdb.Error, match=r"[Cc]onflict"):
                _finish(first, view, pause)
            roll_back(first)
        else:
            _finish(first, view, pause)
        assert lake.head() == head
        check(lake, view, SQL)
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
        check(lake, view, SQL)
    lake.close()
