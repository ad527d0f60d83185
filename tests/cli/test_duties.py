"""What `Project.refresh` owes its views, whatever died, changed or came between: without `recover`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe
from cli.shop import Shop
from grebe.api import Project
from grebe.engine import refresh, standing
from grebe.engine.engine import Engine
from grebe.engine.tables import Tables
from grebe.errors import (
    HistoryExpiredError,
    InternalError,
    NotIncrementalError,
    StepFailedError,
)
from grebe.formats.failpoints import VARIABLE, reach
from grebe.model import Outcome, State
from grebe.project import vacuum
from grebe.spark.session import open_session
from same_rows import assert_same_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SUMS = "SELECT k, SUM(x) AS total FROM {s}.t GROUP BY k"
MOST = "SELECT k, MAX(x) AS total FROM {s}.t GROUP BY k"
COMPACT = (
    "CALL lake.system.rewrite_data_files(table => '{s}.t', options => map('rewrite-all', 'true'))"
)
EXPIRE = (
    "CALL lake.system.expire_snapshots(table => '{s}.t',"
    " older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with Project.open(tmp_path_factory.mktemp("duties"), spark=spark) as project:
        yield project


@pytest.fixture
def shop(lake: Project) -> Shop:
    return Shop(lake, lake.settings.folder)


def shows(shop: Shop, name: str, query: str) -> None:
    """The public name, `read` and `verify` all say what the query says now."""
    wanted = shop.project.sql(query.replace("{s}", f"lake.{shop.schema}"))
    for found in (
        shop.project.sql(f"SELECT * FROM lake.{shop.schema}.{name}"),
        shop.project.read(f"{shop.schema}.{name}"),
    ):
        assert found.dtypes == wanted.dtypes
        assert_same_rows(found, wanted)
    shop.project.view(f"{shop.schema}.{name}").verify()


def test_a_name_that_a_killed_refresh_left_behind_is_shown_by_the_next_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = shop.view("sums", SUMS, build=False)
    for text in (SUMS, MOST):
        shop.project.alter(name, sql=text.format(s=shop.schema))
        monkeypatch.setenv(VARIABLE, "refresh.committed=raise:once")
        with pytest.raises(InternalError):
            shop.project.view(name).refresh()
        stand = shop.project.view(name).status().standing
        assert (stand.state, stand.reasons[0].code) == (State.STALE, "not-shown")
        assert shop.project.view(name).refresh().outcome is Outcome.NO_OP
        shows(shop, "sums", text)
        assert shop.project.view(name).state is State.FRESH


def test_a_source_that_is_only_compacted_can_be_expired(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = shop.project.view(shop.view("sums", SUMS))
    shop.sql(COMPACT)
    snapshots = shop.snapshots("sums")
    assert view.refresh().outcome is Outcome.NO_OP
    assert shop.snapshots("sums") == snapshots
    monkeypatch.setattr(standing, "HALF_RETENTION", standing.HALF_RETENTION * 0)
    assert view.refresh().outcome is Outcome.NO_OP
    assert shop.snapshots("sums") == snapshots + 1
    assert view.refresh().outcome is Outcome.NO_OP
    assert shop.snapshots("sums") == snapshots + 1
    shop.sql(EXPIRE)
    shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'b', 5)")
    assert view.refresh().outcome is Outcome.INCREMENTAL
    shows(shop, "sums", SUMS)


def test_what_follows_the_clock_is_recomputed_though_no_source_moved(shop: Shop) -> None:
    name = shop.view("dated", "SELECT id, current_date() AS today FROM {s}.t", policy="full")
    view = shop.project.view(name)
    assert view.refresh().outcome is Outcome.FULL
    view.alter(policy="auto")
    with pytest.raises(NotIncrementalError) as caught:
        view.refresh()
    assert caught.value.reasons[0].code == "time-function"


def test_a_view_compiled_again_inside_a_run_is_the_one_that_is_read(
    shop: Shop, spark: SparkSession
) -> None:
    name = shop.view("most", MOST)
    shop.view("few", "SELECT k FROM {s}.most WHERE total > 25")
    with Project.open(shop.folder, spark=spark) as beside:
        assert beside.read(name).count() == 2
        shop.sql("ALTER TABLE lake.{s}.t ALTER COLUMN x TYPE BIGINT")
        shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'c', 30000000000)")
        results = shop.project.refresh(f"{shop.schema}.*")
        assert {result.outcome for result in results} == {Outcome.FULL}
        shows(shop, "most", MOST)
        shows(shop, "few", f"SELECT k FROM ({MOST}) WHERE total > 25")
        facts = shop.project.written()[f"lake.{name}"].facts
        assert facts is not None
        assert dict(facts.columns)["total"] == "bigint"
        assert {item.state for item in beside.status(f"{shop.schema}.*")} == {State.FRESH}
        assert beside.read(name).count() == 3
    assert shop.project.view(name).refresh().outcome is Outcome.NO_OP


def test_a_refresh_that_was_overtaken_does_not_put_the_old_definition_back(
    shop: Shop, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = shop.view("sums", SUMS)
    shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'b', 5)")
    beside = Engine(shop.project.settings, spark)  # without a journal there is no lease to stop it

    def overtake(place: str) -> None:
        if place == "refresh.planned":
            monkeypatch.setattr(refresh, "reach", reach)
            beside.define(name, MOST.format(s=shop.schema))
            assert beside.refresh([name])[0].outcome is Outcome.FULL
        reach(place)

    def check() -> None:
        shown = shop.project.sql(f"SELECT * FROM lake.{name}")
        wanted = shop.project.sql(MOST.format(s=f"lake.{shop.schema}"))
        assert_same_rows(shown, wanted)

    monkeypatch.setattr(refresh, "reach", overtake)
    (first,) = shop.project.refresh(name)
    # The name showed the definition of this run when it was planned: nothing was to be published.
    assert first.outcome is Outcome.INCREMENTAL
    check()
    assert shop.project.engine.recover() == []
    check()
    shop.sql("INSERT INTO lake.{s}.t VALUES (5, 'b', 50)")
    beside.refresh([name])
    (late,) = shop.project.refresh(name)
    assert (late.outcome, late.reasons[0].code) == (Outcome.FAILED, "view-altered")
    check()
    assert shop.project.refresh(name)[0].outcome is Outcome.INCREMENTAL
    shows(shop, "sums", SUMS)


def test_a_new_definition_that_was_overtaken_is_not_published(
    shop: Shop, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = shop.view("sums", SUMS)
    least = SUMS.replace("SUM", "MIN")
    shop.project.alter(name, sql=least.format(s=shop.schema))
    beside = Engine(shop.project.settings, spark)

    def overtake(place: str) -> None:
        if place == "refresh.planned":
            monkeypatch.setattr(refresh, "reach", reach)
            beside.define(name, MOST.format(s=shop.schema))
            assert beside.refresh([name])[0].outcome is Outcome.FULL

    monkeypatch.setattr(refresh, "reach", overtake)
    (late,) = shop.project.refresh(name)
    assert (late.outcome, late.reasons[0].code) == (Outcome.FAILED, "view-altered")
    shown = shop.project.sql(f"SELECT * FROM lake.{name}")
    assert sorted(tuple(row) for row in shown.collect()) == [("a", 30), ("b", 20)]


HOURS = "SELECT id, hour(timestamp_seconds(x * 3600)) AS h FROM {s}.t"


def test_a_view_keeps_the_settings_of_its_creation_until_it_means_something_else(
    shop: Shop, spark: SparkSession
) -> None:
    name = shop.view("hours", HOURS)
    before = shop.project.workspace.builder.engine.view(name)
    far = open_session(shop.project.settings, spark)
    far.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'b', 5)")
    with Project.open(shop.folder, spark=far) as beside:
        beside.alter(name, sql=f"{HOURS.format(s=shop.schema)} -- edited")
        assert beside.view(name).refresh().outcome is Outcome.INCREMENTAL
        shows(shop, "hours", HOURS)
        assert beside.engine.view(name).storage_name == before.storage_name
        other = f"{HOURS} WHERE id > 0"
        beside.alter(name, sql=other.format(s=shop.schema))
        assert beside.view(name).refresh().outcome is Outcome.FULL
        wanted = beside.sql(other.format(s=f"lake.{shop.schema}")).collect()
        assert sorted(beside.read(name).collect()) == sorted(wanted)
        assert shop.rows("hours") == sorted(map(tuple, wanted))
        again = Engine(beside.settings, far).compile(before.definition)
        assert again.fingerprint == before.fingerprint
        moved = beside.engine.define(f"{shop.schema}.moved", HOURS.format(s=shop.schema))
        assert moved.fingerprint != before.fingerprint


def test_a_star_stays_frozen_when_a_comment_is_edited(shop: Shop) -> None:
    name = shop.view("all", "SELECT * FROM {s}.t")
    shop.sql("ALTER TABLE lake.{s}.t ADD COLUMN late INT")
    for text in ("SELECT * FROM {s}.t -- a note", "select  *  from {s}.t"):
        shop.project.alter(name, sql=text.format(s=shop.schema))
        assert shop.project.view(name).refresh().outcome is Outcome.NO_OP
        assert shop.project.read(name).columns == ["id", "k", "x"]
    again = Engine(shop.project.settings, shop.project.spark)
    again.define(name, f"SELECT *\nFROM {shop.schema}.t")
    assert again.refresh()[0].outcome is Outcome.NO_OP


def test_what_spark_refuses_stops_one_view_and_says_where(
    grebe: Grebe, spark: SparkSession, tmp_path: Path
) -> None:
    with Project.open(tmp_path, spark=spark) as project:
        shop = Shop(project, tmp_path)
        shop.sql("CREATE TABLE lake.{s}.days (day DATE) USING iceberg")
    folder = tmp_path / "views" / shop.schema
    folder.mkdir(parents=True)
    for name, text in (("a", SUMS), ("b", "SELECT SUM(day) AS s FROM {s}.days"), ("c", MOST)):
        (folder / f"{name}.sql").write_text(text.format(s=shop.schema))
    said = grebe("refresh", "--output", "json")
    outcomes = {item["view"].rpartition(".")[2]: item["outcome"] for item in said.json}
    assert outcomes == {"a": "full", "b": "failed", "c": "full"}
    assert said.code == 1
    (failed,) = [item for item in said.json if item["outcome"] == "failed"]
    assert [reason["code"] for reason in failed["reasons"]] == ["refused-by-spark"]
    text = grebe("refresh").err
    assert f"views/{shop.schema}/b.sql" in text
    assert "DATATYPE_MISMATCH" in text
    assert "Traceback" not in text


@pytest.mark.laws
def test_torn_metadata_of_one_view_stops_that_view_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Project.open(tmp_path, spark=spark) as project:
        shop = Shop(project, tmp_path)
        for name, text in (("a", SUMS), ("b", MOST), ("c", "SELECT k FROM {s}.b")):
            shop.view(name, text)
        facts = project.written()[f"lake.{shop.schema}.b"].facts
        assert facts is not None
        assert facts.storage is not None
        files = tmp_path.rglob(f"{facts.storage.name}/metadata/*.metadata.json")
        newest = max(files, key=lambda file: file.stat().st_mtime_ns)
        newest.write_text(newest.read_text()[:100])
        shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'b', 5)")
        found = {result.view.name: result for result in project.refresh()}
        assert found["a"].outcome is Outcome.INCREMENTAL
        assert {found[name].outcome for name in "bc"} == {Outcome.FAILED}
        assert found["c"].reasons[0].code == "upstream-failed"
        assert found["b"].reasons[0].code == "corrupt-file"
        problems = project.recover().problems
        assert [text for text in problems if f"lake.{shop.schema}.b" in text]
    with Project.open(tmp_path, spark=spark) as again:
        shop.sql("INSERT INTO lake.{s}.t VALUES (5, 'b', 5)")
        found = {result.view.name: result.outcome for result in again.refresh()}
        assert found["a"] is Outcome.INCREMENTAL


def test_a_view_that_cannot_be_filled_is_not_left_behind(shop: Shop) -> None:
    before = shop.project.sql(f"SHOW TABLES IN lake.{shop.schema}").collect()
    for text in (
        "SELECT id, 1 / (x - 10) AS share FROM {s}.t",
        "SELECT 1 / (x - x) AS y FROM {s}.t",
    ):
        with pytest.raises(StepFailedError):
            shop.view("bad", text)
    assert shop.names() == set()
    assert shop.project.sql(f"SHOW TABLES IN lake.{shop.schema}").collect() == before
    shop.view("bad", SUMS)
    with pytest.raises(StepFailedError):
        shop.view("bad", "SELECT 1 / (x - x) AS y FROM {s}.t", replace=True)
    assert shop.names() == {f"lake.{shop.schema}.bad"}


BELOW = """
    WITH RECURSIVE below AS (
      SELECT id, id AS top FROM {s}.t WHERE x = 10
      UNION ALL
      SELECT l.child, b.top FROM {s}.links AS l JOIN below AS b ON l.parent = b.id
    )
    SELECT top AS Top, COUNT(*) AS n FROM below GROUP BY top"""
SHAPED = "SELECT t.*, hex(aes_encrypt(concat(t.k, m.total), '0000111122223333', 'ECB')) AS far FROM {s}.t JOIN {s}.most AS m ON t.k = m.k"


def test_a_query_without_algebra_is_refreshed_in_full_from_what_it_pinned(shop: Shop) -> None:
    shop.sql("CREATE TABLE lake.{s}.links (parent INT, child INT) USING iceberg")
    shop.sql("INSERT INTO lake.{s}.links VALUES (1, 2), (2, 3), (3, 9)")
    shop.view("most", MOST.replace("MAX(x)", "CAST(MAX(x) AS STRING)"))
    views = {"below": BELOW, "shaped": SHAPED}
    for name, text in views.items():
        with pytest.raises(NotIncrementalError):
            shop.view(name, text, policy="strict")
        shop.view(name, text)
    assert shop.names() == {f"lake.{shop.schema}.{name}" for name in ("most", *views)}
    for name, text in views.items():
        shows(shop, name, text)
    results = shop.project.refresh(f"{shop.schema}.*")
    assert {result.outcome for result in results} == {Outcome.NO_OP}
    shop.sql("INSERT INTO lake.{s}.links VALUES (9, 10)")
    (result,) = shop.project.refresh(f"{shop.schema}.below")
    assert (result.outcome, result.reasons[0].code) == (Outcome.FULL, "recursive-cte")
    shows(shop, "below", BELOW)
    shop.sql("ALTER TABLE lake.{s}.t ADD COLUMN late INT")
    shop.sql("INSERT INTO lake.{s}.t VALUES (4, 'b', 500, 1)")
    before = shop.rows("shaped")
    shop.project.view(f"{shop.schema}.shaped").verify()
    found = {result.view.name: result for result in shop.project.refresh(f"{shop.schema}.*")}
    assert found["most"].outcome is Outcome.INCREMENTAL
    assert found["shaped"].outcome is Outcome.FULL
    assert shop.rows("shaped") != before
    shows(shop, "shaped", SHAPED.replace("t.*", "t.id, t.k, t.x"))


def test_old_versions_go_by_themselves_but_none_that_is_needed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("brief", "whole"):
        shop.view(name, SUMS)
    soon = {"history.expire.max-snapshot-age-ms": "1"}
    shop.project.view(f"{shop.schema}.brief").alter(properties=soon)
    shop.view("few", "SELECT k, total FROM {s}.brief WHERE total > 25", policy="incremental")

    def moved(*names: str) -> None:
        shop.sql("UPDATE lake.{s}.t SET x = x + 1 WHERE id = 1")
        for result in shop.project.refresh([f"{shop.schema}.{name}" for name in names]):
            assert result.outcome is Outcome.INCREMENTAL

    counts = []
    for _ in range(3):
        moved("brief", "whole")
        counts.append((shop.snapshots("brief"), shop.snapshots("whole")))
    assert sorted({many for _, many in counts}) == [many for _, many in counts]
    assert counts[0][0] < counts[2][0]  # the child stands at the first version
    shop.project.view(f"{shop.schema}.few").verify()
    moved("few")
    assert shop.snapshots("brief") > 2  # only a view that is written is looked after
    for _ in range(2):
        moved("brief", "few")
    assert shop.snapshots("brief") <= 4
    shows(shop, "brief", SUMS)
    shows(shop, "few", f"SELECT k, total FROM ({SUMS}) WHERE total > 25")

    def refuse(*_: object) -> None:
        raise StepFailedError("the catalog is away")

    monkeypatch.setattr(Tables, "expire", refuse)
    with caplog.at_level("WARNING", logger="grebe"):
        moved("brief")
    assert "stay" in caplog.text
    shows(shop, "brief", SUMS)


def test_what_was_shown_within_the_retention_stays(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it was written long before, as a view's rows are that is refreshed once a month."""
    name = shop.view("monthly", SUMS)
    hour = {"history.expire.max-snapshot-age-ms": str(60 * 60 * 1000)}
    shop.project.view(name).alter(properties=hour)

    def moved() -> None:
        shop.sql("UPDATE lake.{s}.t SET x = x + 1 WHERE id = 1")
        assert shop.project.view(name).refresh().outcome is Outcome.INCREMENTAL

    moved()
    gone = datetime.now(UTC)
    moved()
    before, between = shop.rows("monthly"), datetime.now(UTC)

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return between + timedelta(hours=1)

    monkeypatch.setattr(vacuum, "datetime", Later)
    moved()
    found = shop.project.read(name, as_of=between).collect()
    assert sorted(tuple(row) for row in found) == before
    with pytest.raises(HistoryExpiredError):
        shop.project.read(name, as_of=gone)


