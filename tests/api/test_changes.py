"""Views that are vacuumed, dropped and altered, without Spark."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from api.kept import NAME, STORAGE, TEXT, Kept, kept
from formats.commit.lake import COLUMNS
from grebe import Project
from grebe.engine.engine import Engine
from grebe.engine.lease import SECONDS, hold
from grebe.errors import ConflictError, DefinitionError, LeaseHeldError
from grebe.formats.ducklake.catalog import address_of
from grebe.formats.ducklake.storage import DuckLakeStorage
from grebe.model import Outcome, Policy, RunId, Schema, State, TableName
from grebe.project import compile_views as builder
from grebe.project.definitions import Definition
from grebe.project.ownership import project_id
from grebe.project.recovery import _write_lost_records, end_dead_runs
from grebe.registry import Registry
from grebe.registry.records import Lease, RunRecord, ViewRecord


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("grebe.engine.engine.open_session", refuse)


def test_a_view_alone_keeps_its_own_last_commit(tmp_path: Path) -> None:
    """The snapshots are those of all tables: its last commit need not be the newest."""
    site = kept(tmp_path)
    for run in ("r1", "r2", "r3"):
        site.filled(run)
        site.run("INSERT INTO {l}.t SELECT i, 'a', i FROM range(40) r(i)")
    before = site.position()
    assert before.row_version is not None
    many = site.snapshots()
    with site.project() as project:
        done = project.vacuum("v", retention="0 days")
    assert done.kept_for == ()
    left = site.snapshots()
    assert int(before.row_version.partition(":")[0]) in left
    assert len(left) == len(many) - 4  # two fills, the table and the public name
    assert site.position() == before


def test_a_view_that_no_longer_compiles_is_dropped_as_a_whole(tmp_path: Path) -> None:
    """Its record was written again from the table; what is left of it would come back once more."""
    site = kept(tmp_path, facts=False)
    site.filled("r1")
    site.run("DROP TABLE {l}.t")
    with site.project() as project:
        assert project.drop("v") == (NAME,)
        assert (site.stored(), site.shown()) == ([], None)
        assert project.registry.views() == []


def test_a_view_in_a_catalog_that_is_not_there_hides_no_other_and_can_be_dropped(
    tmp_path: Path,
) -> None:
    site = kept(tmp_path)
    with site.project() as project:
        project.registry.save_view(ViewRecord("gone.main.w", "SELECT 1 AS a"))
        found = {str(item.name): item for item in project.status()}
        assert found["gone.main.w"].state is State.INVALID
        assert found["gone.main.w"].error is not None
        assert found[str(NAME)].error is None
        project.drop("gone.main.w")
        assert list(project.written()) == [str(NAME)]


def test_F105_a_run_that_died_is_told_and_settled_by_whoever_comes_next(tmp_path: Path) -> None:
    site = kept(tmp_path)
    site.filled("landed")
    with site.project() as project:
        registry = project.registry
        for run_id, owner in (("landed", "a"), ("lost", "b"), ("alive", "c")):
            registry.begin(RunRecord(RunId(run_id), str(NAME), owner=owner))
        assert registry.acquire(str(NAME), "c", 60) is not None

        def shown() -> dict[str, object]:
            heads, rows = project.history().wide_rows()
            return {row[heads.index("run")]: row[heads.index("outcome")] for row in rows}  # type: ignore[misc]

        assert shown() == {"landed": "died", "lost": "died", "alive": "running"}
        for _ in range(2):
            end_dead_runs(project.workspace, project.written())
            assert shown() == {
                "landed": Outcome.INCREMENTAL,
                "lost": Outcome.FAILED,
                "alive": "running",
            }


def test_views_of_another_project_are_listed_and_left_to_it(tmp_path: Path) -> None:
    """Two projects, one catalog; a table that says nothing of its maker is taken for ours."""
    site = kept(tmp_path, facts=False)
    site.filled("r1")
    other = TableName("duck", "main", "__grebe_w_1a2b3c4d")
    storage = DuckLakeStorage(None, other, address_of(site.tables.place))
    said = json.dumps([["team", "us"]])
    named = {"grebe.view": "duck.main.w", "grebe.sql": TEXT, "grebe.properties": said}
    storage.create(Schema("0", COLUMNS), {**named, "grebe.project": "theirs"})
    with site.project() as project:
        project.registry.drop_view(str(NAME))
        views, others, problems = _write_lost_records(project.workspace)
        assert (views, problems) == ((str(NAME),), ())
        (line,) = others
        assert "duck.main.w" in line
        assert '[project] id = "theirs"' in line
        assert [record.name for record in project.registry.views()] == [str(NAME)]
        assert project_id(project.settings) == project_id(project.settings)
    with (tmp_path / "grebe.toml").open("a") as file:
        file.write('[project]\nid = "theirs"\n')
    with site.project() as project:
        assert _write_lost_records(project.workspace)[0] == ("duck.main.w",)
        (record,) = [item for item in project.registry.views() if item.name == "duck.main.w"]
        assert record.properties == (("team", "us"),)


# --- two programs at once ------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A view that is compiled and stored without Spark: what others do meanwhile is what counts."""
    made = kept(tmp_path)
    compiled = SimpleNamespace(name=NAME, storage_name=STORAGE)

    def add(engine: Engine, view: Any) -> Any:
        made.storage.create(Schema("0", COLUMNS), {"grebe.view": str(NAME)})
        engine.views[str(NAME)] = view
        return view

    def record(view: Definition, _: object) -> ViewRecord:
        assert view.record is not None
        known = view.record.compiled
        return ViewRecord(
            view.key,
            view.text,
            view.policy,
            view.lag,
            view.schedule,
            properties=view.properties,
            timing=view.timing.others,
            compiled=known,
        )

    monkeypatch.setattr(Engine, "compile", lambda *_: compiled)
    monkeypatch.setattr(Engine, "add", add)
    monkeypatch.setattr(builder, "record_of", record)
    return made


