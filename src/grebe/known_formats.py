"""The table formats that there are: for each a line here, and a folder of its own that says the rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownFormat:
    """A table format by its name, and the module whose ``FORMAT`` is what the rest asks it for."""

    name: str
    module: str
    holds_views: bool = True
    """Whether a view can be stored in it; others are only read."""


KNOWN: tuple[KnownFormat, ...] = (
    KnownFormat("iceberg", "grebe.formats.iceberg.spec"),
    KnownFormat("delta", "grebe.formats.delta.spec"),
    KnownFormat("ducklake", "grebe.formats.ducklake.spec"),
    KnownFormat("parquet", "grebe.formats.parquet.spec", holds_views=False),
)


def format_names() -> tuple[str, ...]:
    """What a catalog's `format` may be."""
    return tuple(known.name for known in KNOWN)


def view_formats() -> tuple[str, ...]:
    """What a view may be kept as."""
    return tuple(known.name for known in KNOWN if known.holds_views)
