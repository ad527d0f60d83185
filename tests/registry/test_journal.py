"""Leases race, runs die, files break: the registry answers with records or typed errors."""

from __future__ import annotations

import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from grebe.compiler.plan.cost import Past
from grebe.errors import ConfigError, GrebeError, RegistryError, RegistryVersionError
from grebe.model import Outcome, Reason
from grebe.registry import Counts, Registry, RunRecord, ViewRecord
from grebe.registry.database import Database
from grebe.registry.journal_tables import metadata
from grebe.registry.layout import HEAD, KNOWN, MIGRATIONS
from grebe.registry.runs import STEPS_KEPT

HOSTILE = [
    "x'; DROP TABLE grebe_views; --",
    'a"b`c\\d%s:name',
    "ünï.¢ødé.\U0001f986",
    " ",
    "a\nb",
    "%(x)s {0} ? $1",
]


def ended(run_id: str, view: str, outcome: Outcome = Outcome.INCREMENTAL, **more: Any) -> RunRecord:
    return RunRecord(run_id, view, outcome=outcome, **more)


# --- leases -------------------------------------------------------------------------------------


def test_one_of_many_that_ask_at_once_gets_the_lease(url: str) -> None:
    Registry.open(url).close()

    def ask(number: int) -> bool:
        with Registry.open(url) as registry:
            return registry.acquire("v", f"owner{number}", 60) is not None

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(24))) == 1


def test_an_expired_lease_is_taken_over_by_exactly_one_and_its_old_holder_loses(
    registry: Registry,
) -> None:
    old = registry.acquire("v", "old", 0.0)
    assert old is not None
    assert registry.holder("v") is None
    with ThreadPoolExecutor(6) as pool:
        taken = [
            lease
            for lease in pool.map(lambda n: registry.acquire("v", f"new{n}", 60), range(12))
            if lease
        ]
    assert len(taken) == 1
    assert taken[0].number == old.number + 1
    assert registry.renew(old) is None
    assert registry.release(old) is False
    held = registry.holder("v")
    assert held is not None
    assert (held.owner, held.number) == (taken[0].owner, taken[0].number)
    assert 0 < held.seconds <= 60


def test_a_lease_is_renewed_released_and_given_again(registry: Registry) -> None:
    first = registry.acquire("v", "a", 30)
    assert first is not None
    assert registry.acquire("v", "a", 30) is None
    assert registry.acquire("w", "a", 30) is not None
    renewed = registry.renew(first)
    assert renewed is not None
    assert renewed.expires_at >= first.expires_at
    assert registry.release(renewed)
    assert registry.holder("v") is None
    second = registry.acquire("v", "b", 30)
    assert second is not None
    assert second.number > first.number
    assert registry.renew(first) is None


def test_the_same_owner_again_is_another_holder(registry: Registry) -> None:
    old = registry.acquire("v", "host-1", 0.0)
    new = registry.acquire("v", "host-1", 60)
    assert old is not None
    assert new is not None
    assert registry.release(old) is False
    assert registry.holder("v") is not None


def test_an_expired_lease_that_nobody_took_is_still_its_holders(registry: Registry) -> None:
    lease = registry.acquire("v", "a", 0.0)
    assert lease is not None
    assert registry.renew(replace(lease, seconds=60)) is not None
    assert registry.acquire("v", "b", 60) is None


# --- runs ---------------------------------------------------------------------------------------


def test_a_run_is_written_down_as_it_happened(registry: Registry) -> None:
    before = datetime.now(UTC)
    registry.begin(RunRecord("r1", "v", trigger="schedule", owner="me"))
    (running,) = registry.unfinished()
    assert (running.run_id, running.owner, running.is_over) == ("r1", "me", False)
    reasons = (Reason("changeset-too-large", "31% of the rows", numbers=(("changed", 31.0),)),)
    done = replace(running, outcome=Outcome.FULL, reasons=reasons, seconds=1.5)
    assert registry.finish(replace(done, counts=Counts(3_000_000_000, 7), frontier_json='{"a":1}'))
    assert registry.unfinished() == []
    (run,) = registry.runs("v")
    assert run.outcome is Outcome.FULL
    assert run.reasons == reasons
    assert run.counts == Counts(3_000_000_000, 7)
    assert (run.seconds, run.frontier_json, run.error) == (1.5, '{"a":1}', None)
    assert run.begun_at is not None
    assert run.ended_at is not None
    # The database says when: in whole seconds, and by a clock that may be another one.
    assert abs(run.begun_at - before) < timedelta(hours=1)
    assert run.begun_at <= run.ended_at


