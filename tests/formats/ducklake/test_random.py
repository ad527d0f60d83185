"""Random lives of a DuckLake table, written by DuckDB and read by grebe without Spark."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from evidence import LongRun
from formats.contract.oracle import Bag, bag, difference
from formats.ducklake.lakes import KINDS, Lake, Servers, open_lake
from grebe.formats.ducklake.source import DuckLakeSource
from grebe.model import TableName, Version, Window
from hostile import disguised, drawn

NAME = TableName("lake", "main", "t")
UPKEEP = {
    "merge": "CALL ducklake_merge_adjacent_files('lake')",
    "rewrite": "CALL ducklake_rewrite_data_files('lake')",
    "rewrite all": "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0)",
    "flush": "CALL ducklake_flush_inlined_data('lake')",
    "cleanup": "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    "other table": "INSERT INTO lake.other VALUES (1)",
}
DML = ("few",) * 4 + ("many",) * 2 + ("delete",) * 3 + ("update",) * 3 + ("several",) * 2


@dataclass(slots=True)
class Life:
    """What happened, and what the table held after each step."""

    lake: Lake
    rng: Random
    names: Mapping[str, str]
    """Hostile names of the columns."""
    source: DuckLakeSource = field(init=False)
    seen: dict[Version, Bag] = field(default_factory=dict)
    order: list[Version] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.source = DuckLakeSource(NAME, self.lake.address)
        self.lake.run(
            disguised("CREATE TABLE lake.t (id INTEGER, g VARCHAR, x DOUBLE)", self.names, '"'),
            "CREATE TABLE lake.other (id INTEGER)",
        )

    def live(self, steps: int) -> None:
        for _ in range(steps):
            what = self.rng.choice((*DML, *UPKEEP))
            self._do(what)
            self._note()

    def _do(self, what: str) -> None:
        statements = [UPKEEP[what]] if what in UPKEEP else [*self._dml(what)]
        statements = [disguised(text, self.names, '"') for text in statements]
        if what == "several":
            statements = ["BEGIN", *statements, "COMMIT"]
        self.log += statements
        with self.lake.writing() as connection:
            try:
                for statement in statements:
                    connection.execute(statement)
            except duckdb.Error as error:
                # DuckLake itself cannot rewrite some tables: nothing happened then.
                self.log.append(f"-- failed: {error}")
                if what == "several":
                    connection.execute("ROLLBACK")

    def _dml(self, what: str) -> list[str]:
        draw = self.rng
        where = f"id {draw.choice(['=', '<=', '>'])} {draw.randint(0, 12)}"
        x = draw.choice(["NULL", "0.0", "-0.0", "'NaN'::DOUBLE", "0.5", "1e300"])
        g = draw.choice(["NULL", "'a'", "'b'", "''"])
        first, last = draw.randint(0, 5), draw.randint(12, 20)
        return {
            "few": [f"INSERT INTO lake.t VALUES ({draw.randint(0, 8)}, {g}, {x}), (1, 'd', 1)"],
            "many": [f"INSERT INTO lake.t SELECT i, {g}, {x} FROM range({first}, {last}) r(i)"],
            "delete": [f"DELETE FROM lake.t WHERE {where}"],
            "update": [f"UPDATE lake.t SET x = {x} WHERE {where}"],
            "several": [
                f"DELETE FROM lake.t WHERE {where}",
                f"INSERT INTO lake.t VALUES ({draw.randint(0, 8)}, {g}, {x})",
                f"UPDATE lake.t SET id = id + 1 WHERE id > {draw.randint(0, 9)}",
            ],
        }[what]

    def _note(self) -> None:
        with self.lake.writing() as connection:
            now = bag(connection.execute("SELECT * FROM lake.t").to_arrow_table())
        head = self.source.head()
        version = head.version
        if version in self.seen:
            assert self.seen[version] == now, self.log
        else:
            self.seen[version] = now
            self.order.append(version)
        assert self.source.version_stats(version).rows == now.total()

    def check(self) -> Counter[str]:
        """Every pair of versions, and how their changes were found."""
        ways: Counter[str] = Counter()
        pairs: list[tuple[Version | None, Version]] = list(itertools.permutations(self.order, 2))
        for after, upto in [*pairs, *((None, v) for v in self.order)]:
            window = Window(after, upto)
            old = self.seen[after] if after else Counter[Any]()
            wanted = difference(self.seen[upto], old)
            changes = self.source.changes(window, [1, 2, 3])
            assert changes.arrow is not None
            found = bag(changes.arrow)
            assert found == wanted, (window, changes.way, self.log)
            if self.source.window_stats(window).only_maintenance:
                assert not wanted, (window, self.log)
            ways[changes.way.replace("/", "_").replace("-", "_")] += 1
        return ways


def lived(folder: Path, servers: Servers, seed: int, steps: int) -> Life:
    rng = Random(seed)
    kind = KINDS[seed % 3] if seed % 10 == 2 else KINDS[seed % 2]
    inlining = rng.choice(["", "", ", DATA_INLINING_ROW_LIMIT 0"])
    lake = open_lake(kind, folder / f"life{seed}", servers, inlining)
    life = Life(lake, rng, drawn(("id", "g", "x"), Random(seed)))
    life.live(rng.randint(4, steps))
    return life


@pytest.mark.parametrize("seed", range(len(KINDS)))
def test_changes_are_the_difference_of_any_two_versions(
    tmp_path: Path, servers: Servers, seed: int
) -> None:
    life = lived(tmp_path, servers, seed, 10)
    try:
        life.check()
    finally:
        life.lake.close()


@pytest.mark.laws
def test_many_lives(tmp_path: Path, servers: Servers, long_run: LongRun) -> None:
    for seed in long_run.seeds():
        life = lived(tmp_path, servers, seed, 16)
        try:
            ways = life.check()
            long_run.add(lives=1, pairs=ways.total(), **ways)
        finally:
            life.lake.close()
