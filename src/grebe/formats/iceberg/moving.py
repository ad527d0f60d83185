"""Iceberg tables in a folder that was copied or moved: metadata that names the files where they are.

Iceberg writes absolute paths into all of its metadata. Whatever names a file of the old folder is
written anew, beside what there is; then the catalog's pointers move in one transaction. Killed before
that, nothing has happened. Files of the old folder are neither read nor written.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grebe.errors import GrebeError, SourceError
from grebe.formats.base import holds_view
from grebe.formats.failpoints import reach
from grebe.formats.files import local_path, torn
from grebe.formats.iceberg.avro_editing import Value, edited, plain, put
from grebe.formats.iceberg.catalog_properties import SQLITE
from grebe.formats.moved_folders import Move, MovedTables, first_former, write_file
from grebe.model import CatalogAddress
from grebe.stored_properties import is_own

_FILE_PATH = 2147483546
"""The id of the column of a position delete file that names data files."""
_POSITION_DELETES = 1
_DELETED = 2
_MARK = re.compile(r"\.moved-[0-9a-f]{8}(?=\.)")
_NUMBERED = re.compile(r"v(\d+)((?:\.gz)?\.metadata\.json(?:\.gz)?)")
_PATHS = ("location", "metadata-file", "statistics-path")


def catalog_file(place: CatalogAddress) -> Path | None:
    """The SQLite file that a catalog is, if it is one."""
    uri = place.uri or ""
    if place.type != "jdbc" or not uri.startswith(SQLITE):
        return None
    return Path(uri.removeprefix(SQLITE).partition("?")[0])


def is_embedded(place: CatalogAddress, folder: str) -> bool:
    """Whether the list of tables lies in the folder."""
    file = catalog_file(place)
    if file is not None:
        return file.is_relative_to(folder)
    root = local_path(place.root or "") if place.type == "hadoop" else None
    return bool(root) and Path(str(root)).is_relative_to(folder)


def stray(place: CatalogAddress, folder: str) -> str | None:
    """The folder that the catalog's pointers name in place of this one; None: they name this."""
    file = catalog_file(place)
    if file is None:
        table = next(_hadoop_tables(place), None) if place.type == "hadoop" else None
        return first_former([_document(table)[1]["location"]], folder) if table else None
    if not file.is_file():
        return None
    try:
        with closing(sqlite3.connect(_read_only(file), uri=True, timeout=10)) as connection:
            rows = connection.execute(
                "SELECT metadata_location FROM iceberg_tables"
                " WHERE substr(metadata_location, 1, ?) <> ?",
                (len(folder) + 1, f"{folder}/"),
            ).fetchall()
    except sqlite3.Error:
        return None  # whoever opens the catalog tells what is wrong with it
    return first_former((str(row[0]) for row in rows), folder)


def _read_only(file: Path) -> str:
    """A database that is only looked at, which makes no file beside it."""
    log = Path(f"{file}-wal")
    is_quiet = not log.is_file() or log.stat().st_size == 0
    return f"{file.as_uri()}?{'immutable=1' if is_quiet else 'mode=ro'}"


def outside(place: CatalogAddress, move: Move) -> list[str]:
    """Storage tables that the catalog in the folder lists, and that lie elsewhere."""
    file = catalog_file(place)
    if file is None or not file.is_file():
        return []
    with _opened(file) as connection:
        return [
            f"{row.schema}.{row.name}"
            for row in _rows(connection)
            if holds_view(row.name)
            and not move.touches(row.location)
            and not (local_path(row.location) or "").startswith(f"{move.new}/")
        ]


def adopt(place: CatalogAddress, move: Move) -> MovedTables:
    """Every table and view of the catalog, with metadata that names its files where they are."""
    file = catalog_file(place)
    if file is None:
        return _adopt_folders(place, move)
    done = MovedTables()
    if not file.is_file():
        return done
    replaced: list[str] = []
    with _opened(file) as connection:
        rows = [row for row in _rows(connection) if move.touches(row.location)]
        moved: list[tuple[str, _Row]] = []
        for row in rows:
            name = f"{place.catalog}.{row.schema}.{row.name}"
            table = _Rewriting(move, move.of(row.location))
            try:
                target = table.written(_next_name(move, row.location))
            except GrebeError as error:
                # It names its own file, which is lost or damaged: never that of the old folder.
                done.problems.append(f"{name}: {error}")
                target = move.of(row.location)
            moved.append((target, row))
            done.tables.append(name)
            done.files += table.count
            replaced += table.replaced
        reach("adopt.written")
        _point(connection, moved, move)
        reach("adopt.pointed")
    for path in replaced:
        Path(path).unlink(missing_ok=True)
    return done


@dataclass(frozen=True, slots=True)
class _Row:
    catalog: str
    schema: str
    name: str
    location: str


def _opened(file: Path) -> closing[sqlite3.Connection]:
    connection = sqlite3.connect(file, timeout=10, isolation_level=None)
    return closing(connection)


