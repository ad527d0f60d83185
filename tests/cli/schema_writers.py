"""Who changes the tables of a schema history: statements of Spark or DuckDB, PyIceberg, delta-rs, PyArrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4
from warnings import catch_warnings, simplefilter

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from deltalake.schema import Field, PrimitiveType
from pyiceberg.expressions import EqualTo
from pyiceberg.types import DoubleType, FloatType, IntegerType, LongType, StringType

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

ARROW = {
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
}
DELTA = {
    "INT": "integer",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "STRING": "string",
}
ICEBERG = {
    "INT": IntegerType(),
    "BIGINT": LongType(),
    "FLOAT": FloatType(),
    "DOUBLE": DoubleType(),
    "STRING": StringType(),
}
Columns = list[tuple[str, str]]
Rows = Sequence[Sequence[int | None]]


@dataclass(slots=True)
class Table:
    """A table as the history believes it to be."""

    name: str
    columns: Columns

    def at(self, name: str) -> int:
        return [column for column, _ in self.columns].index(name)


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to the columns: rename, swap, drop, add, widen or first."""

    word: str
    name: str
    other: str = ""
    """The new name, the other column or the type."""

    def after(self, columns: Columns) -> Columns:
        """The columns as they are then."""
        match self.word:
            case "rename" | "swap":
                names = {self.name: self.other}
                names |= {self.other: self.name} if self.word == "swap" else {}
                return [(names.get(name, name), kind) for name, kind in columns]
            case "add":
                return [*columns, (self.name, self.other)]
            case "widen":
                return [(name, self.other if name == self.name else kind) for name, kind in columns]
        rest = [item for item in columns if item[0] != self.name]
        return rest if self.word == "drop" else [(self.name, dict(columns)[self.name]), *rest]


