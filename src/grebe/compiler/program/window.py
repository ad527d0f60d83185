"""The window of one maintain: captured once, inside the transaction, before anything is written.

The same end serves for reading changes, for the new state and for the cursor. A source that no
snapshot of the window mentions is read at one version only, so that nothing of it is scanned twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grebe.compiler.program.cursors import (
    COLLATES,
    CREATED,
    SETTINGS_NOW,
    Cursors,
    created,
    described,
    named,
    tables,
)
from grebe.compiler.program.sources import Source, struct_of
from grebe.compiler.program.text import assign, ident, literal, variable

MAINTENANCE = ("merge_adjacent", "rewrite_delete", "flushed_inlined", "compacted_table")
_QUIET = tuple(kind for kind in MAINTENANCE if kind != "flushed_inlined")
"""Kinds of changes that never carry rows; a flush may share its snapshot with an insert."""
_RESHAPING = ("tables_altered", "tables_dropped")
"""Kinds after which a name may mean another table, or other columns."""
_KNOWN = ("cursor", "seen", "look")
_UNSURE = "tables_deleted_from"
"""A delete, or the flush of an inlined one: only the feed knows."""


@dataclass(frozen=True, slots=True)
class Window:
    """What every source did since the cursor, as session variables."""

    cursors: Cursors
    mv_table: str
    falls_back: bool
    """A window that cannot be read makes the view be recomputed, and is otherwise an error."""
    hashes: bool
    """The view's rows carry checksums of DuckDB's own hash, which another version may change."""
    always_full: bool = False

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.cursors.sources

    @property
    def catalogs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(s.catalog for s in self.sources), self.cursors.catalog]))

    def statements(self) -> list[str]:
        """From reading the cursor to knowing what moved; each catalog is asked once."""
        return [
            self.cursors.read(),
            assign("grebe_seen", self._seen()),
            assign("grebe_query", self._look()),
            assign("grebe_look", f"SELECT tables FROM query({variable('grebe_query')})"),
            assign("grebe_window", self._window()),
        ]

    def marked(self) -> str:
        """The statement by which the view's own snapshot will be known."""
        message = literal(f"maintain {self.cursors.view}")
        return (
            f"CALL {ident(self.cursors.catalog)}.set_commit_message('grebe', {message},"
            f" extra_info => {variable('grebe_window')}.run)"
        )

    def _start(self, catalog: str) -> str:
        """The oldest snapshot of a catalog that matters."""
        points = [
            f"{s.value('grebe_cursor')}.snapshot" for s in self.sources if s.catalog == catalog
        ]
        if catalog == self.cursors.catalog:
            points.append(f"{variable('grebe_cursor')}.own.snapshot")
        return f"LEAST({', '.join(points)})"

    def _history(self) -> str:
        """A row for every snapshot and kind of change, with the cursor beside it."""
        return "\nUNION ALL\n".join(
            f"SELECT {literal(catalog)} AS catalog, snapshot_id, snapshot_time AS time,"
            f" commit_extra_info AS run,\n  {CREATED} AS made,"
            " map_keys(changes)[1] AS head, UNNEST(map_entries(changes)) AS change\n"
            f"FROM ducklake_snapshots({literal(catalog)})"
            f" WHERE snapshot_id >= {self._start(catalog)}"
            for catalog in self.catalogs
        )

    def _seen(self) -> str:
        """What the window holds of every source and of the view, in one pass over the snapshots.

        The cursor is a column here and not a variable: a variable would be put into every
        expression as a constant, and planning that takes longer than reading the snapshots.
        """
        fields = [f"{literal(s.field)}: {self._seen_of(s)}" for s in self.sources]
        quiet, kept = (_listed(kinds) for kinds in (_QUIET, MAINTENANCE))
        own = f"{variable('grebe_cursor')}.own"
        cursor = ", ".join(
            [
                *(f"{s.value('grebe_cursor')}.snapshot AS {s.field}" for s in self.sources),
                *(f"{s.value('grebe_cursor')}.ids AS {s.field}_ids" for s in self.sources),
                f"{own}.snapshot AS own, {own}.run AS own_run",
            ]
        )
        changes = (
            "SELECT catalog, snapshot_id, time, run, made, change.value AS ids,"
            f" change.key IN {quiet} AS is_quiet, change.key IN {kept} AS is_kept,\n"
            f"  change.key = '{_UNSURE}' AS is_unsure, change.key = 'rewrite_delete' AS rewrites,\n"
            f"  change.key IN {_listed(_RESHAPING)} AS reshapes, change.key = head AS is_head,\n"
            f"  {cursor}\nFROM (\n{self._history()}\n) AS history"
        )
        struct = ",\n  ".join([*fields, f"'own': {self._seen_own()}"])
        return f"SELECT {{\n  {struct}\n}}\nFROM (\n{changes}\n) AS changes"

    def _here(self, catalog: str) -> str:
        return "TRUE" if len(self.catalogs) == 1 else f"catalog = {literal(catalog)}"

    def _newest(self, catalog: str) -> str:
        if len(self.catalogs) == 1:
            return "MAX(snapshot_id)"
        return f"MAX(snapshot_id) FILTER ({self._here(catalog)})"

    def _seen_of(self, source: Source) -> str:
        cursor, ids = source.field, f"{source.field}_ids"
        here = self._here(source.catalog)
        since = f"{here} AND snapshot_id > {cursor}"
        newest = self._newest(source.catalog)
        mine = f"list_has_any(ids, {ids})"
        name = literal(created(source.schema, source.table))
        reshaped = f"(reshapes AND {mine} OR contains(made, {name}))"
        return (
            f"{{'newest': {newest},\n"
            f"   'since': MIN(time) FILTER ({here} AND snapshot_id = {cursor}),\n"
            f"   'whole': COUNT(*) FILTER ({since} AND is_head) = {newest} - MIN({cursor}),\n"
            f"   'reshaped': COALESCE(bool_or({since} AND {reshaped}), FALSE),\n"
            f"   'rewritten': COALESCE(bool_or({since} AND rewrites AND {mine}), FALSE),\n"
            f"   'touched': COALESCE(bool_or({since} AND NOT is_quiet AND {mine}), FALSE),\n"
            f"   'worth': COALESCE(bool_or({since} AND NOT is_kept AND {mine}), FALSE)}}"
        )

    def _seen_own(self) -> str:
        """What others did to the catalog of the view since it was written last.

        The first snapshot that made the table is the view's own until its first maintain.
        """
        since = f"{self._here(self.cursors.catalog)} AND snapshot_id > own"
        made = f"contains(made, {literal(self.cursors.made)})"
        theirs = f"{since} AND run IS DISTINCT FROM own_run AND NOT {made} AND NOT is_kept"
        newest = self._newest(self.cursors.catalog)
        return (
            f"{{'newest': {newest},\n"
            f"   'whole': COUNT(*) FILTER ({since} AND is_head) = {newest} - MIN(own),\n"
            f"   'made': COUNT(*) FILTER ({since} AND is_head AND {made}),\n"
            f"   'ours': list(snapshot_id) FILTER ({since} AND ({made} OR run = own_run)),\n"
            f"   'theirs': list(snapshot_id) FILTER ({theirs}),\n"
            f"   'surely': flatten(list(ids) FILTER ({theirs} AND NOT is_unsure)),\n"
            f"   'written': flatten(list(ids) FILTER ({theirs}))}}"
        )

    def _look(self) -> str:
        """The query for what the names mean now; mostly what they meant before.

        Asking DuckLake for its tables takes longer than anything else here, so that is done only
        when a snapshot says that something was made, altered or dropped, or is gone itself.
        """
        own, seen = f"{variable('grebe_cursor')}.own", f"{variable('grebe_seen')}.own"
        tests = [
            f"{s.value('grebe_seen')}.reshaped OR NOT {s.value('grebe_seen')}.whole"
            for s in self.sources
        ]
        tests += [
            f"{own}.identity = '' OR {seen}.made > 0 OR NOT {seen}.whole",
            f"list_has_any({seen}.written, {own}.ids)",
        ]
        known = [f"{literal(s.field)}: {s.value('grebe_cursor')}" for s in self.sources]
        same = ", ".join([*known, f"'own': {own}", "'foreign': FALSE"])
        half = _half(self.sources)
        texts = [
            f"SELECT {self._tables(half)} AS tables FROM (\n{tables(self.catalogs)}\n) AS found",
            f"SELECT {{{same}, 'half': NULL::DOUBLE}} AS tables",
            f"SELECT {{{same}, 'half': {half}}} AS tables",
        ]
        again, busy, idle = map(literal, texts)
        worth = " OR ".join(f"{s.value('grebe_seen')}.worth" for s in self.sources)
        return (
            f"SELECT CASE WHEN {' OR '.join(tests)}\nTHEN {again}\n"
            f"WHEN {worth} THEN {busy}\nELSE {idle} END"
        )

    def _tables(self, half: str) -> str:
        here = f"FILTER ({named(self.cursors.catalog, self.cursors.schema, self.mv_table)})"
        own = (
            f"{{'identity': COALESCE(string_agg(uuid, ' ' ORDER BY uuid) {here}, ''),"
            f" 'ids': COALESCE(list(id ORDER BY uuid) {here}, [])}}"
        )
        fields = [f"{literal(s.field)}: {described(s)}" for s in self.sources]
        fields += [f"'own': {own}", f"'foreign': {self._written_by_others()}", f"'half': {half}"]
        return "{\n  " + ",\n  ".join(fields) + "\n}"

    def _written_by_others(self) -> str:
        """True when the feed shows rows of the view's table that another snapshot wrote.

        Outside of main a table of the same name in another schema may be meant, and a flush of
        deleted rows looks like a delete: the feed knows both.
        """
        seen = f"{variable('grebe_seen')}.own"
        names = (self.cursors.catalog, self.cursors.schema, self.mv_table)
        table = ", ".join(literal(part) for part in names)
        own = f"{variable('grebe_cursor')}.own"
        ours = f"COALESCE(list_max({seen}.ours), -1)"
        again = self._made_again(variable("grebe_cursor"), variable("grebe_seen"))
        found: list[str] = []
        # The feed's own snapshot ids are not right after a flush: so what is ours is left out.
        # Nor is anything asked of a time when the table was not yet there.
        for side, there in (("<", f"{own}.run <> ''"), (">", "TRUE")):
            test = f"s {side} {ours} AND {there} AND NOT {again}"
            theirs = f"list_filter({seen}.theirs, lambda s: {test})"
            first, last = (f"COALESCE(list_{e}({theirs}), {seen}.newest)" for e in ("min", "max"))
            found += [
                f"len({theirs}) > 0 AND EXISTS (SELECT 1 FROM"
                f" ducklake_table_{kind}({table}, {first}, {last}))"
                for kind in ("insertions", "deletions")
            ]
        return "(" + "\n    OR ".join(found) + ")"

    def _window(self) -> str:
        """Why the window cannot be read, if so; and what is read of every source.

        As in `_seen`, the variables are columns.
        """
        new = struct_of(self.sources, lambda s: f"seen.{s.field}.newest")
        worth = " OR ".join(
            f"seen.{s.field}.worth OR seen.{s.field}.reshaped OR NOT seen.{s.field}.whole"
            for s in self.sources
        )
        aged = " OR ".join(map(_aged, self.sources))
        full = "stale OR worth" if self.always_full else "stale"
        known = ", ".join(f"{variable(f'grebe_{name}')} AS {name}" for name in _KNOWN)
        return (
            f"SELECT {{'full': is_full, 'advance': worth OR is_full OR {aged},\n"
            f"  'run': CAST(uuid() AS VARCHAR),\n"
            f"  'new': {new},\n  'old': {struct_of(self.sources, _old)},\n"
            f"  'read': {struct_of(self.sources, _read)}\n}}\n"
            f"FROM (SELECT *, {full} AS is_full FROM (\n"
            f"SELECT *, {worth} AS worth,\n  ({self._reason()}) IS NOT NULL AS stale\n"
            f"FROM (SELECT {known})))"
        )

    def _reason(self) -> str:
        """What stops the window; strict views stop with it.

        A changed type stops every view: its table has the columns of the old one. So does a
        collation: under it a recomputation would find no difference where there is one.
        """
        by_source = [self._source_reasons(source) for source in self.sources]
        changed = [found.pop() for found in by_source]
        changed.append((COLLATES, literal(self.cursors.collates)))
        rest = [case for found in by_source for case in found]
        rest += [self._foreign(), self._settings(), *self._engine()]
        if not self.falls_back:
            cases = [*rest, *changed]
            found = " ".join(f"\n  WHEN {test} THEN error({text})" for test, text in cases)
        else:
            loud = [f"\n  WHEN {test} THEN error({text})" for test, text in changed]
            found = " ".join([*loud, *(f"\n  WHEN {test} THEN {text}" for test, text in rest)])
        return f"CASE {found}\n  ELSE NULL END"

    def _source_reasons(self, source: Source) -> list[tuple[str, str]]:
        """What may be wrong with a source; the last one is that its columns changed."""
        seen, now = f"cursor.{source.field}", f"look.{source.field}"
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
            (f"seen.{source.field}.since IS NULL", literal(expired)),
            (f"{now}.columns <> {seen}.columns", literal(changed)),
        ]

    def _foreign(self) -> tuple[str, str]:
        """Somebody else wrote to the view's table, or made it anew."""
        message = (
            f"[foreign-write] somebody else wrote to the table of materialized view"
            f' "{self.cursors.view}": drop it and create it again'
        )
        tests = [self._made_again("cursor", "seen"), "look.foreign"]
        if self.cursors.schema.lower() == "main":
            tests.append("cursor.own.identity <> '' AND cursor.own.identity <> look.own.identity")
            tests.append("list_has_any(seen.own.surely, look.own.ids)")
        return " OR ".join(tests), literal(message)

    def _made_again(self, cursor: str, seen: str) -> str:
        """True when the view's table was made once more than by `create_mv`."""
        return f"({seen}.own.made > CASE WHEN {cursor}.own.run = '' THEN 1 ELSE 0 END)"

    def _settings(self) -> tuple[str, str]:
        message = (
            f'[settings-changed] materialized view "{self.cursors.view}" was made with other'
            " settings of the session: "
        )
        known = "cursor.own.settings"
        return f"{known} <> {SETTINGS_NOW}", f"concat({literal(message)}, {known})"

    def _engine(self) -> list[tuple[str, str]]:
        if not self.hashes:
            return []
        message = (
            f'[engine-changed] the checksums of materialized view "{self.cursors.view}" are of'
            " another version of DuckDB: run rehash once"
        )
        return [("cursor.own.engine <> version()", literal(message))]


