"""One sentence per operator: what it does to a change, without the law."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from grebe.project.past_runs import named
from grebe.sql_text import PREFIX

_MADE: Final = re.compile(rf'"{PREFIX}_*(\w+?)_\d+"')
"""A name that was made to tell the two sides of a join apart."""
_STORED: Final = re.compile(rf"(.*\.){PREFIX}(.+)_[0-9a-f]{{8}}")
"""The table that holds the rows of a view."""
_SENTENCES: Final[Mapping[str, str]] = {
    "Scan": "{} is read for its changes alone.",
    "Filter": "Changed rows that do not meet {} are left out.",
    "Projection": "Each changed row is computed by itself: {}.",
    "InnerJoin": "Changed rows are joined with the other side, {}.",
    "OuterJoin": "Changed rows and the rows they match are joined again, {}.",
    "SemiJoin": "Rows whose match may have changed are looked up again, {}.",
    "MarkJoin": "Rows whose match may have changed are marked again, {}.",
    "UnionAll": "The changes of both sides are put together.",
    "SetOperation": "Rows that changed on either side are counted again, {}.",
    "Distinct": "Copies of changed rows are counted.",
    "Aggregate": "Groups of changed rows are brought up to date: {}.",
    "Windowed": "Partitions with changed rows are computed again: {}.",
    "Order": "The order is made when the view is read.",
    "TopK": "The first rows are found again where changed rows may be among them, {}.",
    "Unnest": "Changed rows are unfolded, {}.",
    "Values": "Rows that stand in the text never change.",
    "Verbatim": "The text is run as it stands.",
}


def sentence(name: str, detail: str, say: Callable[[object], str] = str) -> str:
    """What an operator does, for a person."""
    shown = _MADE.sub(r'"\1"', detail)
    if name == "Scan":
        stored = _STORED.fullmatch(detail)
        shown = say(named(f"{stored[1]}{stored[2]}" if stored else detail))
    text = _SENTENCES.get(name)
    if text is None:
        return f"{name} {shown}".rstrip()
    return text.format(shown) if shown else re.sub(r"[:,]? ?\{\}", "", text)
