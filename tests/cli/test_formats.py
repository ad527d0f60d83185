"""Views in Delta folders, in Delta tables of a catalog, and in DuckLake: looked after like any other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from grebe.api import Project
from grebe.errors import (
    DefinitionError,
    HistoryExpiredError,
    NotIncrementalError,
    StepFailedError,
    UnknownTableError,
)
from grebe.formats.delta.statements import VACUUM_SETTINGS
from grebe.formats.ducklake.connections import Address, session
from grebe.model import Outcome, Policy, State, TableName
from grebe.program import load_extensions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOML = """
[defaults]
catalog = "{catalog}"
schema = "{schema}"
[catalogs.lake]
format = "iceberg"
spark_catalog = "lake"
[catalogs.folders]
format = "delta"
root = "folders"
[catalogs.tables]
format = "delta"
spark_catalog = "spark_catalog"
[catalogs.duck]
format = "ducklake"
uri = "ducklake:sqlite:{folder}/meta.sqlite"
root = "{folder}/data"
"""
KINDS = ("folders", "tables", "duck")
LATER = pytest.mark.laws
"""What takes long and differs little from a case beside it goes to the long suites."""
SUMS = "SELECT k, SUM(x) AS total FROM lake.{s}.t GROUP BY k"
CHILD = "SELECT k, total FROM sums WHERE total > 15"
_numbers = count()


class Site:
    """A project whose views live in one catalog, over an Iceberg table in another."""

    def __init__(self, spark: SparkSession, folder: Path, kind: str) -> None:
        self.spark = spark
        self.folder = folder
        self.kind = kind
        self.schema = f"kept{next(_numbers)}"
        text = TOML.format(catalog=kind, schema=self.schema, folder=folder)
        (folder / "grebe.toml").write_text(text)
        self.sql(
            "CREATE NAMESPACE lake.{s}",
            "CREATE NAMESPACE spark_catalog.{s}",
            "CREATE TABLE lake.{s}.t (id INT, k STRING, x INT) USING iceberg",
            "INSERT INTO lake.{s}.t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'a', 30)",
        )
        self.project = Project.open(folder, spark=spark)

    def sql(self, *statements: str) -> None:
        for text in statements:
            self.spark.sql(text.format(s=self.schema)).collect()

    def view(self, name: str, sql: str, **options: object) -> None:
        self.project.create_view(name, sql.format(s=self.schema), **options)  # type: ignore[arg-type]

    def moved(self, *names: str) -> None:
        """The source changed once more, and views followed."""
        self.sql("UPDATE lake.{s}.t SET x = x + 1 WHERE id = 1")
        for name in names:
            assert self.project.view(name).refresh().outcome is Outcome.INCREMENTAL

    def storages(self) -> list[TableName]:
        return list(self.project.tables.stored(self.kind, lambda: self.spark, self.schema))

    def shown(self, name: str) -> str | None:
        public = TableName(self.kind, self.schema, name)
        return self.project.tables.shown(public, lambda: self.spark)

    def files(self) -> int:
        """Data files on the disk, of whatever table of the views."""
        root = self.folder / {"folders": "folders", "duck": "data"}.get(self.kind, "")
        if self.kind == "tables":
            found = self.spark.sql(f"DESCRIBE NAMESPACE spark_catalog.{self.schema}").collect()
            root = Path({row[0]: row[1] for row in found}["Location"].removeprefix("file:"))
        return sum(1 for _ in root.rglob("*.parquet"))

    def close(self) -> None:
        """Nothing is left in the catalogs that all tests share: `recover` would find it."""
        self.project.close()
        for kind, column in (("VIEW", "viewName"), ("TABLE", "tableName")):
            shown = self.spark.sql(f"SHOW {kind}S IN lake.{self.schema}").collect()
            for row in (row for row in shown if not row["isTemporary"]):
                self.sql(f"DROP {kind} lake.{{s}}.{row[column]}")
        self.sql("DROP NAMESPACE spark_catalog.{s} CASCADE", "DROP NAMESPACE lake.{s}")

    def divided(self, name: str) -> tuple[list[str], int]:
        """How a view's storage table is partitioned, and how many partitions its files are in."""
        (table,) = [item for item in self.storages() if item.name.startswith(f"__grebe_{name}_")]
        if self.kind == "lake":
            rows = self.spark.sql(f"DESCRIBE TABLE {table.quoted()}").collect()
            parts = [row[1] for row in rows if row[0].startswith("Part ")]
            plain = (
                [row[0] for row in rows[[row[0] for row in rows].index("# col_name") + 1 :]]
                if not parts
                else []
            )
            files = self.spark.sql(f"SELECT DISTINCT partition FROM {table.quoted()}.files")
            return parts or plain, files.count()
        if self.kind == "duck":
            return self._divided_ducklake(table)
        relation = self.project.tables.relation(table)
        detail = self.spark.sql(f"DESCRIBE DETAIL {relation}").collect()[0]
        root = Path(detail["location"].removeprefix("file:"))
        return detail["partitionColumns"], len({f.parent for f in root.rglob("part-*.parquet")})

    def _divided_ducklake(self, table: TableName) -> tuple[list[str], int]:
        with session(Address.of(f"sqlite:{self.folder}/meta.sqlite", None)) as lake:
            rows = lake.rows(
                f"SELECT p.transform, c.column_name FROM {lake.meta}.ducklake_table AS t"
                f" JOIN {lake.meta}.ducklake_partition_column AS p USING (table_id)"
                f" JOIN {lake.meta}.ducklake_column AS c USING (table_id, column_id)"
                " WHERE t.table_name = ? AND c.end_snapshot IS NULL"
                " ORDER BY p.partition_key_index",
                [table.name],
            )
            files = lake.rows(
                "SELECT data_file_id, list(partition_value ORDER BY partition_key_index)"
                f" FROM {lake.meta}.ducklake_file_partition_value AS v"
                f" JOIN {lake.meta}.ducklake_table AS t USING (table_id)"
                " WHERE t.table_name = ? GROUP BY data_file_id",
                [table.name],
            )
        parts = [name if how == "identity" else f"{how} {name}" for how, name in rows]
        return parts, len({tuple(values) for _, values in files})


