"""Deleted positions of data files: position delete files (v2) and deletion vectors (v3)."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from grebe.formats.files import Files, torn
from grebe.formats.iceberg.manifests import DataFile, DeleteFile, LiveFiles

_VECTOR_MAGIC = b"\xd1\xd3\x39\x64"
_CHECKSUM_BYTES = 4


class DeletedPositions:
    """Deleted positions, with what was read once kept: delete files never change."""

    def __init__(self, files: Files, keep: int = 2000) -> None:
        self._files = files
        self._keep = keep
        self._found: OrderedDict[tuple[str, int], dict[str, BitMap64]] = OrderedDict()

    def positions(self, file: DataFile, live: LiveFiles) -> BitMap64:
        """The positions of a data file that are deleted in a state whose deletes were loaded."""
        total = BitMap64()
        for delete in live.deletes_of(file):
            total |= self._found[delete.key].get(file.path, BitMap64())
        return total

    def load(self, deletes: Iterable[DeleteFile]) -> None:
        """Read the delete files that are not known yet, together."""
        missing = list({d.key: d for d in deletes if d.key not in self._found}.values())
        while len(self._found) > self._keep:
            self._found.popitem(last=False)
        paths = list(dict.fromkeys(delete.path for delete in missing))
        contents = dict(zip(paths, self._files.read(paths), strict=True))
        for delete in missing:
            self._found[delete.key] = _parse(delete, contents[delete.path])


def _parse(delete: DeleteFile, content: bytes) -> dict[str, BitMap64]:
    if len(content) != delete.size:
        raise torn(delete.path, f"{len(content)} bytes instead of {delete.size}")
    try:
        if delete.is_vector:
            return {str(delete.referenced): _vector(delete, content)}
        return _position_file(content)
    except (ValueError, EOFError, KeyError, OSError, pa.ArrowException) as error:
        raise torn(delete.path, error) from error


def _vector(delete: DeleteFile, content: bytes) -> BitMap64:
    start, size = delete.offset or 0, delete.length or 0
    blob = content[start : start + size]
    if len(blob) != size or size < 2 * _CHECKSUM_BYTES + len(_VECTOR_MAGIC):
        raise ValueError("the file ends inside a deletion vector")
    length = int.from_bytes(blob[:4], "big")
    payload, checksum = blob[4 : 4 + length], blob[4 + length :]
    if payload[:4] != _VECTOR_MAGIC or len(checksum) != _CHECKSUM_BYTES:
        raise ValueError("not a deletion vector")
    if zlib.crc32(payload) != int.from_bytes(checksum, "big"):
        raise ValueError("the checksum of a deletion vector does not match")
    positions = BitMap64.deserialize(payload[4:])
    if len(positions) != delete.records:
        raise ValueError(f"{len(positions)} deleted positions instead of {delete.records}")
    return positions


def _position_file(content: bytes) -> dict[str, BitMap64]:
    table = pq.read_table(pa.BufferReader(content), columns=["file_path", "pos"])
    paths = table["file_path"].combine_chunks().dictionary_encode()
    if isinstance(paths, pa.ChunkedArray):
        paths = paths.unify_dictionaries().combine_chunks()
    positions = table["pos"]
    found: dict[str, BitMap64] = {}
    for index, path in enumerate(paths.dictionary.to_pylist()):
        mine = positions.filter(pc.equal(paths.indices, index))
        found[path] = BitMap64(mine.to_numpy().tolist())
    return found