def _listed(kinds: Sequence[str]) -> str:
    return f"({', '.join(literal(kind) for kind in kinds)})"


def tables_of(kinds: Sequence[str], *, inside: bool) -> str:
    """The ids that a snapshot lists under some kinds of changes, or under all others."""
    listed = ", ".join(literal(kind) for kind in kinds)
    test = f"e.key {'' if inside else 'NOT '}IN ({listed})"
    entries = f"list_filter(map_entries(changes), lambda e: {test})"
    return f"flatten(list_transform({entries}, lambda e: e.value))"


def _aged(source: Source) -> str:
    """True when a cursor that nothing moved is older than half of what its source keeps.

    Otherwise it would hold back the expiry of snapshots for ever.
    """
    field = source.field
    return (
        f"COALESCE(seen.{field}.newest > cursor.{field}.snapshot"
        f" AND epoch(now()) - epoch(seen.{field}.since) > look.half, FALSE)"
    )


def _half(sources: Sequence[Source]) -> str:
    """Half of the shortest time, in seconds, for which a source's catalog keeps snapshots."""
    found = "\nUNION ALL\n".join(
        f"SELECT value FROM ducklake_options({literal(catalog)})"
        " WHERE option_name = 'expire_older_than'"
        for catalog in dict.fromkeys(source.catalog for source in sources)
    )
    return f"(SELECT MIN(epoch(CAST(value AS INTERVAL))) / 2 FROM (\n{found}\n))"


