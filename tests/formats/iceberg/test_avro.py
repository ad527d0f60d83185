"""A manifest that is torn or damaged is refused in words that are caught, and never gives fewer entries."""

from __future__ import annotations

import json
import random
import struct
import zlib

import pytest

from grebe.formats.iceberg.avro import records

CAUGHT = (ValueError, KeyError, EOFError, IndexError, TypeError)
"""What the reader of manifests takes for a damaged file."""
SYNC = bytes(range(16))
SCHEMA = {
    "type": "record",
    "name": "entry",
    "fields": [
        {"name": "status", "type": "int"},
        {"name": "path", "type": "string"},
        {"name": "size", "type": ["null", "long"]},
        {"name": "ratio", "type": "double"},
        {"name": "ignored", "type": {"type": "array", "items": "bytes"}},
    ],
}
WANTED = frozenset({"status", "path", "size", "ratio"})


def number(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def text(value: bytes) -> bytes:
    return number(len(value)) + value


def row(place: int) -> bytes:
    size = number(0) if place % 3 == 0 else number(1) + number(place * 1000)
    ignored = number(1) + text(b"xy") + number(0)
    return number(1) + text(f"s3://b/{place}".encode()) + size + struct.pack("<d", 0.5) + ignored


def container(codec: str) -> bytes:
    meta = {"avro.schema": json.dumps(SCHEMA).encode(), "avro.codec": codec.encode()}
    pairs = b"".join(text(key.encode()) + text(value) for key, value in meta.items())
    data = b"Obj\x01" + number(len(meta)) + pairs + number(0) + SYNC
    for block in range(3):
        rows = b"".join(row(place) for place in range(block * 20, block * 20 + 20))
        if codec == "deflate":
            packer = zlib.compressobj(wbits=-15)
            rows = packer.compress(rows) + packer.flush()
        data += number(20) + text(rows) + SYNC
    return data


CODECS = ("null", "deflate")


@pytest.mark.parametrize("codec", CODECS)
def test_wanted_fields_come_back(codec: str) -> None:
    found = list(records(container(codec), WANTED))
    assert len(found) == 60
    assert found[4] == {"status": 1, "path": "s3://b/4", "size": 4000, "ratio": 0.5}
    assert found[3]["size"] is None


@pytest.mark.parametrize("codec", CODECS)
def test_a_torn_file_is_refused_wherever_it_ends(codec: str) -> None:
    data = container(codec)
    whole = {len(data[: at + 16]) for at in range(len(data)) if data[at : at + 16] == SYNC}
    for end in (
        set(range(len(data))) - whole
    ):  # the list of manifests tells how many entries there are
        with pytest.raises(CAUGHT):
            list(records(data[:end], WANTED))


@pytest.mark.parametrize("codec", CODECS)
def test_no_changed_bit_takes_entries_away_or_is_an_error_that_nobody_knows(codec: str) -> None:
    data, chance = container(codec), random.Random(7)
    for _ in range(3000):
        flipped = bytearray(data)
        flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            found = list(records(bytes(flipped), WANTED))
        except CAUGHT:
            continue
        assert len(found) == 60