def _rows(connection: sqlite3.Connection) -> list[_Row]:
    try:
        return [
            _Row(*map(str, row))
            for row in connection.execute(
                "SELECT catalog_name, table_namespace, table_name, metadata_location"
                " FROM iceberg_tables"
            )
        ]
    except sqlite3.Error as error:
        if "no such table" in str(error):
            return []  # made, and never used
        raise SourceError("the catalog cannot be read", detail=str(error)) from error


def _point(connection: sqlite3.Connection, moved: list[tuple[str, _Row]], move: Move) -> None:
    """Move all pointers in one step, each if it is still what was read."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        for target, row in moved:
            done = connection.execute(
                "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?"
                " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
                " AND metadata_location = ?",
                (
                    target,
                    move.of(row.location),
                    row.catalog,
                    row.schema,
                    row.name,
                    row.location,
                ),
            )
            if done.rowcount != 1:
                raise SourceError(
                    f'table "{row.schema}.{row.name}" was changed meanwhile',
                    hint="stop whoever writes to this folder, and adopt it again",
                )
        with suppress(sqlite3.OperationalError):  # a catalog without namespaces has no such table
            found = connection.execute(
                "SELECT rowid, property_value FROM iceberg_namespace_properties"
            ).fetchall()
            for number, value in found:
                connection.execute(
                    "UPDATE iceberg_namespace_properties SET property_value = ? WHERE rowid = ?",
                    (None if value is None else move.of(str(value)), number),
                )
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


# --- tables without a list of them --------------------------------------------------------------


def _hadoop_tables(place: CatalogAddress) -> Iterator[str]:
    """The newest metadata file of every table below the root."""
    root = local_path(place.root or "")
    for folder in Path(root).glob("**/metadata") if root else ():
        found = {
            int(match[1]): entry
            for entry in folder.iterdir()
            if (match := _NUMBERED.fullmatch(entry.name))
        }
        if found:
            yield str(found[max(found)])


def _adopt_folders(place: CatalogAddress, move: Move) -> MovedTables:
    """The next numbered metadata file of every table: that it is there is what publishes it."""
    done = MovedTables()
    for location in list(_hadoop_tables(place)):
        table = _Rewriting(move, location)
        name = str(Path(location).parent.parent.name)
        try:
            if not move.touches(str(_document(location)[1]["location"])):
                continue
            match = _NUMBERED.fullmatch(Path(location).name)
            assert match is not None
            number = int(match[1]) + 1
            table.written(f"v{number}{match[2]}")
            write_file(str(Path(location).with_name("version-hint.text")), str(number).encode())
        except GrebeError as error:
            done.problems.append(f"{name}: {error}")
            continue
        done.tables.append(name)
        done.files += table.count
        for path in table.replaced:
            Path(path).unlink(missing_ok=True)
    return done


# --- one table ----------------------------------------------------------------------------------


def _document(location: str) -> tuple[bool, dict[str, Any]]:
    """Whether a metadata file is packed, and what it says."""
    content = _bytes(location)
    packed = content[:2] == b"\x1f\x8b"
    try:
        found: dict[str, Any] = json.loads(gzip.decompress(content) if packed else content)
        str(found["location"])  # without one it is no metadata
    except (ValueError, OSError, EOFError, KeyError, TypeError) as error:
        raise torn(location, error) from error
    return packed, found


def _bytes(location: str) -> bytes:
    from grebe.formats.files import DriverFiles

    return DriverFiles().read([location])[0]


def _next_name(move: Move, location: str) -> str:
    """The name of the metadata file after one; the same whenever it is asked for."""
    name = location.rpartition("/")[2]
    number, _, rest = name.partition("-")
    own = uuid.uuid5(uuid.NAMESPACE_URL, f"{move.new}\n{location}")
    if not number.isdecimal() or "." not in rest:
        return f"{own}.metadata.json"
    return f"{int(number) + 1:05d}-{own}.{rest.partition('.')[2]}"


@dataclass(slots=True)
class _Rewriting:
    """One table or view whose metadata is written anew."""

    move: Move
    location: str
    """Its metadata file, where it lies now."""
    count: int = 0
    replaced: list[str] = field(default_factory=list)
    """Own files that nothing will name any more."""
    _done: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Where a manifest or a delete file lies now, and its size."""

    def written(self, name: str) -> str:
        """The location of the new metadata file, which names only what is here."""
        packed, document = _document(self.location)
        new = _mapped(document, self.move)
        for version in new.get("versions", ()) if "view-uuid" in new else ():
            for item in version.get("representations", ()):
                if "sql" in item:
                    item["sql"] = self.move.in_text(item["sql"])
        for snapshot in new.get("snapshots", ()):
            if "manifest-list" in snapshot:
                snapshot["manifest-list"] = self._list(snapshot["manifest-list"])
            if "manifests" in snapshot:
                snapshot["manifests"] = [self._manifest(item)[0] for item in snapshot["manifests"]]
        if "view-uuid" not in new:
            entry = {
                "timestamp-ms": document.get("last-updated-ms", 0),
                "metadata-file": self.location,
            }
            new["metadata-log"] = [*new.get("metadata-log", ()), entry]
        content = json.dumps(new).encode()
        target = f"{self.location.rpartition('/')[0]}/{name}"
        self._write(target, gzip.compress(content) if packed else content)
        return target

    def _write(self, location: str, content: bytes) -> None:
        write_file(local_path(location) or location, content)
        self.count += 1

    def _renamed(self, location: str) -> str:
        """The name of a file that is written anew: another one each time its table is adopted."""
        mark = hashlib.blake2b(f"{self.move}{self.location}".encode(), digest_size=4).hexdigest()
        folder, _, name = _MARK.sub("", location).rpartition("/")
        stem, _, suffix = name.rpartition(".")
        return f"{folder}/{stem}.moved-{mark}.{suffix}"

    def _edited(self, location: str, edit: Any) -> tuple[str, int]:  # noqa: ANN401  see `edited`
        """A file of records, written anew; one that is lost stays lost, and is named where it was."""
        here = self.move.of(location)
        if here in self._done:
            return self._done[here]
        own = local_path(here)
        if own is None or not Path(own).is_file():
            self._done[here] = here, -1
            return self._done[here]
        try:
            content = edited(Path(own).read_bytes(), edit)
        except (ValueError, EOFError, KeyError, IndexError) as error:
            raise torn(here, error) from error
        return self._kept(here, content)

    def _kept(self, here: str, content: bytes) -> tuple[str, int]:
        target = self._renamed(here)
        self._write(target, content)
        self.replaced.append(local_path(here) or here)
        self._done[here] = target, len(content)
        return self._done[here]

    def _list(self, location: str) -> str:
        def edit(record: dict[str, Value]) -> None:
            target, size = self._manifest(plain(record["manifest_path"]))
            put(record, "manifest_path", target)
            if size >= 0:
                put(record, "manifest_length", size)

        return self._edited(location, edit)[0]

    def _manifest(self, location: str) -> tuple[str, int]:
        return self._edited(location, self._entry)

    def _entry(self, record: dict[str, Value]) -> None:
        file = plain(record["data_file"])
        path = str(plain(file["file_path"]))
        put(file, "file_path", self.move.of(path))
        if plain(file.get("referenced_data_file")) is not None:
            put(file, "referenced_data_file", self.move.of(plain(file["referenced_data_file"])))
        form = str(plain(file["file_format"])).upper()
        if plain(file.get("content")) != _POSITION_DELETES or form == "PUFFIN":
            return
        if plain(record["status"]) != _DELETED:
            target, size = self._deletes(self.move.of(path), form)
            put(file, "file_path", target)
            if size >= 0:
                put(file, "file_size_in_bytes", size)
        _bound(file, self.move)

    def _deletes(self, here: str, form: str) -> tuple[str, int]:
        """A position delete file whose rows name the data files of now."""
        if here in self._done:
            return self._done[here]
        own = local_path(here)
        if own is None or not Path(own).is_file():
            return here, -1
        if form != "PARQUET":
            raise SourceError(
                f'delete file "{here}" is {form.lower()}, which cannot be written anew',
                hint="rewrite the table's position deletes where it was, and copy it again",
            )
        return self._kept(here, _deletes_of(here, Path(own).read_bytes(), self.move))


