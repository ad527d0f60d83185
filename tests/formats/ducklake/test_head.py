"""Where a DuckLake table stands: per table, quickly, without Spark; and what loses its history."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from formats.contract.oracle import bag
from formats.ducklake.lakes import Lake
from grebe.errors import HistoryExpiredError, SourceError, SourceReplacedError, UnknownTableError
from grebe.formats.ducklake import connections
from grebe.formats.ducklake.connections import Address
from grebe.formats.ducklake.source import DuckLakeSource, heads
from grebe.model import TableName, Version, Window

Lakes = Callable[..., Lake]
T = TableName("lake", "main", "t")


def source(lake: Lake, name: str = "t") -> DuckLakeSource:
    return DuckLakeSource(TableName("lake", "main", name), lake.address)


def made(lake: Lake) -> DuckLakeSource:
    lake.run(
        "CREATE TABLE lake.t (id INTEGER, g VARCHAR)",
        "INSERT INTO lake.t SELECT i, 'g' FROM range(40) r(i)",
        "CREATE TABLE lake.other (id INTEGER)",
    )
    return source(lake)


def changed(lake: Lake, window: Window, columns: list[int] | None = None) -> dict[Any, int]:
    found = source(lake).changes(window, columns or [1, 2]).arrow
    assert found is not None
    return dict(bag(found))


def test_the_version_is_the_tables_own(any_lake: Lake) -> None:
    table = made(any_lake)
    before = table.head()
    any_lake.run("INSERT INTO lake.other VALUES (1)", "UPDATE lake.other SET id = 2")
    assert table.head() == before
    any_lake.run("INSERT INTO lake.t VALUES (1, 'new')")
    after = table.head()
    assert after.version != before.version
    assert after.identity == before.identity
    assert after.committed_at is not None
    assert before.committed_at is not None
    assert after.committed_at > before.committed_at


def test_one_snapshot_is_a_cut_over_all_tables(any_lake: Lake) -> None:
    made(any_lake)
    any_lake.run(
        "BEGIN", "DELETE FROM lake.t WHERE id = 1", "INSERT INTO lake.other VALUES (1)", "COMMIT"
    )
    names = [TableName("lake", "main", name) for name in ("t", "other")]
    found = heads(any_lake.address, names)
    assert [found[name] for name in names] == [source(any_lake, n.name).head() for n in names]
    assert len({head.version.partition(":")[0] for head in found.values()}) == 1


def test_nothing_changed_is_one_question_to_the_catalog(
    any_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(any_lake)
    asked = []
    rows = connections.Session.rows

    def counted(
        session: connections.Session, sql: str, parameters: Sequence[object] = ()
    ) -> list[tuple[Any, ...]]:
        asked.append(sql)
        return rows(session, sql, parameters)

    monkeypatch.setattr(connections.Session, "rows", counted)
    first = table.head()
    assert 1 < len(asked) < 20, asked
    asked.clear()
    assert table.head() == first
    assert len(asked) == 1, asked
    any_lake.run("INSERT INTO lake.t VALUES (1, 'new')")
    asked.clear()
    assert table.head() != first
    assert 1 < len(asked) < 20, asked


PROBE = """
import json, sys
from grebe.formats.ducklake.connections import Address
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.model import TableName
uri, root = json.loads(sys.argv[1])
head = DuckLakeSource(TableName("lake", "main", "t"), Address.of(uri, root)).head()
heavy = sorted(m for m in sys.modules if m in {"pyspark", "py4j", "pandas"})
print(json.dumps([head.version, heavy]))
"""


def probe(lake: Lake) -> list[Any]:
    argument = json.dumps([lake.address.target, lake.address.data_path])
    done = subprocess.run(
        [sys.executable, "-c", PROBE, argument], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_another_process_sees_the_same_without_spark(any_lake: Lake) -> None:
    table = made(any_lake)
    assert probe(any_lake) == [table.head().version, []]


def test_a_catalog_that_another_process_has_open_is_named(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(lake)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('open', flush=True);"
            " sys.stdin.read()",
            lake.address.metadata,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        monkeypatch.setattr(connections, "PATIENCE_SECONDS", 0.1)
        with pytest.raises(SourceError) as caught:
            source(lake).head()
        assert caught.value.code == "catalog-locked"
        assert caught.value.hint is not None
        assert "SQLite" in caught.value.hint
    finally:
        holder.communicate()
    assert source(lake).head().version


def test_a_catalog_that_another_connection_has_open_is_named(lake: Lake) -> None:
    made(lake)
    with lake.writing(), pytest.raises(SourceError) as caught:
        source(lake).head()
    assert caught.value.code == "catalog-locked"


def test_a_catalog_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    file = tmp_path / "none.ducklake"
    with pytest.raises(SourceError) as caught:
        DuckLakeSource(T, Address.of(f"ducklake:{file}", str(tmp_path / "data"))).head()
    assert caught.value.code == "catalog-missing"
    assert not file.exists()


def test_a_server_that_is_not_there_is_an_error_without_its_password() -> None:
    uri = "postgresql://me:secret@127.0.0.1:1/none?connect_timeout=1"
    with pytest.raises(SourceError) as caught:
        DuckLakeSource(T, Address.of(uri, None)).head()
    assert caught.value.code == "catalog-unreachable"
    assert "secret" not in caught.value.explain()
    assert "secret" not in repr(Address.of(uri, None))


def test_an_unknown_table_gets_a_suggestion(lake: Lake) -> None:
    made(lake)
    with pytest.raises(UnknownTableError) as caught:
        source(lake, "othr").head()
    assert caught.value.hint is not None
    assert "lake.main.other" in caught.value.hint


def expire(lake: Lake, *numbers: int) -> None:
    listed = ", ".join(map(str, numbers))
    lake.run(
        f"CALL ducklake_expire_snapshots('lake', versions => [{listed}])",
        "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    )


def snapshot(version: Version) -> int:
    return int(version.partition(":")[0])


def newest(lake: Lake) -> int:
    return int(lake.rows("SELECT max(snapshot_id) FROM ducklake_snapshots('lake')")[0][0])


LAST = (
    "INSERT INTO lake.t VALUES (1, 'inlined')",
    "DELETE FROM lake.t WHERE id < 15",
    "INSERT INTO lake.t SELECT i, 'h' FROM range(40, 60) r(i)",
    "DELETE FROM lake.t WHERE id = 3",
    "DELETE FROM lake.t",
    "UPDATE lake.t SET g = 'u' WHERE id < 20",
)


@pytest.mark.parametrize(
    ("kind", "last"),
    [("duckdb", last) for last in LAST] + [("sqlite", LAST[0]), ("postgres", LAST[1])],
)
def test_expiry_of_the_catalog_does_not_lose_a_table_that_rests(
    opened: Lakes, kind: str, last: str
) -> None:
    """The snapshots that touched the table go; its rows are still the same, provably."""
    lake = opened(kind)
    table = made(lake)
    lake.run(last)
    rests = table.head().version
    rows = lake.rows("SELECT id, g FROM lake.t")
    lake.run(*["INSERT INTO lake.other VALUES (1)"] * 3)
    expire(lake, *range(newest(lake) - 1))
    again = source(lake)
    now = again.head().version
    assert again.unreadable(Window(rests, now), [1, 2]) is None
    assert changed(lake, Window(rests, now)) == {}
    assert again.window_stats(Window(rests, now)).rows_added in (0, None)
    assert sum(changed(lake, Window(None, rests)).values()) == len(rows)
    lake.run("INSERT INTO lake.t VALUES (77, 'later')")
    later = again.head().version
    assert changed(lake, Window(rests, later)) == {(77, "later"): 1}


def test_expiry_that_loses_a_change_is_said(any_lake: Lake) -> None:
    table = made(any_lake)
    before = table.head().version
    any_lake.run(
        "DELETE FROM lake.t WHERE id < 5", "INSERT INTO lake.t SELECT i, 'n' FROM range(5) r(i)"
    )
    any_lake.run(*["INSERT INTO lake.other VALUES (1)"] * 2)
    expire(any_lake, *range(newest(any_lake)))
    window = Window(before, table.head().version)
    reason = source(any_lake).unreadable(window, [1, 2])
    assert reason is not None
    assert reason.code == "history-expired"
    with pytest.raises(HistoryExpiredError):
        source(any_lake).changes(window, [1, 2])


def test_a_snapshot_missing_in_the_middle_costs_only_the_feed(lake: Lake) -> None:
    table = made(lake)
    before = table.head().version
    lake.run("UPDATE lake.t SET g = 'x' WHERE id = 1", "DELETE FROM lake.t WHERE id = 2")
    expire(lake, snapshot(before) + 1)
    changes = source(lake).changes(Window(before, table.head().version), [1, 2])
    assert changes.way == "files/duckdb"
    assert changes.arrow is not None
    assert bag(changes.arrow) == {(1, "g"): -1, (1, "x"): 1, (2, "g"): -1}


def test_a_table_created_anew_is_another_table(any_lake: Lake) -> None:
    table = made(any_lake)
    before = table.head()
    any_lake.run("DROP TABLE lake.t", "CREATE TABLE lake.t (id INTEGER, g VARCHAR)")
    any_lake.run("INSERT INTO lake.t VALUES (1, 'a')")
    after = table.head()
    assert after.identity != before.identity
    window = Window(before.version, after.version)
    reason = table.unreadable(window, [1])
    assert reason is not None
    assert reason.code == "source-replaced"
    with pytest.raises(SourceReplacedError):
        table.changes(window, [1])


def test_a_renamed_table_keeps_its_history(any_lake: Lake) -> None:
    table = made(any_lake)
    before = table.head()
    any_lake.run("DELETE FROM lake.t WHERE id = 1", "ALTER TABLE lake.t RENAME TO t2")
    with pytest.raises(UnknownTableError):
        table.head()
    renamed = source(any_lake, "t2")
    middle = renamed.head()
    any_lake.run("INSERT INTO lake.t2 VALUES (99, 'n')")
    after = renamed.head()
    assert before.identity == after.identity
    for window, wanted in (
        (Window(before.version, after.version), {(1, "g"): -1, (99, "n"): 1}),
        (Window(before.version, middle.version), {(1, "g"): -1}),
        (Window(after.version, before.version), {(1, "g"): 1, (99, "n"): -1}),
    ):
        found = renamed.changes(window, [1, 2]).arrow
        assert found is not None
        assert bag(found) == wanted


@pytest.mark.parametrize(
    ("column", "value", "path"),
    [
        ("x INTEGER", "7", "x"),
        ("s STRUCT(a INTEGER, b INTEGER)", "{'a': 1, 'b': 7}", "s.b"),
        (
            "s STRUCT(a INTEGER, d STRUCT(b INTEGER, c INTEGER))",
            "{'a': 1, 'd': {'b': 7, 'c': 8}}",
            "s.d.b",
        ),
    ],
)
def test_a_column_made_anew_is_another_one_at_any_depth(
    lake: Lake, column: str, value: str, path: str
) -> None:
    """It looks the same, and every row has NULL in it: no change says so, and no upkeep it is."""
    lake.run(
        f"CREATE TABLE lake.t (id INTEGER, {column})", f"INSERT INTO lake.t VALUES (1, {value})"
    )
    table = source(lake)
    first = table.head()
    lake.run(f"ALTER TABLE lake.t DROP COLUMN {path}", f"ALTER TABLE lake.t ADD COLUMN {path} INT")
    window = Window(first.version, table.head().version)
    reason = table.unreadable(window, [1, 2])
    assert reason is not None
    assert reason.code == "schema-changed"
    assert not table.window_stats(window).only_maintenance
    assert table.unreadable(window, [1]) is None
    assert changed(lake, window, [1]) == {}


def test_a_hugeint_is_refused_and_harms_no_other_column(lake: Lake) -> None:
    """Inlined it is exact, in a file a double: it would change when rows are flushed."""
    lake.run("CREATE TABLE lake.t (id INTEGER, h HUGEINT)", "INSERT INTO lake.t VALUES (1, 2)")
    table = source(lake)
    first = table.head()
    lake.run(f"INSERT INTO lake.t VALUES (2, {2**100 + 1})")
    window = Window(first.version, table.head().version)
    reason = table.unreadable(window, [1, 2])
    assert reason is not None
    assert reason.code == "type-without-identity"
    with pytest.raises(SourceError, match="cannot be read"):
        table.changes(window, [2])
    assert changed(lake, window, [1]) == {(2,): 1}


def test_statistics_come_from_the_catalog(any_lake: Lake) -> None:
    table = made(any_lake)
    any_lake.run("INSERT INTO lake.t SELECT i, NULL FROM range(100, 130) r(i)")
    head = table.head()
    stats = table.version_stats(head.version, [1, 2])
    assert (stats.rows, stats.files) == (70, 2)
    assert [(b.low, b.high, b.has_null) for b in stats.bounds["id"]] == [
        (0, 39, False),
        (100, 129, False),
    ]
    assert [b.has_null for b in stats.bounds["g"]] == [False, True]


def test_upkeep_is_recognised(any_lake: Lake) -> None:
    table = made(any_lake)
    any_lake.run(
        "INSERT INTO lake.t VALUES (50, 'few')",
        "DELETE FROM lake.t WHERE id = 7",
        "INSERT INTO lake.t SELECT i, 'h' FROM range(60, 90) r(i)",
    )
    before = table.head().version
    for call in (
        "CALL ducklake_flush_inlined_data('lake')",
        "CALL ducklake_merge_adjacent_files('lake')",
        "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
        "COMMENT ON TABLE lake.t IS 'a table'",
    ):
        any_lake.run(call)
        after = table.head().version
        assert after != before, call
        window = Window(before, after)
        assert table.window_stats(window).only_maintenance, call
        assert changed(any_lake, window) == {}
        before = after
    any_lake.run("DELETE FROM lake.t WHERE id = 8")
    assert not table.window_stats(Window(before, table.head().version)).only_maintenance


def test_a_rewrite_pollutes_the_feed_and_is_read_from_the_files(lake: Lake) -> None:
    """The known fault of DuckLake's feed: if this fails, the way around it may go."""
    table = made(lake)
    lake.run("DELETE FROM lake.t WHERE id IN (1, 2)")
    before = table.head().version
    lake.run(
        "DELETE FROM lake.t WHERE id = 3",
        "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    )
    changes = table.changes(Window(before, table.head().version), [1, 2])
    assert changes.way == "files/duckdb"
    assert changes.arrow is not None
    assert bag(changes.arrow) == {(3, "g"): -1}
    first, last = snapshot(before) + 1, newest(lake)
    counts = [
        lake.rows(f"SELECT count(*) FROM lake.table_{kind}('t', {first}, {last})")[0][0]
        for kind in ("insertions", "deletions")
    ]
    assert counts[0] - counts[1] != -1


def test_a_wrong_feed_is_noticed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard: a feed whose sum contradicts the row counts is not believed."""
    from grebe.formats.ducklake import window as module

    table = made(lake)
    before = table.head().version
    lake.run("DELETE FROM lake.t WHERE id = 1")
    true_query = module.feed_query
    monkeypatch.setattr(
        module, "feed_query", lambda *arguments: f"{true_query(*arguments)} LIMIT 0"
    )
    changes = table.changes(Window(before, table.head().version), [1, 2])
    assert changes.way == "files/duckdb"
    assert changes.arrow is not None
    assert bag(changes.arrow) == {(1, "g"): -1}


def test_a_reader_in_the_middle_of_upkeep_looks_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grebe.formats.ducklake import duck_rows
    from grebe.formats.ducklake import window as module

    table = made(lake)
    calls = []
    real = duck_rows.rows_query

    def moved(*arguments: Any) -> str:
        calls.append(1)
        if len(calls) == 1:
            raise duck_rows.CatalogMovedError("moved")
        return real(*arguments)

    monkeypatch.setattr(module, "rows_query", moved)
    found = table.changes(Window(None, table.head().version), [1, 2]).arrow
    assert found is not None
    assert found.num_rows == 40
    assert len(calls) == 2


def test_duckdb_itself_still_refuses_two_writers_of_a_file(lake: Lake) -> None:
    made(lake)
    with lake.writing(), pytest.raises(duckdb.Error):
        duckdb.connect(lake.address.metadata)
