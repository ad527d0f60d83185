"""What is due is refreshed, and nothing else: over real tables, compared with plain Spark after each sweep."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from cli.shop import Shop
from grebe.api import Project
from grebe.config.settings_model import Sink
from grebe.errors import GrebeError, UnknownTableError
from grebe.registry import activity_rows
from grebe.registry.journal_tables import activity, notices
from grebe.scheduler.board import RegistryBoard
from grebe.scheduler.loop import LoopWorkspace
from grebe.scheduler.notices import SIGNATURE, NoticeBoard, signature
from grebe.scheduler.turn import turn
from grebe.scheduler.wishes import Activity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SUMS = "SELECT k, SUM(x) AS s FROM {s}.t GROUP BY k"


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    with Project.open(tmp_path, spark=spark) as project:
        yield Shop(project, tmp_path)


def due(shop: Shop) -> dict[str, str]:
    """One sweep: which views were refreshed, and how."""
    return {result.view.name: str(result.outcome) for result in shop.project.refresh_due()}


def equals(shop: Shop, name: str, query: str) -> None:
    left = shop.project.read(f"{shop.schema}.{name}")
    right = shop.project.sql(query.format(s=f"lake.{shop.schema}"))
    assert left.exceptAll(right).count() == right.exceptAll(left).count() == 0


def activity_of(shop: Shop, name: str) -> activity_rows.ActivityRow:
    with shop.project.registry.database.reading() as connection:
        return activity_rows.listed(connection)[1][f"lake.{shop.schema}.{name}"]


def change(shop: Shop, **values: Any) -> None:
    with shop.project.registry.database.writing() as connection:
        connection.execute(sa.update(activity).values(**values))


def soon(shop: Shop) -> None:
    """As if the last looks and runs were long ago."""
    with shop.project.registry.database.writing() as connection:
        connection.execute(sa.text("UPDATE grebe_polls SET claimed_at = 0"))
        connection.execute(sa.update(activity).values(started_at=0.0, ended_at=0.0))


def test_F203_F206_F208_one_sweep_refreshes_what_is_due(shop: Shop) -> None:
    """Also F247: a view is refreshed by inserts, updates and deletes of what it reads, and by no other table."""
    shop.view("now", SUMS, trigger="update")
    shop.view("hourly", SUMS, schedule="EVERY 1 HOUR")
    shop.view("never", SUMS)
    shop.view("lagging", SUMS, lag="10 minutes")
    shop.view("above", "SELECT SUM(s) AS all_of_it FROM {s}.now", trigger="update")
    assert set(due(shop)) <= {"hourly"}  # nothing moved; nobody knows when the hour was served
    assert due(shop) == {}
    for written in (
        "INSERT INTO lake.{s}.t VALUES (9, 'c', 5)",
        "UPDATE lake.{s}.t SET x = x + 1 WHERE id = 1",
        "DELETE FROM lake.{s}.t WHERE id = 2",
    ):
        shop.sql(written)
        soon(shop)
        found = due(shop)
        assert found.keys() == {"now", "above"}, found
        equals(shop, "now", SUMS)
        assert due(shop) == {}
    shop.sql("CREATE TABLE lake.{s}.other (a INT) USING iceberg")
    shop.sql("INSERT INTO lake.{s}.other VALUES (1)")
    soon(shop)
    assert due(shop) == {}
    assert shop.rows("never") != shop.rows("now")
    change(shop, last_slot=0.0)
    assert due(shop) == {"hourly": "incremental"}
    equals(shop, "hourly", SUMS)
    runs = shop.project.history(f"{shop.schema}.hourly", limit=1)
    assert [run.trigger for run in runs] == ["schedule"]
    shop.project.view(f"{shop.schema}.never").ask()
    assert due(shop) == {"never": "incremental"}


def test_who_moves_nothing_leaves_no_row(shop: Shop) -> None:
    shop.view("hourly", SUMS, schedule="EVERY 1 HOUR")
    before = len(shop.project.history())
    for number in range(5):
        change(shop, last_slot=0.0)
        assert due(shop) == {}
        assert activity_of(shop, "hourly").no_ops >= number
    assert len(shop.project.history()) == before


def test_a_view_that_fails_for_good_is_suspended_told_once_and_resumed(shop: Shop) -> None:
    bad = shop.view("bad", "SELECT k, SUM(10 / x) AS s FROM {s}.t GROUP BY k", trigger="update")
    shop.view("good", SUMS, trigger="update")
    for number in range(7):
        shop.sql(f"INSERT INTO lake.{{s}}.t VALUES ({100 + number}, 'z', 0)")
        soon(shop)
        found = due(shop)
        assert found["good"] == "incremental"
        assert ("bad" in found) == (number < 5)
        assert due(shop) == {}  # not again on equal inputs
    row = activity_of(shop, "bad")
    assert "5 runs in a row failed" in str(row.suspended)
    with shop.project.registry.database.reading() as connection:
        kinds = [
            item.kind
            for item in connection.execute(sa.select(notices).order_by(notices.c.number))
            if item.view.endswith(".bad")
        ]
    assert kinds == ["failing", "suspended"]
    shop.sql("DELETE FROM lake.{s}.t WHERE x = 0")
    soon(shop)
    assert due(shop).keys() == {"good"}
    shop.project.view(bad).resume()
    assert "bad" in due(shop)
    equals(shop, "bad", "SELECT k, SUM(10 / x) AS s FROM {s}.t GROUP BY k")


def test_who_is_stopped_by_a_person_stays_so_without_a_registry(shop: Shop) -> None:
    name = shop.view("sums", SUMS, trigger="update")
    view = shop.project.view(name).suspend("cleaning up")
    shop.sql("INSERT INTO lake.{s}.t VALUES (9, 'c', 5)")
    soon(shop)
    assert due(shop) == {}
    with shop.project.registry.database.writing() as connection:
        connection.execute(sa.delete(activity))
    shop.project.registry.drop_view(str(view.name))
    shop.project.recover()
    assert activity_of(shop, "sums").suspended == "cleaning up"
    soon(shop)
    assert due(shop) == {}
    view.resume()
    assert due(shop) == {"sums": "incremental"}


def test_a_broken_view_a_circle_and_a_source_that_is_gone_hold_up_nobody(shop: Shop) -> None:
    shop.view("good", SUMS, trigger="update")
    shop.sql("CREATE TABLE lake.{s}.gone AS SELECT * FROM lake.{s}.t")
    shop.view("away", "SELECT COUNT(*) AS n FROM {s}.gone", trigger="update")
    folder = shop.folder / "views"
    folder.mkdir()
    schema = shop.schema
    (folder / f"{schema}.bad.sql").write_text("CREATE MATERIALIZED")
    for one, other in (("x", "y"), ("y", "x")):
        text = f"CREATE MATERIALIZED VIEW {schema}.{one} TRIGGER ON UPDATE AS SELECT * FROM {schema}.{other}"
        (folder / f"{one}.sql").write_text(text)
    shop.sql("DROP TABLE lake.{s}.gone")
    shop.sql("INSERT INTO lake.{s}.t VALUES (9, 'c', 5)")
    soon(shop)
    assert due(shop) == {"good": "incremental"}
    shop.sql("CREATE TABLE lake.{s}.gone AS SELECT * FROM lake.{s}.t")
    soon(shop)
    assert "away" in due(shop)
    equals(shop, "away", "SELECT COUNT(*) AS n FROM {s}.gone")


def test_the_loop_looks_without_spark(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    name = shop.view("sums", SUMS, trigger="update")
    shop.sql("INSERT INTO lake.{s}.t VALUES (9, 'c', 5)")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("grebe.engine.engine.open_session", refuse)
    workspace = LoopWorkspace(shop.project.settings)
    with pytest.raises(GrebeError) as caught:
        workspace.session()
    assert caught.value.code == "spark-not-here"
    begun: list[tuple[str, ...]] = []

    class Watching:
        def is_free(self, _: object) -> bool:
            return True

        def start(self, run: Any) -> None:
            begun.append(run.names)

    board = RegistryBoard(workspace)
    turn(board, Watching())
    assert begun == [(f"lake.{name}",)]
    sight = board.look()
    assert sight.known[f"lake.{name}"].running  # claimed: no other copy begins it
    other = RegistryBoard(LoopWorkspace(shop.project.settings))
    turn(other, Watching())
    assert len(begun) == 1
    with pytest.raises(UnknownTableError):
        turn(RegistryBoard(LoopWorkspace(shop.project.settings), ["nothing"]), Watching())
    shop.project.notify(f"{shop.schema}.t")
    with pytest.raises(UnknownTableError):
        shop.project.notify(f"{shop.schema}.nothing")
    assert Activity.RUNNING


def test_one_notice_arrives_once_through_a_sink_that_fails_five_times(shop: Shop) -> None:
    """Also that the receiver can tell who sent it."""
    received: list[tuple[int, str, str]] = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status = 500 if len(received) < 5 else 204
            received.append((status, body, self.headers[SIGNATURE]))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    board = NoticeBoard(shop.project.workspace)
    sink = Sink("hook", ("late",), f"http://127.0.0.1:{server.server_port}/", "s3cret")
    board.sinks = {"hook": sink}
    with shop.project.registry.database.writing() as connection:
        for _ in range(3):
            board.put(connection, "v", "late", 5.0, "v is late")
        board.put(connection, "v", "suspended", 5.0, "not of this kind")
    for number in range(9):
        assert board.send() == (number == 5)
        with shop.project.registry.database.writing() as connection:
            connection.execute(sa.update(notices).values(next_at=0.0))
    server.shutdown()
    assert [status for status, _, _ in received] == [500] * 5 + [204]
    _, body, signed = received[-1]
    assert json.loads(body)["text"] == "v is late"
    assert signed == signature(sink, body) != signature(Sink("x", secret="other"), body)