@pytest.fixture
def site(spark: SparkSession, tmp_path: Path, kind: str) -> Iterator[Site]:
    made = Site(spark, tmp_path, kind)
    yield made
    made.close()


@pytest.mark.parametrize(
    "kind", ["folders", *(pytest.param(name, marks=LATER) for name in ("tables", "duck"))]
)
def test_F219_F220_F221_altered_lost_and_found_vacuumed_and_dropped(site: Site) -> None:
    site.view("sums", SUMS, policy="incremental", lag="5 minutes")
    site.view("child", CHILD)
    altered(site)
    lost_and_found(site)
    vacuumed(site)
    read_as_of_a_time(site)
    dropped(site)


def altered(site: Site) -> None:
    """Settings change, rows do not; what the table refuses changes nothing."""
    project = site.project
    before = project.view("sums").status().standing.position
    project.view("sums").alter(policy="strict", lag="1 hour", properties={"team": "it's \\ us"})
    status = project.view("sums").status()
    assert (status.state, status.policy, status.lag) == (State.FRESH, Policy.STRICT, "1 hour")
    assert before is not None
    assert status.standing.position is not None
    assert status.standing.position.row_version == before.row_version
    (storage,) = [name for name in site.storages() if name.name.startswith("__grebe_sums_")]
    kept = project.tables.properties(storage, lambda: site.spark)
    assert kept is not None
    assert (kept["grebe.policy"], kept["team"]) == ("strict", "it's \\ us")
    assert kept["grebe.view"] == f"{site.kind}.{site.schema}.sums"
    if site.kind != "duck":
        with pytest.raises(StepFailedError, match="a statement failed"):
            project.view("sums").alter(lag="2 hours", properties={"owner": "reserved by Spark"})
        assert project.view("sums").status().lag == "1 hour"


