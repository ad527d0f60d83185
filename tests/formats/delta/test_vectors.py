"""Deletion vectors that are kept, and those that make room for others."""

from __future__ import annotations

import base64

from pyroaring import BitMap64

from grebe.formats.delta.actions import AddedFile, Vector
from grebe.formats.delta.vectors import _B85, _MAGIC, _Z85, Vectors
from grebe.formats.files import DriverFiles

KEEP = 3


def deleted(position: int) -> AddedFile:
    """A file of which one position is deleted, as the log itself says."""
    blob = _MAGIC + BitMap64([position]).serialize()
    padded = blob + bytes(-len(blob) % 4)
    text = base64.b85encode(padded).translate(bytes.maketrans(_B85, _Z85)).decode()
    vector = Vector("i", text, None, len(blob), 1)
    return AddedFile(f"f{position}", 1, {}, vector, data_change=True, stats=None, counted=1)


def test_no_vector_that_a_call_needs_makes_room() -> None:
    vectors = Vectors("", DriverFiles(), keep=KEEP)
    many = [deleted(number) for number in range(2 * KEEP)]
    for _ in range(2):
        vectors.load(many)
        assert [list(vectors.positions(file)) for file in many] == [[n] for n in range(2 * KEEP)]


def test_what_was_not_used_for_long_makes_room() -> None:
    vectors = Vectors("", DriverFiles(), keep=KEEP)
    for number in range(4 * KEEP):
        vectors.load([deleted(0), deleted(number)])
        assert list(vectors.positions(deleted(0))) == [0]
        assert list(vectors.positions(deleted(number))) == [number]
        assert len(vectors._found) <= KEEP
