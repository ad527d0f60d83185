"""Histories that are hard on a feed: each on tables of its own, all in one busy catalog.

After the history and after one more change the views equal their queries. Upkeep runs on the whole
catalog, so it meets the tables of the other histories too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence import LongRun
from grebe import compile_ivm
from programs.lake import KINDS, Kind, Lake, Named, difference, maintain, set_up

SCHEMAS = {"t": {"g": "INTEGER", "x": "INTEGER"}, "u": {"g": "INTEGER", "y": "INTEGER"}}
VIEWS = {
    "groups": "SELECT t.g, COUNT(*) AS n, SUM(x) AS s, MIN(y) AS m FROM t LEFT JOIN u ON t.g = u.g"
    " GROUP BY t.g",
    "bag": "SELECT g, x FROM t",
}
MANY = "INSERT INTO {t} (g, x) SELECT i % 5, i FROM range(30) AS r(i)"
HISTORIES = {
    "insert and delete in one transaction": [
        "BEGIN", "INSERT INTO {t} VALUES (7, 7)", "DELETE FROM {t} WHERE g = 7", "COMMIT",
    ],
    "two updates in one transaction": [
        "BEGIN", "UPDATE {t} SET x = x + 1", "UPDATE {t} SET x = x + 1", "COMMIT",
    ],
    "all deleted and written again": [
        "CREATE OR REPLACE TEMP TABLE kept AS SELECT * FROM {t}",
        "DELETE FROM {t}",
        "INSERT INTO {t} SELECT * FROM kept",
    ],
    "truncate": ["TRUNCATE {t}"],
    "column added": [
        "ALTER TABLE {t} ADD COLUMN z INTEGER DEFAULT 5",
        "INSERT INTO {t} VALUES (3, 3, 3)",
        "UPDATE {t} SET z = 9",
    ],
    "column added and dropped": [
        "ALTER TABLE {t} ADD COLUMN z INTEGER",
        "INSERT INTO {t} VALUES (3, 3, 3)",
        "ALTER TABLE {t} DROP COLUMN z",
        "INSERT INTO {t} VALUES (4, 4)",
    ],
    "flushed between changes": [
        "INSERT INTO {t} VALUES (3, 3)",
        "CALL ducklake_flush_inlined_data('dl')",
        "DELETE FROM {t} WHERE g = 3",
        "UPDATE {t} SET x = 11 WHERE x = 10",
        "CALL ducklake_flush_inlined_data('dl')",
        "UPDATE {t} SET x = 12 WHERE x = 11",
    ],
    "files merged, then deletes": [
        MANY, MANY, "CALL ducklake_merge_adjacent_files('dl')", "DELETE FROM {t} WHERE x % 3 = 0",
    ],
    "deletes, then files merged": [
        MANY, "DELETE FROM {t} WHERE x % 3 = 0", MANY, "CALL ducklake_merge_adjacent_files('dl')",
    ],
    "rewritten between changes": [
        MANY,
        "DELETE FROM {t} WHERE x % 2 = 0",
        "CALL ducklake_rewrite_data_files('dl', delete_threshold => 0)",
        "UPDATE {t} SET x = x + 1 WHERE x % 3 = 0",
    ],
    "rewritten first": [
        "CALL ducklake_rewrite_data_files('dl', delete_threshold => 0)",
        "DELETE FROM {t} WHERE g = 1",
    ],
    "MERGE": [
        "MERGE INTO {t} AS h USING (SELECT 1 AS g, 99 AS x UNION ALL SELECT 8, 8) AS s ON h.g = s.g"
        " WHEN MATCHED THEN UPDATE SET x = s.x WHEN NOT MATCHED THEN INSERT VALUES (s.g, s.x)",
    ],
    "an update of nothing": ["UPDATE {t} SET x = x"],
    "keys swapped on both sides": [
        "UPDATE {t} SET g = CASE g WHEN 1 THEN 2 WHEN 2 THEN 1 END",
        "UPDATE {u} SET g = CASE g WHEN 1 THEN 2 WHEN 2 THEN 1 END",
    ],
    "both sides deleted": ["DELETE FROM {t} WHERE g = 1", "DELETE FROM {u} WHERE g = 1"],
    "partitioned on the way": [
        "ALTER TABLE {t} SET PARTITIONED BY (g)", MANY, "DELETE FROM {t} WHERE g = 0",
    ],
    "unused column of the other side": [
        "ALTER TABLE {u} ADD COLUMN q VARCHAR", "INSERT INTO {u} VALUES (1, 5, 'a')",
    ],
    "many commits": [
        *(f"INSERT INTO {{t}} VALUES ({i % 3}, {i})" for i in range(8)),
        *(f"DELETE FROM {{t}} WHERE x = {i}" for i in range(0, 8, 2)),
    ],
    "files cleaned up": [
        "DELETE FROM {t} WHERE g = 1",
        "CALL ducklake_cleanup_old_files('dl', cleanup_all => true)",
    ],
}  # fmt: skip
AFTERWARDS = (
    "INSERT INTO {t} (g, x) VALUES (1, 1), (NULL, 2)",
    "DELETE FROM {u} WHERE y = 100",
    "UPDATE {t} SET x = COALESCE(x, 0) + 1 WHERE g IS NOT DISTINCT FROM 2",
)


def followed(lake: Lake, place: str, history: str) -> None:
    """Views over two tables of a schema of their own, kept through a history."""
    tables = {name: f"dl.{place}.{name}" for name in SCHEMAS}
    lake.run(
        f"CREATE SCHEMA dl.{place}",
        f"CREATE TABLE {tables['t']} (g INTEGER, x INTEGER)",
        f"CREATE TABLE {tables['u']} (g INTEGER, y INTEGER)",
        f"INSERT INTO {tables['t']} VALUES (1, 10), (1, 10), (2, 5), (NULL, 7), (NULL, NULL)",
        f"INSERT INTO {tables['u']} VALUES (1, 100), (2, 200), (NULL, 1), (1, 100)",
    )
    views = {
        sql: compile_ivm(sql, naming=Named(name), mv_schema=place, schemas=SCHEMAS)
        for name, sql in VIEWS.items()
    }
    for view in views.values():
        set_up(lake, view)
    for changes in (HISTORIES[history], AFTERWARDS):
        lake.run(*(change.format(**tables) for change in changes))
        for sql, view in views.items():
            maintain(lake.con, view)
            assert difference(lake, view, sql, f'dl"."{place}') == ([], []), (history, sql)


@pytest.mark.parametrize("history", HISTORIES)
def test_F020_F066_history(shared: Lake, history: str) -> None:
    followed(shared, f"h{list(HISTORIES).index(history)}", history)


@pytest.mark.laws
@pytest.mark.timeout(3000)
def test_F020_F066_histories_on_every_kind_of_catalog(tmp_path: Path, long_run: LongRun) -> None:
    for seed in long_run.seeds():
        kind: Kind = KINDS[seed % len(KINDS)]
        folder = tmp_path / str(seed)
        folder.mkdir()
        lake = Lake(folder, kind)
        for number, history in enumerate(HISTORIES):
            followed(lake, f"h{number}", history)
            long_run.add(histories=1, checks=4)
        lake.close()