def read(project: Project) -> Definition:
    return project.written()[str(NAME)]


def test_what_another_program_altered_is_not_undone(site: Kept) -> None:
    with site.project() as ours, site.project() as theirs:
        view = read(ours)
        theirs.alter("v", policy="strict", lag="1 hour", properties={"team": "us"})
        with pytest.raises(ConflictError) as caught:
            ours.workspace.builder.add(view)
        assert caught.value.code == "view-altered"
        with pytest.raises(ConflictError):
            _alter_as_read(ours, view)
        now = read(theirs)
        assert (now.policy, now.lag) == (Policy.STRICT, "1 hour")
        ours.workspace.builder.add(read(ours))
        again = read(theirs)
        assert again.record is not None
        assert now.record is not None
        assert again.record.said == now.record.said


def _alter_as_read(project: Project, view: Definition) -> None:
    from grebe.project.given import Given
    from grebe.project.lifecycle import alter

    alter(project.workspace, view, Given(None, None, "full"), {})


def test_two_programs_that_find_out_the_same_do_not_stop_each_other(site: Kept) -> None:
    with site.project() as ours, site.project() as theirs:
        views = read(ours), read(theirs)
        theirs.workspace.builder.add(views[1])
        ours.workspace.builder.add(views[0])


def test_a_view_that_another_program_dropped_does_not_come_back(site: Kept) -> None:
    with site.project() as ours, site.project() as theirs:
        view = read(ours)
        theirs.drop("v")
        for change in (ours.workspace.builder.add, lambda late: _alter_as_read(ours, late)):
            with pytest.raises(DefinitionError) as caught:
                change(view)
            assert caught.value.code == "view-dropped"
        assert (site.stored(), site.shown(), ours.registry.views()) == ([], None, [])


def test_a_view_that_is_dropped_while_its_table_is_made_does_not_come_back(
    site: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    with site.project() as ours, site.project() as theirs:
        add = Engine.add

        def slowly(engine: Engine, view: Any) -> Any:
            theirs.drop("v")
            return add(engine, view)

        monkeypatch.setattr(Engine, "add", slowly)
        with pytest.raises(DefinitionError, match="was dropped"):
            ours.workspace.builder.add(read(ours))
        assert (site.stored(), ours.registry.views()) == ([], [])


def test_properties_that_were_altered_outlive_the_next_compile(site: Kept) -> None:
    with site.project() as project:
        project.alter("v", properties={"team": "us"})
    with site.project() as another:
        another.workspace.builder.add(read(another))
        record = read(another).record
    assert record is not None
    assert record.properties == (("team", "us"),)


HANGS = 600.0


def test_the_right_to_drop_is_kept_for_as_long_as_it_takes(
    site: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is renewed every third of its time; here, where no time must pass, at once."""
    wait, renew = threading.Event.wait, Registry.renew
    twice = threading.Semaphore(0)

    def soon(event: threading.Event, seconds: float | None = None) -> bool:
        return wait(event, 0.05 if seconds == SECONDS / 3 else seconds)

    def counted(registry: Registry, lease: Lease) -> Lease | None:
        renewed = renew(registry, lease)
        if renewed is not None:
            twice.release()
        return renewed

    with site.project() as ours, site.project() as theirs:
        monkeypatch.setattr(threading.Event, "wait", soon)
        monkeypatch.setattr(Registry, "renew", counted)
        with hold(ours.registry, [str(NAME)]):
            assert all(twice.acquire(timeout=HANGS) for _ in range(2))
            with pytest.raises(LeaseHeldError), hold(theirs.registry, [str(NAME)]):
                pass
        with hold(theirs.registry, [str(NAME)]):
            pass
