"""The window of one maintain: captured once, inside the transaction, before anything is written.

The same end serves for reading changes, for the new state and for the cursor. A source that no
snapshot of the window mentions is read at one version only, so that nothing of it is scanned twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grebe.compiler.nodes import WEIGHT
from grebe.compiler.program.cursors import Cursors, described, named, tables
from grebe.compiler.program.sources import Source, struct
from grebe.compiler.program.text import assign, ident, keep, literal, temporary, variable

MAINTENANCE = ("merge_adjacent", "rewrite_delete", "flushed_inlined", "compacted_table")
_REWRITE = "rewrite_delete"
_OWN, _CURSORS = "own", "cursors"
_WEIGHT = ident(WEIGHT)


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

    @property
    def catalogs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(s.catalog for s in self.sources), self.cursors.catalog]))

    def statements(self) -> list[str]:
        """From reading the cursor to knowing what moved; each catalog is asked once for each."""
        found = tables(self.catalogs)
        return [
            self.cursors.read(),
            assign("grebe_table", f"{self._tables()}\nFROM (\n{found}\n) AS found"),
            assign("grebe_seen", f"{self._seen()}\nFROM (\n{self._history()}\n) AS history"),
            assign("grebe_reason", self._reason()),
            assign("grebe_new", struct(self.sources, lambda s: f"{s.value('grebe_seen')}.newest")),
            assign("grebe_worth", self._worth()),
            assign("grebe_aged", self._aged()),
            assign("grebe_full", self._full()),
            assign("grebe_old", struct(self.sources, _old)),
        ]

    def _tables(self) -> str:
        fields = [f"{literal(s.field)}: {described(s)}" for s in self.sources]
        for field, name in ((_OWN, self.mv_table), (_CURSORS, self.cursors.name)):
            here = named(self.cursors.catalog, self.cursors.schema, name)
            fields.append(f"{literal(field)}: list(id) FILTER ({here})")
        return "SELECT {\n  " + ",\n  ".join(fields) + "\n}"

    def _history(self) -> str:
        kinds = ", ".join(literal(kind) for kind in MAINTENANCE)
        return "\nUNION ALL\n".join(
            f"SELECT {literal(catalog)} AS catalog, snapshot_id,"
            " flatten(map_values(changes)) AS touched,"
            f" list_contains(map_keys(changes), {literal(_REWRITE)}) AS rewrites,"
            f" list_has_any(map_keys(changes), [{kinds}]) AS maintains,"
            f" epoch(now()) - epoch(snapshot_time) > ({_half_retention(catalog)}) AS aged"
            f" FROM ducklake_snapshots({literal(catalog)})"
            for catalog in self.catalogs
        )

    def _seen(self) -> str:
        """What the window holds of every source, in one pass over the snapshots.

        Rewriting files leaves changes of older snapshots with other values in the feed, so a
        window with a rewrite is not trusted.
        """
        fields = [f"{literal(s.field)}: {self._seen_of(s)}" for s in self.sources]
        here = f"catalog = {literal(self.cursors.catalog)} AND NOT maintains"
        made = literal(f"{self.cursors.schema}.{self.mv_table}")
        ids = variable("grebe_table")
        created = f"list_contains(touched, {made})"
        mine = f"(list_has_any(touched, {ids}.{_CURSORS}) OR {created})"
        touched = f"{here} AND (list_has_any(touched, {ids}.{_OWN}) OR {created})"
        fields += [
            f"'theirs': MAX(snapshot_id) FILTER ({touched} AND NOT {mine})",
            f"'mine': MAX(snapshot_id) FILTER ({touched} AND {mine})",
            f"'newest': MAX(snapshot_id) FILTER (catalog = {literal(self.cursors.catalog)})",
            f"'moved': COUNT(*) FILTER (catalog = {literal(self.cursors.catalog)} AND maintains"
            f" AND snapshot_id = {self._written()}) > 0",
        ]
        return "SELECT {\n  " + ",\n  ".join(fields) + "\n}"

    def _written(self) -> str:
        """The snapshot that wrote the cursor last."""
        return f"{self.sources[0].value('grebe_cursor')}.written"

    def _seen_of(self, source: Source) -> str:
        here = f"catalog = {literal(source.catalog)}"
        cursor = f"{source.value('grebe_cursor')}.snapshot"
        since = (
            f"{here} AND snapshot_id > {cursor}"
            f" AND list_has_any(touched, {source.value('grebe_table')}.ids)"
        )
        return (
            f"{{'newest': MAX(snapshot_id) FILTER ({here}),\n"
            f"   'alive': COUNT(*) FILTER ({here} AND snapshot_id = {cursor}) > 0,\n"
            f"   'touched': COUNT(*) FILTER ({since}) > 0,\n"
            f"   'aged': MAX(snapshot_id) FILTER ({here}) > {cursor}"
            f" AND COUNT(*) FILTER ({here} AND snapshot_id = {cursor} AND aged) > 0,\n"
            f"   'trusted': COUNT(*) FILTER ({since} AND rewrites) = 0,\n"
            f"   'worth': COUNT(*) FILTER ({since} AND NOT maintains) > 0}}"
        )

    def _worth(self) -> str:
        """True when a source changed by something other than maintenance."""
        return "SELECT " + " OR ".join(f"{s.value('grebe_seen')}.worth" for s in self.sources)

    def _aged(self) -> str:
        """True when a cursor is older than half of what its source keeps."""
        return "SELECT " + " OR ".join(f"{s.value('grebe_seen')}.aged" for s in self.sources)

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
        ids, known = (f"string_split({point}.identity, ' ')" for point in (now, seen))
        replaced = f'[source-replaced] source "{source.key}" is another table than before: {hint}'
        changed = f'[schema-changed] a used column of source "{source.key}" changed: {hint}'
        expired = (
            f'[range_expired] source "{source.key}" no longer has the snapshot that the view'
            f" has seen: {hint}"
        )
        return [
            (
                # Of tables with the same name in other schemas some may only have gone.
                f"NOT list_has_all({ids}, {known}) AND NOT list_has_all({known}, {ids})",
                literal(replaced),
            ),
            (f"{now}.columns <> {seen}.columns", literal(changed)),
            (f"NOT {source.value('grebe_seen')}.alive", literal(expired)),
        ]

    def _foreign(self) -> tuple[str, str]:
        """A write to the view's table by somebody else: later than what moved the cursor.

        Rewriting the files of the cursor table changes what its rows say of that; then the last
        snapshot that touched both tables must do.
        """
        message = (
            f"[foreign-write] somebody else wrote to the table of materialized view"
            f' "{self.cursors.view}": drop it and create it again'
        )
        own, later = self._own_write()
        if self.cursors.schema.lower() == "main":
            return later, literal(message)
        # Outside of main a table of the same name in another schema may be meant: the feed knows.
        names = (self.cursors.catalog, self.cursors.schema, self.mv_table)
        table = ", ".join(literal(part) for part in names)
        newest = variable("grebe_seen") + ".newest"
        window = f"{table}, LEAST({own} + 1, {newest}), {newest}"
        found = " OR ".join(
            f"EXISTS (SELECT 1 FROM ducklake_table_{kind}({window}) WHERE {later})"
            for kind in ("insertions", "deletions")
        )
        return f"{later} AND ({found})", literal(message)

    def _own_write(self) -> tuple[str, str]:
        """The last snapshot that this program wrote, and whether there was another write since."""
        seen = variable("grebe_seen")
        own = f"CASE WHEN {seen}.moved THEN COALESCE({seen}.mine, -1) ELSE {self._written()} END"
        return own, f"{seen}.theirs > {own}"

    def _full(self) -> str:
        if self.always_full:
            return f"SELECT {variable('grebe_worth')} OR {variable('grebe_reason')} IS NOT NULL"
        return f"SELECT {variable('grebe_reason')} IS NOT NULL"


def _half_retention(catalog: str) -> str:
    """Seconds after which a cursor that nothing moved must move all the same.

    Otherwise it would hold back the expiry of snapshots for ever.
    """
    return (
        "SELECT epoch(CAST(value AS INTERVAL)) / 2"
        f" FROM ducklake_options({literal(catalog)}) WHERE option_name = 'expire_older_than'"
    )


def _old(source: Source) -> str:
    """The version that the view shows; without a change, the same as the new one."""
    moved = f"{source.value('grebe_seen')}.touched AND NOT {variable('grebe_full')}"
    seen, new = source.value("grebe_cursor"), source.value("grebe_new")
    return f"CASE WHEN {moved} THEN {seen}.snapshot ELSE {new} END"


def deltas(sources: Sequence[Source], *, read: bool) -> list[str]:
    """The consolidated change of every source, kept; and which of them really changed.

    Each feed is read once and counted against the versions. One that does not add up is replaced
    by the difference of the two versions. Without rules nothing is read, only counted.
    """
    counts = assign("grebe_rows", struct(sources, _rows))
    if not read:
        return [counts]
    net = struct(sources, lambda s: f"EXISTS (SELECT 1 FROM {temporary(f'delta_{s.number}')})")
    some = " OR ".join(source.value("grebe_moved") for source in sources)
    return [
        *(keep(f"feed_{source.number}", _feed(source)) for source in sources),
        counts,
        assign("grebe_counted", struct(sources, _counted)),
        *(keep(f"delta_{source.number}", _delta(source)) for source in sources),
        assign("grebe_moved", net),
        assign("grebe_applies", f"SELECT {some}"),
    ]


def _rows(source: Source) -> str:
    """How many rows the source has now; the cursor knows it when nothing touched the source."""
    moved = f"{source.value('grebe_seen')}.touched OR {variable('grebe_full')}"
    count = f"(SELECT COUNT(*) FROM {source.at('grebe_new')} WHERE {moved})"
    return f"CASE WHEN {moved} THEN {count} ELSE {source.value('grebe_cursor')}.rows END"


def _open(source: Source) -> str:
    return f"{source.value('grebe_old')} < {source.value('grebe_new')}"


def _trusted(source: Source) -> str:
    return f"{_open(source)} AND {source.value('grebe_seen')}.trusted"


def _names(source: Source) -> str:
    return ", ".join(ident(name) for name, _ in source.columns)


def _feed(source: Source) -> str:
    names, trusted = _names(source), _trusted(source)
    added = source.changes("ducklake_table_insertions", "grebe_old", "grebe_new")
    removed = source.changes("ducklake_table_deletions", "grebe_old", "grebe_new")
    return (
        f"SELECT {names}, 1 AS {_WEIGHT} FROM {added} WHERE {trusted}\nUNION ALL\n"
        f"SELECT {names}, -1 AS {_WEIGHT} FROM {removed} WHERE {trusted}"
    )


def _counted(source: Source) -> str:
    """True when the feed's weights add up to the difference of the row counts."""
    net = f"(SELECT COALESCE(SUM({_WEIGHT}), 0) FROM {temporary(f'feed_{source.number}')})"
    grown = f"{source.value('grebe_rows')} - {source.value('grebe_cursor')}.rows"
    return f"{_trusted(source)} AND {net} = {grown}"


def _delta(source: Source) -> str:
    names = _names(source)
    counted = source.value("grebe_counted")
    differs = f"{_open(source)} AND NOT {counted}"
    grouped = ", ".join([names, *(key for key in map(_canonical, source.columns) if key)])
    return (
        f"SELECT {names}, CAST(SUM({_WEIGHT}) AS BIGINT) AS {_WEIGHT} FROM (\n"
        f"SELECT {names}, {_WEIGHT} FROM {temporary(f'feed_{source.number}')}"
        f" WHERE {counted}\nUNION ALL\n"
        f"SELECT {names}, 1 FROM {source.at('grebe_new')} WHERE {differs}\nUNION ALL\n"
        f"SELECT {names}, -1 FROM {source.at('grebe_old')} WHERE {differs}\n"
        f") AS changes\nGROUP BY {grouped}\nHAVING SUM({_WEIGHT}) <> 0"
    )


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
