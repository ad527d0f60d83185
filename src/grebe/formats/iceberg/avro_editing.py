"""An Avro container with some of its values changed: schema, header and order of records stay.

The counterpart of `avro`, which reads only what is wanted: here every value is kept, as what is not
understood has to be written again as it was.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

from grebe.formats.iceberg.avro import SYNC_BYTES, Cursor, decompress, header_of

Value = Any
"""Whatever an Avro schema describes; a record is a dict, an array or a map a list."""


class Branch(NamedTuple):
    """A value of a union, with which of its types it has."""

    number: int
    value: Value


class Codec(NamedTuple):
    """How values of one schema are read and written."""

    read: Callable[[Cursor], Value]
    write: Callable[[Value], bytes]


Edit = Callable[[dict[str, Value]], None]


class Container(NamedTuple):
    """A whole file: the pairs in front, schema among them, and every record."""

    header: dict[str, bytes]
    records: list[dict[str, Value]]


def edited(data: bytes, edit: Edit) -> bytes:
    """The container after every record was handed to a function that may change it.

    Raises EOFError or ValueError when the bytes are not one whole container.
    """
    found = decoded(data)
    for record in found.records:
        edit(record)
    return encoded(found)


def decoded(data: bytes) -> Container:
    """A container with every value of its records.

    Raises EOFError or ValueError when the bytes are not one whole container.
    """
    cursor = Cursor(data)
    header = header_of(cursor)
    codec = _codec(json.loads(header["avro.schema"]))
    compression = header.get("avro.codec", b"null").decode()
    sync = cursor.take(SYNC_BYTES)
    records: list[dict[str, Value]] = []
    while cursor.at < cursor.end:
        count = cursor.long()
        block = Cursor(decompress(compression, cursor.blob()))
        if cursor.take(SYNC_BYTES) != sync:
            raise ValueError("a block is not followed by the file's marker")
        records += [codec.read(block) for _ in range(count)]
        if block.at != block.end:
            raise ValueError("a block holds more bytes than its records")
    return Container(header, records)


def encoded(container: Container) -> bytes:
    """The bytes of a container, in one packed block."""
    header = {**container.header, "avro.codec": b"deflate"}
    codec = _codec(json.loads(header["avro.schema"]))
    body = b"".join(codec.write(record) for record in container.records)
    sync = blake2b(body, digest_size=SYNC_BYTES).digest()
    out = [_header(header), sync]
    if container.records:
        out += [_long(len(container.records)), _blob(_deflated(body)), sync]
    return b"".join(out)


def some(value: Value) -> Branch:
    """The value of a field that may be null."""
    return Branch(0, None) if value is None else Branch(1, value)


def plain(value: Value) -> Value:
    """A value without what says which type of a union it has."""
    return value.value if isinstance(value, Branch) else value


def put(record: dict[str, Value], name: str, value: Value) -> None:
    """Set a field, in the type of the union that it has."""
    known = record[name]
    record[name] = Branch(known.number, value) if isinstance(known, Branch) else value


def _header(pairs: dict[str, bytes]) -> bytes:
    body = b"".join(_blob(key.encode()) + _blob(value) for key, value in pairs.items())
    return b"Obj\x01" + _long(len(pairs)) + body + _long(0)


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def _long(value: int) -> bytes:
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _blob(data: bytes) -> bytes:
    return _long(len(data)) + data


def _packed(form: str) -> Codec:
    packer = struct.Struct(form)
    return Codec(lambda cursor: packer.unpack(cursor.take(packer.size))[0], packer.pack)


_PRIMITIVES = {
    "null": Codec(lambda _: None, lambda _: b""),
    "boolean": Codec(lambda cursor: cursor.take(1), lambda value: value),
    "int": Codec(Cursor.long, _long),
    "long": Codec(Cursor.long, _long),
    "float": _packed("<f"),
    "double": _packed("<d"),
    "bytes": Codec(Cursor.blob, _blob),
    "string": Codec(
        lambda cursor: cursor.blob().decode(), lambda value: _blob(value.encode("utf-8"))
    ),
}


def _codec(schema: Value) -> Codec:
    if isinstance(schema, list):
        return _union([_codec(branch) for branch in schema])
    if isinstance(schema, str):
        if schema not in _PRIMITIVES:
            raise ValueError(f'the Avro type "{schema}" is not known')
        return _PRIMITIVES[schema]
    match schema["type"]:
        case "record":
            return _record([(field["name"], _codec(field["type"])) for field in schema["fields"]])
        case "array":
            return _list(_codec(schema["items"]))
        case "map":
            return _list(_pair(_codec(schema["values"])))
        case "fixed":
            size = int(schema["size"])
            return Codec(lambda cursor: cursor.take(size), lambda value: value)
        case other:
            return _codec(other)


def _record(fields: list[tuple[str, Codec]]) -> Codec:
    return Codec(
        lambda cursor: {name: codec.read(cursor) for name, codec in fields},
        lambda value: b"".join(codec.write(value[name]) for name, codec in fields),
    )


def _pair(value: Codec) -> Codec:
    return Codec(
        lambda cursor: (cursor.blob(), value.read(cursor)),
        lambda pair: _blob(pair[0]) + value.write(pair[1]),
    )


def _list(item: Codec) -> Codec:
    def write(values: list[Value]) -> bytes:
        head = _long(len(values)) if values else b""
        return head + b"".join(item.write(value) for value in values) + _long(0)

    return Codec(lambda cursor: cursor.blocks(item.read), write)


def _union(branches: list[Codec]) -> Codec:
    def read(cursor: Cursor) -> Branch:
        number = cursor.long()
        return Branch(number, branches[number].read(cursor))

    return Codec(
        read, lambda branch: _long(branch.number) + branches[branch.number].write(branch.value)
    )
