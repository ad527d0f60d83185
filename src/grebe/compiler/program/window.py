"""The window of one maintain: captured once, inside the transaction, before anything is written.

The same end serves for reading changes, for the new state and for the cursor. A source that no
snapshot of the window mentions is read at one version only, so that nothing of it is scanned twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grebe.compiler.program.cursors import HISTORY, Cursors, described
from grebe.compiler.program.sources import Source, struct
from grebe.compiler.program.text import assign, ident, keep, literal, temporary, variable

MAINTENANCE = ("merge_adjacent", "rewrite_delete", "flushed_inlined", "compacted_table")
_REWRITE = "rewrite_delete"


@dataclass(frozen=True, slots=True)
class Window:
    """What every source did since the cursor, as session variables."""

    cursors: Cursors
    mv_table: str
    falls_back: bool
    """A window that cannot be read makes the view be recomputed, and is otherwise an error."""
    always_full: bool = False

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.cursors.sources

    def statements(self) -> list[str]:
        """From reading the cursor to knowing what moved."""
        return [
            *self.cursors.read(),
            keep("history", self._history()),
            assign("grebe_table", struct(self.sources, lambda s: f"(\n{described(s)}\n)")),
            assign("grebe_reason", self._reason()),
            assign("grebe_seen", struct(self.sources, self._seen)),
            assign("grebe_new", struct(self.sources, lambda s: f"{s.value('grebe_seen')}.newest")),
            assign("grebe_worth", self._worth()),
            assign("grebe_full", self._full()),
            assign("grebe_old", struct(self.sources, _old)),
        ]

    def _history(self) -> str:
        catalogs = dict.fromkeys([*(s.catalog for s in self.sources), self.cursors.catalog])
        return "\nUNION ALL\n".join(
            f"SELECT {literal(catalog)} AS catalog, snapshot_id, changes,"
            " list_distinct(flatten(map_values(changes))) AS touched"
            f" FROM ducklake_snapshots({literal(catalog)})"
            for catalog in catalogs
        )

    def _seen(self, source: Source) -> str:
        """The newest snapshot, and what the window holds of the source.

        Rewriting files leaves changes of older snapshots with other values in the feed, so a
        window with a rewrite is not trusted.
        """
        kinds = ", ".join(literal(kind) for kind in MAINTENANCE)
        rewritten = f"list_contains(map_keys(changes), {literal(_REWRITE)})"
        return (
            f"{{'newest': (SELECT MAX(snapshot_id) FROM {HISTORY}"
            f" WHERE catalog = {literal(source.catalog)}),\n"
            f"   'touched': EXISTS ({self._since(source)}),\n"
            f"   'trusted': NOT EXISTS ({self._since(source)} AND {rewritten}),\n"
            f"   'worth': EXISTS ({self._since(source)}"
            f" AND NOT list_has_any(map_keys(changes), [{kinds}]))}}"
        )

    def _since(self, source: Source) -> str:
        """The snapshots of the window that mention the source."""
        return (
            f"SELECT 1 FROM {HISTORY} WHERE catalog = {literal(source.catalog)}"
            f" AND snapshot_id > {source.value('grebe_cursor')}.snapshot"
            f" AND list_has_any(touched, {source.value('grebe_table')}.ids)"
        )

    def _worth(self) -> str:
        """True when a source changed by something other than maintenance."""
        return "SELECT " + " OR ".join(f"{s.value('grebe_seen')}.worth" for s in self.sources)

    def _reason(self) -> str:
        cases = [case for source in self.sources for case in self._source_reasons(source)]
        cases.append(self._foreign())
        found = "CASE\n  " + "\n  ".join(f"WHEN {test} THEN {text}" for test, text in cases)
        reason = f"SELECT {found}\n  ELSE NULL END AS reason"
        if self.falls_back:
            return reason
        return f"SELECT CASE WHEN reason IS NULL THEN NULL ELSE error(reason) END FROM (\n{reason})"

    def _source_reasons(self, source: Source) -> list[tuple[str, str]]:
        seen, now = source.value("grebe_cursor"), source.value("grebe_table")
        hint = f'drop materialized view "{self.cursors.view}" and create it again'
        ids = f"string_split({now}.identity, ' ')"
        replaced = f'[source-replaced] source "{source.key}" is another table than before: {hint}'
        changed = f'[schema-changed] a used column of source "{source.key}" changed: {hint}'
        expired = (
            f'[range_expired] source "{source.key}" no longer has the snapshot that the view'
            f" has seen: {hint}"
        )
        alive = (
            f"EXISTS (SELECT 1 FROM {HISTORY} WHERE catalog = {literal(source.catalog)}"
            f" AND snapshot_id = {seen}.snapshot)"
        )
        return [
            (f"NOT list_has_all({ids}, string_split({seen}.identity, ' '))", literal(replaced)),
            (f"{now}.columns <> {seen}.columns", literal(changed)),
            (f"NOT {alive}", literal(expired)),
        ]

    def _foreign(self) -> tuple[str, str]:
        """A write to the view's table by somebody else: it moves no cursor."""
        catalog = self.cursors.catalog
        own = _ids(catalog, self.mv_table)
        cursor = _ids(catalog, self.cursors.name)
        made = literal(f"{self.cursors.schema}.{self.mv_table}")
        kinds = ", ".join(literal(kind) for kind in MAINTENANCE)
        here = (
            f"SELECT MAX(snapshot_id) FILTER (NOT ours), MAX(snapshot_id) FILTER (ours) FROM (\n"
            f"    SELECT snapshot_id, list_has_any(touched, {cursor})"
            f" OR list_contains(touched, {made}) AS ours\n"
            f"    FROM {HISTORY} WHERE catalog = {literal(catalog)}"
            f" AND (list_has_any(touched, {own}) OR list_contains(touched, {made}))"
            f" AND NOT list_has_any(map_keys(changes), [{kinds}]))"
        )
        message = (
            f"[foreign-write] somebody else wrote to the table of materialized view"
            f' "{self.cursors.view}": drop it and create it again'
        )
        test = f"(SELECT theirs > COALESCE(mine, -1) FROM ({here}) AS writes(theirs, mine))"
        return test, literal(message)

    def _full(self) -> str:
        if self.always_full:
            return f"SELECT {variable('grebe_worth')} OR {variable('grebe_reason')} IS NOT NULL"
        return f"SELECT {variable('grebe_reason')} IS NOT NULL"


