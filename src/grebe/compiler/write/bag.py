"""Bag: rows are found by value; every retraction is proved against the stored copies.

Law: ``copies after = copies stored + net change`` for every touched row, never below zero.
Needs: values that do not depend on order (no float sums).
Falls back when: the root holds such values without a key (`order-dependent-value`).
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    Filter,
    Named,
    Node,
    Projection,
    Repeat,
    Stored,
    UnionAll,
)
from grebe.compiler.algebra.scalar import build, column, number, passed
from grebe.compiler.delta import Rules
from grebe.compiler.delta.restrict import restrict
from grebe.compiler.delta.weighted import consolidated, key_name, weighted
from grebe.compiler.write.steps import AppendStep, CheckStep, Compute, MergeStep, Shape, Step
from grebe.compiler.write.touched_rows import AFTER, BEFORE, as_merge
from grebe.sql_text import made

_STORED, _NET = made("stored"), made("net")


def steps(shape: Shape, of: Rules) -> tuple[Step, ...]:
    """Delta, stored copies of what it touches, the proof, and one merge."""
    names = shape.columns
    delta = Named("delta", (*names, WEIGHT))
    touched = Named("touched", (*names, BEFORE, AFTER))
    impossible = Filter(touched, build(":after < 0", after=column(AFTER)))
    return (
        Compute("delta", _delta(shape, of)),
        Compute("touched", _touched(names, delta)),
        CheckStep("retractions", impossible, "a row to be removed is not stored"),
        MergeStep(as_merge(touched, names), names),
    )


def appending(shape: Shape, of: Rules) -> tuple[Step, ...]:
    """The steps when every change can only add rows."""
    delta = Named("delta", (*shape.columns, WEIGHT))
    negative = Filter(delta, build(":w < 0", w=column(WEIGHT)))
    return (
        Compute("delta", _delta(shape, of)),
        CheckStep("insertions", negative, "a change that should only insert removes a row"),
        AppendStep(Projection(Repeat(delta), passed(shape.columns))),
    )


def _delta(shape: Shape, of: Rules) -> Node:
    return consolidated(weighted(of.change(shape.node), shape.columns))


def _touched(names: tuple[str, ...], delta: Named) -> Node:
    keys = Projection(delta, tuple((key_name(name), column(name)) for name in names))
    pairs = [(column(name), key_name(name)) for name in names]
    stored = restrict(Stored(names), keys, pairs)
    here = Projection(stored, (*passed(names), (_STORED, number(1)), (_NET, number(0))))
    moved = Projection(delta, (*passed(names), (_STORED, number(0)), (_NET, column(WEIGHT))))
    both = UnionAll((here, moved), (*names, _STORED, _NET))
    sums = (
        (BEFORE, build("CAST(SUM(:s) AS BIGINT)", s=column(_STORED))),
        (AFTER, build("CAST(SUM(:s + :n) AS BIGINT)", s=column(_STORED), n=column(_NET))),
    )
    return Aggregate(both, names, sums)
