"""Runs small steps in DuckDB, in this process: Arrow in, Arrow out, the types those of Spark."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Final

from grebe.compiler.bind.small_kinds import SmallKind
from grebe.compiler.emit import Leaf, emit
from grebe.engine.spark_hash import spark_hashes
from grebe.sql_text import PREFIX, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from grebe.compiler.algebra.nodes import Node

ABSENT: Final = "DuckDB is not installed: pip install 'grebe[spark]' brings it"
_GUARD: Final = threading.Lock()
_MADE: Final[set[str]] = set()


def has_duckdb() -> bool:
    """Whether this process can run small steps."""
    return find_spec("duckdb") is not None


class CannotRunError(Exception):
    """DuckDB did not run a step: Spark is asked, which gives the rows or says what is wrong."""


@lru_cache(maxsize=1)
def _root() -> DuckDBPyConnection:
    """One DuckDB in memory for this process; each refresh has a connection of its own to it."""
    import duckdb

    root = duckdb.connect(":memory:", config={"threads": 2, "autoinstall_known_extensions": False})
    root.execute("SET preserve_insertion_order = false")
    return root


def forget() -> None:
    """Close the DuckDB of this process: it is made anew when it is needed."""
    with _GUARD:
        _MADE.clear()
        _root.cache_clear()


@dataclass(slots=True)
class SmallRunner:
    """One connection, with the rows that the steps of one refresh read."""

    connection: DuckDBPyConnection
    names: dict[str, str] = field(default_factory=dict)
    """The tables by what is in them."""

    @staticmethod
    def opened() -> SmallRunner:
        """A connection to the DuckDB of this process."""
        with _GUARD:
            return SmallRunner(_root().cursor())

    def close(self) -> None:
        """Forget all rows."""
        self.connection.close()
        self.names.clear()

    def put(self, key: str, rows: pa.Table) -> str:
        """The name of a table that holds these rows."""
        if key not in self.names:
            name = f"{PREFIX}{len(self.names)}"
            given = f"{name}_given"
            self.connection.register(given, plain_times(rows))
            self.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {given}")
            self.connection.unregister(given)
            self.names[key] = name
        return f"temp.main.{quote(self.names[key], 'duckdb')}"

    def run(
        self,
        node: Node,
        kinds: Mapping[str, SmallKind],
        hashes: Mapping[str, tuple[SmallKind, ...]],
        name_of: Mapping[str, str],
    ) -> pa.Table:
        """The rows of a relation, with the Arrow types that Spark exchanges.

        Raises:
            CannotRunError: DuckDB could not.
        """
        import duckdb
        import pyarrow as pa

        for name, arguments in hashes.items():
            self._make_hash(name, arguments)

        def named(leaf: Leaf) -> str:
            return name_of[leaf.digest]

        sql = emit(node, "duckdb", named)
        try:
            rows = self.connection.execute(sql).to_arrow_table()
            columns = [
                _back(rows.column(place), kinds[name]) for place, name in enumerate(node.columns)
            ]
            schema = pa.schema([(name, arrow_of(kinds[name])) for name in node.columns])
            return pa.Table.from_arrays(columns, schema=schema)
        except (duckdb.Error, pa.ArrowException, OverflowError) as error:
            raise CannotRunError(str(error)) from error

    @staticmethod
    def _make_hash(name: str, arguments: tuple[SmallKind, ...]) -> None:
        from duckdb.func import FunctionNullHandling, PythonUDFType

        with _GUARD:
            if name in _MADE:
                return
            types: list[Any] = [kind.to_duckdb().sql("duckdb") for kind in arguments]

            def given(*columns: Any) -> Any:  # noqa: ANN401  # Arrow has no types of its own
                return spark_hashes([*map(_whole, columns)], arguments)

            # DuckDB counts the parameters.
            each = [
                Parameter(f"c{place}", Parameter.POSITIONAL_OR_KEYWORD)
                for place in range(len(types))
            ]
            given.__signature__ = Signature(each)  # type: ignore[attr-defined]
            _root().create_function(
                name,
                given,
                types,
                "BIGINT",
                type=PythonUDFType.ARROW,
                null_handling=FunctionNullHandling.SPECIAL,
            )
            _MADE.add(name)


def _whole(column: Any) -> Any:  # noqa: ANN401  # Arrow has no types of its own
    import pyarrow as pa

    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def plain_times(rows: pa.Table) -> pa.Table:
    """The rows with moments as UTC without its zone."""
    import pyarrow as pa

    for place, part in enumerate(rows.schema):
        if pa.types.is_timestamp(part.type) and part.type.tz is not None:
            plain = rows.column(place).cast(pa.timestamp("us"))
            rows = rows.set_column(place, pa.field(part.name, plain.type), plain)
    return rows


def arrow_of(kind: SmallKind) -> pa.DataType:
    """The Arrow type that Spark exchanges for a type."""
    import pyarrow as pa

    if kind.is_decimal:
        return pa.decimal128(kind.precision, kind.scale)
    return {
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }[kind.name]


def _back(column: pa.ChunkedArray, kind: SmallKind) -> pa.ChunkedArray:
    import pyarrow as pa

    if kind.name == "timestamp":
        return column.cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))
    return column.cast(arrow_of(kind))
