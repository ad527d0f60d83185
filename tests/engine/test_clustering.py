"""In which order rows are stored: what people ask for, and what is chosen without them."""

from __future__ import annotations

import datetime

import pytest

from grebe.engine.clustering import is_ordered
from grebe.formats.base import KeyBounds

DAY = datetime.date(2024, 1, 1)


def files(*ends: tuple[object, object], size: int = 100) -> list[KeyBounds]:
    return [KeyBounds("k", *pair, bytes=size) for pair in ends]


@pytest.mark.parametrize(
    ("found", "ordered"),
    [
        (files((0, 9), (10, 19), (20, 29)), True),
        (files((0, 10), (10, 20), (20, 30), (30, 40), (40, 50)), False),
        (files((0, 29), (0, 29), (0, 29)), False),
        (files((0, 9)), False),
        (files((DAY, DAY), (DAY + datetime.timedelta(1), DAY + datetime.timedelta(9))), True),
        (files((0, 9), (10, 19)) + files((0, 99), size=2), True),
        (files((None, None), (10, 19)), False),
        ([], False),
    ],
    ids=["apart", "touching", "mixed", "one", "days", "a small one", "unknown", "none"],
)
def test_files_are_in_an_order_when_their_ranges_hardly_overlap(
    found: list[KeyBounds], ordered: bool
) -> None:
    assert is_ordered(found) is ordered