def lost_and_found(site: Site) -> None:
    """The registry is gone; the tables know all that it takes to write it again.

    So do tables that other tests left in the catalogs that all of them share: they are not ours.
    """
    site.project.close()
    for file in (site.folder / ".grebe").glob("registry.db*"):
        file.unlink()
    site.project = project = Project.open(site.folder, spark=site.spark)
    assert project.views() == []
    prefix = f"{site.kind}.{site.schema}"

    def recovered() -> dict[str, list[str]]:
        found = project.recover().to_dict()
        ours = {key: [item for item in items if prefix in item] for key, items in found.items()}
        return {key: items for key, items in ours.items() if items}

    assert recovered() == {"views": [f"{prefix}.child", f"{prefix}.sums"]}
    assert recovered() == {}
    status = project.view("sums").status()
    assert (status.state, status.policy, status.lag) == (State.FRESH, Policy.STRICT, "1 hour")
    names = [f"{prefix}.child", f"{prefix}.sums"]
    assert {result.outcome for result in project.refresh(names)} == {Outcome.NO_OP}


def vacuumed(site: Site) -> None:
    """Nothing goes that the child needs; by force all goes, and the child says so."""
    project = site.project
    for _ in range(2):
        site.moved("sums")
    many = site.files()
    done = project.vacuum("sums", retention="0 days")
    assert done.kept_for == (f"{site.kind}.{site.schema}.child",)
    assert site.files() == many
    assert project.view("child").refresh().outcome is Outcome.INCREMENTAL
    site.moved("sums")
    assert project.vacuum("sums", retention="0 days", force=True).kept_for == ()
    assert site.files() < many
    result = project.view("child").refresh()
    codes = [reason.code for reason in result.reasons]
    assert (result.outcome, codes) in (
        (Outcome.FULL, ["history-expired"]),
        (Outcome.INCREMENTAL, []),
    )
    for name in ("sums", "child"):
        project.view(name).verify()


def read_as_of_a_time(site: Site) -> None:
    """Rows that were shown then; a time of which nothing is left is said to be gone."""
    view = site.project.view("sums")

    def rows(when: datetime | None = None) -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in view.read(when).collect())

    before, moment = rows(), datetime.now(UTC)
    site.moved("sums", "child")
    assert rows() != before
    assert rows(moment) == before
    with pytest.raises(HistoryExpiredError, match="2001"):
        view.read(datetime(2001, 1, 1, tzinfo=UTC))
    now, text = rows(), site.project.written()[str(view.name)].text
    view.alter(sql=f"SELECT 1 AS one, 2 AS two FROM ({text})")
    assert rows() == now  # what the public name shows, until the view is refreshed
    view.alter(sql=text)


def dropped(site: Site) -> None:
    """Children first, or none; tables, names and files are gone, and the name is free."""
    project = site.project
    with pytest.raises(DefinitionError) as caught:
        project.drop("sums")
    assert caught.value.code == "has-dependents"
    assert site.shown("sums")
    gone = project.drop("sums", cascade=True)
    assert [name.name for name in gone] == ["child", "sums"]
    assert (site.storages(), site.shown("sums"), site.shown("child")) == ([], None, None)
    # The files of a dropped DuckLake table go with the snapshots that showed it.
    assert site.files() == 0 or site.kind == "duck"
    with pytest.raises(UnknownTableError):
        project.view("sums")
    site.view("sums", "SELECT id FROM lake.{s}.t")
    project.view("sums").verify()


