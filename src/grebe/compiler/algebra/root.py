"""Which node of a definition is stored, and under which names.

Strip projections, filters and a final ORDER BY … LIMIT from the root. If an aggregate or a
DISTINCT appears, *it* is stored; otherwise projections and filters stay in storage and only the
final LIMIT moves to the public SELECT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grebe.compiler.algebra.nodes import Aggregate, Distinct, Filter, Node, Projection, TopK
from grebe.compiler.algebra.parent_views import relabelled
from grebe.sql_text import plain

Stripped = Projection | Filter | TopK


def strip(root: Node) -> tuple[tuple[Stripped, ...], Node]:
    """What moves to the public SELECT, from the top down, and the node that is stored."""
    taken: list[Stripped] = []
    node = root
    while isinstance(node, (Projection, Filter)) or (isinstance(node, TopK) and not node.partition):
        taken.append(node)
        node = node.input
    if isinstance(node, (Aggregate, Distinct)):
        return tuple(taken), node
    while taken and not isinstance(taken[-1], TopK):
        node = taken.pop()
    return tuple(taken), node


def reapplied(stripped: Sequence[Stripped], over: Node) -> Node:
    """The stripped operators over other rows with the same columns."""
    for operator in reversed(stripped):
        over = replace(operator, input=over)
    return over


def with_stored_names(root: Node) -> Node:
    """The tree in which columns that are stored as they are have the names of the storage table.

    A storage table holds nothing but the columns of one view, whose names are all different, so
    none of them needs the prefix; and tables that were made before it keep their names.
    """
    stored = strip(root)[1]
    columns = stored.keys if isinstance(stored, Aggregate) else stored.columns
    names = {name: plain(name) for name in columns if plain(name) != name}
    return relabelled(root, lambda name: names.get(name, name)) if names else root