def _deletes_of(location: str, content: bytes, move: Move) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(io.BytesIO(content))
        at = rows.schema.get_field_index("file_path")
        paths = pa.array([move.of(path) for path in rows["file_path"].to_pylist()])
        paths = paths.cast(rows.schema.field(at).type)
        moved = rows.set_column(at, rows.schema.field(at), paths)
        moved = moved.sort_by([("file_path", "ascending"), ("pos", "ascending")])
        out = io.BytesIO()
        pq.write_table(moved, out, compression="zstd")
    except (pa.ArrowException, KeyError, OSError) as error:
        raise torn(location, error) from error
    return out.getvalue()


def _bound(file: dict[str, Value], move: Move) -> None:
    """Bounds of the file names: those of one file are moved, others say nothing any more.

    What lies between two bounds in the old folder need not lie between them in the new one.
    """
    ends = [plain(file.get(name)) or [] for name in ("lower_bounds", "upper_bounds")]
    pairs = [[pair for pair in end if pair["key"] == _FILE_PATH] for end in ends]
    if not all(pairs):
        return
    (lower,), (upper,) = pairs
    if lower["value"] == upper["value"]:
        moved = move.of(lower["value"].decode()).encode()
        lower["value"] = upper["value"] = moved
        return
    for end in ends:
        end[:] = [pair for pair in end if pair["key"] != _FILE_PATH]


def _mapped(value: Any, move: Move, key: str = "") -> Any:  # noqa: ANN401  whatever JSON holds
    """The document with the locations that Iceberg itself writes into it moved."""
    if isinstance(value, dict):
        if key == "properties":
            return {k: v if is_own(k) else _moved(v, move) for k, v in value.items()}
        return {name: _mapped(item, move, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, move, key) for item in value]
    return _moved(value, move) if key in _PATHS else value


def _moved(value: object, move: Move) -> object:
    return move.of(value) if isinstance(value, str) else value