def test_a_run_ends_once(registry: Registry) -> None:
    """Who clears up after a run that seemed dead does not overwrite what it said in the end."""
    registry.begin(RunRecord("r", "v"))
    assert registry.finish(ended("r", "v"))
    late = replace(ended("r", "v"), outcome=Outcome.FAILED, error="abandoned")
    assert registry.finish(late) is False
    assert [(run.outcome, run.error) for run in registry.runs()] == [
        (ended("r", "v").outcome, None)
    ]


def test_the_end_of_a_run_that_nobody_began_is_told(registry: Registry) -> None:
    assert registry.finish(ended("nobody", "v")) is False
    assert registry.runs() == []


def test_runs_come_newest_first_and_by_view(registry: Registry) -> None:
    for number in range(5):
        view = f"v{number % 2}"
        registry.begin(RunRecord(f"r{number}", view))
        registry.finish(ended(f"r{number}", view, counts=Counts(number), seconds=1.0))
    registry.begin(RunRecord("dead", "v0"))
    assert [run.run_id for run in registry.runs(limit=3)] == ["dead", "r4", "r3"]
    assert [run.run_id for run in registry.runs("v1")] == ["r3", "r1"]
    assert {view: run.run_id for view, run in registry.latest().items()} == {"v0": "r4", "v1": "r3"}
    registry.begin(RunRecord("bad", "v1"))
    registry.finish(ended("bad", "v1", outcome=Outcome.FAILED))
    assert registry.latest()["v1"].run_id == "bad"
    assert registry.latest(landed=True)["v1"].run_id == "r3"


def test_the_past_of_a_view_is_its_own_timed_runs(registry: Registry) -> None:
    done = Outcome.INCREMENTAL
    ends = [(Outcome.FULL, 0), (done, 1), (Outcome.NO_OP, 0), (Outcome.FAILED, 3), (done, 4)]
    ends.append((Outcome.NO_OP, 5))  # computed, and found to change nothing
    for number, (outcome, rows) in enumerate(ends):
        registry.begin(RunRecord(f"r{number}", "v"))
        seconds = number / 2
        registry.finish(ended(f"r{number}", "v", outcome, counts=Counts(rows), seconds=seconds))
    registry.begin(RunRecord("other", "w"))
    registry.finish(ended("other", "w", Outcome.FULL, seconds=9))
    known = (Past(True, 5, 2.5), Past(True, 4, 2.0), Past(True, 1, 0.5), Past(False, 0, 0.0))
    assert registry.past("v") == known
    assert registry.past("v", limit=1) == known[:1]


def test_a_run_begins_once(registry: Registry) -> None:
    registry.begin(RunRecord("r", "v"))
    registry.begin(RunRecord("r", "w"))
    with pytest.raises(RegistryError):
        registry.begin(RunRecord("r", "v"))
    assert len(registry.runs()) == 2


# --- views --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_only_texts(registry: Registry, text: str) -> None:
    view = ViewRecord(text, text, lag=text, properties=((text, text),), storage=text, state=text)
    registry.save_view(ViewRecord("other", "SELECT 1"))
    registry.save_view(view)
    registry.save_view(view)
    found = {item.name: item for item in registry.views()}
    assert replace(found[text], updated_at=None) == view
    assert registry.acquire(text, text, 60) is not None
    registry.begin(RunRecord(text, text, owner=text))
    registry.finish(ended(text, text, Outcome.FAILED, reasons=(Reason(text, text),), error=text))
    assert registry.runs(text)[0].error == text
    assert registry.drop_view(text)
    assert registry.holder(text) is None
    assert [item.name for item in registry.views()] == ["other"]
    assert registry.runs(text)[0].run_id == text


def test_dropping_what_is_not_there_is_told(registry: Registry) -> None:
    assert registry.drop_view("nothing") is False


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_texts_that_no_database_takes_are_refused_and_nothing_is_written(
    registry: Registry, text: str
) -> None:
    registry.save_view(ViewRecord("kept", "SELECT 1"))
    try:
        registry.save_view(ViewRecord("kept", text))
    except RegistryError:
        assert [item.definition for item in registry.views()] == ["SELECT 1"]
    else:
        assert [item.definition for item in registry.views()] == [text]


# --- the layout ---------------------------------------------------------------------------------


