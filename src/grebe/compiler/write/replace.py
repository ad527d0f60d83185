"""Replace keys: the rows of touched keys are computed again, and only what differs is written.

Law: ``stored ⋉ K`` becomes ``Q(new) ⋉ K``, for K the keys that the change may have touched.
Old rows are found by their stored key, never by a value computed again, so values that depend on
order are safe. Every stored row carries a checksum, which proves that it is what was written.
Needs: a key that can be followed from the changed rows to the root, stored with the rows.
Falls back when: there is no such key (`order-dependent-value`).
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import (
    Aggregate,
    Filter,
    Named,
    Node,
    Projection,
    Stored,
    UnionAll,
)
from grebe.compiler.algebra.scalar import Scalar, build, column, number, passed
from grebe.compiler.algebra.signed_zeros import among
from grebe.compiler.delta import Rules
from grebe.compiler.delta.restrict import restrict
from grebe.compiler.delta.touch import Touch
from grebe.compiler.delta.weighted import key_name
from grebe.compiler.write.steps import CheckStep, Compute, MergeStep, Shape, Step
from grebe.compiler.write.touched_rows import AFTER, BEFORE, CHECKSUM, as_merge, checksum
from grebe.sql_text import made

_ALTERED = made("altered")


def steps(shape: Shape, of: Rules) -> tuple[Step, ...]:
    """Touched keys, their rows as stored and as they should be, the proof, and one merge.

    Raises:
        Untouchable: when no way leads from the changed rows to the key.
    """
    names = shape.columns
    values = tuple(name for name in names if name != CHECKSUM)
    keys = Named("keys", tuple(key_name(name) for name in shape.scope))
    outputs = tuple((key_name(name), column(name)) for name in shape.scope)
    touched = Named("touched", (*values, BEFORE, AFTER, _ALTERED))
    altered = Filter(touched, build(":a > 0", a=column(_ALTERED)))
    summed = Projection(
        touched, (*passed(values), (CHECKSUM, checksum(values)), *passed((BEFORE, AFTER)))
    )
    return (
        Compute("keys", Touch(of).keys(shape.node, outputs)),
        Compute("touched", _touched(shape, values, keys, of)),
        CheckStep("checksums", altered, "a stored row is not what was written"),
        MergeStep(as_merge(summed, names), values, among(values, of.unsteady)),
    )


def _touched(shape: Shape, values: tuple[str, ...], keys: Named, of: Rules) -> Node:
    pairs = [(column(name), key_name(name)) for name in shape.scope]
    stored = restrict(Stored(shape.columns), keys, pairs)
    altered = build(
        "CASE WHEN :stored = :computed THEN 0 ELSE 1 END",
        stored=column(CHECKSUM),
        computed=checksum(values),
    )
    fresh = restrict(of.new(shape.node), keys, pairs)
    both = UnionAll(
        (
            _counted(stored, values, number(1), number(0), altered),
            _counted(fresh, values, number(0), number(1), number(0)),
        ),
        (*values, BEFORE, AFTER, _ALTERED),
    )
    sums = tuple(
        (name, build("CAST(SUM(:x) AS BIGINT)", x=column(name)))
        for name in (BEFORE, AFTER, _ALTERED)
    )
    differing = build(
        ":b <> :a OR :altered > 0", b=column(BEFORE), a=column(AFTER), altered=column(_ALTERED)
    )
    return Filter(Aggregate(both, values, sums, signed=among(values, of.unsteady)), differing)


def _counted(
    node: Node, values: tuple[str, ...], before: Scalar, after: Scalar, altered: Scalar
) -> Node:
    counts = ((BEFORE, before), (AFTER, after), (_ALTERED, altered))
    return Projection(node, (*passed(values), *counts))
