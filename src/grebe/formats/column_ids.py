"""Ids of columns where a format knows them by name only."""

from __future__ import annotations

import hashlib


def id_of(name: str) -> int:
    """A number that belongs to a name, everywhere and for ever."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 12  # exact as a number of JSON
