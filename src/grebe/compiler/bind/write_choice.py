"""How the rows of a merge go into the storage table: the cheapest write that means the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from grebe import thresholds


class Way(StrEnum):
    """A way of writing changed rows."""

    ANEW = "all rows anew"
    """Leaves one small file instead of one for every refresh, and needs no join to find what changed."""
    APPEND = "append"
    MERGE = "merge"
    MERGE_LARGE = "merge into a large table"
    """Two cheap passes instead of one outer join of all stored rows."""


@dataclass(frozen=True, slots=True)
class WriteFigures:
    """What is known of the rows to write, and of the table."""

    rows: int
    replaces: bool
    """Whether stored rows are updated or deleted."""
    stored: int | None
    can_rewrite: bool
    """Whether all stored rows can be on the driver, and every type of theirs."""
    is_ranged: bool
    """Whether the keys lie in a range that skips files of the table."""
    on_driver: bool = False
    """Whether the driver writes and commits such a file itself."""


def choose_way(figures: WriteFigures) -> Way:
    """The cheapest way.

    >>> choose_way(WriteFigures(1, True, 10, True, False))
    <Way.ANEW: 'all rows anew'>
    >>> choose_way(WriteFigures(1, False, 10**6, True, False))
    <Way.APPEND: 'append'>
    """
    stored = figures.stored
    most = thresholds.REWRITTEN_ROWS
    if figures.on_driver and most >= 0:
        most = thresholds.REWRITTEN_ON_DRIVER_ROWS
    few = stored is not None and stored <= most
    if few and figures.rows and figures.can_rewrite:
        return Way.ANEW
    if not figures.replaces:
        return Way.APPEND
    large = not figures.is_ranged and (stored or 0) >= thresholds.MERGED_ROWS
    return Way.MERGE_LARGE if large else Way.MERGE
