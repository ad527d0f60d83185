"""Where the mark of an EXISTS or IN is a column beside the columns that it was found by.

Spark 4.1 takes such a column for an equation (`m <=> EXISTS (…)`), and loses its way when it carries
the equation through a UNION ALL that a filter or a join reads: "key not found" in its optimizer
(other rules of it have the same fault: SPARK-59042). A union that shows marks is therefore computed by
a statement of its own. Sessions of ours are set so that they never meet it (`grebe.spark.tuning`);
this is for programs, which run in sessions of others.
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import (
    Aggregate,
    Consolidate,
    Distinct,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    SemiJoin,
    TopK,
    UnionAll,
    Unnest,
    Windowed,
)


def shows_marks(node: Node) -> bool:
    """True for a union with a mark in one of its branches."""
    return isinstance(node, UnionAll) and any(marks(branch) for branch in node.branches)


def marks(node: Node) -> frozenset[str]:
    """The columns that are marks, or are computed from them and from columns that are shown."""
    match node:
        case MarkJoin():
            return marks(node.left) | {node.name}
        case Projection():
            return _of_project(node)
        case InnerJoin():
            return frozenset().union(*(marks(part) for part in node.parts))
        case SemiJoin() | OuterJoin():
            return marks(node.left)
        case Filter() | Distinct() | TopK() | Unnest() | Windowed() | Aggregate() | Consolidate():
            return marks(node.input) & frozenset(node.columns)
    return frozenset()


def _of_project(node: Projection) -> frozenset[str]:
    below = marks(node.input)
    shown = below.union(item.column for _, item in node.outputs if item.column is not None)
    return frozenset(
        name for name, item in node.outputs if item.columns & below and item.columns <= shown
    )
