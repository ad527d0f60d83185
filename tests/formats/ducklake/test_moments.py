"""Which version a storage table had at a moment: the right one, or none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from formats.commit.client import arrow
from formats.commit.lake import NAMESPACE, frontier
from formats.ducklake.lakes import Lake
from formats.ducklake.views import View
from grebe.formats.base import Append, Rows
from grebe.formats.ducklake.catalog import DuckLakeCatalog
from grebe.formats.ducklake.connections import session
from grebe.formats.ducklake.expiry import expire
from grebe.model import CatalogAddress, TableName, Version


class Kept:
    """A view that is filled again and again, with the moments between."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.view = View(lake, name=TableName("lake", NAMESPACE, "__grebe_v_1a2b3c4d"))
        self.tables = DuckLakeCatalog(
            CatalogAddress("lake", "/", lake.address.data_path, lake.address.target)
        )
        self.versions: list[Version] = []
        self.moments: list[datetime] = []

    def at(self, when: datetime) -> Version | None:
        return self.tables.version_at(self.view.name, when, lambda: pytest.fail("Spark"))

    def filled(self, rows: int = 1) -> None:
        number = len(self.versions)
        storage = self.view.storage
        write = Append(Rows(arrow=arrow([[number, "a", k] for k in range(rows)])))
        done = storage.commit([write], frontier(f"r{number}"), storage.position())
        self.versions.append(done.version)
        self.moments.append(datetime.now(UTC))

    def others(self) -> None:
        self.lake.run("INSERT INTO lake.t SELECT i FROM range(40) r(i)")

    def expire(self, before: datetime | None) -> None:
        with session(self.lake.address) as lake:
            expire(lake, before)


@pytest.fixture
def kept(any_lake: Lake) -> Kept:
    any_lake.run("CREATE TABLE lake.t (id INTEGER)")
    return Kept(any_lake)


def test_a_moment_shows_what_was_last_filled_by_then_and_none_before(kept: Kept) -> None:
    kept.view.create()
    empty = datetime.now(UTC)
    for _ in range(3):
        kept.filled()
        kept.others()
    assert kept.at(datetime(2001, 1, 1, tzinfo=UTC)) is None
    assert kept.at(empty) is None
    assert [kept.at(moment) for moment in kept.moments] == kept.versions


def test_a_moment_whose_version_was_expired_shows_none(kept: Kept) -> None:
    """The snapshot that made the table stays, because it made a schema too; it is no answer."""
    kept.view.create()
    for _ in range(3):
        kept.filled()
        kept.others()
    kept.expire(kept.moments[1])
    assert [kept.at(moment) for moment in kept.moments] == [None, None, kept.versions[2]]
    kept.expire(None)
    assert kept.at(datetime.now(UTC)) == kept.versions[2]


def test_a_fill_without_rows_is_a_version_too(kept: Kept) -> None:
    kept.view.create()
    empty = datetime.now(UTC)
    kept.filled(rows=0)
    kept.others()
    kept.filled()
    assert kept.at(empty) is None
    before = kept.at(kept.moments[0])
    assert before is not None
    assert before.endswith(":0")


def test_what_was_expired_of_other_views_takes_nothing_away(kept: Kept) -> None:
    kept.view.create()
    other = View(kept.lake, name=TableName("lake", NAMESPACE, "__grebe_w_1a2b3c4d")).create()
    kept.filled()
    other.build([[1, "a", 1]])
    between = datetime.now(UTC)
    kept.others()
    newest = kept.lake.rows("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")[0][0]
    kept.lake.run(f"CALL ducklake_expire_snapshots('lake', versions => [{newest - 1}])")
    kept.filled()
    assert kept.at(between) == kept.versions[0]


def test_rows_are_counted_of_files_that_hold_later_ones_too(kept: Kept) -> None:
    kept.view.create()
    for _ in range(3):
        kept.filled(rows=2)
    kept.lake.run("CALL ducklake_merge_adjacent_files('lake')")
    kept.filled()
    assert [kept.at(moment) for moment in kept.moments] == kept.versions