def test_the_tables_are_what_the_migrations_make(registry: Registry) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    assert ScriptDirectory(str(MIGRATIONS)).get_current_head() == HEAD
    assert KNOWN[-1] == HEAD
    with registry.database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "grebe_layout"})
        differences = compare_metadata(context, metadata)
    assert differences == []


def test_two_programs_that_make_the_registry_at_once_make_one(url: str) -> None:
    code = f"from grebe.registry import Registry; Registry.open({url!r}).close()"
    programs = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    errors = [program.communicate()[1] for program in programs]
    assert [program.returncode for program in programs] == [0] * 4, errors
    with Registry.open(url) as registry, registry.database.reading() as connection:
        assert connection.execute(sa.text("SELECT version_num FROM grebe_layout")).all() == [
            (HEAD,)
        ]


def test_a_newer_layout_is_refused_and_left_alone(url: str) -> None:
    with Registry.open(url) as registry:
        registry.save_view(ViewRecord("v", "SELECT 1"))
        with registry.database.writing() as connection:
            connection.execute(sa.text("UPDATE grebe_layout SET version_num = '99'"))
    with pytest.raises(RegistryVersionError) as caught:
        Registry.open(url)
    assert "99" in str(caught.value.detail)
    assert caught.value.hint


def test_a_current_layout_is_opened_without_alembic_and_without_spark(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"
    Registry.open(url).close()
    code = (
        f"from grebe.registry import Registry; Registry.open({url!r}).close();"
        "import sys; print({'alembic', 'pyspark', 'pyarrow', 'sqlglot'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# --- broken databases ---------------------------------------------------------------------------


def test_every_broken_database_is_a_typed_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, however long one looks at it" * 40)
    (tmp_path / "file").write_text("")
    urls = [
        f"sqlite:///{tmp_path}/text.db",
        f"sqlite:///{tmp_path}/file/registry.db",
        f"sqlite:///{tmp_path}",
        "sqlite:////proc/registry.db",
        "postgresql://nobody@127.0.0.1:9/none",
        "postgresql://nobody@no-such-host.invalid/none",
        "mysql://root@localhost/x",
        "registry.db",
        "postgresql://u@h:port/db",
        "",
    ]
    for url in urls:
        with pytest.raises(GrebeError) as caught:
            Registry.open(url)
        assert isinstance(caught.value, (RegistryError, ConfigError)), url
        assert caught.value.hint or caught.value.detail, url
    assert (tmp_path / "text.db").read_text().startswith("this is no database")


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    with pytest.raises(RegistryError) as caught:
        Registry.open("postgresql://nobody:hushhush@127.0.0.1:9/none")
    assert "hushhush" not in caught.value.explain()


def test_a_database_that_goes_away_later_is_a_typed_error(url: str, tmp_path: Path) -> None:
    with Registry.open(url) as registry:
        with registry.database.writing() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(sa.text(f"DROP TABLE {table.name}"))
        for call in (registry.views, registry.runs, registry.unfinished, registry.latest):
            with pytest.raises(RegistryError):
                call()
        with pytest.raises(RegistryError):
            registry.acquire("v", "me", 1)


def test_a_writer_that_waits_gets_its_turn(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"
    with Registry.open(url) as registry, ThreadPoolExecutor(8) as pool:

        def busy(number: int) -> None:
            for step in range(10):
                registry.begin(RunRecord(f"{number}.{step}", "v"))
                registry.finish(ended(f"{number}.{step}", "v", Outcome.NO_OP))

        list(pool.map(busy, range(8)))
        assert len(registry.runs(limit=None)) == 80
        assert registry.unfinished() == []


def test_two_programs_save_one_view_at_once(registry: Registry, url: str) -> None:
    barrier = threading.Barrier(2)
    failed: list[Exception] = []

    def save(name: str) -> None:
        with Registry.open(url) as own:
            barrier.wait()
            for number in range(30):
                try:
                    own.save_view(ViewRecord(f"v{number % 3}", f"SELECT '{name}'"))
                except GrebeError as error:
                    failed.append(error)

    threads = [threading.Thread(target=save, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [view.name for view in registry.views()] == ["v0", "v1", "v2"]


def test_a_record_is_changed_only_while_it_says_what_was_seen(registry: Registry) -> None:
    first = ViewRecord("v", "SELECT 1", properties=(("a", "ü"),))
    assert not registry.change_view(first, first)
    assert registry.view("v") is None
    assert registry.change_view(first, None)
    assert not registry.change_view(replace(first, policy="full"), None)
    seen = registry.view("v")
    assert seen is not None
    # What is found out of the same words is no other word.
    assert registry.change_view(replace(first, compiled="{}", fingerprint="f"), seen)
    assert registry.change_view(replace(first, policy="strict", lag="1 hour"), seen)
    for late in (replace(first, policy="full"), replace(first, definition="SELECT 2"), first):
        assert not registry.change_view(late, seen)
    now = registry.view("v")
    assert now is not None
    assert (now.policy, now.lag, now.properties) == ("strict", "1 hour", (("a", "ü"),))
    assert registry.drop_view("v")
    assert not registry.change_view(first, now)
    assert registry.views() == []


# --- what only a person can have written --------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("grebe_views", "policy", "bogus"),
        ("grebe_views", "policy", ""),
        ("grebe_views", "properties", "no JSON"),
        ("grebe_views", "properties", '{"a": 1}'),
        ("grebe_views", "properties", "[[1, 2]]"),
        ("grebe_views", "properties", "null"),
        ("grebe_views", "updated_at", "yesterday"),
        ("grebe_runs", "outcome", "well"),
        ("grebe_runs", "begun_at", "noon"),
        ("grebe_runs", "ended_at", "later"),
        ("grebe_runs", "reasons", "because"),
        ("grebe_runs", "reasons", "[1]"),
        ("grebe_runs", "rows_in", "many"),
        ("grebe_runs", "seconds", "long"),
    ],
)
def test_a_value_written_by_hand_is_a_typed_error(
    tmp_path: Path, table: str, column: str, value: str
) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"
    with Registry.open(url) as registry:
        registry.save_view(ViewRecord("v", "SELECT 1"))
        registry.begin(RunRecord("r", "v"))
        registry.finish(ended("r", "v", seconds=1.0))
        assert registry.views()
        assert registry.runs()
        assert registry.past("v")
        with registry.database.writing() as connection:
            connection.execute(sa.text(f"UPDATE {table} SET {column} = :value"), {"value": value})
        with pytest.raises(RegistryError) as caught:
            _ = registry.views(), registry.runs()
        assert caught.value.code == "registry-value"
        assert ('"v"' if table == "grebe_views" else "run r") in caught.value.message
        assert "grebe recover" in str(caught.value.hint)


def test_a_lease_whose_end_is_no_time_holds_nobody(tmp_path: Path) -> None:
    with Registry.open(f"sqlite:///{tmp_path}/registry.db") as registry:
        assert registry.acquire("v", "one", 60)
        assert registry.acquire("v", "two", 60) is None
        with registry.database.writing() as connection:
            connection.execute(sa.text("UPDATE grebe_leases SET expires_at = 'never'"))
        assert registry.acquire("v", "two", 60)


@pytest.mark.parametrize(
    "password",
    [
        "p@ssw0rd-TAIL",
        "a:b-TAIL",
        "a/b-TAIL",
        "a?b-TAIL",
        "#-TAIL",
        "a%b-TAIL",
        "ä ö'\"-TAIL",
        "@:/-TAIL@",
    ],
)
def test_a_password_of_any_signs_is_understood_and_never_shown(password: str) -> None:
    from urllib.parse import quote

    for written in (password, quote(password, safe="")):
        url = f"postgresql://grebe:{written}@localhost:1/db"
        database = Database.open(url)
        assert database.engine.url.password == password
        assert database.place == "postgresql+psycopg://grebe:***@localhost:1/db"
        with pytest.raises(RegistryError) as caught, database.reading():
            pass
        shown = "".join(traceback.format_exception(caught.value)) + caught.value.explain()
        assert "TAIL" not in shown


def test_a_url_that_can_be_read_in_two_ways_is_refused_without_a_word_of_it() -> None:
    url = "postgresql://me:{}@b?c@host/db".format("planted")
    with pytest.raises(ConfigError, match="two ways") as caught:
        Database.open(url)
    assert "planted@b" not in "".join(traceback.format_exception(caught.value))


def test_steps_are_kept_for_the_newest_runs_of_a_view(registry: Registry) -> None:
    for number in range(STEPS_KEPT + 3):
        run = RunRecord(f"r{number}", "lake.s.v")
        registry.begin(run)
        ended = replace(run, outcome=Outcome.FULL, steps_json=f"[{number}]")
        assert registry.finish(ended)
    last = STEPS_KEPT + 2
    assert registry.steps("lake.s.v") == (f"r{last}", f"[{last}]")
    assert registry.steps("lake.s.v", "r3") == ("r3", "[3]")
    assert registry.steps("lake.s.v", "r2") is None
    assert registry.steps("lake.s.w") is None
