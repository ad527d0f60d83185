"""All rows made anew from what the stream still holds; what nothing holds cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import grebe
from grebe.api.project import Project
from grebe.config import StreamSettings
from grebe.errors import CheckFailedError, DefinitionError, HistoryExpiredError, SourceError
from grebe.project.stream_feed import StreamFeed
from grebe.project.stream_sources import inbox_of
from grebe.project.stream_views import writer_of
from grebe.streams.feed import batch_of
from streams.feeding import text
from streams.test_stream_views import TOML

VIEW: dict[str, Any] = {
    "$type": "V",
    "$stream": "tail",
    "$schema": {"id": "string!", "n": "int"},
    "$filter": {"skip": {"$ne": True}},
}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    (tmp_path / "grebe.toml").write_text(TOML)
    with grebe.open(tmp_path) as opened:
        yield opened


def stored(project: Project) -> list[dict[str, Any]]:
    table = writer_of(project.workspace, project.workspace.named("V")).table
    rows: list[dict[str, Any]] = table.rows(["id", "n", "__grebe_dead", "__grebe_raw"]).to_pylist()
    for row in rows:
        row["__grebe_dead"] = bool(row["__grebe_dead"])
    return sorted(rows, key=repr)


def filled(project: Project) -> None:
    view = project.define_stream_view(VIEW)
    inbox = inbox_of(project.workspace, view.name, "tail")
    for number in range(3):
        inbox.append([batch_of([text(n) for n in range(number * 10, number * 10 + 10)], None)])


def test_a_refresh_reads_what_waits_in_the_inbox(project: Project) -> None:
    filled(project)
    [result] = project.refresh()
    assert (result.outcome, result.rows_in) == ("incremental", 30)
    [result] = project.refresh()
    assert (result.outcome, result.rows_in) == ("no_op", 0)


def test_a_replay_with_the_same_definition_equals_what_is_stored(project: Project) -> None:
    filled(project)
    project.refresh()
    before = stored(project)
    done = project.view("V").replay()
    assert done.received == 30
    assert stored(project) == before
    [result] = project.refresh()
    assert result.outcome == "no_op"


def test_a_replay_takes_another_type_that_stored_rows_could_not(project: Project) -> None:
    filled(project)
    project.refresh()
    view = project.view("V")
    with pytest.raises(DefinitionError, match="n: it is stored as int"):
        project.define_stream_view(
            {**VIEW, "$schema": {"id": "string!", "n": "json"}}, replace=True
        )
    view.replay({**VIEW, "$schema": {"id": "string!", "n": "json"}})
    assert {row["n"] for row in stored(project) if row["id"] in ("e4", "e5")} == {'"dead"', "5"}
    assert view.dead_letters() == []


def test_what_came_by_calls_cannot_be_made_again(project: Project) -> None:
    project.define_stream_view(VIEW)
    project.ingest_stream("V", [{"id": "a"}])
    with pytest.raises(DefinitionError) as raised:
        project.view("V").replay()
    assert raised.value.code == "nothing-to-replay"
    assert len(stored(project)) == 1


def test_a_broker_that_is_not_there_is_told(tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka")
    more = '[streams.tail]\nsource = "kafka"\nservers = "127.0.0.1:9"\ntopic = "t"\n'
    (tmp_path / "grebe.toml").write_text(TOML + more)
    with grebe.open(tmp_path) as project:
        view = project.define_stream_view(VIEW)
        with pytest.raises(SourceError) as raised:
            view.refresh()
        assert raised.value.code == "source-away"


def test_the_inbox_lets_go_of_what_every_view_has_read(project: Project) -> None:
    from datetime import UTC, datetime

    filled(project)
    project.refresh()
    inbox = inbox_of(project.workspace, project.view("V").name, "tail")
    for begin in (30, 40):
        inbox.append([batch_of([text(n) for n in range(begin, begin + 10)], None)])
    later = datetime.now(UTC) + timedelta(days=8)
    assert inbox.retire(0, later) == 0
    assert inbox.retire(50, datetime.now(UTC)) == 0
    assert inbox.retire(30, later) == 30
    [result] = project.refresh()
    assert (result.outcome, result.rows_in) == ("incremental", 20)
    inbox.append([batch_of([text(50)], None)])
    inbox.append([batch_of([text(51)], None)])
    assert inbox.retire(51, later) == 21
    project.workspace.inboxes.clear()  # as a process that starts now
    with pytest.raises(HistoryExpiredError):  # never silently from the middle on
        project.view("V").refresh()


def test_a_stream_view_says_that_it_has_no_query_to_compare_with(project: Project) -> None:
    view = project.define_stream_view(VIEW)
    project.ingest_stream(view, [{"id": "a", "n": 1}])
    with pytest.raises(CheckFailedError) as caught:
        view.verify()
    assert (caught.value.code, caught.value.differing) == ("events-not-compared", 0)
    assert [verdict.error.code for verdict in project.verdicts() if verdict.error] == [
        "events-not-compared"
    ]


def test_a_server_removes_what_every_view_has_read(project: Project) -> None:
    filled(project)
    name = project.view("V").name
    inbox = inbox_of(project.workspace, name, "tail")
    feed = StreamFeed(project.workspace, "tail", StreamSettings(), inbox=inbox)
    inbox.keep = timedelta(0)
    assert feed.let_go() == 0  # nobody has read it
    project.refresh()
    assert feed.let_go() == 30
    assert feed.let_go() == 0
