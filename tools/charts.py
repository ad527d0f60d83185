"""Writes docs/pictures/cost.svg: what a refresh costs against a full one, from the raw figures of the benchmarks.

A picture cannot drift from the figures: a test compares it with what this would write.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PICTURE = ROOT / "docs" / "pictures" / "cost.svg"

LEFT, RIGHT, TOP, GROUP = 324, 720, 58, 46
WIDTH = 760
STYLE = """
    text { font: 13px sans-serif; fill: #1f2933; }
    .head { font-weight: bold; font-size: 14px; }
    .small { font-size: 12px; fill: #52606d; }
    .full { fill: #9aa5b1; } .incremental { fill: #0b7a5b; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e4e7eb; }
      .small { fill: #9aa5b1; }
      .full { fill: #616e7c; } .incremental { fill: #5fd3ae; }
    }
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """A view, what changed, and the seconds of both ways."""

    view: str
    change: str
    full: float
    incremental: float


def bars() -> list[Bar]:
    """What is drawn, in this order."""
    groups, customers, rows = "25 groups", "one group per customer", "the join itself"
    five, one = "38 million rows", "7.7 million rows"
    return [
        _refresh("refresh-sf5", "v1", "clustered", f"{five} → {groups}"),
        _refresh("refresh-sf5", "v1", "spread", f"{five} → {groups}"),
        _refresh("refresh-sf5", "v2", "clustered", f"{five} → {customers}"),
        _refresh("refresh-sf5", "v2", "spread", f"{five} → {customers}"),
        _refresh("refresh-sf1", "v3", "clustered", f"{one} → {rows}"),
        _refresh("refresh-sf1", "v3", "spread", f"{one} → {rows}"),
        _all_queries(),
    ]


def _refresh(file: str, view: str, where: str, label: str) -> Bar:
    found = json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8"))
    line = next(
        item
        for item in found
        if (item["view"], item["where"], item["share"]) == (view, where, 0.001)
    )
    change = f"0.1 % changed, {where}"
    return Bar(label, change, line["full_seconds"], line["seconds"])


def _all_queries() -> Bar:
    found = json.loads((RESULTS / "tpch-sf1.json").read_text(encoding="utf-8"))
    last = found["rounds"][-1]
    label = "all 22 TPC-H queries as views"
    return Bar(
        label,
        f"{found['share']:.0%} changed".replace("%", " %"),
        last["full_seconds"],
        last["seconds"],
    )


def chart(drawn: Sequence[Bar]) -> str:
    """Two bars per view, full above incremental, in seconds."""
    height = TOP + GROUP * len(drawn) + 10
    scale = (RIGHT - LEFT) / max(bar.full for bar in drawn)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title">',
        '  <title id="title">Seconds of a full and of an incremental refresh</title>',
        f"  <style>{STYLE}  </style>",
        '  <text class="head" x="16" y="22">Seconds of a refresh</text>',
        f'  <rect class="full" x="{LEFT}" y="12" width="12" height="12"/>',
        f'  <text class="small" x="{LEFT + 18}" y="22">full</text>',
        f'  <rect class="incremental" x="{LEFT + 60}" y="12" width="12" height="12"/>',
        f'  <text class="small" x="{LEFT + 78}" y="22">incremental, the same rows</text>',
    ]
    for index, bar in enumerate(drawn):
        lines += _pair(bar, TOP + GROUP * index, scale)
    return "\n".join([*lines, "</svg>", ""])


def _pair(bar: Bar, top: int, scale: float) -> list[str]:
    lines = [
        f'  <text x="16" y="{top + 2}">{escape(bar.view)}</text>',
        f'  <text class="small" x="16" y="{top + 18}">{escape(bar.change)}</text>',
    ]
    for offset, kind, seconds in ((-10, "full", bar.full), (5, "incremental", bar.incremental)):
        width = round(seconds * scale, 1)
        lines += [
            f'  <rect class="{kind}" x="{LEFT}" y="{top + offset}" width="{width}" height="13" rx="2"/>',
            f'  <text class="small" x="{LEFT + width + 6}" y="{top + offset + 11}">{seconds:.1f}</text>',
        ]
    return lines


if __name__ == "__main__":
    PICTURE.write_text(chart(bars()), encoding="utf-8")
