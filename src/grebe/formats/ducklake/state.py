"""The files and inlined rows that make up a table at one snapshot, and who can read each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap64

from grebe.errors import CorruptFileError, HistoryExpiredError, InternalError
from grebe.formats.ducklake.catalog_rows import CatalogRows, Table, joined, live, names
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.schema import LakeField, is_native
from grebe.formats.files import local_path
from grebe.program.duckdb_text import ident

_SINCE = "_ducklake_internal_snapshot_id"
OWN_FOLDER = "__grebe_run_"
"""The folder, in a table's own, of the files that one run of grebe wrote."""


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """A file that lists deleted positions of one data file."""

    id: int
    path: str
    count: int
    plain: bool
    """Parquet, not encrypted."""
    partial_max: int | None
    """No delete in it is newer; None when all are as old as the file."""
    dated: bool = False
    """Whether it says of each delete which snapshot it came with."""

    def known_at(self, snapshot: int) -> bool:
        """Whether Spark can be told which of them count at a snapshot."""
        whole = self.partial_max is None or self.partial_max <= snapshot
        return self.plain and (whole or self.dated)


@dataclass(frozen=True, slots=True)
class LakeFile:
    """A data file of the table, with what is deleted of it at the state's snapshot."""

    id: int
    path: str
    records: int
    size: int
    begin: int
    plain: bool
    """Parquet, not encrypted, all columns inside it."""
    mapping: int | None
    """Which names its columns have, for a file that was written by somebody else."""
    partial_max: int | None
    """The newest snapshot whose rows it holds, for a file made of several commits'."""
    deletes: DeletedRows | None = None
    inlined_deletes: int = 0

    def whole_at(self, snapshot: int) -> bool:
        """Whether every row and every delete of the files counts at a snapshot."""
        parts = (self.partial_max, self.deletes.partial_max if self.deletes else None)
        return all(part is None or part <= snapshot for part in parts)

    def known_at(self, snapshot: int) -> bool:
        """Whether all its rows are of a snapshot's time, and which are deleted can be listed."""
        whole = self.partial_max is None or self.partial_max <= snapshot
        return whole and (self.deletes is None or self.deletes.known_at(snapshot))

    @property
    def deleted(self) -> int:
        """The number of its rows that are deleted."""
        return self.inlined_deletes + (self.deletes.count if self.deletes else 0)

    @property
    def signature(self) -> tuple[int, int | None, int]:
        """What tells two states of the file apart; a delete in the catalog is never taken back."""
        return self.id, self.deletes.id if self.deletes else None, self.inlined_deletes


@dataclass(frozen=True, slots=True)
class TableState:
    """All rows of a table at one snapshot, by where they are."""

    snapshot: int
    files: tuple[LakeFile, ...]
    inlined: tuple[tuple[str, int], ...]
    """Tables of the catalog that hold rows, with how many count."""

    @property
    def rows(self) -> int | None:
        """The number of rows, or None when files hold rows or deletes of later commits."""
        if not all(file.whole_at(self.snapshot) for file in self.files):
            return None
        gone = sum(file.deleted for file in self.files)
        kept = sum(file.records for file in self.files) - gone
        return kept + sum(count for _, count in self.inlined)

    @property
    def bytes(self) -> int:
        """The size of the data files."""
        return sum(file.size for file in self.files)


def read_state(catalog: CatalogRows, table: Table, snapshot: int) -> TableState:
    """The state at a snapshot."""
    meta = catalog.session.meta
    inlined = _inlined_deletes(catalog, table, snapshot)
    rows = catalog.session.rows(
        "SELECT d.data_file_id, d.path, d.path_is_relative, d.record_count, d.file_size_bytes,"
        " d.begin_snapshot, d.file_format, d.encryption_key IS NULL, d.mapping_id, d.partial_max,"
        " x.delete_file_id, x.path, x.path_is_relative, x.delete_count, x.format,"
        " x.encryption_key IS NULL, x.partial_max, x.begin_snapshot"
        f" FROM {meta}.ducklake_data_file AS d LEFT JOIN {meta}.ducklake_delete_file AS x"
        f" ON x.data_file_id = d.data_file_id AND x.table_id = {table.id} AND {live('x', snapshot)}"
        f" WHERE d.table_id = {table.id} AND {live('d', snapshot)} ORDER BY d.data_file_id"
    )
    # A flush writes the deletes of many commits into one file, and does not always say so.
    silent = any(row[10] is not None and row[16] is None for row in rows)
    flushed = catalog.flushed_upto(table) if silent else -1
    files = []
    if len({row[0] for row in rows}) < len(rows):
        # A flush after a rewrite leaves such a version behind: DuckLake shows its rows twice.
        raise HistoryExpiredError(
            f"snapshot {snapshot} lists a data file twice",
            detail=f'files of table "{table.schema}.{table.name}" were rewritten before'
            " deletes in the catalog were flushed",
            hint="refresh in full",
        )
    for row in rows:
        deletes = None
        if row[10] is not None:
            path = joined(table.folder, row[11], row[12])
            newest = flushed if row[16] is None and row[17] < flushed else row[16]
            plain = row[14] == "parquet" and row[15]
            deletes = DeletedRows(row[10], path, row[13], plain, newest, dated=row[16] is not None)
        files.append(
            LakeFile(
                id=row[0],
                path=joined(table.folder, row[1], row[2]),
                records=row[3],
                size=row[4],
                begin=row[5],
                plain=row[6] == "parquet" and row[7],
                mapping=row[8],
                partial_max=row[9],
                deletes=deletes,
                inlined_deletes=inlined.get(row[0], 0),
            )
        )
    return TableState(snapshot, tuple(files), _inlined_rows(catalog, table, snapshot))