class Writer(Protocol):
    """Makes and changes the tables of one history."""

    def create(self, table: Table, rows: Rows) -> None: ...
    def insert(self, table: Table, rows: Rows) -> None: ...
    def change(self, table: Table, change: Change) -> None: ...
    def delete(self, table: Table, column: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Statements:
    """SQL of Spark, or of DuckDB."""

    run: Callable[[str], None]
    name: Callable[[str], str]
    duck: bool = False
    options: str = ""

    def _quoted(self, name: str) -> str:
        return f'"{name}"' if self.duck else f"`{name}`"

    def _typed(self, kind: str) -> str:
        return "VARCHAR" if self.duck and kind == "STRING" else kind

    def _row(self, table: Table, row: Sequence[int | None]) -> str:
        values = zip(row, table.columns, strict=True)
        return ", ".join(
            f"CAST({'NULL' if value is None else value} AS {self._typed(kind)})"
            for value, (_, kind) in values
        )

    def create(self, table: Table, rows: Rows) -> None:
        columns = ", ".join(f"{self._quoted(n)} {self._typed(kind)}" for n, kind in table.columns)
        self.run(f"CREATE TABLE {self.name(table.name)} ({columns}) {self.options}")
        self.insert(table, rows)

    def insert(self, table: Table, rows: Rows) -> None:
        values = ", ".join(f"({self._row(table, row)})" for row in rows)
        self.run(f"INSERT INTO {self.name(table.name)} VALUES {values}")

    def change(self, table: Table, change: Change) -> None:
        name = self._quoted(change.name)
        match change.word:
            case "rename":
                self.alter(table, f"RENAME COLUMN {name} TO {self._quoted(change.other)}")
            case "swap":
                for old, new in swapped(change):
                    self.change(table, Change("rename", old, new))
            case "drop":
                self.alter(table, f"DROP COLUMN {name}")
            case "add":
                self.alter(table, f"ADD COLUMN {name} {self._typed(change.other)}")
            case "widen":
                words = "SET DATA TYPE" if self.duck else "TYPE"
                self.alter(table, f"ALTER COLUMN {name} {words} {change.other}")
            case "first":
                self.alter(table, f"ALTER COLUMN {name} FIRST")

    def alter(self, table: Table, text: str) -> None:
        self.run(f"ALTER TABLE {self.name(table.name)} {text}")

    def delete(self, table: Table, column: str) -> None:
        self.run(f"DELETE FROM {self.name(table.name)} WHERE {self._quoted(column)} = 2")


def swapped(change: Change) -> list[tuple[str, str]]:
    """The renames that swap two names."""
    one, two = change.name, change.other
    return [(one, "between"), (two, one), ("between", two)]


def arrow(columns: Columns, rows: Rows) -> pa.Table:
    """Rows with these columns."""
    values = [
        pa.array(
            [
                str(v) if kind == "STRING" and v is not None else v
                for v in (row[at] for row in rows)
            ],
            ARROW[kind],
        )
        for at, (_, kind) in enumerate(columns)
    ]
    return pa.table(values, names=[name for name, _ in columns])


@dataclass(frozen=True, slots=True)
class PyIceberg:
    """Tables that PyIceberg writes into Spark's catalog."""

    catalog: SqlCatalog
    schema: str
    folder: Path

    def create(self, table: Table, rows: Rows) -> None:
        found = arrow(table.columns, rows)
        place = (self.folder / self.schema / table.name).as_uri()
        made = self.catalog.create_table(
            (self.schema, table.name), found.schema, place, properties={"format-version": "2"}
        )
        made.append(found)

    def insert(self, table: Table, rows: Rows) -> None:
        self.catalog.load_table((self.schema, table.name)).append(arrow(table.columns, rows))

    def change(self, table: Table, change: Change) -> None:
        if change.word == "swap":
            for old, new in swapped(change):
                self.change(table, Change("rename", old, new))
            return
        with self.catalog.load_table((self.schema, table.name)).update_schema() as schema:
            match change.word:
                case "rename":
                    schema.rename_column(change.name, change.other)
                case "drop":
                    schema.delete_column(change.name)
                case "add":
                    schema.add_column(change.name, ICEBERG[change.other])
                case "widen":
                    schema.update_column(change.name, ICEBERG[change.other])
                case "first":
                    schema.move_first(change.name)

    def delete(self, table: Table, column: str) -> None:
        with catch_warnings():  # it warns of a deletion that finds no row
            simplefilter("ignore", UserWarning)
            self.catalog.load_table((self.schema, table.name)).delete(EqualTo(column, 2))


@dataclass(frozen=True, slots=True)
class PyArrow:
    """Folders of Parquet files: who changes a column writes all of them anew."""

    folder: Path

    def create(self, table: Table, rows: Rows) -> None:
        self.insert(table, rows)

    def insert(self, table: Table, rows: Rows) -> None:
        self._write(table.name, arrow(table.columns, rows))

    def change(self, table: Table, change: Change) -> None:
        old = sorted((self.folder / table.name).glob("*.parquet"))
        found = pa.concat_tables([pq.read_table(file) for file in old])
        self._write(table.name, rewritten(found, change))
        for file in old:
            file.unlink()

    def delete(self, table: Table, column: str) -> None:
        for file in sorted((self.folder / table.name).glob("*.parquet")):
            found = pq.read_table(file)
            kept = [value != 2 for value in found[column].to_pylist()]
            self._write(table.name, found.filter(pa.array(kept)))
            file.unlink()

    def _write(self, name: str, rows: pa.Table) -> None:
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        draft = place / f".{uuid4().hex}"
        pq.write_table(rows, draft)
        draft.rename(place / f"part-{uuid4().hex}.parquet")


@dataclass(frozen=True, slots=True)
class DeltaRs:
    """Delta without column mapping, by delta-rs: a new column is metadata, all else an overwrite."""

    folder: Path

    def _place(self, table: Table) -> str:
        return str(self.folder / table.name)

    def create(self, table: Table, rows: Rows) -> None:
        (self.folder / table.name).mkdir(parents=True, exist_ok=True)
        write_deltalake(self._place(table), arrow(table.columns, rows))

    def insert(self, table: Table, rows: Rows) -> None:
        order = [field.name for field in DeltaTable(self._place(table)).schema().fields]
        new = arrow(table.columns, rows).select(order)
        write_deltalake(self._place(table), new, mode="append")

    def change(self, table: Table, change: Change) -> None:
        found = DeltaTable(self._place(table))
        if change.word == "add":
            field = Field(change.name, PrimitiveType(DELTA[change.other]), nullable=True)
            found.alter.add_columns([field])
            return
        schema = pa.schema([(name, ARROW[kind]) for name, kind in table.columns])
        # delta-rs leaves columns where they are when nothing but their order is new
        rows = rewritten(found.to_pyarrow_table().select(schema.names).cast(schema), change)
        write_deltalake(self._place(table), rows, mode="overwrite", schema_mode="overwrite")

    def delete(self, table: Table, column: str) -> None:
        DeltaTable(self._place(table)).delete(f'"{column}" = 2')


def rewritten(rows: pa.Table, change: Change) -> pa.Table:
    """The rows of a table after its columns changed."""
    names = list(rows.column_names)
    match change.word:
        case "rename" | "swap":
            new = {change.name: change.other}
            new |= {change.other: change.name} if change.word == "swap" else {}
            return rows.rename_columns([new.get(name, name) for name in names])
        case "drop":
            return rows.drop_columns([change.name])
        case "add":
            return rows.append_column(change.name, pa.nulls(len(rows), ARROW[change.other]))
        case "widen":
            wide = rows[change.name].cast(ARROW[change.other])
            return rows.set_column(names.index(change.name), change.name, wide)
    return rows.select([change.name, *(name for name in names if name != change.name)])