def test_tables_of_former_definitions_go_after_the_retention(shop: Shop) -> None:
    def storages() -> list[str]:
        found = shop.project.sql(f"SHOW TABLES IN lake.{shop.schema}").collect()
        return sorted(row["tableName"] for row in found if "__grebe_sums_" in row["tableName"])

    name = shop.view("sums", SUMS)
    shop.view("few", "SELECT k FROM {s}.sums WHERE total > 25")
    (first,) = storages()
    shop.project.alter(name, sql=MOST.format(s=shop.schema))
    assert shop.project.vacuum(name, retention="0 days").removed == ()  # it is what is shown
    shop.project.view(name).refresh()
    child = shop.project.view(f"{shop.schema}.few").status()
    assert (child.state, [reason.code for reason in child.standing.reasons]) == (
        State.STALE,
        ["parent-replaced"],
    )
    assert len(storages()) == 2
    assert shop.project.vacuum(name).removed == ()  # whoever began to read it may go on
    assert shop.project.vacuum(name, retention="0 days").removed == ()  # a child stands on it
    shop.project.refresh(f"{shop.schema}.few")
    assert shop.project.view(f"{shop.schema}.few").status().state is State.FRESH
    (gone,) = shop.project.vacuum(name, retention="0 days").removed
    assert gone.name == first
    assert len(storages()) == 1
    shows(shop, "sums", MOST)
    shows(shop, "few", f"SELECT k FROM ({MOST}) WHERE total > 25")
