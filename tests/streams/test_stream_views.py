"""Stream views of a project: defined, fed, shown beside others, altered, dropped; all without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import grebe
from grebe.api.project import Project
from grebe.errors import DeclarationError, DefinitionError, GrebeError
from grebe.model import State
from streams import views_of_people

TOML = """
[catalogs.events]
format = "delta"
root = "events"
[defaults]
catalog = "events"
schema = "tail"
"""
LOGS: dict[str, Any] = {
    "$type": "Logs",
    "$stream": "tail",
    "$schema": {"id": "string!", "n": "int"},
    "$refresh": {"retention": "30 days"},
}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    (tmp_path / "grebe.toml").write_text(TOML)
    with grebe.open(tmp_path) as opened:
        yield opened


def rows_of(project: Project, name: str) -> list[dict[str, Any]]:
    """Without Spark: what the table of a view holds."""
    from grebe.project.stream_views import writer_of

    table = writer_of(project.workspace, project.workspace.named(name)).table
    rows = table.rows(["id", "n", "__grebe_dead"]).to_pylist()
    return sorted(
        ({"id": r["id"], "n": r["n"]} for r in rows if r["__grebe_dead"] is None),
        key=lambda row: str(row["id"]),
    )


def test_a_view_is_there_at_once_and_empty(project: Project) -> None:
    view = project.define_stream_view(LOGS)
    assert str(view.name) == "events.tail.Logs"
    assert view.state is State.FRESH
    assert rows_of(project, "Logs") == []
    assert view.dead_letters() == []
    assert project.dag().sources == {"events.tail.Logs": ["stream:tail"]}
    assert [item.outcome for item in project.plan()] == ["no_op"]
    assert [item.outcome for item in project.refresh()] == ["no_op"]


def test_defining_it_again_changes_nothing_and_another_one_is_refused(project: Project) -> None:
    project.define_stream_view(LOGS)
    project.define_stream_view(LOGS)
    with pytest.raises(DefinitionError) as raised:
        project.define_stream_view({**LOGS, "$filter": {"n": 1}})
    assert raised.value.code == "view-exists"


@pytest.mark.parametrize(
    "spec",
    [
        {**LOGS, "$schema": {"id": "text"}},
        {**LOGS, "$transform": "no.such:function"},
        {**LOGS, "$transform": lambda event: event},
        {**LOGS, "$refresh": {"backend": "ducklake"}},
        {**LOGS, "$key": {1, 2}},
        {**LOGS, "$filter": {"n": object()}},
    ],
    ids=lambda spec: str(list(spec.values())[-1])[:30],
)
def test_what_is_wrong_makes_nothing(project: Project, spec: Any) -> None:
    with pytest.raises(DeclarationError):
        project.define_stream_view(spec)
    assert project.views() == []
    assert not (project.settings.folder / "events").exists()


def test_F232_events_become_rows_and_counts_add_up(project: Project) -> None:
    view = project.define_stream_view({**LOGS, "$filter": {"n": {"$ne": 0}}})
    events = [{"id": "a", "n": 1}, {"id": "b", "n": 0}, {"n": 2}, "no json"]
    done = project.ingest_stream(view, events, batch="b1")
    assert (done.received, done.rows, done.filtered, done.dead) == (4, 1, 1, 2)
    assert rows_of(project, "Logs") == [{"id": "a", "n": 1}]
    again = project.ingest_stream("Logs", events, batch="b1")
    assert (again.duplicates, again.rows) == (4, 0)
    [status] = project.streams()
    found = status.totals
    assert (found.received, found.rows, found.filtered, found.dead, found.duplicates) == (8, 1, 1, 2, 4)  # fmt: skip
    assert found.adds_up


def test_F242_one_stream_feeds_views_and_a_failing_one_stops_no_other(project: Project) -> None:
    project.define_stream_view(LOGS)
    project.define_stream_view({**LOGS, "$type": "Others"})
    (project.settings.folder / "gone.py").write_text("def f(event):\n    return event\n")
    project.define_stream_view({**LOGS, "$type": "Broken", "$transform": "gone:f"})
    (project.settings.folder / "gone.py").unlink()
    import sys

    sys.modules.pop("gone")
    with pytest.raises(GrebeError):
        project.ingest("tail", [{"id": "a", "n": 1}], batch="b")
    assert rows_of(project, "Logs") == rows_of(project, "Others") == [{"id": "a", "n": 1}]
    (project.settings.folder / "gone.py").write_text("def f(event):\n    return event\n")
    found = project.ingest("tail", [{"id": "a", "n": 1}], batch="b")
    assert {name: item.rows for name, item in found.items()} == {
        "events.tail.Broken": 1,
        "events.tail.Logs": 0,
        "events.tail.Others": 0,
    }


def test_a_stream_of_no_view_is_told(project: Project) -> None:
    with pytest.raises(DefinitionError) as raised:
        project.ingest("tail", [])
    assert raised.value.code == "unknown-stream"


def test_a_function_of_people_makes_the_rows(project: Project) -> None:
    project.define_stream_view({**LOGS, "$transform": views_of_people.doubled})
    project.ingest_stream("Logs", [{"id": "a", "n": 2}])
    assert rows_of(project, "Logs") == [{"id": "a", "n": 4}]


def test_another_process_knows_what_landed(project: Project) -> None:
    project.define_stream_view(LOGS)
    project.ingest_stream("Logs", [{"id": "a"}], batch="b")
    with grebe.open(project.settings.folder) as other:
        assert other.ingest_stream("Logs", [{"id": "a"}], batch="b").duplicates == 1


def test_a_changed_definition_counts_from_now_on_and_says_so(project: Project) -> None:
    view = project.define_stream_view(LOGS)
    project.ingest_stream("Logs", [{"id": "a", "n": 1}])
    project.define_stream_view(
        {**LOGS, "$transform": {"id": "id", "n": {"$const": 9}}}, replace=True
    )
    project.ingest_stream("Logs", [{"id": "b", "n": 1}])
    assert rows_of(project, "Logs") == [{"id": "a", "n": 1}, {"id": "b", "n": 9}]
    assert [item.code for item in view.status().standing.reasons] == ["changed-from"]
    assert view.state is State.FRESH


def test_fields_may_be_added_but_neither_changed_nor_required(project: Project) -> None:
    project.define_stream_view(LOGS)
    project.ingest_stream("Logs", [{"id": "a", "n": 1}])
    more = {**LOGS, "$schema": {**LOGS["$schema"], "more": "string"}}
    project.define_stream_view(more, replace=True)
    project.ingest_stream("Logs", [{"id": "b", "n": 1, "more": "x"}])
    assert len(rows_of(project, "Logs")) == 2
    for schema, code, field in [
        ({"id": "string!", "n": "long"}, "INVALID_TYPE", "$schema.n"),
        ({"id": "string!", "n": "int!"}, "INVALID_SCHEMA", "$schema.n"),
        ({"id": "string!", "n": "int", "new": "int!"}, "INVALID_SCHEMA", "$schema.new"),
    ]:
        with pytest.raises(DeclarationError) as raised:
            project.define_stream_view({**LOGS, "$schema": schema}, replace=True)
        assert (raised.value.feature, raised.value.field) == (code, field)
        assert "grebe replay" in (raised.value.hint or "")


def test_a_file_under_views_defines_one(project: Project) -> None:
    folder = project.settings.folder / "views"
    folder.mkdir()
    (folder / "logs.json").write_text(json.dumps(LOGS))
    assert [str(view.name) for view in project.views()] == ["events.tail.Logs"]
    assert project.ingest("tail", [{"id": "a", "n": 1}])["events.tail.Logs"].rows == 1
    assert project.view("Logs").state is State.FRESH
    (folder / "logs.json").write_text(json.dumps({**LOGS, "$schema": {"id": "txt"}}))
    with pytest.raises(DeclarationError):
        project.ingest_stream("Logs", [{"id": "b"}])
    with pytest.raises(DefinitionError) as raised:
        project.define_stream_view({**LOGS, "$filter": {"n": 1}}, replace=True)
    assert raised.value.code == "view-in-file"


def test_what_is_no_stream_view_takes_no_events(project: Project) -> None:
    folder = project.settings.folder / "views"
    folder.mkdir()
    (folder / "q.sql").write_text("SELECT 1 AS a")
    with pytest.raises(DefinitionError) as raised:
        project.ingest_stream("q", [{}])
    assert raised.value.code == "no-stream"


def test_alter_and_drop(project: Project) -> None:
    view = project.define_stream_view(LOGS)
    with pytest.raises(DefinitionError) as raised:
        view.alter(lag="1 hour")
    assert raised.value.code == "stream-view"
    view.alter(sql=json.dumps({**LOGS, "$filter": {"n": 1}}))
    assert project.ingest_stream("Logs", [{"id": "a", "n": 2}]).filtered == 1
    assert view.drop() == (view.name,)
    assert project.views() == []
    assert project.define_stream_view(LOGS).dead_letters() == []


def test_dead_letters_are_chosen_and_run_again(project: Project) -> None:
    view = project.define_stream_view({**LOGS, "$schema": {"id": "string!", "n": "int"}})
    project.ingest_stream(view, [{"id": 1}, {"id": "a", "n": "x"}, {"id": "b", "n": 1}], batch="b")
    assert [item.code for item in view.dead_letters({"field": "n"})] == ["wrong-type"]
    assert len(view.dead_letters(lambda letter: letter.field == "id")) == 1
    with pytest.raises(DefinitionError) as raised:
        view.dead_letters({"$what": 1})
    assert raised.value.code == "bad-where"
    mapping = {"id": {"$text": "id"}, "n": {"$path": "m", "default": 0}}
    project.define_stream_view({**LOGS, "$transform": mapping}, replace=True)
    before = int(view.status().standing.refreshed_version or 0)
    done = view.redrive({"field": "id"})
    assert (done.received, done.rows, done.dead) == (1, 1, 0)
    assert int(view.status().standing.refreshed_version or 0) == before + 1
    assert rows_of(project, "Logs") == [{"id": "1", "n": 0}, {"id": "b", "n": 1}]
    assert view.redrive().rows == 1
    assert view.dead_letters() == []
    assert view.redrive().received == 0
    [status] = project.streams()
    assert (status.totals.rows, status.totals.dead) == (3, 0)
    assert project.ingest_stream(view, [{"id": 1}, {"id": "a", "n": "x"}, {"id": "b", "n": 1}], batch="b").duplicates == 3  # fmt: skip


def test_rows_go_by_age_with_their_disk(project: Project) -> None:
    from datetime import UTC, datetime, timedelta

    from grebe.project.stream_numbers import retire

    view = project.define_stream_view(LOGS)
    project.ingest_stream(view, [{"id": "a"}, {"id": 7}], batch="b")
    named = project.workspace.named("Logs")
    assert retire(project.workspace, named) == 0
    later = datetime.now(UTC) + timedelta(days=31)
    project.ingest_stream(view, [{"id": "b"}], batch="c")
    assert retire(project.workspace, named, later) == 3
    assert rows_of(project, "Logs") == []
    assert view.dead_letters() == []


def test_many_batches_leave_few_files(project: Project) -> None:
    from grebe.project.stream_views import writer_of

    view = project.define_stream_view(LOGS)
    for number in range(70):
        project.ingest_stream(view, [{"id": f"{number}"}], batch=f"b{number}")
    writer = writer_of(project.workspace, project.workspace.named("Logs"))
    log = writer.table._log_now()  # type: ignore[attr-defined]
    assert len(log.state(log.refreshed().head).files) <= 7
    assert project.ingest_stream(view, [{"id": "3"}], batch="b3").duplicates == 1
    assert len(rows_of(project, "Logs")) == 70
