"""The Python face on Spark: what is promised of views, one number of the feature list after another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe
from cli.shop import Shop
from grebe.api import Project
from grebe.errors import (
    CycleError,
    DefinitionError,
    GrebeError,
    HistoryExpiredError,
    LeaseHeldError,
    NotIncrementalError,
    RefreshError,
    UnknownTableError,
)
from grebe.model import Outcome, Policy, State
from grebe.project import seeds
from grebe.project.definitions import all_written
from grebe.project.seeds import make_missing
from grebe.registry import Registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Project]]:
    """One project; every test has a schema of its own in it."""
    folder = tmp_path_factory.mktemp("lake")
    with Project.open(folder, spark=spark) as project:
        yield folder, project


@pytest.fixture
def shop(lake: tuple[Path, Project]) -> Shop:
    return Shop(lake[1], lake[0])


SUMS = "SELECT k, SUM(x) AS total FROM {s}.t GROUP BY k"
RANKS = "SELECT id, RANK() OVER (ORDER BY x) AS place FROM {s}.t"


def test_F051_four_policies_on_what_can_and_what_cannot_be_incremental(shop: Shop) -> None:
    outcomes = {}
    for policy in Policy:
        shop.view(f"sums_{policy}", SUMS, policy=policy, build=False)
        if policy in (Policy.STRICT, Policy.INCREMENTAL):
            with pytest.raises(NotIncrementalError) as caught:
                shop.view(f"ranks_{policy}", RANKS, policy=policy)
            assert caught.value.reasons[0].code == "window-without-partition"
            assert f"lake.{shop.schema}.ranks_{policy}" not in shop.names()
        else:
            shop.view(f"ranks_{policy}", RANKS, policy=policy, build=False)
    shop.project.refresh(f"{shop.schema}.*")
    shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'b', 5)")
    for result in shop.project.refresh(f"{shop.schema}.*"):
        outcomes[result.view.name] = (result.outcome, [r.code for r in result.reasons])
    assert outcomes == {
        "sums_auto": (Outcome.INCREMENTAL, []),
        "sums_incremental": (Outcome.INCREMENTAL, []),
        "sums_strict": (Outcome.INCREMENTAL, []),
        "sums_full": (Outcome.FULL, ["policy-full"]),
        "ranks_auto": (Outcome.FULL, ["window-without-partition"]),
        "ranks_full": (Outcome.FULL, ["policy-full"]),
    }


def test_the_steps_of_a_run_are_told_with_rows_and_times(shop: Shop, grebe: Grebe) -> None:
    view = shop.project.view(shop.view("stepped", SUMS, build=False))
    with pytest.raises(GrebeError) as caught:
        view.explain(run="last")
    assert caught.value.code == "unknown-run"
    view.refresh()
    shop.sql("INSERT INTO lake.{s}.t VALUES (91, 'a', 7)")
    result = view.refresh()
    ran = view.explain(run="last")
    assert ran == view.explain(run=result.run_id)
    assert [(step.kind, step.sql) for step in ran.steps] == [
        (step.kind, step.sql) for step in result.steps
    ]
    assert "@delta" in ran.steps[0].sql
    assert ran.steps[-1].rows
    said = grebe("explain", str(view.name), "--last-run", folder=shop.folder)
    assert said.code == 0, said.err
    assert "merge" in said.out
    assert "read_state_whole" in said.out, said.out
    told = grebe("explain", str(view.name), "--last-run", "-o", "json", folder=shop.folder).json
    assert told["run_id"] == result.run_id


def test_F107_rules_of_the_registry(shop: Shop) -> None:
    shop.view("a", SUMS)
    with pytest.raises(DefinitionError) as caught:
        shop.view("a", SUMS)
    assert caught.value.code == "view-exists"
    with pytest.raises(UnknownTableError):
        shop.view("lost", "SELECT id FROM {s}.nothing")
    with pytest.raises(CycleError, match="own -> lake"):
        shop.view("own", "SELECT k FROM {s}.own")
    shop.view("b", "SELECT total FROM {s}.a", build=False)
    with pytest.raises(CycleError):
        shop.view("a", "SELECT total AS k FROM {s}.b", replace=True)
    with pytest.raises(DefinitionError) as caught:
        shop.project.drop(f"{shop.schema}.a")
    assert caught.value.code == "has-dependents"
    assert shop.names() == {f"lake.{shop.schema}.a", f"lake.{shop.schema}.b"}


def test_F105_F209_F210_F275_history_says_what_happened(shop: Shop) -> None:
    name = shop.view("sums", SUMS)
    view = shop.project.view(name)
    assert view.refresh().outcome is Outcome.NO_OP
    shop.sql("UPDATE lake.{s}.t SET x = 11 WHERE id = 1")
    result = view.refresh()
    assert (result.outcome, result.rows_in, result.rows_out) == (Outcome.INCREMENTAL, 2, 1)
    assert view.refresh(full=True).outcome is Outcome.FULL
    shop.view("shares", "SELECT id, 1 / (x - 20) AS share FROM {s}.t WHERE x <> 20")
    shop.sql("ALTER TABLE lake.{s}.t RENAME TO {s}.gone")
    with pytest.raises(UnknownTableError):
        shop.project.view(f"{shop.schema}.shares").refresh()
    shop.sql("ALTER TABLE lake.{s}.gone RENAME TO {s}.t")
    runs = [run for run in view.history() if run.outcome is not Outcome.NO_OP]
    assert [run.outcome for run in runs] == [Outcome.FULL, Outcome.INCREMENTAL, Outcome.FULL]
    assert (runs[1].counts.rows_in, runs[1].counts.rows_out) == (2, 1)
    assert runs[1].seconds is not None
    assert runs[1].frontier_json is not None
    assert runs[0].reasons[0].code == "policy-full"
    failed = shop.project.view(f"{shop.schema}.shares").history()[0]
    assert failed.outcome is Outcome.FAILED
    assert "does not exist" in str(failed.error)


def test_F208_F216_F217_F218_states(shop: Shop) -> None:
    project = shop.project
    shop.view("fresh", SUMS)
    shop.view("never", SUMS, build=False)
    shop.view("child", "SELECT total FROM {s}.fresh")
    states = {item.name.name: item.state for item in project.status(f"{shop.schema}.*")}
    assert states == {"fresh": State.FRESH, "never": State.NEVER_REFRESHED, "child": State.FRESH}
    shop.sql(
        "CALL lake.system.rewrite_data_files(table => '{s}.t', options => map('rewrite-all', 'true'))"
    )
    assert project.view(f"{shop.schema}.fresh").state is State.FRESH
    before = datetime.now(UTC)
    shop.sql("DELETE FROM lake.{s}.t WHERE id = 1")
    between = datetime.now(UTC)
    shop.sql("INSERT INTO lake.{s}.t VALUES (7, 'b', 5)")
    found = {item.name.name: item for item in project.status(f"{shop.schema}.*")}
    assert found["fresh"].state is State.STALE
    assert found["child"].state is State.STALE
    assert [reason.code for reason in found["fresh"].standing.reasons] == ["source-moved"]
    assert [reason.code for reason in found["child"].standing.reasons] == ["parent-stale"]
    since = found["fresh"].stale_since
    assert since is not None
    assert before - timedelta(seconds=1) <= since <= between
    project.alter(
        f"{shop.schema}.fresh", sql=f"SELECT k, MAX(x) AS total FROM {shop.schema}.t GROUP BY k"
    )
    assert project.view(f"{shop.schema}.fresh").state is State.INVALID
    result = project.view(f"{shop.schema}.fresh").refresh()
    assert result.outcome is Outcome.FULL
    assert shop.rows("fresh") == [("a", 30), ("b", 20)]
    assert project.view(f"{shop.schema}.fresh").state is State.FRESH
    shop.sql("DROP TABLE lake.{s}.t")
    broken = project.view(f"{shop.schema}.fresh").status()
    assert broken.state is State.STALE
    assert broken.error is not None
    assert broken.last_refresh is not None
    with pytest.raises(UnknownTableError):
        project.view(f"{shop.schema}.fresh").refresh()
    failed = project.view(f"{shop.schema}.fresh").status()
    assert failed.last is not None
    assert failed.last.outcome is Outcome.FAILED
    assert failed.last_refresh == broken.last_refresh  # a failure refreshes nothing
    assert failed.to_dict()["last_refresh"] == broken.last_refresh.isoformat()
    assert found["never"].last_refresh is None


def test_F208_F210_F218_F219_F221_a_view_that_nobody_refreshes_by_itself(shop: Shop) -> None:
    project = shop.project
    manual = {
        "$type": f"{shop.schema}.m",
        "$from": f"{shop.schema}.t",
        "$refresh": {"mode": "manual"},
    }
    view = project.define_view(manual, build=True)
    first = view.status().standing.refreshed_version
    for number in range(3):
        shop.sql(f"INSERT INTO lake.{{s}}.t VALUES ({number + 50}, 'm', 1)")
    status = view.status()
    runs = [run for run in project.history(str(view.name)) if run.outcome is not Outcome.NO_OP]
    assert (status.state, status.next_time, len(runs)) == (State.STALE, None, 1)
    # Three states in one list, a broken one among them.
    shop.view("fresh", SUMS)
    shop.view("changed", SUMS)
    project.alter(f"{shop.schema}.changed", sql=f"SELECT id FROM {shop.schema}.t")
    assert {item.name.name: item.state for item in project.status(f"{shop.schema}.*")} == {
        "m": State.STALE, "fresh": State.FRESH, "changed": State.INVALID,
    }  # fmt: skip
    # In full: what it is, what it shows, and what it says it shows.
    result = view.refresh(full=True)
    assert (result.outcome, result.reasons[0].code) == (Outcome.FULL, "policy-full")
    shown = sorted(tuple(row) for row in view.read().collect())
    source = project.sql(f"SELECT * FROM lake.{shop.schema}.t")
    assert shown == sorted(tuple(row) for row in source.collect())
    position = view.status().standing.position
    assert position is not None
    assert position.frontier is not None
    head = project.workspace.heads().head(project.settings.resolve(f"{shop.schema}.t"))
    assert [point.version for _, point in position.frontier.sources] == [head.version]
    view.verify()
    # What is inside the retention can still be read after a vacuum.
    project.vacuum(view.name, retention="1 day")
    assert len(view.read(as_of=first).collect()) == 3
    # Dropped, nothing is left on the disk; made again of the same text, it is another one.
    facts = project.written()[str(view.name)].facts
    assert facts is not None
    assert facts.storage is not None
    identity = project.workspace.heads().head(facts.storage).identity

    def files() -> list[Path]:
        return [file for file in shop.folder.rglob("*.parquet") if facts.storage.name in str(file)]  # type: ignore[union-attr]

    assert files()
    view.drop()
    assert not files()
    project.define_view(manual, build=True)
    assert project.workspace.heads().head(facts.storage).identity != identity


def test_F219_a_dropped_view_is_gone_and_its_name_is_free(shop: Shop) -> None:
    name = shop.view("sums", SUMS)
    shop.project.drop(name)
    assert shop.names() == set()
    left = shop.project.sql(f"SHOW TABLES IN lake.{shop.schema}").collect()
    assert [row["tableName"] for row in left] == ["t"]
    with pytest.raises(UnknownTableError):
        shop.project.view(name)
    shop.view("sums", "SELECT id FROM {s}.t")
    assert shop.rows("sums") == [(1,), (2,), (3,)]


def test_F219_a_view_that_is_being_refreshed_is_not_dropped(shop: Shop) -> None:
    name = shop.view("sums", SUMS)
    lease = shop.project.registry.acquire(f"lake.{name}", "somebody", 60)
    assert lease is not None
    with pytest.raises(LeaseHeldError):
        shop.project.drop(name)
    shop.sql("INSERT INTO lake.{s}.t VALUES (9, 'z', 1)")
    with pytest.raises(LeaseHeldError):
        shop.project.view(name).refresh()
    shop.project.registry.release(lease)
    shop.project.drop(name)


def test_F220_settings_change_without_a_rebuild_and_bad_ones_change_nothing(shop: Shop) -> None:
    name = shop.view("sums", SUMS, lag="10 minutes", schedule="EVERY 1 HOUR")
    view = shop.project.view(name)
    snapshots = shop.snapshots("sums")
    before = view.status().next_time
    view.alter(policy="strict", lag="1 hour", schedule="CRON '17 2 * * *'", properties={"a": "b"})
    after = view.status()
    assert (after.policy, after.lag, after.state) == (Policy.STRICT, "1 hour", State.FRESH)
    assert after.next_time != before
    assert shop.snapshots("sums") == snapshots
    for bad in (
        {"policy": "never"}, {"lag": "soon"}, {"schedule": "CRON '61 * * * *'"},
        {"properties": {"grebe.sql": "x"}}, {"sql": "SELECT nothing FROM nowhere"}, {"lag": "2 hours", "schedule": "x"},
    ):  # fmt: skip
        with pytest.raises(DefinitionError):
            view.alter(**bad)  # type: ignore[arg-type]
    assert view.status().to_dict() == after.to_dict()
    with pytest.raises(DefinitionError):
        shop.project.view(shop.view("ranks", RANKS)).alter(policy="strict")


def test_F221_vacuum_keeps_what_children_need(shop: Shop) -> None:
    parent = shop.view("sums", SUMS)
    shop.view("child", "SELECT k FROM {s}.sums WHERE total > 15")
    for number in range(2):
        shop.sql(f"UPDATE lake.{{s}}.t SET x = x + {number + 1} WHERE id = 1")
        shop.project.refresh(parent)
    needed = shop.snapshots("sums")
    done = shop.project.vacuum(parent, retention="0 days")
    assert done.kept_for == (f"lake.{shop.schema}.child",)
    shop.project.view(f"{shop.schema}.child").verify()
    result = shop.project.view(f"{shop.schema}.child").refresh()
    assert result.outcome in (Outcome.INCREMENTAL, Outcome.NO_OP)
    shop.project.vacuum(parent, retention="0 days")
    assert shop.snapshots("sums") < needed
    assert shop.project.vacuum(parent, retention="7 days").kept_for == ()
    shop.project.view(parent).verify(sample=0.9)


def test_F222_definitions_survive_a_restart(shop: Shop, spark: SparkSession) -> None:
    name = shop.view("sums", SUMS, schedule="EVERY 1 DAY", lag="5 minutes")
    with Project.open(shop.folder, spark=spark) as again:
        status = again.view(name).status()
        assert (status.state, status.schedule, status.lag) == (
            State.FRESH,
            "EVERY 1 DAY",
            "5 minutes",
        )
        assert again.view(name).refresh().outcome is Outcome.NO_OP
        assert sorted(tuple(row) for row in again.read(name).collect()) == [("a", 40), ("b", 20)]


def test_F268_expiry_at_the_bound_keeps_views_incremental_and_beyond_it_is_told(shop: Shop) -> None:
    name = shop.view("sums", SUMS)
    for number in range(3):
        shop.sql(f"INSERT INTO lake.{{s}}.t VALUES ({10 + number}, 'a', 1)")
    needed = {item.source.schema: item for item in shop.project.retention()}[shop.schema]
    assert needed.views == (f"lake.{name}",)
    assert needed.version != needed.current
    assert needed.statement is not None
    shop.project.sql(needed.statement).collect()
    assert shop.project.view(name).refresh().outcome is Outcome.INCREMENTAL
    shop.sql("INSERT INTO lake.{s}.t VALUES (20, 'c', 1)")
    shop.sql("INSERT INTO lake.{s}.t VALUES (21, 'c', 1)")
    late = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00:00")
    shop.sql(
        f"CALL lake.system.expire_snapshots(table => '{{s}}.t', older_than => TIMESTAMP '{late}')"
    )
    with pytest.raises(NotIncrementalError) as caught:
        shop.project.view(name).refresh(policy="strict")
    assert [reason.code for reason in caught.value.reasons] == ["history-expired"]
    result = shop.project.view(name).refresh()
    assert result.outcome is Outcome.FULL
    assert [reason.code for reason in result.reasons] == ["history-expired"]
    shop.project.view(name).verify()


def test_F270_a_plan_writes_nothing_and_its_numbers_are_what_happens(shop: Shop) -> None:
    name = shop.view("sums", SUMS)
    shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'b', 5), (5, 'b', 6)")
    before = (shop.snapshots("sums"), len(shop.project.history()), shop.names())
    plan = shop.project.view(name).plan()
    assert (shop.snapshots("sums"), len(shop.project.history()), shop.names()) == before
    assert plan.outcome is Outcome.INCREMENTAL
    assert (plan.windows[0].rows_added, plan.windows[0].rows_removed) == (2, 0)
    result = shop.project.view(name).refresh()
    assert (result.outcome, result.rows_in) == (Outcome.INCREMENTAL, 2)
    assert shop.project.view(name).plan().outcome is Outcome.NO_OP


def test_F273_hostile_names_are_only_names(shop: Shop) -> None:
    shop.sql("CREATE TABLE lake.{s}.`odd``name; --` (`a b` INT, `c'd` STRING) USING iceberg")
    shop.sql("INSERT INTO lake.{s}.`odd``name; --` VALUES (1, 'x'), (2, 'y')")
    name = f"{shop.schema}.`Robert''); DROP`"
    shop.project.create_view(
        name, f"SELECT `a b`, `c'd` AS `select` FROM {shop.schema}.`odd``name; --` WHERE `a b` > 1"
    )
    view = shop.project.view(name)
    assert [tuple(row) for row in view.read().collect()] == [(2, "y")]
    assert view.read().columns == ["a b", "select"]
    shop.sql("INSERT INTO lake.{s}.`odd``name; --` VALUES (3, 'z')")
    assert view.refresh().outcome is Outcome.INCREMENTAL
    view.verify()
    view.drop()


def test_rows_as_of_a_version_and_a_time(shop: Shop) -> None:
    name = shop.view("sums", SUMS)
    view = shop.project.view(name)
    first = view.status().standing.refreshed_version
    moment = datetime.now(UTC)
    shop.sql("DELETE FROM lake.{s}.t WHERE k = 'a'")
    view.refresh()

    def rows(as_of: str | datetime | None) -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in view.read(as_of=as_of).collect())

    assert rows(None) == [("b", 20)]
    assert rows(first) == [("a", 40), ("b", 20)]
    assert rows(moment) == [("a", 40), ("b", 20)]
    assert rows(moment.isoformat()) == [("a", 40), ("b", 20)]
    with pytest.raises(HistoryExpiredError):
        view.read(as_of="77").collect()
    with pytest.raises(HistoryExpiredError):
        view.read(as_of="yesterday").collect()
    shop.view("empty", SUMS, build=False)
    with pytest.raises(RefreshError, match="never refreshed"):
        shop.project.read(f"{shop.schema}.empty")


def test_a_decorated_function_is_a_view_and_a_dataframe_is_refused(shop: Shop) -> None:
    project = shop.project

    @project.materialized_view(name=f"{shop.schema}.large", refresh_policy="incremental_strict")
    def large() -> str:
        return f"SELECT id FROM {shop.schema}.t WHERE x > 15"

    assert large.refresh().outcome is Outcome.FULL
    assert large.status().policy is Policy.STRICT
    assert shop.rows("large") == [(2,), (3,)]

    def frame() -> object:
        return project.sql("SELECT 1 AS one")

    with pytest.raises(DefinitionError) as caught:
        project.materialized_view(frame, name=f"{shop.schema}.frame")
    assert caught.value.code == "not-sql"
    assert "SELECT" in str(caught.value.hint)


def test_a_lost_registry_is_written_again_from_the_tables(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Project.open(tmp_path, spark=spark) as project:
        shop = Shop(project, tmp_path)
        name = shop.view("sums", SUMS, policy="incremental", lag="5 minutes")
        project.alter(name, properties={"team": "us"})
        project.create_view(
            None,
            {
                "$type": f"{shop.schema}.few",
                "$from": f"{shop.schema}.t",
                "$filter": {"x": {"$gt": 15}},
            },
        )
        digest = project.written()[f"lake.{name}"].digest
    for file in (tmp_path / ".grebe").glob("registry.db*"):
        file.unlink()
    with Project.open(tmp_path, spark=spark) as project:
        assert project.views() == []
        found = project.recover()
        assert found.views == (f"lake.{shop.schema}.few", f"lake.{name}")
        assert project.recover().to_dict() == {key: [] for key in found.to_dict()}
        status = project.view(name).status()
        assert (status.state, status.policy, status.lag) == (
            State.FRESH,
            Policy.INCREMENTAL,
            "5 minutes",
        )
        assert status.last_refresh is not None
        assert project.written()[f"lake.{name}"].digest == digest
        assert ("team", "us") in project.written()[f"lake.{name}"].properties
        assert {result.outcome for result in project.refresh()} == {Outcome.NO_OP}
        for item in project.views():
            item.verify()


def test_a_failed_creation_leaves_nothing(shop: Shop) -> None:
    def tables() -> list[str]:
        found = shop.project.sql(f"SHOW TABLES IN lake.{shop.schema}").collect()
        return sorted(row["tableName"] for row in found)

    before = tables()
    for bad in (
        "SELECT nothing FROM {s}.t", "SELECT id FROM {s}.none", "SELECT rand() AS r FROM {s}.t", "SELEC id",
        "SELECT id, id FROM {s}.t", "CREATE MATERIALIZED VIEW x AS DELETE FROM {s}.t",
    ):  # fmt: skip
        with pytest.raises(DefinitionError):
            shop.view("bad", bad)
    assert tables() == before
    assert shop.names() == set()


def test_what_a_notebook_shows(shop: Shop) -> None:
    name = shop.view("<b>sums</b>".replace("<b>", "b").replace("</b>", "e"), SUMS)
    view = shop.project.view(name)
    bundle = view._repr_mimebundle_()
    assert "fresh" in bundle["text/plain"]
    assert bundle["text/html"].startswith("<table>")
    graph = shop.project.dag(f"{shop.schema}.*")
    assert graph._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    assert json.loads(graph.text("json"))["views"][0]["sources"] == [f"lake.{shop.schema}.t"]
    assert "-->" in graph.text("mermaid")
    assert "->" in graph.text("dot")


def test_seeds_make_only_what_is_missing(
    shop: Shop, lake: tuple[Path, Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, project = lake
    (folder / "seeds").mkdir()
    file = folder / "seeds" / f"{shop.schema}.u.sql"
    file.write_text(
        f"CREATE TABLE lake.{shop.schema}.u (a INT) USING iceberg;\n-- one; row\n"
        f"INSERT INTO lake.{shop.schema}.u VALUES (1)\n"
    )
    assert make_missing(project.workspace)
    assert not make_missing(project.workspace)
    assert project.sql(f"SELECT * FROM lake.{shop.schema}.u").count() == 1
    # Somebody else makes the table after we looked: that is what was wanted.
    seen: list[bool] = []
    monkeypatch.setattr(seeds, "_exists", lambda *_: len(seen) > 0 or bool(seen.append(True)))
    assert make_missing(project.workspace)
    monkeypatch.undo()
    assert project.sql(f"SELECT * FROM lake.{shop.schema}.u").count() == 1
    file.write_text(f"CREATE TABLE lake.{shop.schema}.w AS SELECT nothing")
    file.rename(file.with_name(f"{shop.schema}.w.sql"))
    with pytest.raises(DefinitionError, match="cannot be run"):
        make_missing(project.workspace)
    file.with_name(f"{shop.schema}.w.sql").unlink()


def test_what_is_already_there_is_kept_if_not_exists_is_said(shop: Shop) -> None:
    name = shop.view("sums", SUMS)
    text = f"CREATE MATERIALIZED VIEW IF NOT EXISTS {name} AS SELECT id FROM {shop.schema}.t"
    version = shop.project.view(name).status().standing.refreshed_version
    assert shop.project.create_view(None, text) == shop.project.view(name)
    assert shop.project.view(name).status().standing.refreshed_version == version
    assert shop.rows("sums") == [("a", 40), ("b", 20)]
    other = text.replace("sums", "ids")
    shop.project.create_view(None, other)
    assert shop.rows("ids") == [(1,), (2,), (3,)]


def test_F220_clauses_of_a_new_definition_count_too(shop: Shop) -> None:
    name = shop.view("sums", SUMS, lag="10 minutes", schedule="EVERY 1 HOUR")
    view = shop.project.view(name)
    query = SUMS.format(s=shop.schema)
    view.alter(
        sql=f"CREATE OR REPLACE MATERIALIZED VIEW {name} SCHEDULE EVERY 2 HOURS REFRESH POLICY FULL"
        f" TBLPROPERTIES ('grebe.lag' = '1 hour', 'grebe.tags' = 'x', 'team' = 'us') AS {query}"
    )
    status = view.status()
    assert (status.policy, status.lag, status.schedule, status.state) == (
        Policy.FULL, "1 hour", "EVERY 2 HOURS", State.FRESH,
    )  # fmt: skip
    written = shop.project.written()[f"lake.{name}"]
    assert (written.tags, dict(written.properties)["team"]) == (("x",), "us")
    view.alter(sql=query, lag="")
    assert (view.status().policy, view.status().lag) == (Policy.FULL, None)
    with pytest.raises(DefinitionError) as caught:
        view.alter(sql=f"CREATE MATERIALIZED VIEW {shop.schema}.other AS {query}")
    assert caught.value.code == "other-name"


def test_registry_and_files_are_one_list(shop: Shop) -> None:
    shop.view("sums", SUMS)
    with Registry.open(shop.project.settings.registry_url) as registry:
        found = all_written(shop.project.settings, registry.views())
    assert f"lake.{shop.schema}.sums" in found