def _ids(catalog: str, table: str) -> str:
    return (
        f"(SELECT list(CAST(table_id AS VARCHAR)) FROM ducklake_table_info({literal(catalog)})"
        f" WHERE lower(table_name) = {literal(table.lower())})"
    )


def _old(source: Source) -> str:
    """The version that the view shows; without a change, the same as the new one."""
    moved = f"{source.value('grebe_seen')}.touched AND NOT {variable('grebe_full')}"
    seen, new = source.value("grebe_cursor"), source.value("grebe_new")
    return f"CASE WHEN {moved} THEN {seen}.snapshot ELSE {new} END"


def deltas(sources: Sequence[Source]) -> list[str]:
    """The consolidated change of every source, kept; and which of them really changed."""
    made = [statement for source in sources for statement in _delta(source)]
    net = struct(sources, lambda s: f"EXISTS (SELECT 1 FROM {temporary(f'delta_{s.number}')})")
    some = " OR ".join(source.value("grebe_moved") for source in sources)
    return [*made, assign("grebe_moved", net), assign("grebe_applies", f"SELECT {some}")]


def _delta(source: Source) -> list[str]:
    """The feed read once, counted against the versions, and consolidated.

    A feed that does not add up is replaced by the difference of the two versions.
    """
    names = ", ".join(ident(name) for name, _ in source.columns)
    feed = temporary(f"feed_{source.number}")
    added = source.changes("ducklake_table_insertions", "grebe_old", "grebe_new")
    removed = source.changes("ducklake_table_deletions", "grebe_old", "grebe_new")
    open_ = f"{source.value('grebe_old')} < {source.value('grebe_new')}"
    trusted = f"{open_} AND {source.value('grebe_seen')}.trusted"
    counted = f"grebe_counted_{source.number}"
    differs = f"{open_} AND NOT {variable(counted)}"
    grouped = ", ".join([names, *(key for key in map(_canonical, source.columns) if key)])
    weight = ident("__grebe_weight")
    return [
        keep(
            f"feed_{source.number}",
            f"SELECT {names}, 1 AS {weight} FROM {added} WHERE {trusted}\nUNION ALL\n"
            f"SELECT {names}, -1 AS {weight} FROM {removed} WHERE {trusted}",
        ),
        assign(
            counted,
            f"SELECT {trusted} AND COALESCE((SELECT SUM({weight}) FROM {feed}), 0) ="
            f" {_count(source, 'grebe_new', open_)} - {_count(source, 'grebe_old', open_)}",
        ),
        keep(
            f"delta_{source.number}",
            f"SELECT {names}, CAST(SUM({weight}) AS BIGINT) AS {weight} FROM (\n"
            f"SELECT {names}, {weight} FROM {feed} WHERE {variable(counted)}\nUNION ALL\n"
            f"SELECT {names}, 1 FROM {source.at('grebe_new')} WHERE {differs}\nUNION ALL\n"
            f"SELECT {names}, -1 FROM {source.at('grebe_old')} WHERE {differs}\n"
            f") AS changes\nGROUP BY {grouped}\nHAVING SUM({weight}) <> 0",
        ),
    ]


def _count(source: Source, pins: str, guard: str) -> str:
    return f"(SELECT COUNT(*) FROM {source.at(pins)} WHERE {guard})"


def _canonical(column: tuple[str, str | None]) -> str | None:
    """What tells apart values that SQL takes for equal: the sign of a floating zero."""
    name, kind = column
    if kind is None:
        return f"CAST({ident(name)} AS VARCHAR)"
    plain = kind.upper().partition("(")[0].strip()
    if plain in ("FLOAT", "REAL", "DOUBLE", "FLOAT4", "FLOAT8"):
        return f"signbit({ident(name)})"
    nested = any(mark in kind.upper() for mark in ("[", "STRUCT", "MAP", "UNION"))
    return f"CAST({ident(name)} AS VARCHAR)" if nested else None