def _inlined_rows(catalog: CatalogRows, table: Table, snapshot: int) -> tuple[tuple[str, int], ...]:
    meta = catalog.session.meta
    found = []
    for name in catalog.inlined(table):
        count = catalog.session.row(
            f"SELECT count(*) FROM {meta}.{ident(name)} WHERE {live('', snapshot)}"
        )[0]
        if count:
            found.append((name, count))
    return tuple(found)


def _inlined_deletes(catalog: CatalogRows, table: Table, snapshot: int) -> dict[int, int]:
    name = f"ducklake_inlined_delete_{table.id}"
    if not catalog.has(name):
        return {}
    rows = catalog.session.rows(
        f"SELECT file_id, count(*) FROM {catalog.session.meta}.{ident(name)}"
        f" WHERE begin_snapshot <= {snapshot} GROUP BY file_id"
    )
    return {row[0]: row[1] for row in rows}


def deleted_positions(
    session: Session, table: Table, state: TableState, files: Collection[LakeFile]
) -> dict[int, BitMap64]:
    """The positions that are deleted of each file, by file id; the files must be plain."""
    whole = {f.deletes.path: f.id for f in files if f.deletes and f.whole_at(state.snapshot)}
    # DuckLake adds later deletes to the file of the earlier ones, and says when each was made.
    dated = {f.deletes.path: f.id for f in files if f.deletes and f.deletes.path not in whole}
    found = _listed(session, whole, "true")
    for file in files:
        if (
            file.deletes
            and file.deletes.path in whole
            and len(found[file.id]) != file.deletes.count
        ):
            raise CorruptFileError(
                f'"{file.deletes.path}" does not list what the catalog says',
                detail=f"{len(found[file.id])} deleted rows, not {file.deletes.count}",
            )
    lost = "error('a delete does not say its snapshot')"
    known = f"CASE WHEN {_SINCE} IS NULL THEN {lost} ELSE {_SINCE} <= {state.snapshot} END"
    found |= _listed(session, dated, known)
    if any(file.inlined_deletes for file in files):
        inlined = session.rows(
            f"SELECT file_id, row_id FROM {session.meta}.ducklake_inlined_delete_{table.id}"
            f" WHERE begin_snapshot <= {state.snapshot}"
        )
        wanted = {file.id for file in files}
        for file_id, position in inlined:
            if file_id in wanted:
                found.setdefault(file_id, BitMap64()).add(position)
    return found


def rows_listed(session: Session, table: Table, state: TableState) -> int | None:
    """The number of rows by what is listed as deleted; None when only DuckLake can tell."""
    if not all(file.known_at(state.snapshot) for file in state.files):
        return None
    deleted = deleted_positions(session, table, state, state.files)
    there = sum(file.records - len(deleted.get(file.id, ())) for file in state.files)
    return there + sum(count for _, count in state.inlined)


def _listed(session: Session, ids: Mapping[str, int], condition: str) -> dict[int, BitMap64]:
    """The positions in some files of deletes, by the ids of their data files."""
    found: dict[int, BitMap64] = {}
    # DuckDB gives a name back without its scheme.
    local = {local_path(path) or path: number for path, number in ids.items()}
    for start in range(0, len(local), 500):
        paths = list(local)[start : start + 500]
        rows = session.columns(
            f"SELECT filename, pos FROM read_parquet([{names(paths)}], filename = true,"
            f" hive_partitioning = false) WHERE {condition}"
        )
        if unknown := set(rows["filename"].tolist()) - set(paths):
            raise InternalError.broken(f"deleted rows of {unknown.pop()}, which was not asked for")
        for path in paths:
            positions = rows["pos"][rows["filename"] == path]
            found[local[path]] = BitMap64(positions.tolist())
    return found


