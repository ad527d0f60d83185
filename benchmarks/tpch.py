"""TPC-H tables as an Iceberg or a Delta lake, and mixed changes of a share of it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp, parse_one

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = {
    "customer": ("c_custkey",),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
    "nation": ("n_nationkey",),
    "region": ("r_regionkey",),
    "supplier": ("s_suppkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
}
FILES = 8


def _connection() -> duckdb.DuckDBPyConnection:
    spec = importlib.util.find_spec("duckdb_extension_tpch")
    assert spec is not None
    (extension,) = Path(str(spec.submodule_search_locations[0])).rglob("*.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    return connection


def queries() -> dict[int, str]:
    """The 22 texts in Spark's dialect, by number; every output has a name."""
    with _connection() as connection:
        rows = connection.execute("SELECT query_nr, query FROM tpch_queries()").fetchall()
    return {number: _named(text) for number, text in rows}


def _named(text: str) -> str:
    tree = parse_one(text, dialect="duckdb")
    for place, item in enumerate(tree.selects):
        if not item.alias_or_name:
            item.replace(exp.alias_(item.copy(), f"output_{place + 1}"))
    return tree.sql(dialect="spark")


def parquet(folder: Path, scale: float, tables: tuple[str, ...]) -> dict[str, Path]:
    """Parquet files with the tables, made once."""
    files = {table: folder / f"{table}-{scale:g}.parquet" for table in tables}
    if not all(file.exists() for file in files.values()):
        folder.mkdir(parents=True, exist_ok=True)
        with _connection() as connection:
            connection.execute(f"CALL dbgen(sf => {scale})")
            for table, file in files.items():
                connection.execute(f"COPY {table} TO '{file}' (FORMAT parquet)")
    return files


@dataclass(frozen=True)
class Lake:
    """TPC-H tables of one schema, sorted by key; rows that go are marked, files are not rewritten."""

    spark: SparkSession
    schema: str
    folder: Path | None = None
    """The folder of the schema's Delta tables; Iceberg tables need none."""

    def name(self, table: str) -> str:
        """A table in SQL."""
        return f"delta.`{self.folder / table}`" if self.folder else f"{self.schema}.{table}"

    def build(self, files: dict[str, Path]) -> None:
        """Makes the tables that are not there yet."""
        if self.folder is None:
            self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self.schema}")
        for table, file in files.items():
            if self._exists(table):
                continue
            rows = self.spark.read.parquet(str(file)).repartitionByRange(FILES, KEYS[table][0])
            self._create(table, rows.sortWithinPartitions(*KEYS[table]))

    def _exists(self, table: str) -> bool:
        if self.folder is None:
            return self.spark.catalog.tableExists(self.name(table))
        return (self.folder / table / "_delta_log").exists()

    def _create(self, table: str, rows: DataFrame) -> None:
        if self.folder is not None:
            options = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
            rows.write.format("delta").options(**options).save(str(self.folder / table))
            return
        writer = rows.writeTo(self.name(table)).using("iceberg")
        for verb in ("delete", "update", "merge"):
            writer = writer.tableProperty(f"write.{verb}.mode", "merge-on-read")
        writer.tableProperty("format-version", "3").create()

    def orders(self) -> int:
        """The largest order key."""
        return int(self.spark.sql(f"SELECT max(o_orderkey) FROM {self.name('orders')}").first()[0])

    def change(self, share: float, where: str, seed: int, kind: str = "mixed") -> str:
        """Changes a share of the orders and their lines; which ones, as a condition on `{key}`.

        Mixed changes delete, update and insert a third each.
        """
        chosen = self._chosen(share, where, seed)
        for table, key, touch in (
            (self.name("orders"), "o_orderkey", "o_totalprice = o_totalprice + 1"),
            (self.name("lineitem"), "l_orderkey", "l_quantity = l_quantity + 1"),
        ):
            parts = [f"AND pmod({key} + {seed}, 3) = {part}" for part in range(3)]
            gone, touched, copied = parts if kind == "mixed" else [""] * 3
            keys = chosen.format(key=key)
            if kind in ("mixed", "deletes"):
                self.spark.sql(f"DELETE FROM {table} WHERE {keys} {gone}")
            if kind in ("mixed", "updates"):
                self.spark.sql(f"UPDATE {table} SET {touch} WHERE {keys} {touched}")
            if kind in ("mixed", "inserts"):
                self._copy(table, key, f"{keys} {copied}", 1_000_000_000 + seed * 10_000_000)
        return chosen

    def _copy(self, table: str, key: str, chosen: str, distance: int) -> None:
        """Appends copies of some rows with keys that are far away."""
        copy = self.spark.table(table).where(chosen)
        fresh = copy.withColumn(key, copy[key] + distance)
        fresh = fresh.coalesce(1).sortWithinPartitions(key)
        if self.folder is None:
            fresh.writeTo(table).append()
        else:
            fresh.write.format("delta").mode("append").save(table.split("`")[1])

    def version(self, table: str) -> int:
        """The snapshot of an Iceberg table that readers see now."""
        history = (
            f"SELECT snapshot_id FROM {self.name(table)}.history ORDER BY made_current_at DESC"
        )
        return int(self.spark.sql(f"{history} LIMIT 1").first()[0])

    def few(self, orders: int, seed: int) -> None:
        """Updates the price of one line of a few orders."""
        first = 1000 + seed * 1000
        self.spark.sql(
            f"UPDATE {self.name('lineitem')} SET l_extendedprice = l_extendedprice + 1"
            f" WHERE l_orderkey BETWEEN {first} AND {first + 4 * orders} AND l_linenumber = 1"
        )

    def _chosen(self, share: float, where: str, seed: int) -> str:
        if where == "spread":
            parts = round(1 / share)
            return f"pmod(hash({{key}} + {seed}), {parts}) = {7 % parts}"
        # The newest keys, as real data arrives: inside the top one percent of the range.
        top = int(
            self.spark.sql(
                f"SELECT max(o_orderkey) FROM {self.name('orders')} WHERE o_orderkey < 900000000"
            ).first()[0]
        )
        width = int(top * share)
        return f"{{key}} BETWEEN {top - width} AND {top}"
