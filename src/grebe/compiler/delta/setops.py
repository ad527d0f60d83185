"""DISTINCT, UNION, EXCEPT [ALL], INTERSECT [ALL]: one threshold rule.

Law: for every row t of dL or dR, ``d(t) = f(l_new, r_new) - f(l_old, r_old)`` with the counts of t
on both sides and f: DISTINCT ``[l>0]``; UNION ``[l+r>0]``; EXCEPT ALL ``max(l-r,0)``; EXCEPT
``[l>0 and r=0]``; INTERSECT ALL ``min(l,r)``; INTERSECT ``[l>0 and r>0]``.
Needs: the counts at the new version, only for the touched rows; the old ones are new minus change.
Falls back when: never.
Example: ``SELECT DISTINCT a FROM t`` -> +a when its count leaves 0, -a when it comes back to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    Distinct,
    Filter,
    Node,
    Projection,
    SetKind,
    SetOperation,
    UnionAll,
)
from grebe.compiler.algebra.scalar import Scalar, build, column, number
from grebe.compiler.delta.restrict import restrict_columns
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import keys_of, weighted
from grebe.sql_text import made

LEFT_NEW, LEFT_OLD = made("left_new"), made("left_old")
RIGHT_NEW, RIGHT_OLD = made("right_new"), made("right_old")
_COUNTS: Final = (LEFT_NEW, LEFT_OLD, RIGHT_NEW, RIGHT_OLD)

_COPIES: Final = {
    SetKind.UNION: "CASE WHEN :l + :r > 0 THEN 1 ELSE 0 END",
    SetKind.EXCEPT: "CASE WHEN :l > 0 AND :r = 0 THEN 1 ELSE 0 END",
    SetKind.EXCEPT_ALL: "CASE WHEN :l > :r THEN :l - :r ELSE 0 END",
    SetKind.INTERSECT: "CASE WHEN :l > 0 AND :r > 0 THEN 1 ELSE 0 END",
    SetKind.INTERSECT_ALL: "CASE WHEN :l < :r THEN :l ELSE :r END",
}


def change(node: SetOperation, of: Rules) -> Node:
    """The change of the number of copies of every touched row."""
    deltas = [
        UnionAll((weighted(of.change(side), side.columns),), (*node.names, WEIGHT))
        for side in (node.left, node.right)
    ]
    # Keys of each side apart: a row that left one side and came to the other is touched, too.
    touched = [keys_of(delta, node.names) for delta in deltas]
    keys = Distinct(UnionAll(tuple(touched), touched[0].columns))
    rows = [
        restrict_columns(UnionAll((of.new(side),), node.names), keys, node.names)
        for side in (node.left, node.right)
    ]
    counted = (
        _counted(rows[0], node.names, number(1), (LEFT_NEW, LEFT_OLD), ()),
        _counted(rows[1], node.names, number(1), (RIGHT_NEW, RIGHT_OLD), ()),
        _counted(deltas[0], node.names, column(WEIGHT), (), (LEFT_OLD,)),
        _counted(deltas[1], node.names, column(WEIGHT), (), (RIGHT_OLD,)),
    )
    return _threshold(counted, node.names, _COPIES[node.kind])


def distinct(node: Distinct, of: Rules) -> Node:
    """The rows whose count left zero or came back to it."""
    names = node.columns
    delta = of.change(node.input)
    rows = restrict_columns(of.new(node.input), keys_of(delta, names), names)
    counted = (
        _counted(rows, names, number(1), (LEFT_NEW, LEFT_OLD), ()),
        _counted(delta, names, column(WEIGHT), (), (LEFT_OLD,)),
    )
    return _threshold(counted, names, "CASE WHEN :l > 0 THEN 1 ELSE 0 END")


def _counted(
    node: Node, names: Sequence[str], weight: Scalar, adds: Sequence[str], takes: Sequence[str]
) -> Node:
    """Rows with what each adds to or takes from the four counts."""
    zero = number(0)
    taken = build("-:w", w=weight)
    counts = tuple(
        (name, weight if name in adds else taken if name in takes else zero) for name in _COUNTS
    )
    return Projection(node, (*((name, column(name)) for name in names), *counts))


def _threshold(counted: Sequence[Node], names: Sequence[str], copies: str) -> Node:
    rows = UnionAll(tuple(counted), (*names, *_COUNTS))
    sums = tuple((name, build("SUM(:x)", x=column(name))) for name in _COUNTS)
    totals = Aggregate(rows, tuple(names), sums)
    after = build(copies, l=column(LEFT_NEW), r=column(RIGHT_NEW))
    before = build(copies, l=column(LEFT_OLD), r=column(RIGHT_OLD))
    weight = build("CAST(:after - :before AS BIGINT)", after=after, before=before)
    return Filter(weighted(totals, names, weight), build(":w <> 0", w=column(WEIGHT)))