def _old(source: Source) -> str:
    """The version that the view shows; without a change, the same as the new one."""
    seen = f"seen.{source.field}"
    moved = f"{_moved(seen)} AND NOT is_full"
    return f"CASE WHEN {moved} THEN cursor.{source.field}.snapshot ELSE {seen}.newest END"


def _read(source: Source) -> str:
    """The query that reads the old version; what DuckLake says of its values is mostly right."""
    seen = f"seen.{source.field}"
    names = ", ".join(ident(name) for name, _ in source.columns)
    plain, careful = (
        literal(f"SELECT {columns} FROM {source.sql} AT (VERSION => ")
        for columns in (names, without_statistics(source))
    )
    rewritten = f"{seen}.rewritten OR {seen}.reshaped OR NOT {seen}.whole"
    text = f"CASE WHEN {rewritten} THEN {careful} ELSE {plain} END"
    return f"concat({text}, {_old(source)}, ')')"


def without_statistics(source: Source) -> str:
    """The columns of a version, without what DuckLake says of their ranges.

    After a rewrite that is the range of the newest rows, for older versions too; DuckDB plans by
    it, and gives other values for those outside. It knows no range of what GREATEST gives.
    """
    names = (ident(name) for name, _ in source.columns)
    return ", ".join(f"GREATEST({name}, {name}) AS {name}" for name in names)


def touched(source: Source) -> str:
    """True when the source may have other rows than before."""
    return _moved(source.value("grebe_seen"))


def _moved(seen: str) -> str:
    return f"({seen}.touched OR {seen}.reshaped OR NOT {seen}.whole)"
