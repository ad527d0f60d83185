"""Bag: rows are found by value; every retraction is proved against the stored copies.

Law: ``copies after = copies stored + net change`` for every touched row, never below zero.
Needs: values that do not depend on order (no float sums).
Falls back when: the root holds such values without a key (`order-dependent-value`).
"""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.algebra.known_types import Types
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
from grebe.compiler.algebra.origins import origin
from grebe.compiler.algebra.scalar import build, column, number, passed
from grebe.compiler.algebra.signed_zeros import among
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
    keys = told_apart(shape.node, names, of.types)
    delta = Named("delta", (*names, WEIGHT))
    touched = Named("touched", (*names, BEFORE, AFTER))
    impossible = Filter(touched, build(":after < 0", after=column(AFTER)))
    return (
        Compute("delta", _delta(shape, of)),
        Compute("touched", _touched(names, delta, keys, of)),
        CheckStep("retractions", impossible, "a row to be removed is not stored"),
        MergeStep(as_merge(touched, names), keys, among(keys, of.unsteady)),
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


def told_apart(node: Node, names: tuple[str, ...], types: Types) -> tuple[str, ...]:
    """The columns by which rows can differ: an untyped NULL is in every row, and equals nothing."""
    return tuple(name for name in names if not _is_void(node, name, types)) or names


def _is_void(node: Node, name: str, types: Types) -> bool:
    value = origin(node, name).value
    kind = types.of(column(name)) or types.of(value)
    return kind == "VOID" or isinstance(value.ast.unnest(), exp.Null)


def _touched(names: tuple[str, ...], delta: Named, own: tuple[str, ...], of: Rules) -> Node:
    keys = Projection(delta, tuple((key_name(name), column(name)) for name in own))
    pairs = [(column(name), key_name(name)) for name in own]
    stored = restrict(Stored(names), keys, pairs)
    here = Projection(stored, (*passed(names), (_STORED, number(1)), (_NET, number(0))))
    moved = Projection(delta, (*passed(names), (_STORED, number(0)), (_NET, column(WEIGHT))))
    both = UnionAll((here, moved), (*names, _STORED, _NET))
    sums = (
        (BEFORE, build("CAST(SUM(:s) AS BIGINT)", s=column(_STORED))),
        (AFTER, build("CAST(SUM(:s + :n) AS BIGINT)", s=column(_STORED), n=column(_NET))),
    )
    return Aggregate(both, names, sums, signed=among(names, of.unsteady))
