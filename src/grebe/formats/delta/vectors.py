"""Deleted positions of data files: deletion vectors, in files of their own or in the log itself."""

from __future__ import annotations

import base64
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Iterable

from pyroaring import BitMap64

from grebe.formats.delta.actions import AddedFile, Vector, located
from grebe.formats.files import Files, torn

_MAGIC = (1681511377).to_bytes(4, "little")
_UUID_LENGTH = 20
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_FROM_Z85 = bytes.maketrans(_Z85, _B85)


def z85(text: str) -> bytes:
    """The bytes behind a text in ZeroMQ's base 85."""
    return base64.b85decode(text.encode().translate(_FROM_Z85))


def vector_path(root: str, vector: Vector) -> str | None:
    """The file that holds a vector, None when the log does."""
    match vector.storage:
        case "u":
            prefix, name = vector.text[:-_UUID_LENGTH], vector.text[-_UUID_LENGTH:]
            file = f"deletion_vector_{uuid.UUID(bytes=z85(name))}.bin"
            return "/".join(part for part in (root, prefix, file) if part)
        case "p":
            return located(root, vector.text)
        case _:
            return None


class Vectors:
    """Deleted positions, with what was read once kept: vectors never change."""

    def __init__(self, root: str, files: Files, keep: int = 2000) -> None:
        self._root = root
        self._files = files
        self._keep = keep
        self._found: OrderedDict[str, BitMap64] = OrderedDict()

    def load(self, files: Iterable[AddedFile]) -> None:
        """Read the vectors of the files that are not known yet, together."""
        needed = {f.vector.key: f.vector for f in files if f.vector is not None}
        missing = {key: vector for key, vector in needed.items() if key not in self._found}
        paths = {key: vector_path(self._root, vector) for key, vector in missing.items()}
        wanted = list(dict.fromkeys(path for path in paths.values() if path is not None))
        contents = dict(zip(wanted, self._files.read(wanted), strict=True))
        for key, vector in missing.items():
            path = paths[key]
            self._found[key] = _parse(vector, path, contents[path] if path else None)
        for key in needed:  # the last to make room for others, which they never do here
            self._found.move_to_end(key)
        while len(self._found) > max(self._keep, len(needed)):
            self._found.popitem(last=False)

    def positions(self, file: AddedFile) -> BitMap64:
        """The positions of a file that are deleted; its vector was loaded."""
        return BitMap64() if file.vector is None else self._found[file.vector.key]


def _parse(vector: Vector, path: str | None, content: bytes | None) -> BitMap64:
    try:
        blob = z85(vector.text)[: vector.size] if content is None else _blob(vector, content)
        if blob[:4] != _MAGIC:
            raise ValueError("not a deletion vector")
        positions = BitMap64.deserialize(blob[4:])
        if len(positions) != vector.cardinality:
            raise ValueError(f"{len(positions)} deleted positions, not {vector.cardinality}")
    except (ValueError, EOFError) as error:
        raise torn(path or "a deletion vector in the log", error) from error
    return positions


def _blob(vector: Vector, content: bytes) -> bytes:
    start = vector.offset or 0
    size = int.from_bytes(content[start : start + 4], "big")
    blob = content[start + 4 : start + 4 + size]
    checksum = content[start + 4 + size : start + 8 + size]
    if size != vector.size or len(blob) != size or len(checksum) != 4:
        raise ValueError("the file ends inside a deletion vector")
    if zlib.crc32(blob) != int.from_bytes(checksum, "big"):
        raise ValueError("the checksum of a deletion vector does not match")
    return blob