@pytest.mark.parametrize("kind", ["duck"])
def test_F200_one_definition_in_every_format_shows_the_same(site: Site) -> None:
    project = site.project
    formats = {"lake": "iceberg", "folders": "delta", "tables": "delta", "duck": None}
    for catalog, backend in formats.items():
        project.define_view(
            {
                "$type": f"{catalog}.{site.schema}.totals",
                "$from": f"lake.{site.schema}.t",
                "$groupBy": ["k"],
                "$compute": {"total": {"$sum": "x"}, "n": {"$count": "*"}},
                **({"$refresh": {"mode": "manual", "backend": backend}} if backend else {}),
            }
        )

    def shown() -> set[tuple[tuple[object, ...], ...]]:
        assert not project.refresh().failed
        views = [project.read(view.name).collect() for view in project.views()]
        assert len(views) == len(formats)
        return {tuple(sorted(tuple(row) for row in rows)) for rows in views}

    assert shown() == {(("a", 40, 2), ("b", 20, 1))}
    site.sql("UPDATE lake.{s}.t SET x = 1 WHERE id = 1", "DELETE FROM lake.{s}.t WHERE id = 2")
    assert shown() == {(("a", 31, 2),)}
    assert {run.outcome for run in project.history(limit=4)} == {Outcome.INCREMENTAL}
    wrong = {"$type": f"duck.{site.schema}.w", "$from": f"lake.{site.schema}.t"}
    with pytest.raises(DefinitionError) as caught:
        project.define_view({**wrong, "$refresh": {"mode": "manual", "backend": "delta"}})
    assert caught.value.code == "other-format"


@pytest.mark.parametrize("kind", ["duck"])
def test_what_other_people_keep_in_a_ducklake_is_not_vacuumed(site: Site) -> None:
    site.view("sums", SUMS)
    lake = duckdb.connect()
    load_extensions(lake, "ducklake", "sqlite_scanner")
    lake.execute(f"ATTACH 'ducklake:sqlite:{site.folder}/meta.sqlite' AS l")

    def snapshots() -> dict[int, str]:
        rows = lake.execute("SELECT snapshot_id, changes FROM ducklake_snapshots('l')").fetchall()
        return {number: str(changes) for number, changes in rows}

    lake.execute(f"CREATE TABLE l.{site.schema}.other (a INT)")
    table = lake.execute("SELECT max(snapshot_id) FROM ducklake_snapshots('l')").fetchone()
    assert table is not None
    lake.execute(f"INSERT INTO l.{site.schema}.other VALUES (1)")
    theirs = set(snapshots()) - set(range(table[0]))
    for _ in range(2):
        site.moved("sums")
    before = snapshots()
    site.project.vacuum("sums", retention="0 days", force=True)
    after = snapshots()
    assert theirs < set(after)
    assert len(after) < len(before)
    rows = lake.execute(f"SELECT * FROM l.{site.schema}.other AT (VERSION => {max(theirs)})")
    assert rows.fetchall() == [(1,)]
    lake.close()
    site.moved("sums")
    site.project.view("sums").verify()


