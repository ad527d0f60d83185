"""What a storage table tells of itself after others have been at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from formats.commit.client import arrow
from formats.commit.lake import Lake, Table, frontier
from grebe.errors import CheckFailedError
from grebe.formats.base import Append, Merge, Overwrite, Rows
from grebe.formats.iceberg.snapshot_properties import snapshot_properties
from grebe.model import Position
from grebe.stored_properties import FRONTIER, RUN

pytestmark = [pytest.mark.spark, pytest.mark.connect]


def append(table: Table, run: str, *rows: list[object]) -> Position:
    writes = [Append(Rows(arrow=arrow(list(rows))))]
    table.storage.commit(writes, frontier(run), table.storage.position())
    return table.storage.position()


def compact(table: Table) -> None:
    table.call("rewrite_data_files", "options => map('rewrite-all', 'true')")


def expire(table: Table) -> None:
    table.call("expire_snapshots", "older_than => TIMESTAMP '2999-01-01', retain_last => 1")


def unchanged(table: Table, before: Position) -> bool:
    found = table.storage.position()
    told = (found.frontier, found.row_version, found.foreign, found.unproven)
    return told == (before.frontier, before.row_version, (), None)


def test_maintenance_by_somebody_else_leaves_the_position_intact(table: Table) -> None:
    append(table, "r1", [1, "a", 1])
    before = append(table, "r2", [2, "b", 2])
    compact(table)
    assert unchanged(table, before)
    table.call("rewrite_manifests")
    assert unchanged(table, before)
    expire(table)
    history = table.lake.reader(table.name).read()
    assert len(history.snapshots) == 2, "only main and the tag are left: the middle is expired"
    assert unchanged(table, before)
    after = append(table, "r3", [3, "c", 3])
    assert (after.frontier, after.foreign) == (frontier("r3"), ())
    assert table.rows() == [(1, "a", 1), (2, "b", 2), (3, "c", 3)]


def test_a_frontier_only_commit_survives_compaction_and_expiry(table: Table) -> None:
    rows = append(table, "r1", [1, "a", 1])
    table.storage.commit([], frontier("r2"), rows)
    before = table.storage.position()
    compact(table)
    expire(table)
    assert unchanged(table, before)
    assert before.row_version == rows.version
    table.storage.commit([], frontier("r3"), table.storage.position())
    assert table.storage.position().row_version == rows.version


def test_the_tag_may_be_behind_or_gone(table: Table) -> None:
    first = append(table, "r1", [1, "a", 1])
    before = append(table, "r2", [2, "b", 2])
    table.sql(
        f"ALTER TABLE {{t}} CREATE OR REPLACE TAG grebe_frontier AS OF VERSION {first.version}"
    )
    compact(table)
    expire(table)
    assert unchanged(table, before)
    table.sql("ALTER TABLE {t} DROP TAG grebe_frontier")
    compact(table)
    expire(table)
    assert unchanged(table, before)


def test_expiry_of_everything_below_the_published_commit_is_harmless(table: Table) -> None:
    append(table, "r1", [1, "a", 1])
    merge = Merge(
        Rows(arrow=arrow([[1, "x", 2, "update"], [2, "b", 2, "insert"]], actions=True)),
        on=("k",),
        expect_updated=1,
        expect_deleted=0,
        target_is_large=True,
    )
    table.storage.commit([merge], frontier("r2"), table.storage.position())
    before = table.storage.position()
    expire(table)
    assert list(table.lake.reader(table.name).read().snapshots) == [int(before.version or 0)]
    assert unchanged(table, before)
    append(table, "r3", [3, "c", 3])
    assert table.rows() == [(1, "x", 2), (2, "b", 2), (3, "c", 3)]


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "below compaction and expiry"])
def test_a_write_by_somebody_else_is_foreign(table: Table, hidden: bool) -> None:
    before = append(table, "r1", [1, "a", 1])
    table.sql("INSERT INTO {t} VALUES (7, 'theirs', 7)")
    table.sql("DELETE FROM {t} WHERE k = 1")
    if hidden:
        compact(table)
        expire(table)
    found = table.storage.position()
    assert found.frontier == before.frontier
    assert [text.split()[0] for text in found.foreign] in (
        ["delete", "append"],
        ["overwrite", "append"],
    )
    with pytest.raises(CheckFailedError) as caught:
        append(table, "r2", [2, "b", 2])
    assert caught.value.code == "foreign-write"
    rebuild = [Overwrite(Rows(arrow=arrow([[1, "a", 1], [2, "b", 2]])))]
    table.storage.commit(rebuild, frontier("r3"), found)
    healed = table.storage.position()
    assert (healed.frontier, healed.foreign) == (frontier("r3"), ())
    assert table.rows() == [(1, "a", 1), (2, "b", 2)]


def test_a_table_that_only_others_wrote_has_no_frontier_and_foreign_rows(table: Table) -> None:
    table.sql("INSERT INTO {t} VALUES (7, 'theirs', 7)")
    found = table.storage.position()
    assert found.frontier is None
    assert len(found.foreign) == 1
    with pytest.raises(CheckFailedError):
        append(table, "r1", [1, "a", 1])


def test_a_broken_chain_is_unproven(table: Table) -> None:
    before = append(table, "r1", [1, "a", 1])
    compact(table)
    compact(table)
    expire(table)
    for entry in table.lake.reader(table.name).log()[1:]:
        Path(entry.file).unlink()
    found = table.storage.position()
    assert found.unproven is not None
    assert found.frontier == before.frontier, "the tag still finds it, and proves nothing"
    with pytest.raises(CheckFailedError) as caught:
        append(table, "r2", [2, "b", 2])
    assert caught.value.code == "frontier-unproven"
    table.storage.commit([Overwrite(Rows(arrow=arrow([[5, "e", 5]])))], frontier("r3"), found)
    assert table.storage.position().frontier == frontier("r3")
    assert table.storage.position().unproven is None


def test_a_rollback_shows_the_older_frontier_with_its_rows(table: Table) -> None:
    older = append(table, "r1", [1, "a", 1])
    append(table, "r2", [2, "b", 2])
    table.call("rollback_to_snapshot", f"snapshot_id => {older.version}")
    assert table.storage.position() == older
    append(table, "r3", [3, "c", 3])
    assert table.rows() == [(1, "a", 1), (3, "c", 3)]


def test_a_rollback_into_the_middle_of_a_run_is_unproven(table: Table) -> None:
    writes = [Append(Rows(arrow=arrow([[k, "a", k]]))) for k in (1, 2)]
    table.storage.commit(writes, frontier("r1"), table.storage.position())
    history = table.lake.reader(table.name).read()
    first = history.snapshots[history.refs["main"]].parent
    table.call("rollback_to_snapshot", f"snapshot_id => {first}")
    found = table.storage.position()
    assert found.frontier is None
    assert "part 1/2" in (found.unproven or "")


def test_branches_of_unpublished_runs_are_not_the_truth(table: Table) -> None:
    before = append(table, "r1", [1, "a", 1])
    table.sql(f"ALTER TABLE {{t}} CREATE BRANCH grebe_dead AS OF VERSION {before.version}")
    session = table.lake.session
    label = {RUN: "dead", FRONTIER: frontier("dead").to_json()}
    with snapshot_properties(session, label):
        table.sql("INSERT INTO {t}.branch_grebe_dead VALUES (9, 'dead', 9)")
    assert table.storage.position() == before


def test_a_frontier_that_cannot_be_read_is_unproven(table: Table) -> None:
    append(table, "r1", [1, "a", 1])
    with snapshot_properties(table.lake.session, {RUN: "r2", FRONTIER: '{"from": "later"}'}):
        table.sql("INSERT INTO {t} VALUES (2, 'b', 2)")
    found = table.storage.position()
    assert found.frontier is None
    assert "cannot be read" in (found.unproven or "")


def test_a_table_that_was_replaced_is_foreign(lake: Lake, table: Table) -> None:
    before = append(table, "r1", [1, "a", 1])
    table.sql("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT 1L AS k, 'x' AS v, 1L AS n")
    found = table.storage.position()
    assert found.version != before.version
    assert found.frontier is None
    assert found.foreign
