"""A query with every base table pinned to a version, and restricted to the keys that changed.

Names are resolved by scope: a common table expression that has the name of a table is not the
table. After a rewrite the text is read again, and a base table without a pin is an error: an
option that a generator quietly drops would read current data instead.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlglot import exp

from grebe.compiler.parser.parse import parse, place_of
from grebe.compiler.text.affected_keys import Key, key_predicate, restricted
from grebe.compiler.text.references import base_tables
from grebe.errors import InternalError, UnknownColumnError, UnknownTableError, UnsupportedSQLError

Pin = int | str | datetime
"""A version number or snapshot id, a named version (tag), or a point in time."""

_QUERY_PARTS: Final = ("version", "when")


def rewrite_query_with_snapshots(
    query_sql: str,
    snapshot_map: Mapping[str, Pin],
    skip_tables: Collection[str] = (),
    *,
    dialect: str = "spark",
    strict: bool = True,
) -> str:
    """The query with each base table read at its version.

    Args:
        query_sql: one query of the dialect.
        snapshot_map: versions by table name, bare or qualified, in any case.
        skip_tables: tables that stay as they are written.
        dialect: ``spark`` (``VERSION AS OF``) or ``duckdb`` (``AT (VERSION => …)`` of DuckLake).
        strict: raise for a table that is neither in the map nor skipped.

    Raises:
        UnknownTableError: a base table has no version.
        ValueError: a name is pinned and skipped, or a bare name means two tables.

    >>> rewrite_query_with_snapshots("SELECT o.id FROM orders o", {"orders": 42})
    'SELECT o.id FROM orders VERSION AS OF 42 AS o'
    """
    tree = parse(query_sql, dialect)
    _pin(tree, _Pins(snapshot_map, skip_tables, dialect, query_sql, strict=strict))
    return _checked(tree, snapshot_map, skip_tables, dialect, strict=strict)


def add_affected_keys_filter(
    query_sql: str, key_columns: Sequence[str], keys: Sequence[Key] | str, *, dialect: str = "spark"
) -> str:
    """The query's rows for the given keys only, compared null-safe.

    The restriction goes below the aggregation where each key column is a grouped expression, and
    around the query otherwise.

    Args:
        query_sql: one query of the dialect.
        key_columns: outputs of the query that form the key.
        keys: the keys (tuples for several columns), or the name of a relation with these columns.
        dialect: ``spark`` or ``duckdb``.

    Raises:
        UnknownColumnError: a key column is no output of the query.
        ValueError: a key has another number of values than there are columns.

    >>> add_affected_keys_filter("SELECT g, SUM(x) AS s FROM t GROUP BY g", ["g"], [1, None])
    'SELECT g, SUM(x) AS s FROM t WHERE (g IN (1) OR g IS NULL) GROUP BY g'
    """
    tree = parse(query_sql, dialect)
    return restricted(tree, key_columns, keys, query_sql, dialect).sql(dialect)


def create_composite_key_in_clause(
    columns: Sequence[str], keys: Sequence[Key], *, dialect: str = "spark"
) -> str:
    """The predicate that the columns form one of the keys; a NULL equals a NULL.

    >>> create_composite_key_in_clause(["a", "b"], [(1, "x"), (2, None)])
    "((a, b) IN ((1, 'x')) OR (a = 2 AND b IS NULL))"
    """
    trees = [exp.column(name) for name in columns]
    return key_predicate(trees, keys).sql(dialect)


def prepare_refresh_query(
    query_sql: str,
    snapshot_map: Mapping[str, Pin],
    *,
    key_columns: Sequence[str] = (),
    keys: Sequence[Key] | str | None = None,
    skip_tables: Collection[str] = (),
    dialect: str = "spark",
) -> str | None:
    """The text to run for a refresh: pinned, and for the changed keys only if they are given.

    None when ``keys`` is empty: nothing changed. With ``keys`` None (the first build), or where the
    key is no output of the query, the whole query.
    """
    if keys is not None and not keys:
        return None
    tree = parse(query_sql, dialect)
    _pin(tree, _Pins(snapshot_map, skip_tables, dialect, query_sql, strict=True))
    if keys is None or not key_columns:
        return _checked(tree, snapshot_map, skip_tables, dialect, strict=True)
    relation = (keys,) if isinstance(keys, str) else ()
    try:
        tree = restricted(tree, key_columns, keys, query_sql, dialect)
    except UnknownColumnError:
        return _checked(tree, snapshot_map, skip_tables, dialect, strict=True)
    return _checked(tree, snapshot_map, (*skip_tables, *relation), dialect, strict=True)


class _Pins:
    """Versions by name; finds the one that a table reference means."""

    def __init__(
        self,
        versions: Mapping[str, Pin],
        skipped: Collection[str],
        dialect: str,
        text: str,
        *,
        strict: bool,
    ) -> None:
        self.dialect, self.text, self.strict = dialect, text, strict
        self.versions = {_parts(name, dialect): pin for name, pin in versions.items()}
        self.skipped = {_parts(name, dialect) for name in skipped}
        self.used: dict[tuple[str, ...], tuple[str, ...]] = {}
        both = [".".join(name) for name in self.versions if name in self.skipped]
        if both:
            raise ValueError(f'table "{both[0]}" is both pinned and skipped')

    def of(self, table: exp.Table) -> Pin | None:
        """The version of a reference, None when it is skipped or, without strict, unknown."""
        name = tuple(part.name.lower() for part in table.parts)
        if name in self.skipped or any(_same(name, other) for other in self.skipped):
            return None
        found = [name] if name in self.versions else [k for k in self.versions if _same(name, k)]
        if len(found) > 1:
            raise ValueError(f'table "{".".join(name)}" has several versions')
        if found:
            self._note(found[0], name)
            return self.versions[found[0]]
        if self.strict:
            written = ".".join(part.name for part in table.parts)
            raise UnknownTableError(
                f'table "{written}" has no version to read',
                hint="give its version, or name it in skip_tables",
                where=place_of(table, self.text),
            )
        return None

    def _note(self, key: tuple[str, ...], name: tuple[str, ...]) -> None:
        """A bare key that two different tables answer to says too little."""
        earlier = self.used.setdefault(key, name)
        if len(earlier) < len(name):
            self.used[key] = name
        if not _same(earlier, name):
            one, other = ".".join(earlier), ".".join(name)
            raise ValueError(f'the name "{".".join(key)}" means both "{one}" and "{other}"')


def _parts(name: str, dialect: str) -> tuple[str, ...]:
    return tuple(part.name.lower() for part in exp.to_table(name, dialect=dialect).parts)


def _same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """True when one name is the other without its first parts."""
    length = min(len(one), len(other))
    return one[-length:] == other[-length:]


def _pin(tree: exp.Expr, pins: _Pins) -> None:
    for table in list(base_tables(tree)):
        if any(table.args.get(key) for key in _QUERY_PARTS):
            raise UnsupportedSQLError(
                "time_travel",
                f'table "{table.name}" is already read at a version',
                where=place_of(table, pins.text),
            )
        pin = pins.of(table)
        if pin is not None:
            key, value = _clause(pin, pins.dialect)
            table.set(key, value)


def _clause(pin: Pin, dialect: str) -> tuple[str, exp.Expr]:
    kind = "TIMESTAMP" if isinstance(pin, datetime) else "VERSION"
    if dialect == "spark":
        return "version", exp.Version(this=kind, kind="AS OF", expression=_literal(pin))
    value = _literal(pin)
    if isinstance(pin, datetime):
        zone = "TIMESTAMPTZ" if pin.tzinfo else "TIMESTAMP"
        value = exp.cast(value, zone, dialect="duckdb")
    return "when", exp.HistoricalData(this="AT", kind=kind, expression=value)


def _literal(pin: Pin) -> exp.Expr:
    if isinstance(pin, int):
        return exp.Literal.number(pin)
    text = pin.isoformat(sep=" ") if isinstance(pin, datetime) else pin
    return exp.Literal.string(text)


def _checked(
    tree: exp.Expr,
    versions: Mapping[str, Pin],
    skipped: Collection[str],
    dialect: str,
    *,
    strict: bool,
) -> str:
    """The text, after reading it again: every base table must carry its pin."""
    text = tree.sql(dialect)
    pins = _Pins(versions, skipped, dialect, text, strict=strict)
    for table in base_tables(parse(text, dialect)):
        wanted = pins.of(table) is not None
        pinned = any(table.args.get(key) for key in _QUERY_PARTS)
        if wanted and not pinned:
            raise InternalError.broken(f'the pin of table "{table.name}" was lost')
    return text