@dataclass(frozen=True, slots=True)
class Reading:
    """How the rows of some files are read: by Spark from the files, or by DuckDB."""

    native: tuple[LakeFile, ...]
    special: tuple[LakeFile, ...]


def divided(
    state: TableState,
    files: Sequence[LakeFile],
    fields: Sequence[LakeField],
    earlier: Mapping[int, Sequence[tuple[int, str]]],
    mappings: Mapping[int, Mapping[int, str] | None],
) -> Reading:
    """Who reads which file. ``earlier`` has the types that a column had and until when."""
    readable = all(is_native(field) for field in fields)
    native: list[LakeFile] = []
    special: list[LakeFile] = []
    for file in files:
        plain = (
            readable
            and file.plain
            and file.known_at(state.snapshot)
            and (file.mapping is None or _named(file, fields, mappings.get(file.mapping)))
            and not any(_differs(part, file, earlier) for f in fields for part in f.leaves())
        )
        (native if plain else special).append(file)
    return Reading(tuple(native), tuple(special))


def _named(file: LakeFile, fields: Sequence[LakeField], mapping: Mapping[int, str] | None) -> bool:
    """Whether columns can be taken by name: of files that grebe wrote, so the types are right."""
    own = f"/{OWN_FOLDER}" in file.path
    return own and mapping is not None and all(field.id in mapping for field in fields)


def _differs(
    part: LakeField, file: LakeFile, earlier: Mapping[int, Sequence[tuple[int, str]]]
) -> bool:
    """Whether the file is older than a default or than the type of a part of a column."""
    if part.default is not None and part.begin > file.begin:
        return True
    return any(end > file.begin and kind != part.type for end, kind in earlier.get(part.id, ()))


def earlier_types(session: Session, table: Table) -> dict[int, list[tuple[int, str]]]:
    """The types that columns had, with the snapshot that ended each."""
    rows = session.rows(
        f"SELECT column_id, end_snapshot, column_type FROM {session.meta}.ducklake_column"
        f" WHERE table_id = {table.id} AND end_snapshot IS NOT NULL"
    )
    found: dict[int, list[tuple[int, str]]] = {}
    for number, end, kind in rows:
        found.setdefault(number, []).append((end, kind))
    return found


def steady_names(session: Session, table: Table) -> frozenset[int]:
    """The columns that always had their name, which no other ever had: files have no other for them."""
    rows = session.rows(
        f"SELECT DISTINCT column_id, lower(column_name) FROM {session.meta}.ducklake_column"
        f" WHERE table_id = {table.id} AND parent_column IS NULL"
    )
    ids, names = Counter(number for number, _ in rows), Counter(name for _, name in rows)
    return frozenset(number for number, name in rows if ids[number] == names[name] == 1)


def name_mappings(session: Session, table: Table) -> dict[int, dict[int, str] | None]:
    """By mapping, the name in the file of every column id; None when names are not enough."""
    rows = session.rows(
        "SELECT m.mapping_id, m.type, n.target_field_id, n.source_name, n.parent_column,"
        f" n.is_partition FROM {session.meta}.ducklake_column_mapping AS m"
        f" JOIN {session.meta}.ducklake_name_mapping AS n ON n.mapping_id = m.mapping_id"
        f" WHERE m.table_id = {table.id}"
    )
    found: dict[int, dict[int, str] | None] = {}
    for mapping, kind, target, source, parent, is_partition in rows:
        known = found.setdefault(mapping, {})
        if kind != "map_by_name" or is_partition:
            found[mapping] = None
        elif known is not None and parent is None:
            known[target] = source
    return found


def touched(before: TableState, after: TableState) -> tuple[list[LakeFile], list[LakeFile]]:
    """The files of each state whose rows do not all count the same in the other."""
    cut = min(before.snapshot, after.snapshot)
    sides = ({file.signature for file in before.files}, {file.signature for file in after.files})
    same = {
        file.signature
        for file in (*before.files, *after.files)
        if file.signature in sides[0] and file.signature in sides[1] and file.whole_at(cut)
    }
    return (
        [file for file in before.files if file.signature not in same],
        [file for file in after.files if file.signature not in same],
    )
