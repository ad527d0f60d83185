"""What the sources did: their feeds, read once, consolidated and counted against the versions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from grebe.compiler.algebra.nodes import WEIGHT
from grebe.program.duckdb_text import assign, ident, keep, literal, temporary, variable
from grebe.program.program_sources import ProgramSource, struct
from grebe.program.program_window import touched, without_statistics

_WEIGHT = ident(WEIGHT)
_FULL = f"{variable('__grebe_window')}.full"


def deltas(sources: Sequence[ProgramSource], *, read: bool) -> list[str]:
    """The consolidated change of every source, kept; and which of them really changed.

    Each feed is read once and counted against the versions. One that does not add up, or that is
    known not to tell everything, is replaced by the difference of the two versions, whose query is
    only looked at then. Without rules nothing is read, only counted.
    """
    counts = assign("__grebe_rows", struct(sources, _rows))
    if not read:
        return [counts]
    net = struct(sources, lambda s: f"EXISTS (SELECT 1 FROM {temporary(f'delta_{s.number}')})")
    some = " OR ".join(source.value("__grebe_moved") for source in sources)
    return [
        *(keep(f"feed_{source.number}", _feed(source)) for source in sources),
        counts,
        assign("__grebe_delta", struct(sources, _chosen)),
        *(keep(f"delta_{s.number}", f"FROM query({s.value('__grebe_delta')})") for s in sources),
        assign("__grebe_moved", net),
        assign("__grebe_applies", f"SELECT {some}"),
    ]


def _rows(source: ProgramSource) -> str:
    """How many rows the source has now; the cursor knows it when nothing touched the source."""
    moved = f"{touched(source)} OR {_FULL}"
    count = f"(SELECT COUNT(*) FROM {source.at('new')} WHERE {moved})"
    return f"CASE WHEN {moved} THEN {count} ELSE {source.value('__grebe_cursor')}.rows END"


def _open(source: ProgramSource) -> str:
    return f"{source.pin('old')} < {source.pin('new')}"


def _trusted(source: ProgramSource) -> str:
    """True when the feed tells what happened.

    Rewriting files leaves changes of older snapshots with other values in the feed; a column that
    was dropped and added again, and two that changed names, are not in it; nor is what happened in
    a snapshot that is gone.
    """
    seen = source.value("__grebe_seen")
    return f"{_open(source)} AND {seen}.whole AND NOT {seen}.reshaped AND NOT {seen}.rewritten"


def _names(source: ProgramSource) -> str:
    return ", ".join(ident(name) for name, _ in source.columns)


def _feed(source: ProgramSource) -> str:
    """The changes as the feed lists them.

    They are kept before they are added up: the feed's functions have statistics that are not those
    of their rows, by which DuckDB would plan a GROUP BY that stops.
    """
    names, trusted = _names(source), _trusted(source)
    added = source.changes("ducklake_table_insertions")
    removed = source.changes("ducklake_table_deletions")
    return (
        f"SELECT {names}, 1 AS {_WEIGHT} FROM {added} WHERE {trusted}\nUNION ALL\n"
        f"SELECT {names}, -1 AS {_WEIGHT} FROM {removed} WHERE {trusted}"
    )


def _chosen(source: ProgramSource) -> str:
    """The query for the change: the feed, if its weights add up to the difference of the counts."""
    feed = temporary(f"feed_{source.number}")
    net = f"(SELECT COALESCE(SUM({_WEIGHT}), 0) FROM {feed})"
    grown = f"{source.value('__grebe_rows')} - {source.value('__grebe_cursor')}.rows"
    told = f"NOT {_open(source)} OR ({_trusted(source)} AND {net} = {grown})"
    names = _names(source)
    values = without_statistics(source)
    differs = _consolidated(
        source,
        f"SELECT {values}, 1 AS {_WEIGHT} FROM {source.at('new')}\nUNION ALL\n"
        f"SELECT {values}, -1 FROM {source.at('old')}",
    )
    net_of_feed = _consolidated(source, f"SELECT {names}, {_WEIGHT} FROM {feed}")
    return f"CASE WHEN {told} THEN {literal(net_of_feed)} ELSE {literal(differs)} END"


def _consolidated(source: ProgramSource, changes: str) -> str:
    names = _names(source)
    grouped = ", ".join([names, *(key for key in map(_canonical, source.columns) if key)])
    return (
        f"SELECT {names}, CAST(SUM({_WEIGHT}) AS BIGINT) AS {_WEIGHT} FROM (\n"
        f"{changes}\n) AS __grebe_changes\nGROUP BY {grouped}\nHAVING SUM({_WEIGHT}) <> 0"
    )


_PLAIN = frozenset(
    {
        *("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128", "BOOLEAN", "DECIMAL"),
        *("UTINYINT", "USMALLINT", "UINT", "UBIGINT", "UINT128", "UUID", "BLOB", "VARBINARY"),
        *("VARCHAR", "TEXT", "CHAR", "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ"),
        *("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
    }
)
"""Types whose equal values are the same value, as sqlglot names them."""


def _canonical(column: tuple[str, str | None]) -> str | None:
    """What tells apart values that SQL takes for equal, such as the sign of a floating zero."""
    name, kind = column
    known = _type(kind)
    if known in _PLAIN:
        return None
    if known in ("FLOAT", "DOUBLE"):
        return f"signbit({ident(name)})"
    return f"CAST({ident(name)} AS VARCHAR)"


def _type(kind: str | None) -> str | None:
    """The name of a type without parameters and parts; None when it is unknown or nested."""
    if kind is None:
        return None
    parsed = exp.DataType.build(kind, dialect="duckdb", udt=True)
    plain = parsed.this
    nested = any(isinstance(part, exp.DataType) for part in parsed.expressions)
    return plain.value if isinstance(plain, exp.DataType.Type) and not nested else None
