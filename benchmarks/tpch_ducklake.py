"""TPC-H in a DuckLake, made and changed by DuckDB as its users do it: the same changes as `tpch.Lake`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.tpch import FILES, KEYS
from grebe.program import load_extensions


@dataclass(frozen=True)
class DuckLake:
    """A lake in a folder: its catalog in SQLite, so that other processes may read it meanwhile."""

    folder: Path

    def run(self, *statements: str) -> list[tuple[object, ...]]:
        """What the last statement gives."""
        with duckdb.connect() as lake:
            load_extensions(lake, "ducklake", "sqlite_scanner")
            target = f"ducklake:sqlite:{self.folder / 'meta.sqlite'}"
            lake.execute(f"ATTACH '{target}' AS lake (DATA_PATH '{self.folder / 'data'}/')")
            lake.execute("CREATE SCHEMA IF NOT EXISTS lake.bench; USE lake.bench")
            for text in statements:
                found = lake.execute(text).fetchall()
        return found

    def build(self, files: dict[str, Path]) -> None:
        """Makes the tables that are not there yet, in files that follow their key."""
        there = {name for (name,) in self.run("SELECT table_name FROM duckdb_tables()")}
        for table, file in files.items():
            if table in there:
                continue
            key = KEYS[table][0]
            ((top,),) = self.run(f"SELECT max({key}) FROM '{file}'")
            self.run(
                f"CREATE TABLE {table} AS FROM '{file}' LIMIT 0",
                *(
                    f"INSERT INTO {table} FROM '{file}' WHERE {key} > {low} AND {key} <= {high}"
                    f" ORDER BY {', '.join(KEYS[table])}"
                    for low, high in _parts(int(str(top)))
                ),
            )

    def change(self, share: float, where: str, seed: int, kind: str = "mixed") -> str:
        """Deletes, updates and inserts a third each of a share of the orders and their lines."""
        assert kind == "mixed"
        chosen = self._chosen(share, where, seed)
        for table, key, touch in (
            ("orders", "o_orderkey", "o_totalprice = o_totalprice + 1"),
            ("lineitem", "l_orderkey", "l_quantity = l_quantity + 1"),
        ):
            keys = chosen.format(key=key)
            gone, touched, copied = (f"{keys} AND ({key} + {seed}) % 3 = {n}" for n in range(3))
            far = f"{key} + {1_000_000_000 + seed * 10_000_000} AS {key}"
            self.run(
                f"DELETE FROM {table} WHERE {gone}",
                f"UPDATE {table} SET {touch} WHERE {touched}",
                f"INSERT INTO {table} SELECT * REPLACE ({far}) FROM {table} WHERE {copied}",
            )
        return chosen

    def few(self, orders: int, seed: int) -> None:
        """Updates the price of one line of a few orders."""
        first = 1000 + seed * 1000
        self.run(
            "UPDATE lineitem SET l_extendedprice = l_extendedprice + 1"
            f" WHERE l_orderkey BETWEEN {first} AND {first + 4 * orders} AND l_linenumber = 1"
        )

    def _chosen(self, share: float, where: str, seed: int) -> str:
        if where == "spread":
            return f"hash({{key}} + {seed}) % {round(1 / share)} = 7"
        ((top,),) = self.run("SELECT max(o_orderkey) FROM orders WHERE o_orderkey < 900000000")
        return f"{{key}} BETWEEN {int(str(top)) - int(int(str(top)) * share)} AND {top}"


def _parts(top: int) -> list[tuple[int, int]]:
    return [(top * part // FILES, top * (part + 1) // FILES) for part in range(FILES)]
