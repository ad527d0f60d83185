"""The listing of a folder: what a version of a table without a log is, and where it is kept.

A version is a hash over path, size and modification time of every file. The listing itself is
kept as a small file in the project's own folder, so that the next refresh can find out what came.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grebe.errors import HistoryExpiredError, SourceError, UnknownTableError
from grebe.formats.column_ids import id_of
from grebe.formats.parquet.partitions import infer
from grebe.model import Column, Schema, TableName, Version

KEPT = 500
"""Listings of one table that are kept; a view that is further behind is rebuilt."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file: what tells it apart, and what its footer says."""

    path: str
    size: int
    time: int
    rows: int
    columns: tuple[tuple[str, str], ...]

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells a file from another one under the same name."""
        return self.path, self.size, self.time


@dataclass(frozen=True, slots=True)
class Listing:
    """All files of a table at one version, and the schema that they have together."""

    version: Version
    files: tuple[FileEntry, ...]
    partitions: tuple[tuple[str, str], ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(file.rows for file in self.files)

    @property
    def partition_types(self) -> dict[str, str]:
        """The types of the columns that folders fix, by name."""
        return dict(self.partitions)

    def schema(self) -> Schema:
        """The columns of all files by name, those of the folders last.

        Raises:
            SourceError: when two files disagree on a type, or on the case of a name.
        """
        self._one_case()
        types: dict[str, str] = {}
        for file in self.files:
            for name, kind in file.columns:
                if name not in self.partition_types and types.setdefault(name, kind) != kind:
                    raise SourceError(
                        f'files disagree on the type of column "{name}"',
                        detail=f"{types[name]} before, {kind} in {file.path}",
                        hint="write the files with one schema",
                        code="files-disagree",
                    )
        columns = tuple(
            Column(id_of(name), name, kind) for name, kind in (*types.items(), *self.partitions)
        )
        digest = hashlib.blake2b(repr(columns).encode(), digest_size=8).hexdigest()
        return Schema(digest, columns)

    def _one_case(self) -> None:
        """Nothing, or SourceError: Spark finds columns whatever their case, Arrow does not."""
        shapes = {file.columns: file.path for file in reversed(self.files)}
        named = [(name, path) for shape, path in shapes.items() for name, _ in shape]
        seen: dict[str, str] = {}
        for name, place in (*((name, "a folder") for name, _ in self.partitions), *named):
            if seen.setdefault(name.lower(), name) != name:
                raise SourceError(
                    f'files disagree on the name of column "{name}": they differ in case',
                    detail=f"{seen[name.lower()]} elsewhere, {name} in {place}",
                    hint="write the files with one schema",
                    code="files-disagree",
                )

    def to_json(self) -> str:
        """The listing as text; equal schemas are written once."""
        shapes = list(dict.fromkeys(file.columns for file in self.files))
        numbers = {shape: number for number, shape in enumerate(shapes)}
        files = [[f.path, f.size, f.time, f.rows, numbers[f.columns]] for f in self.files]
        return json.dumps({"files": files, "shapes": shapes, "partitions": self.partitions})

    @staticmethod
    def from_json(version: Version, text: str) -> Listing:
        """The listing that `to_json` wrote."""
        document = json.loads(text)
        shapes = [tuple((name, kind) for name, kind in shape) for shape in document["shapes"]]
        files = tuple(
            FileEntry(path, size, time, rows, shapes[number])
            for path, size, time, rows, number in document["files"]
        )
        return Listing(version, files, tuple((n, k) for n, k in document["partitions"]))


Found = Mapping[str, tuple[int, int]]
"""Size and modification time of files by their path below the folder."""


def version_of(found: Found) -> Version:
    """The version that a folder with these files is."""
    lines = [f"{path}\0{size}\0{time}\n" for path, (size, time) in sorted(found.items())]
    return Version(hashlib.blake2b("".join(lines).encode(), digest_size=12).hexdigest())


def walk(root: str) -> dict[str, tuple[int, int]]:
    """The files below a folder that Spark would read: nothing hidden, nothing temporary."""
    if not Path(root).is_dir():
        raise UnknownTableError(f'folder "{root}" does not exist')
    found: dict[str, tuple[int, int]] = {}
    for entry in _walk(root):
        stat = entry.stat()
        found[entry.path[len(root) + 1 :]] = (stat.st_size, stat.st_mtime_ns)
    return found


def _walk(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        hidden = entry.name.startswith(".") or (
            entry.name.startswith("_") and not (entry.is_dir() and "=" in entry.name)
        )
        if hidden:
            continue
        if entry.is_dir():
            yield from _walk(entry.path)
        else:
            yield entry


def made(version: Version, files: tuple[FileEntry, ...]) -> Listing:
    """A new listing, with the types of its partition columns."""
    return Listing(version, files, tuple(infer(file.path for file in files).items()))


@dataclass(frozen=True, slots=True)
class Shelf:
    """The kept listings of one table."""

    folder: Path

    @staticmethod
    def of(home: str, name: TableName) -> Shelf:
        """The shelf of a table in the project's own folder."""
        parts = [re.sub(r"[^\w.-]", "_", part) for part in (name.catalog, name.schema, name.name)]
        digest = hashlib.blake2b(str(name).encode(), digest_size=4).hexdigest()
        return Shelf(Path(home) / "listings" / f"{'.'.join(parts)}-{digest}")

    def load(self, version: Version) -> Listing | None:
        """A kept listing, or None."""
        try:
            return Listing.from_json(version, self._file(version).read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise HistoryExpiredError(
                f'listing "{self._file(version)}" is damaged', detail=str(error)
            ) from error

    def newest(self) -> Listing | None:
        """The listing that was kept last."""
        files = self._files()
        return self.load(Version(files[-1].stem)) if files else None

    def keep(self, listing: Listing) -> None:
        """Keep a listing; the oldest ones go when there are too many."""
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f".{uuid.uuid4().hex}"
        draft.write_text(listing.to_json(), "utf-8")
        draft.replace(self._file(listing.version))
        for old in self._files()[:-KEPT]:
            old.unlink(missing_ok=True)

    def _file(self, version: Version) -> Path:
        return self.folder / f"{version}.json"

    def _files(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        files = [path for path in self.folder.glob("*.json") if not path.name.startswith(".")]
        return sorted(files, key=lambda path: path.stat().st_mtime_ns)