def test_one_history_is_kept_for_all_that_is_read_of_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The statement for one source of a DuckLake expires those of all: it may take from none."""
    site = Site(spark, tmp_path, "duck")
    lake = duckdb.connect()
    load_extensions(lake, "ducklake", "sqlite_scanner")
    lake.execute(
        f"ATTACH 'ducklake:sqlite:{tmp_path}/meta.sqlite' AS l (DATA_PATH '{tmp_path}/data/')"
    )
    lake.execute(f"CREATE SCHEMA l.{site.schema}")
    for name in ("one", "two"):
        lake.execute(f"CREATE TABLE l.{site.schema}.{name} (k VARCHAR, x INT)")
        lake.execute(f"INSERT INTO l.{site.schema}.{name} VALUES ('a', 1), ('b', 2)")
    for name in ("one", "two"):
        site.view(f"of_{name}", f"SELECT k, SUM(x) AS n FROM {name} GROUP BY k")
    lake.execute(f"INSERT INTO l.{site.schema}.two VALUES ('c', 3)")
    assert site.project.view("of_two").refresh().outcome is Outcome.INCREMENTAL
    statements = {item.statement for item in site.project.retention()}
    assert len(statements) == 1
    (statement,) = statements
    assert statement is not None
    lake.execute(statement.replace("'duck'", "'l'"))
    for name in ("one", "two"):
        lake.execute(f"INSERT INTO l.{site.schema}.{name} VALUES ('d', 4)")
        view = site.project.view(f"of_{name}")
        assert view.refresh().outcome is Outcome.INCREMENTAL
        view.verify()
    lake.close()
    site.close()


@pytest.mark.parametrize("kind", [pytest.param("tables", marks=LATER)])
def test_F268_a_delta_source_is_expired_by_what_is_printed_and_no_further(site: Site) -> None:
    site.sql(
        "CREATE TABLE spark_catalog.{s}.d (k STRING, x INT) USING delta"
        " TBLPROPERTIES (delta.enableChangeDataFeed = true)",
        "INSERT INTO spark_catalog.{s}.d VALUES ('a', 1), ('b', 2)",
    )
    site.view("of_d", "SELECT k, SUM(x) AS total FROM d GROUP BY k", policy="strict")
    view = site.project.view("of_d")
    site.sql("UPDATE spark_catalog.{s}.d SET x = x + 1 WHERE k = 'a'")
    (needed,) = [item for item in site.project.retention() if item.source.name == "d"]
    assert needed.until is not None
    assert needed.setting is not None
    assert needed.setting in str(needed.text)
    # Folders are listed in 10,000 tasks unless told.
    few = {key: "4" for key in VACUUM_SETTINGS if not key.endswith("Check.enabled")}
    old = {key: site.spark.conf.get(key) for key in few}
    try:
        for key, value in few.items():
            site.spark.conf.set(key, value)
        site.sql(needed.setting, str(needed.statement))
        assert view.refresh().outcome is Outcome.INCREMENTAL
        view.verify()
        site.sql(
            "UPDATE spark_catalog.{s}.d SET x = x + 1 WHERE k = 'a'",
            "DELETE FROM spark_catalog.{s}.d WHERE k = 'b'",
            "VACUUM spark_catalog.{s}.d RETAIN 0 HOURS",
        )
    finally:
        site.spark.conf.unset(needed.setting.split()[1])
        for key, value in old.items():
            site.spark.conf.set(key, str(value))
    with pytest.raises(NotIncrementalError) as caught:
        view.refresh()
    assert [reason.code for reason in caught.value.reasons] == ["history-expired"]
    assert view.refresh(policy="incremental").reasons[0].code == "history-expired"
    view.verify()


ROWS = (
    "CREATE MATERIALIZED VIEW rows PARTITIONED BY ({by})"
    " TBLPROPERTIES ('grebe.policy' = 'incremental') AS"  # `auto` goes by times too
    " SELECT id, k, x, date_add(DATE'2024-01-01', id * 20) AS day FROM lake.{s}.t"
)
MONTHS = {
    "lake": (["months(day)", "bucket(4, id)"], 3),
    "duck": (["year day", "month day", "bucket(4) id"], 3),
}


@pytest.mark.parametrize("kind", ["lake", "folders", pytest.param("duck", marks=LATER)])
def test_partitions_are_those_of_the_table_after_every_refresh(site: Site) -> None:
    project = site.project
    create = f"CREATE MATERIALIZED VIEW sums PARTITIONED BY (k) AS {SUMS}"
    project.create_view(None, create.format(s=site.schema))
    assert site.divided("sums") == (["k"], 2)
    site.sql("INSERT INTO lake.{s}.t VALUES (4, 'c', 5), (5, 'a', 6)")
    assert project.view("sums").refresh().outcome is Outcome.INCREMENTAL
    project.view("sums").verify()
    site.sql("DELETE FROM lake.{s}.t WHERE k = 'b'")
    assert project.view("sums").refresh(full=True).outcome is Outcome.FULL
    project.view("sums").verify()
    parts, files = site.divided("sums")
    assert (parts, files >= 2) == (["k"], True)
    assert "partitioned by k" in project.explain("sums").text()

    by = "months(day), bucket(4, id)"
    text = ROWS.format(by=by, s=site.schema)
    if site.kind not in MONTHS:
        with pytest.raises(DefinitionError) as caught:
            project.create_view(None, text)
        assert caught.value.code == "bad-partition"
        assert "Delta" in caught.value.message
        return
    project.create_view(None, text)
    wanted, fewest = MONTHS[site.kind]
    for full in (False, True):
        site.sql(
            "INSERT INTO lake.{s}.t VALUES (6, 'c', 7)", "UPDATE lake.{s}.t SET x = 0 WHERE id = 1"
        )
        result = project.view("rows").refresh(full=full)
        assert result.outcome is (Outcome.FULL if full else Outcome.INCREMENTAL)
        project.view("rows").verify()
        parts, files = site.divided("rows")
        assert (parts, files >= fewest) == (wanted, True)


@pytest.mark.parametrize("kind", ["lake"])
def test_partitions_that_cannot_be_leave_nothing(site: Site) -> None:
    averages = "SELECT k, AVG(x) AS mean FROM lake.{s}.t GROUP BY k"
    for by, query in (
        ("mean", averages), ("nothing", averages), ("k + 1", averages), ("bucket(k)", averages),
        ("bucket(0, k)", averages), ("months(k)", averages), ("k, mean", averages),
    ):  # fmt: skip
        text = f"CREATE MATERIALIZED VIEW v PARTITIONED BY ({by}) AS {query}"
        with pytest.raises(DefinitionError) as caught:
            site.project.create_view(None, text.format(s=site.schema))
        assert caught.value.code == "bad-partition"
        assert caught.value.hint
    assert site.storages() == []
    assert site.project.views() == []


@pytest.mark.parametrize("kind", ["lake"])
def test_other_partitions_are_another_table(site: Site) -> None:
    project = site.project
    query = SUMS.format(s=site.schema)
    create = "CREATE OR REPLACE MATERIALIZED VIEW sums {clause} AS " + query
    project.create_view(None, create.format(clause=""))
    (plain,) = site.storages()
    project.create_view(None, create.format(clause="PARTITIONED BY ( K )"), build=False)
    assert project.view("sums").status().state is State.INVALID
    assert project.view("sums").refresh().outcome is Outcome.FULL
    assert len(site.storages()) == 2
    assert plain in site.storages()
    project.view("sums").verify()
    with pytest.raises(DefinitionError) as caught:
        project.create_view(None, create.format(clause="USING delta"))
    assert caught.value.code == "other-format"
    assert "folders" in str(caught.value.hint)


@pytest.mark.parametrize(
    "kind", ["lake", *(pytest.param(name, marks=LATER) for name in ("folders", "duck"))]
)
def test_rows_are_stored_in_the_order_of_cluster_by(site: Site) -> None:
    project = site.project
    site.sql("INSERT INTO lake.{s}.t SELECT id, concat('g', id), (id * 37) % 101 FROM range(100)")
    create = "CREATE OR REPLACE MATERIALIZED VIEW sums {clause} AS " + SUMS.format(s=site.schema)

    def keys() -> list[str]:
        return [row["k"] for row in project.view("sums").read().collect()]

    project.create_view(None, create.format(clause=""))
    assert len(keys()) == 102
    assert keys() != sorted(keys())
    (storage,) = site.storages()
    # The order is a wish for the files, not a part of what is stored.
    project.create_view(None, create.format(clause="CLUSTER BY (K)"))
    assert site.storages() == [storage]
    assert "sorted by K" in project.explain("sums").text()
    site.moved("sums")
    project.view("sums").refresh(policy=Policy.FULL)
    assert keys() == sorted(keys())
    project.view("sums").verify()
    for clause in ("CLUSTER BY (nothing)", "CLUSTER BY (upper(k))"):
        with pytest.raises(DefinitionError) as caught:
            project.create_view(None, create.format(clause=clause))
        assert caught.value.code == "bad-cluster"
        assert caught.value.hint


@LATER
@pytest.mark.parametrize("kind", ["folders", "duck"])
def test_old_versions_of_other_formats(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """Delta's files go by themselves; a DuckLake's snapshots are those of others, too."""
    site.view("sums", SUMS)
    if site.kind == "folders":
        soon = {"delta.deletedFileRetentionDuration": "interval 1 milliseconds"}
        site.project.view("sums").alter(properties=soon)
    counts = []
    with caplog.at_level("WARNING", logger="grebe"):
        for _ in range(3):
            site.moved("sums")
            counts.append(site.files())
    assert "stay" not in caplog.text
    assert counts == ([1, 2, 2] if site.kind == "folders" else sorted(set(counts)))
    site.project.view("sums").verify()
