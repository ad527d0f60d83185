"""Bytes of a table's files: read by the driver itself, or by Spark where only it has access."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from grebe.errors import CorruptFileError, HistoryExpiredError, InternalError

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")
Readable = Any
"""A file as pyarrow reads one, which has no types of its own."""

_GLOB = re.compile(r"([\\{}\[\]*?,])")


class Files(Protocol):
    """Whole files by their locations."""

    on_driver: bool
    """Whether `open` works: the driver reaches the storage itself."""

    def read(self, paths: Sequence[str]) -> list[bytes]:
        """The bytes of each file, in order."""

    def open(self, path: str) -> Readable:
        """Something that pyarrow can read from at any offset."""

    def listed(self, folder: str) -> Mapping[str, object]:
        """The names of the files right in a folder, each with what tells its content apart.

        Nothing for a folder that does not exist.
        """

    def absent(self, paths: Sequence[str]) -> list[str]:
        """Those of the files that do not exist."""


def local_path(path: str) -> str | None:
    """The path on this machine that a location names, or None when it is elsewhere."""
    if path.startswith("file:"):
        return "/" + path[len("file:") :].lstrip("/")
    return None if _SCHEME.match(path) else path


def missing(path: str) -> HistoryExpiredError:
    """The error for a file that metadata names and storage lacks."""
    return HistoryExpiredError(
        f'file "{path}" no longer exists',
        detail="a version that was to be read names it",
        hint="refresh in full, and keep versions longer than the time between two refreshes",
    )


def torn(path: str, problem: object) -> CorruptFileError:
    """The error for a file whose bytes are not what they should be."""
    return CorruptFileError(f'file "{path}" is damaged', detail=str(problem) or repr(problem))


class DriverFiles:
    """Files that this process reads itself: a local disk, or a store that PyIceberg can reach."""

    on_driver = True

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self._properties = dict(properties or {})

    @cached_property
    def _remote(self) -> FileIO:
        from pyiceberg.io import load_file_io

        return load_file_io(self._properties)

    def read(self, paths: Sequence[str]) -> list[bytes]:
        """The bytes of each file, in order."""
        return [self._read(path) for path in paths]

    def _read(self, path: str) -> bytes:
        local = local_path(path)
        try:
            if local is not None:
                return Path(local).read_bytes()
            with self._remote.new_input(path).open(seekable=False) as stream:
                return bytes(stream.read())
        except FileNotFoundError as error:
            raise missing(path) from error

    def open(self, path: str) -> Readable:
        """A memory map, or a remote file that is read by range."""
        import pyarrow as pa

        local = local_path(path)
        try:
            if local is not None:
                return pa.memory_map(local)
            return pa.PythonFile(self._remote.new_input(path).open(), mode="r")
        except FileNotFoundError as error:
            raise missing(path) from error
        except pa.ArrowInvalid as error:
            raise torn(path, error) from error

    def listed(self, folder: str) -> Mapping[str, object]:
        """Names with size and time; only of a folder on this machine."""
        try:
            with os.scandir(self._local(folder)) as entries:
                found = list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        stats = {}
        for entry in found:
            with suppress(FileNotFoundError):  # writers of a log make files and take them away
                if entry.is_file():
                    stats[entry.name] = entry.stat()
        return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}

    def absent(self, paths: Sequence[str]) -> list[str]:
        """Those of the files that do not exist; only on this machine."""
        return [path for path in paths if not Path(self._local(path)).exists()]

    @staticmethod
    def _local(path: str) -> str:
        local = local_path(path)
        if local is None:
            raise InternalError.broken(f"{path} is to be looked for on this machine")
        return local


class SparkFiles:
    """Files that only Spark reaches: each call is one small job."""

    on_driver = False

    def __init__(self, spark: Callable[[], SparkSession]) -> None:
        self._spark = spark

    def read(self, paths: Sequence[str]) -> list[bytes]:
        """The bytes of each file, in order."""
        if not paths:
            return []
        frame = self._spark().read.format("binaryFile").load([escape_glob(path) for path in paths])
        try:
            table = frame.select("path", "content").toArrow()
        except Exception as error:
            raise self._explained(error, paths) from error
        found = {
            normal(unquote(path)): content
            for path, content in zip(
                table["path"].to_pylist(), table["content"].to_pylist(), strict=True
            )
        }
        for path in paths:
            if normal(path) not in found:
                raise missing(path)
        return [found[normal(path)] for path in paths]

    @staticmethod
    def _explained(error: Exception, paths: Sequence[str]) -> Exception:
        text = str(error)
        if "PATH_NOT_FOUND" in text or "FileNotFound" in text or "FILE_NOT_EXIST" in text:
            named = [path for path in paths if normal(path) in text or path in text]
            return missing((named or list(paths))[0])
        return error

    def open(self, path: str) -> Readable:
        """A buffer that holds the whole file."""
        import pyarrow as pa

        return pa.BufferReader(self.read([path])[0])

    def listed(self, folder: str) -> Mapping[str, object]:
        """Names with size and time."""
        return {path.rpartition("/")[2]: found for path, found in self._entries(folder).items()}

    def absent(self, paths: Sequence[str]) -> list[str]:
        """Those of the files that do not exist, found by listing their folders."""
        folders = sorted({path.rpartition("/")[0] for path in paths})
        found = {path for folder in folders for path in self._entries(folder)}
        return [path for path in paths if normal(path) not in found]

    def _entries(self, folder: str) -> dict[str, object]:
        """Size and time of every file right in a folder, by path; contents are not read."""
        frame = self._spark().read.format("binaryFile").load(escape_glob(folder))
        try:
            rows = frame.select("path", "length", "modificationTime").toArrow().to_pylist()
        except Exception as error:
            if "PATH_NOT_FOUND" in str(error):
                return {}
            raise
        return {
            normal(unquote(row["path"])): (row["length"], row["modificationTime"]) for row in rows
        }


def escape_glob(path: str) -> str:
    """The path with every character escaped that Hadoop would take for a pattern."""
    return _GLOB.sub(r"\\\1", path)


def normal(path: str) -> str:
    """The path without scheme and without doubled slashes in front: what both spellings share."""
    return "/" + _SCHEME.sub("", path).lstrip("/")
