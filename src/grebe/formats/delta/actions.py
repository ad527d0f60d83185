"""What the log of a Delta table says, as values: files, schemas, features, and who committed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from grebe.formats.files import torn

Json = Any
"""A part of a JSON document."""

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")
_ACTION = re.compile(rb'\s*\{\s*"(\w+)"')
_RECORDS = re.compile(r'"numRecords"\s*:\s*(\d+)')


def located(root: str, path: str) -> str:
    """The location that a path of the log means: relative to the table, or somebody else's file."""
    plain = unquote(path)
    return plain if _SCHEME.match(plain) or plain.startswith("/") else f"{root}/{plain}"


@dataclass(frozen=True, slots=True)
class Vector:
    """Where the deleted positions of a file are written down."""

    storage: str
    text: str
    offset: int | None
    size: int
    cardinality: int

    @property
    def key(self) -> str:
        """What the log tells two vectors of one file apart by."""
        return f"{self.storage}{self.text}" + ("" if self.offset is None else f"@{self.offset}")

    @staticmethod
    def of(document: Mapping[str, Json] | None) -> Vector | None:
        """The vector of an action, None without one."""
        if not document or document.get("storageType") is None:
            return None
        return Vector(
            document["storageType"],
            document["pathOrInlineDv"],
            document.get("offset"),
            int(document["sizeInBytes"]),
            int(document["cardinality"]),
        )


FileKey = tuple[str, str | None]
"""By what the log knows a file: its path and its vector."""


@dataclass(frozen=True, slots=True)
class AddedFile:
    """One data file, with the positions that are deleted in it."""

    path: str
    size: int
    partition: Mapping[str, str | None]
    """Values of the partition columns as text, by physical name."""
    vector: Vector | None
    data_change: bool
    stats: str | None
    counted: int | None

    @property
    def key(self) -> FileKey:
        """By what the log knows the file."""
        return self.path, None if self.vector is None else self.vector.key

    @property
    def records(self) -> int:
        """Rows in the file, deleted ones included; 0 when the log does not say."""
        return self.counted or 0

    @property
    def rows(self) -> int | None:
        """Rows that are not deleted, None when the log does not say."""
        if self.counted is None:
            return None
        return self.counted - (self.vector.cardinality if self.vector else 0)

    @staticmethod
    def of(root: str, document: Mapping[str, Json]) -> AddedFile:
        """The file that an `add` or `remove` names."""
        stats = document.get("stats")
        found = _RECORDS.search(stats) if stats else None
        return AddedFile(
            path=located(root, document["path"]),
            size=int(document.get("size") or 0),
            partition=dict(document.get("partitionValues") or {}),
            vector=Vector.of(document.get("deletionVector")),
            data_change=bool(document.get("dataChange", True)),
            stats=stats,
            counted=int(found[1]) if found else document.get("numRecords"),
        )


@dataclass(frozen=True, slots=True)
class ChangeFile:
    """A file of the change data feed: rows with what happened to each."""

    path: str
    size: int
    partition: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Metadata:
    """A table's identity, schema and settings."""

    id: str
    schema: str
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]

    @staticmethod
    def of(document: Mapping[str, Json]) -> Metadata:
        """The value of a `metaData` action."""
        return Metadata(
            id=document["id"],
            schema=document["schemaString"],
            partition_columns=tuple(document.get("partitionColumns") or ()),
            configuration=dict(document.get("configuration") or {}),
        )


@dataclass(frozen=True, slots=True)
class Protocol:
    """Which features a reader and a writer must know."""

    reader: frozenset[str]
    writer: frozenset[str]

    @staticmethod
    def of(document: Mapping[str, Json]) -> Protocol:
        """The value of a `protocol` action; old version numbers stand for features."""
        reader = set(document.get("readerFeatures") or ())
        if int(document["minReaderVersion"]) == 2:
            reader.add("columnMapping")
        writer = set(document.get("writerFeatures") or ())
        version = int(document["minWriterVersion"])
        writer |= {name for least, name in _LEGACY if version < 7 and version >= least}
        return Protocol(frozenset(reader), frozenset(writer))


_LEGACY = (
    (2, "appendOnly"),
    (2, "invariants"),
    (3, "checkConstraints"),
    (4, "changeDataFeed"),
    (4, "generatedColumns"),
    (5, "columnMapping"),
    (6, "identityColumns"),
)


class Commit:
    """One commit of the log; its lines are parsed when somebody asks for them."""

    def __init__(self, root: str, version: int, path: str, content: bytes) -> None:
        self.version = version
        self._root = root
        self._path = path
        self._lines: dict[str, list[bytes]] = {}
        for line in content.splitlines():
            if found := _ACTION.match(line):
                self._lines.setdefault(found[1].decode(), []).append(line)
            elif line.strip():
                raise torn(path, f"a line begins with {line[:20]!r}")
        if not self._lines:
            raise torn(path, "a commit without any action")

    def _actions(self, kind: str) -> Iterator[dict[str, Json]]:
        for line in self._lines.get(kind, ()):
            try:
                yield json.loads(line)[kind]
            except (ValueError, KeyError) as error:
                raise torn(self._path, error) from error

    @cached_property
    def adds(self) -> tuple[AddedFile, ...]:
        """Files that are live from this commit on."""
        return tuple(AddedFile.of(self._root, action) for action in self._actions("add"))

    @cached_property
    def removes(self) -> tuple[AddedFile, ...]:
        """Files that are no longer live; often nothing but their key is known."""
        return tuple(AddedFile.of(self._root, action) for action in self._actions("remove"))

    @cached_property
    def feed(self) -> tuple[ChangeFile, ...]:
        """The files that hold this commit's changes, where it wrote any."""
        return tuple(
            ChangeFile(
                located(self._root, action["path"]),
                int(action.get("size") or 0),
                dict(action.get("partitionValues") or {}),
            )
            for action in self._actions("cdc")
        )

    @cached_property
    def metadata(self) -> Metadata | None:
        """The metadata, if this commit changed it."""
        return next((Metadata.of(action) for action in self._actions("metaData")), None)

    @cached_property
    def protocol(self) -> Protocol | None:
        """The features, if this commit changed them."""
        return next((Protocol.of(action) for action in self._actions("protocol")), None)

    @cached_property
    def transactions(self) -> dict[str, int]:
        """The newest transaction of each application that this commit names."""
        return {action["appId"]: int(action["version"]) for action in self._actions("txn")}

    @cached_property
    def info(self) -> Mapping[str, Json]:
        """What the writer says of itself; nothing in it is to be relied on."""
        return next(self._actions("commitInfo"), {})

    @property
    def committed_at(self) -> datetime | None:
        """When the writer says it was, None when it does not."""
        stamp = self.info.get("inCommitTimestamp", self.info.get("timestamp"))
        return None if stamp is None else datetime.fromtimestamp(stamp / 1000, UTC)

    @property
    def changes_rows(self) -> bool:
        """Whether rows may have changed: files came or went other than by maintenance."""
        return any(file.data_change for file in (*self.adds, *self.removes))
