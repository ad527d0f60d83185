"""Records of an Avro container file, of which only the wanted fields are decoded.

Manifests are small and read often, so this is a decoder for just them. It refuses a file that ends
early: a torn manifest must never look like one with fewer entries. fastavro was measured and left
(docs/dependencies.md): it takes a block with too few records for a whole one.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

Value = Any
"""Whatever an Avro schema describes."""

Read = Callable[["Cursor"], Value]

_MAGIC = b"Obj\x01"
SYNC_BYTES = 16


class Cursor:
    """A place in the bytes of a file; whatever lies beyond their end is refused."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.end = len(data)
        self.at = 0

    def take(self, size: int) -> bytes:
        """So many bytes."""
        start, self.at = self.at, self.at + size
        if size < 0 or self.at > self.end:
            raise EOFError("the file ends inside a value")
        return self.data[start : self.at]

    def long(self) -> int:
        """A whole number."""
        data, at = self.data, self.at
        shift = value = 0
        while True:
            if at >= self.end:
                raise EOFError("the file ends inside a number")
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        self.at = at
        return (value >> 1) ^ -(value & 1)

    def blob(self) -> bytes:
        """As many bytes as the number before them says."""
        return self.take(self.long())

    def blocks(self, read: Read) -> list[Any]:
        """The items of an array or a map, each read by a function."""
        items: list[Any] = []
        while count := self.long():
            if count < 0:
                self.long()
                count = -count
            items.extend(read(self) for _ in range(count))
        return items


def records(data: bytes, wanted: frozenset[str]) -> Iterator[dict[str, Any]]:
    """The records as dicts with just the wanted field names (of every level).

    Raises EOFError or ValueError when the bytes are not one whole container.
    """
    cursor = Cursor(data)
    header = header_of(cursor)
    read = _reader(json.loads(header["avro.schema"]), wanted)
    codec = header.get("avro.codec", b"null").decode()
    sync = cursor.take(SYNC_BYTES)
    while cursor.at < cursor.end:
        count = cursor.long()
        block = Cursor(decompress(codec, cursor.blob()))
        if cursor.take(SYNC_BYTES) != sync:
            raise ValueError("a block is not followed by the file's marker")
        for _ in range(count):
            yield read(block)
        if block.at != block.end:
            raise ValueError("a block holds more bytes than its records")


def header(data: bytes) -> dict[str, bytes]:
    """The key-value pairs in front of the records."""
    return header_of(Cursor(data))


def header_of(cursor: Cursor) -> dict[str, bytes]:
    """The key-value pairs in front of the records, read from where a file begins."""
    if cursor.take(4) != _MAGIC:
        raise ValueError("not an Avro container")
    return {key.decode(): value for key, value in cursor.blocks(_read_pair)}


def _read_pair(cursor: Cursor) -> tuple[bytes, bytes]:
    return cursor.blob(), cursor.blob()


def decompress(codec: str, block: bytes) -> bytes:
    """The bytes of a block as they were before they were packed."""
    if codec == "null":
        return block
    if codec == "deflate":
        try:
            return zlib.decompress(block, wbits=-15)
        except zlib.error as error:  # which is no ValueError
            raise ValueError(f"a block cannot be unpacked: {error}") from error
    if codec == "zstandard":
        import zstandard

        try:
            return zstandard.ZstdDecompressor().decompressobj().decompress(block)
        except zstandard.ZstdError as error:
            raise ValueError(f"a block cannot be unpacked: {error}") from error
    if codec == "snappy":
        import pyarrow as pa

        size = Cursor(block)
        length = _unsigned(size)
        return bytes(pa.decompress(block[:-4], decompressed_size=length, codec="snappy"))
    raise ValueError(f'the codec "{codec}" is not known')


def _unsigned(cursor: Cursor) -> int:
    zigzag = cursor.long()
    return (zigzag << 1) ^ (zigzag >> 63)


_FIXED: dict[str, tuple[struct.Struct, int]] = {
    "float": (struct.Struct("<f"), 4),
    "double": (struct.Struct("<d"), 8),
}


def _reader(schema: Value, wanted: frozenset[str]) -> Read:
    """A function that decodes one value of an Avro schema."""
    if isinstance(schema, list):
        return _union([_reader(branch, wanted) for branch in schema])
    if isinstance(schema, dict):
        return _complex(schema, wanted)
    return _primitive(schema)


def _primitive(name: str) -> Read:
    if name in ("int", "long"):
        return Cursor.long
    if name == "bytes":
        return Cursor.blob
    if name == "string":
        return lambda cursor: cursor.blob().decode()
    if name == "boolean":
        return lambda cursor: cursor.take(1) == b"\x01"
    if name == "null":
        return lambda cursor: None
    if name in _FIXED:
        packed, size = _FIXED[name]
        return lambda cursor: packed.unpack(cursor.take(size))[0]
    raise ValueError(f'the Avro type "{name}" is not known')


def _complex(schema: dict[str, Any], wanted: frozenset[str]) -> Read:
    kind = schema["type"]
    if kind == "record":
        return _record(schema["fields"], wanted)
    if kind == "array":
        return _array(schema, _reader(schema["items"], wanted))
    if kind == "map":
        value = _reader(schema["values"], wanted)
        return lambda cursor: dict(
            cursor.blocks(lambda inner: (inner.blob().decode(), value(inner)))
        )
    if kind == "fixed":
        size = int(schema["size"])
        return lambda cursor: cursor.take(size)
    return _reader(kind, wanted)


def _array(schema: dict[str, Any], item: Read) -> Read:
    """Lists; arrays that stand for maps with non-text keys come back as dicts."""
    if schema.get("logicalType") == "map":
        return lambda cursor: {pair["key"]: pair["value"] for pair in cursor.blocks(item)}
    return lambda cursor: cursor.blocks(item)


_ALWAYS = frozenset({"key", "value"})


def _record(fields: list[dict[str, Any]], wanted: frozenset[str]) -> Read:
    """Dicts of the wanted fields; a partition keeps all of its fields, named by their ids."""
    parts: list[tuple[str | int | None, Read]] = []
    for field in fields:
        name = field["name"]
        if name == "partition" and name in wanted:
            parts.append((name, _partition(field["type"]["fields"])))
        else:
            keep = name if name in wanted or name in _ALWAYS else None
            parts.append((keep, _reader(field["type"], wanted)))

    def read(cursor: Cursor) -> dict[str | int, Any]:
        record: dict[str | int, Any] = {}
        for keep, decode in parts:
            value = decode(cursor)
            if keep is not None:
                record[keep] = value
        return record

    return read


def _partition(fields: list[dict[str, Any]]) -> Read:
    parts = [(int(field["field-id"]), _reader(field["type"], frozenset())) for field in fields]
    return lambda cursor: {number: decode(cursor) for number, decode in parts}


def _union(branches: list[Read]) -> Read:
    def read(cursor: Cursor) -> Value:
        return branches[cursor.long()](cursor)

    return read
