"""The window of one maintain: captured once, inside the transaction, before anything is written.

The same end serves for reading changes, for the new state and for the cursor. A source that no
snapshot of the window mentions is read at one version only, so that nothing of it is scanned twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grebe.program.cursors import (
    COLLATES,
    CREATED,
    SETTINGS_NOW,
    Cursors,
    created,
    described,
    named,
    tables,
)
from grebe.program.duckdb_text import assign, ident, literal, variable
from grebe.program.program_sources import ProgramSource, struct_of

MAINTENANCE = ("merge_adjacent", "rewrite_delete", "flushed_inlined", "compacted_table")
_QUIET = tuple(kind for kind in MAINTENANCE if kind != "flushed_inlined")
"""Kinds of changes that never carry rows; a flush may share its snapshot with an insert."""
_RESHAPING = ("tables_altered", "tables_dropped")
"""Kinds after which a name may mean another table, or other columns."""
_KNOWN = ("cursor", "seen", "look")
_KEY = "__grebe_change.key"
_UNSURE = "tables_deleted_from"
"""A delete, or the flush of an inlined one: only the feed knows."""


@dataclass(frozen=True, slots=True)
class ProgramWindow:
    """What every source did since the cursor, as session variables."""

    cursors: Cursors
    mv_table: str
    falls_back: bool
    """A window that cannot be read makes the view be recomputed, and is otherwise an error."""
    hashes: bool
    """The view's rows carry checksums of DuckDB's own hash, which another version may change."""
    always_full: bool = False

    @property
    def sources(self) -> tuple[ProgramSource, ...]:
        return self.cursors.sources

    @property
    def catalogs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(s.catalog for s in self.sources), self.cursors.catalog]))

    def statements(self) -> list[str]:
        """From reading the cursor to knowing what moved; each catalog is asked once."""
        return [
            self.cursors.read(),
            assign("__grebe_seen", self._seen()),
            assign("__grebe_query", self._look()),
            assign(
                "__grebe_look", f"SELECT __grebe_tables FROM query({variable('__grebe_query')})"
            ),
            assign("__grebe_window", self._window()),
        ]

    def marked(self) -> str:
        """The statement by which the view's own snapshot will be known."""
        message = literal(f"maintain {self.cursors.view}")
        return (
            f"CALL {ident(self.cursors.catalog)}.set_commit_message('grebe', {message},"
            f" extra_info => {variable('__grebe_window')}.run)"
        )

    def _start(self, catalog: str) -> str:
        """The oldest snapshot of a catalog that matters."""
        points = [
            f"{s.value('__grebe_cursor')}.snapshot" for s in self.sources if s.catalog == catalog
        ]
        if catalog == self.cursors.catalog:
            points.append(f"{variable('__grebe_cursor')}.own.snapshot")
        return f"LEAST({', '.join(points)})"

    def _history(self) -> str:
        """A row for every snapshot and kind of change, with the cursor beside it."""
        return "\nUNION ALL\n".join(
            f"SELECT {literal(catalog)} AS __grebe_catalog, snapshot_id AS __grebe_snapshot,"
            " snapshot_time AS __grebe_time, commit_extra_info AS __grebe_run,\n"
            f"  {CREATED} AS __grebe_made, map_keys(changes)[1] AS __grebe_head,"
            " UNNEST(map_entries(changes)) AS __grebe_change\n"
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
        own = f"{variable('__grebe_cursor')}.own"
        cursor = ", ".join(
            [
                *(f"{s.value('__grebe_cursor')}.snapshot AS {_after(s)}" for s in self.sources),
                *(f"{s.value('__grebe_cursor')}.ids AS {_after(s)}_ids" for s in self.sources),
                f"{own}.snapshot AS __grebe_own, {own}.run AS __grebe_own_run",
            ]
        )
        changes = (
            "SELECT __grebe_catalog, __grebe_snapshot, __grebe_time, __grebe_run, __grebe_made,"
            " __grebe_change.value AS __grebe_ids,\n"
            f"  {_KEY} IN {quiet} AS __grebe_is_quiet, {_KEY} IN {kept} AS __grebe_is_kept,\n"
            f"  {_KEY} = '{_UNSURE}' AS __grebe_is_unsure,"
            f" {_KEY} = 'rewrite_delete' AS __grebe_rewrites,\n"
            f"  {_KEY} IN {_listed(_RESHAPING)} AS __grebe_reshapes,"
            f" {_KEY} = __grebe_head AS __grebe_is_head,\n"
            f"  {cursor}\nFROM (\n{self._history()}\n) AS __grebe_history"
        )
        struct = ",\n  ".join([*fields, f"'own': {self._seen_own()}"])
        return f"SELECT {{\n  {struct}\n}}\nFROM (\n{changes}\n) AS __grebe_changes"

    def _here(self, catalog: str) -> str:
        return "TRUE" if len(self.catalogs) == 1 else f"__grebe_catalog = {literal(catalog)}"

    def _newest(self, catalog: str) -> str:
        if len(self.catalogs) == 1:
            return "MAX(__grebe_snapshot)"
        return f"MAX(__grebe_snapshot) FILTER ({self._here(catalog)})"

    def _seen_of(self, source: ProgramSource) -> str:
        cursor, ids = _after(source), f"{_after(source)}_ids"
        here = self._here(source.catalog)
        since = f"{here} AND __grebe_snapshot > {cursor}"
        newest = self._newest(source.catalog)
        mine = f"list_has_any(__grebe_ids, {ids})"
        name = literal(created(source.schema, source.table))
        reshaped = f"(__grebe_reshapes AND {mine} OR contains(__grebe_made, {name}))"
        return (
            f"{{'newest': {newest},\n"
            f"   'since': MIN(__grebe_time) FILTER ({here} AND __grebe_snapshot = {cursor}),\n"
            f"   'whole': COUNT(*) FILTER ({since} AND __grebe_is_head) = {newest} - MIN({cursor}),\n"
            f"   'reshaped': COALESCE(bool_or({since} AND {reshaped}), FALSE),\n"
            f"   'rewritten': COALESCE(bool_or({since} AND __grebe_rewrites AND {mine}), FALSE),\n"
            f"   'touched': COALESCE(bool_or({since} AND NOT __grebe_is_quiet AND {mine}), FALSE),\n"
            f"   'worth': COALESCE(bool_or({since} AND NOT __grebe_is_kept AND {mine}), FALSE)}}"
        )

    def _seen_own(self) -> str:
        """What others did to the catalog of the view since it was written last.

        The first snapshot that made the table is the view's own until its first maintain.
        """
        since = f"{self._here(self.cursors.catalog)} AND __grebe_snapshot > __grebe_own"
        made = f"contains(__grebe_made, {literal(self.cursors.made)})"
        others = "__grebe_run IS DISTINCT FROM __grebe_own_run"
        theirs = f"{since} AND {others} AND NOT {made} AND NOT __grebe_is_kept"
        mine = f"{since} AND ({made} OR __grebe_run = __grebe_own_run)"
        newest = self._newest(self.cursors.catalog)
        return (
            f"{{'newest': {newest},\n"
            f"   'whole': COUNT(*) FILTER ({since} AND __grebe_is_head) = {newest} - MIN(__grebe_own),\n"
            f"   'made': COUNT(*) FILTER ({since} AND __grebe_is_head AND {made}),\n"
            f"   'ours': list(__grebe_snapshot) FILTER ({mine}),\n"
            f"   'theirs': list(__grebe_snapshot) FILTER ({theirs}),\n"
            f"   'surely': flatten(list(__grebe_ids) FILTER ({theirs} AND NOT __grebe_is_unsure)),\n"
            f"   'written': flatten(list(__grebe_ids) FILTER ({theirs}))}}"
        )

    def _look(self) -> str:
        """The query for what the names mean now; mostly what they meant before.

        Asking DuckLake for its tables takes longer than anything else here, so that is done only
        when a snapshot says that something was made, altered or dropped, or is gone itself.
        """
        own, seen = f"{variable('__grebe_cursor')}.own", f"{variable('__grebe_seen')}.own"
        tests = [
            f"{s.value('__grebe_seen')}.reshaped OR NOT {s.value('__grebe_seen')}.whole"
            for s in self.sources
        ]
        tests += [
            f"{own}.identity = '' OR {seen}.made > 0 OR NOT {seen}.whole",
            f"list_has_any({seen}.written, {own}.ids)",
        ]
        known = [f"{literal(s.field)}: {s.value('__grebe_cursor')}" for s in self.sources]
        same = ", ".join([*known, f"'own': {own}", "'foreign': FALSE"])
        half = _half(self.sources)
        texts = [
            f"SELECT {self._tables(half)} AS __grebe_tables FROM (\n{tables(self.catalogs)}\n)"
            " AS __grebe_found",
            f"SELECT {{{same}, 'half': NULL::DOUBLE}} AS __grebe_tables",
            f"SELECT {{{same}, 'half': {half}}} AS __grebe_tables",
        ]
        again, busy, idle = map(literal, texts)
        worth = " OR ".join(f"{s.value('__grebe_seen')}.worth" for s in self.sources)
        return (
            f"SELECT CASE WHEN {' OR '.join(tests)}\nTHEN {again}\n"
            f"WHEN {worth} THEN {busy}\nELSE {idle} END"
        )

    def _tables(self, half: str) -> str:
        here = f"FILTER ({named(self.cursors.catalog, self.cursors.schema, self.mv_table)})"
        own = (
            f"{{'identity': COALESCE(string_agg(__grebe_uuid, ' ' ORDER BY __grebe_uuid) {here}, ''),"
            f" 'ids': COALESCE(list(__grebe_id ORDER BY __grebe_uuid) {here}, [])}}"
        )
        fields = [f"{literal(s.field)}: {described(s)}" for s in self.sources]
        fields += [f"'own': {own}", f"'foreign': {self._written_by_others()}", f"'half': {half}"]
        return "{\n  " + ",\n  ".join(fields) + "\n}"

    def _written_by_others(self) -> str:
        """True when the feed shows rows of the view's table that another snapshot wrote.

        Outside of main a table of the same name in another schema may be meant, and a flush of
        deleted rows looks like a delete: the feed knows both.
        """
        seen = f"{variable('__grebe_seen')}.own"
        names = (self.cursors.catalog, self.cursors.schema, self.mv_table)
        table = ", ".join(literal(part) for part in names)
        own = f"{variable('__grebe_cursor')}.own"
        ours = f"COALESCE(list_max({seen}.ours), -1)"
        again = self._made_again(variable("__grebe_cursor"), variable("__grebe_seen"))
        found: list[str] = []
        # The feed's own snapshot ids are not right after a flush: so what is ours is left out.
        # Nor is anything asked of a time when the table was not yet there.
        for side, there in (("<", f"{own}.run <> ''"), (">", "TRUE")):
            test = f"__grebe_s {side} {ours} AND {there} AND NOT {again}"
            theirs = f"list_filter({seen}.theirs, lambda __grebe_s: {test})"
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
        new = struct_of(self.sources, lambda s: f"__grebe_seen.{s.field}.newest")
        worth = " OR ".join(
            f"{seen}.worth OR {seen}.reshaped OR NOT {seen}.whole"
            for seen in (f"__grebe_seen.{s.field}" for s in self.sources)
        )
        aged = " OR ".join(map(_aged, self.sources))
        full = "__grebe_stale OR __grebe_worth" if self.always_full else "__grebe_stale"
        known = ", ".join(f"{variable(f'__grebe_{name}')} AS __grebe_{name}" for name in _KNOWN)
        return (
            f"SELECT {{'full': __grebe_full, 'advance': __grebe_worth OR __grebe_full OR {aged},\n"
            f"  'run': CAST(uuid() AS VARCHAR),\n"
            f"  'new': {new},\n  'old': {struct_of(self.sources, _old)},\n"
            f"  'read': {struct_of(self.sources, _read)}\n}}\n"
            f"FROM (SELECT *, {full} AS __grebe_full FROM (\n"
            f"SELECT *, {worth} AS __grebe_worth,\n  ({self._reason()}) IS NOT NULL AS __grebe_stale\n"
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

    def _source_reasons(self, source: ProgramSource) -> list[tuple[str, str]]:
        """What may be wrong with a source; the last one is that its columns changed."""
        seen, now = f"__grebe_cursor.{source.field}", f"__grebe_look.{source.field}"
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
            (f"__grebe_seen.{source.field}.since IS NULL", literal(expired)),
            (f"{now}.columns <> {seen}.columns", literal(changed)),
        ]

    def _foreign(self) -> tuple[str, str]:
        """Somebody else wrote to the view's table, or made it anew."""
        message = (
            f"[foreign-write] somebody else wrote to the table of materialized view"
            f' "{self.cursors.view}": drop it and create it again'
        )
        tests = [self._made_again("__grebe_cursor", "__grebe_seen"), "__grebe_look.foreign"]
        if self.cursors.schema.lower() == "main":
            own, now = "__grebe_cursor.own.identity", "__grebe_look.own.identity"
            tests.append(f"{own} <> '' AND {own} <> {now}")
            tests.append("list_has_any(__grebe_seen.own.surely, __grebe_look.own.ids)")
        return " OR ".join(tests), literal(message)

    def _made_again(self, cursor: str, seen: str) -> str:
        """True when the view's table was made once more than by `create_mv`."""
        return f"({seen}.own.made > CASE WHEN {cursor}.own.run = '' THEN 1 ELSE 0 END)"

    def _settings(self) -> tuple[str, str]:
        message = (
            f'[settings-changed] materialized view "{self.cursors.view}" was made with other'
            " settings of the session: "
        )
        known = "__grebe_cursor.own.settings"
        return f"{known} <> {SETTINGS_NOW}", f"concat({literal(message)}, {known})"

    def _engine(self) -> list[tuple[str, str]]:
        if not self.hashes:
            return []
        message = (
            f'[engine-changed] the checksums of materialized view "{self.cursors.view}" are of'
            " another version of DuckDB: run rehash once"
        )
        return [("__grebe_cursor.own.engine <> version()", literal(message))]


def _after(source: ProgramSource) -> str:
    """The column that holds the snapshot of a source that the view shows."""
    return f"__grebe_{source.field}"


def _listed(kinds: Sequence[str]) -> str:
    return f"({', '.join(literal(kind) for kind in kinds)})"


def tables_of(kinds: Sequence[str], *, inside: bool) -> str:
    """The ids that a snapshot lists under some kinds of changes, or under all others."""
    listed = ", ".join(literal(kind) for kind in kinds)
    test = f"__grebe_e.key {'' if inside else 'NOT '}IN ({listed})"
    entries = f"list_filter(map_entries(changes), lambda __grebe_e: {test})"
    return f"flatten(list_transform({entries}, lambda __grebe_e: __grebe_e.value))"


def _aged(source: ProgramSource) -> str:
    """True when a cursor that nothing moved is older than half of what its source keeps.

    Otherwise it would hold back the expiry of snapshots for ever.
    """
    field = source.field
    return (
        f"COALESCE(__grebe_seen.{field}.newest > __grebe_cursor.{field}.snapshot"
        f" AND epoch(now()) - epoch(__grebe_seen.{field}.since) > __grebe_look.half, FALSE)"
    )


def _half(sources: Sequence[ProgramSource]) -> str:
    """Half of the shortest time, in seconds, for which a source's catalog keeps snapshots."""
    found = "\nUNION ALL\n".join(
        f"SELECT value AS __grebe_value FROM ducklake_options({literal(catalog)})"
        " WHERE option_name = 'expire_older_than'"
        for catalog in dict.fromkeys(source.catalog for source in sources)
    )
    return f"(SELECT MIN(epoch(CAST(__grebe_value AS INTERVAL))) / 2 FROM (\n{found}\n))"


def _old(source: ProgramSource) -> str:
    """The version that the view shows; without a change, the same as the new one."""
    seen = f"__grebe_seen.{source.field}"
    moved = f"{_moved(seen)} AND NOT __grebe_full"
    return f"CASE WHEN {moved} THEN __grebe_cursor.{source.field}.snapshot ELSE {seen}.newest END"


def _read(source: ProgramSource) -> str:
    """The query that reads the old version; what DuckLake says of its values is mostly right."""
    seen = f"__grebe_seen.{source.field}"
    names = ", ".join(ident(name) for name, _ in source.columns)
    plain, careful = (
        literal(f"SELECT {columns} FROM {source.sql} AS __grebe_source AT (VERSION => ")
        for columns in (names, without_statistics(source))
    )
    rewritten = f"{seen}.rewritten OR {seen}.reshaped OR NOT {seen}.whole"
    text = f"CASE WHEN {rewritten} THEN {careful} ELSE {plain} END"
    return f"concat({text}, {_old(source)}, ')')"


def without_statistics(source: ProgramSource) -> str:
    """The columns of a version, without what DuckLake says of their ranges.

    After a rewrite that is the range of the newest rows, for older versions too; DuckDB plans by
    it, and gives other values for those outside. It knows no range of what GREATEST gives.
    """
    names = (ident(name) for name, _ in source.columns)
    return ", ".join(f"GREATEST({name}, {name}) AS {name}" for name in names)


def touched(source: ProgramSource) -> str:
    """True when the source may have other rows than before."""
    return _moved(source.value("__grebe_seen"))


def _moved(seen: str) -> str:
    return f"({seen}.touched OR {seen}.reshaped OR NOT {seen}.whole)"
