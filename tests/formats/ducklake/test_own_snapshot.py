"""Which snapshot a run's commit is: DuckLake gives it a number only when it lands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from formats.commit.lake import frontier
from formats.ducklake.lakes import Lake
from formats.ducklake.views import View, merge
from grebe.errors import HistoryExpiredError
from grebe.formats.ducklake import commit
from grebe.formats.ducklake.catalog_rows import CatalogRows
from grebe.formats.ducklake.commit import fence
from grebe.formats.ducklake.connections import session
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.formats.ducklake.versions import VersionPoint, resolved
from grebe.model import Version, Window

ROWS = [[k, "a", k] for k in range(30)]
CHANGES = {
    "delete": merge(
        [[k, None, None, "delete"] for k in range(3)], expect_updated=0, expect_deleted=3
    ),
    "update": merge([[1, "x", 9, "update"]], expect_deleted=0),
}


@pytest.fixture
def raced(any_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], View]:
    """A view whose last commit was overtaken by an insert into another table."""

    def make(kind: str) -> View:
        any_lake.run("CREATE TABLE lake.t (id INTEGER)")
        view = View(any_lake).create()
        view.build(ROWS)
        reach = commit.reach

        def overtaken(place: str) -> None:
            reach(place)
            if place == "ducklake.commit.request" and landed.pop("not yet", None):
                with session(any_lake.address) as lake:
                    lake.rows(f"INSERT INTO {lake.alias}.t VALUES (1)")

        landed = {"not yet": any_lake.kind != "sqlite"}  # there a writer keeps all others out
        monkeypatch.setattr(commit, "reach", overtaken)
        view.storage.commit([CHANGES[kind]], frontier("r"), view.storage.position())
        any_lake.run("INSERT INTO lake.t VALUES (2)")
        return view

    return make


def expired(view: View) -> None:
    newest = view.lake.rows("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")[0][0]
    listed = ", ".join(str(number) for number in range(newest) if number != newest - 2)
    view.lake.run(
        f"CALL ducklake_expire_snapshots('lake', versions => [{listed}])",
        "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    )


def rows_at(view: View, version: Version) -> int:
    """How many rows are read of a version, in fact."""
    with session(view.lake.address) as lake:
        table = CatalogRows(lake).table(view.name)
        number = resolved(lake, table, VersionPoint.of(version))
        found: int = lake.row(
            f"SELECT count(*) FROM {table.sql(lake)} AT (VERSION => {number}) WHERE v IS NOT NULL"
        )[0]
        return found


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("fenced", [False, True])
def test_a_commit_that_was_overtaken_and_expired_is_still_the_one(
    raced: Callable[[str], View], kind: str, fenced: bool
) -> None:
    view = raced(kind)
    before = view.storage.position()
    if fenced:
        with session(view.lake.address) as lake:
            fence(lake, view.name)
            fence(lake, view.name)
    expired(view)
    found = view.storage.position()
    assert (found.unproven, found.foreign) == (None, ())
    assert found.row_version == before.row_version
    assert found.row_version is not None
    assert rows_at(view, found.row_version) == len(view.rows())
    source = DuckLakeSource(view.name, view.lake.address)
    assert found.version is not None
    changed = source.changes(Window(found.row_version, found.version), [1, 2, 3]).arrow
    assert changed is not None
    assert changed.num_rows == 0


def test_a_version_of_another_number_of_rows_is_refused(raced: Callable[[str], View]) -> None:
    view = raced("delete")
    found = view.storage.position()
    assert found.row_version is not None
    own = VersionPoint.of(found.row_version)
    assert rows_at(view, own.version) == 27
    with pytest.raises(HistoryExpiredError, match="does not show 27 rows"):
        rows_at(view, VersionPoint(own.snapshot - 1, own.rows).version)


def test_a_row_that_was_rewritten_does_not_say_which_commit_it_is(
    raced: Callable[[str], View],
) -> None:
    view = raced("update")
    view.upkeep()
    newest = view.lake.rows("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")[0][0]
    listed = ", ".join(str(number) for number in range(newest))
    view.lake.run(f"CALL ducklake_expire_snapshots('lake', versions => [{listed}])")
    assert view.storage.position().unproven is not None


def test_a_table_whose_last_commit_was_expired_is_not_at_an_older_one(any_lake: Lake) -> None:
    any_lake.run(
        "CREATE TABLE lake.t (id INTEGER)",
        "INSERT INTO lake.t SELECT i FROM range(40) r(i)",
        "CREATE TABLE lake.other (id INTEGER)",
    )
    view = View(any_lake).create()
    view.build(ROWS)
    any_lake.run("INSERT INTO lake.other VALUES (1)")
    source = DuckLakeSource(view.name, any_lake.address)
    before = source.head().version
    own = VersionPoint.of(before).snapshot
    any_lake.run(f"CALL ducklake_expire_snapshots('lake', versions => [{own}])")
    after = DuckLakeSource(view.name, any_lake.address).head().version
    assert after == before
    assert rows_at(view, after) == 30
