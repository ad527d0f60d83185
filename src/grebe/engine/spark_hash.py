"""Spark's XXHASH64 over Arrow columns, bit for bit: stored checksums are the same whoever computes them.

Spark hashes column after column, each with the hash of those before as its seed; a NULL leaves it as it is.
Whole numbers of up to 32 bits, days and truths are hashed as four bytes, moments and decimals of up to 18 digits
as eight, longer decimals as the fewest bytes that hold them, the highest first, and texts as their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from grebe.compiler.bind.small_kinds import SmallKind

if TYPE_CHECKING:
    import pyarrow as pa

Words = np.ndarray[Any, np.dtype[np.uint64]]

SEED: Final = 42
_LONG_DECIMAL: Final = 18
_P1: Final = np.uint64(0x9E3779B185EBCA87)
_P2: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_P3: Final = np.uint64(0x165667B19E3779F9)
_P4: Final = np.uint64(0x85EBCA77C2B2AE63)
_P5: Final = np.uint64(0x27D4EB2F165667C5)
_STRIPE: Final = 32


def spark_hashes(columns: Sequence[pa.Array], kinds: Sequence[SmallKind]) -> pa.Array:
    """The hash of each row of some columns, as a BIGINT."""
    import pyarrow as pa

    count = len(columns[0]) if columns else 0
    seeds = np.full(count, SEED, np.uint64)
    with np.errstate(over="ignore"):
        for column, kind in zip(columns, kinds, strict=True):
            valid = np.asarray(column.is_valid())
            found = _column(column, kind, seeds)
            seeds = np.where(valid, found, seeds)
    return pa.array(seeds.view(np.int64))


def _column(column: pa.Array, kind: SmallKind, seeds: Words) -> Words:
    import pyarrow as pa

    if kind.name == "string":
        return _texts(column.fill_null(""), seeds)
    if kind.is_decimal:
        parts = _decimal_words(column, kind)
        if kind.precision <= _LONG_DECIMAL:
            return _eight(parts[:, 0], seeds)
        return _long_decimals(parts, seeds)
    if kind.name in ("bigint", "timestamp", "timestamp_ntz"):
        return _eight(_values(column, pa.int64()).view(np.uint64), seeds)
    if kind.name in ("float", "double"):
        return _real(column, seeds)
    if kind.name == "date":
        column = column.cast(pa.int32())
    return _four(_values(column, pa.int32()).view(np.uint32).astype(np.uint64), seeds)


def _real(column: pa.Array, seeds: Words) -> Words:
    """As bits, of which zero and NaN have one form each."""
    import pyarrow as pa

    kind = column.type
    values = _values(column, kind).copy()
    values[values == 0] = 0.0
    values[np.isnan(values)] = np.nan
    if pa.types.is_float32(kind):
        return _four(values.view(np.uint32).astype(np.uint64), seeds)
    return _eight(values.view(np.uint64), seeds)


def _values(column: pa.Array, kind: pa.DataType) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(column.cast(kind).fill_null(0).to_numpy(zero_copy_only=False))


def _decimal_words(column: pa.Array, kind: SmallKind) -> Words:
    """The two halves of each value without its point, the low one first."""
    import pyarrow as pa

    wide = column.cast(pa.decimal128(38, kind.scale)).fill_null(0)
    whole = pa.concat_arrays([wide])
    buffer = whole.buffers()[1]
    start = whole.offset * 2
    words = np.frombuffer(buffer, np.uint64, count=start + len(whole) * 2)[start:]
    return words.reshape(len(whole), 2)


def _long_decimals(parts: Words, seeds: Words) -> Words:
    """As BigInteger.toByteArray has them: two's complement, no byte more than it takes."""
    data = np.ascontiguousarray(parts).view(np.uint8).reshape(len(parts), 16)[:, ::-1]
    sign = (data[:, 0] >= 0x80).astype(np.uint8)
    filler = np.where(sign == 1, 0xFF, 0).astype(np.uint8)
    lengths = np.full(len(parts), 16)
    going = np.ones(len(parts), bool)
    for place in range(15):
        top = (data[:, place + 1] >= 0x80).astype(np.uint8)
        going &= (data[:, place] == filler) & (top == sign)
        lengths -= going
    found = np.empty(len(parts), np.uint64)
    for length in np.unique(lengths):
        rows = lengths == length
        found[rows] = _bytes(data[rows][:, 16 - length :], seeds[rows])
    return found


def _texts(column: pa.Array, seeds: Words) -> Words:
    import pyarrow as pa

    whole = pa.concat_arrays([column.cast(pa.large_binary())])
    _, offsets, data = whole.buffers()
    ends = np.frombuffer(offsets, np.int64, count=whole.offset + len(whole) + 1)[whole.offset :]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    lengths = np.diff(ends)
    found = np.empty(len(whole), np.uint64)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        places = ends[:-1][rows][:, None] + np.arange(length)
        found[rows] = _bytes(content[places], seeds[rows])
    return found


def _bytes(data: np.ndarray[Any, Any], seeds: Words) -> Words:
    """The hash of rows of equally many bytes."""
    length = data.shape[1]
    data = np.ascontiguousarray(data)
    at = 0
    if length >= _STRIPE:
        lanes = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
        while at + _STRIPE <= length:
            for number in range(4):
                word = _word(data, at, 8)
                lanes[number] = _turn(lanes[number] + word * _P2, 31) * _P1
                at += 8
        found = _turn(lanes[0], 1) + _turn(lanes[1], 7) + _turn(lanes[2], 12) + _turn(lanes[3], 18)
        for lane in lanes:
            found ^= _turn(lane * _P2, 31) * _P1
            found = found * _P1 + _P4
    else:
        found = seeds + _P5
    found = found + np.uint64(length)
    while at + 8 <= length:
        found ^= _turn(_word(data, at, 8) * _P2, 31) * _P1
        found = _turn(found, 27) * _P1 + _P4
        at += 8
    if at + 4 <= length:
        found ^= _word(data, at, 4) * _P1
        found = _turn(found, 23) * _P2 + _P3
        at += 4
    while at < length:
        found ^= data[:, at].astype(np.uint64) * _P5
        found = _turn(found, 11) * _P1
        at += 1
    return _mixed(found)


def _word(data: np.ndarray[Any, Any], at: int, size: int) -> Words:
    form = np.uint64 if size == 8 else np.uint32
    part = np.ascontiguousarray(data[:, at : at + size])
    return part.view(form).reshape(-1).astype(np.uint64)


def _eight(words: Words, seeds: Words) -> Words:
    found = seeds + _P5 + np.uint64(8)
    found ^= _turn(words * _P2, 31) * _P1
    return _mixed(_turn(found, 27) * _P1 + _P4)


def _four(words: Words, seeds: Words) -> Words:
    found = seeds + _P5 + np.uint64(4)
    found ^= words * _P1
    return _mixed(_turn(found, 23) * _P2 + _P3)


def _turn(words: Words, bits: int) -> Words:
    turned: Words = (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
    return turned


def _mixed(found: Words) -> Words:
    found ^= found >> np.uint64(33)
    found *= _P2
    found ^= found >> np.uint64(29)
    found *= _P3
    found ^= found >> np.uint64(32)
    return found
