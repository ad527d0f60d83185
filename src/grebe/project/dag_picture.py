"""A graph of views as SVG: layers from left to right, states in words and colours, for light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

_WIDTH: Final = 220
_HEIGHT: Final = 40
_ACROSS: Final = 280
_DOWN: Final = 56
_MARGIN: Final = 16
_SHOWN: Final = 26
"""Characters of a name that fit into a box; the whole is in its title."""
_STYLE: Final = """
.grebe-box { fill: #ffffff; stroke: #57606a }
.grebe-text { fill: #1f2328 } .grebe-state { fill: #57606a } .grebe-edge { stroke: #8c959f; fill: none }
.grebe-head { fill: #8c959f } .grebe-table { stroke-dasharray: 4 }
.grebe-fresh { stroke: #1a7f37; fill: #dafbe1 } .grebe-stale { stroke: #9a6700; fill: #fff8c5 }
.grebe-never-refreshed { stroke: #9a6700; fill: #ffffff } .grebe-invalid { stroke: #cf222e; fill: #ffebe9 }
@media (prefers-color-scheme: dark) {
.grebe-box { fill: #161b22; stroke: #8b949e } .grebe-text { fill: #f0f6fc } .grebe-state { fill: #9198a1 }
.grebe-fresh { stroke: #3fb950; fill: #12261e } .grebe-stale { stroke: #d29922; fill: #272115 }
.grebe-never-refreshed { stroke: #d29922; fill: #161b22 } .grebe-invalid { stroke: #f85149; fill: #25171c } }
"""

Spot = tuple[int, int]


def draw(
    columns: Sequence[Sequence[str]],
    edges: Sequence[tuple[str, str]],
    states: Mapping[str, str],
    views: set[str],
) -> str:
    """The picture; every name in it is text, whatever signs it has."""
    spots = {
        name: (_MARGIN + _ACROSS * x, _MARGIN + _DOWN * y)
        for x, names in enumerate(columns)
        for y, name in enumerate(names)
    }
    width = 2 * _MARGIN + _ACROSS * (len(columns) - 1) + _WIDTH
    height = 2 * _MARGIN + _DOWN * max([len(names) for names in columns], default=1)
    boxes = "".join(_box(name, spots[name], states.get(name), name in views) for name in spots)
    lines = "".join(_edge(spots[above], spots[below]) for above, below in edges)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" role="img">'
        f"<title>{len(views)} views and what they read</title><style>{_STYLE}</style>"
        '<defs><marker id="grebe-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"'
        ' markerHeight="8" orient="auto"><path class="grebe-head" d="M0 0 L8 4 L0 8 z"/></marker>'
        f"</defs>{lines}{boxes}</svg>"
    )


def _box(name: str, spot: Spot, state: str | None, is_view: bool) -> str:
    x, y = spot
    kind = f" grebe-{escape((state or 'unknown').replace(' ', '-'))}" if is_view else " grebe-table"
    below = state or ("" if is_view else "table")
    short = name if len(name) <= _SHOWN else "…" + name[-_SHOWN + 1 :]
    return (
        f"<g><title>{escape(name)}: {escape(below)}</title>"
        f'<rect class="grebe-box{kind}" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4"/>'
        f'<text class="grebe-text" x="{x + 8}" y="{y + 17}">{escape(short)}</text>'
        f'<text class="grebe-state" x="{x + 8}" y="{y + 32}" font-size="10">{escape(below)}</text></g>'
    )


def _edge(above: Spot, below: Spot) -> str:
    x1, y1 = above[0] + _WIDTH, above[1] + _HEIGHT // 2
    x2, y2 = below[0], below[1] + _HEIGHT // 2
    bend = max(30, (x2 - x1) // 2)
    return (
        f'<path class="grebe-edge" marker-end="url(#grebe-arrow)"'
        f' d="M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"/>'
    )
