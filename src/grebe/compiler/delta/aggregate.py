"""GROUP BY and aggregates without it, below the root.

Law (COUNT, SUM over exact types, AVG by sum and count): per touched group, with the state at the
new version and the change, ``old = new - change``; emit ``-old visible, +new visible``.
Law (any other aggregate, and where it reads the sources less often): affected groups, recomputed
at both versions (see partition).
SUM is NULL iff no non-NULL argument is left; a group exists iff its row count is above zero;
without GROUP BY the row always exists.
Needs: linear: the new version of the touched groups only; others: both versions.
Falls back when: a float sum is used where its value would identify a row
(`order-dependent-value`).
Example: ``SELECT g, SUM(x) FROM t GROUP BY g`` -> the touched groups' sums after and before.
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    Distinct,
    Filter,
    InnerJoin,
    Node,
    Projection,
    Repeat,
    UnionAll,
)
from grebe.compiler.algebra.raising import can_raise
from grebe.compiler.algebra.scalar import Scalar, build, column, number, passed
from grebe.compiler.delta.linear_aggregates import Linear, linear_calls
from grebe.compiler.delta.recompute import recomputed
from grebe.compiler.delta.restrict import restrict_columns
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import (
    SIDE,
    consolidated,
    keys_of,
    reads,
    summed,
    weighted,
    with_side,
)
from grebe.sql_text import made

COUNT = made("count")
_ONE = made("one")


def change(node: Aggregate, of: Rules) -> Node:
    """The touched groups as they are, minus as they were."""
    linear = linear_calls(node, of.types)
    if linear is None:
        return recomputed(node, node.keys, of)
    by_state = _from_new_and_change(node, linear, of)
    if not node.keys:
        return by_state
    again = recomputed(node, node.keys, of)
    return again if reads(again) < reads(by_state) else by_state


def _from_new_and_change(node: Aggregate, linear: tuple[Linear, ...], of: Rules) -> Node:
    """One read of the new version: the old state is the new one without the change."""
    delta = of.change(node.input)
    if any(can_raise(call.argument.ast, of.types) for call in linear):
        delta = consolidated(delta)
    rows = of.new(node.input)
    if node.keys:
        rows = restrict_columns(rows, keys_of(delta, node.keys), node.keys)
    names = (*node.input.columns, WEIGHT, SIDE)
    here = with_side(weighted(rows, node.input.columns, number(1)), 0)
    moved = with_side(Repeat(delta), 1)
    both = UnionAll((here, moved), names)
    states = [state for call in linear for state in _states(call)]
    counts = [(f"{COUNT}_{when}", _signed_count(TRUE_EVERYWHERE, when)) for when in ("new", "old")]
    totals: Node = Aggregate(both, node.keys, (*counts, *dict(states).items()))
    if not node.keys:
        totals = _where_moved(totals, delta)
    return summed(
        _visible(node, linear, totals, "new", 1), _visible(node, linear, totals, "old", -1)
    )


def _where_moved(totals: Node, delta: Node) -> Node:
    """The one row of an aggregate without keys, unless nothing moved: then it need not be read."""
    one = Distinct(Projection(delta, ((_ONE, number(1)),)))
    return Projection(InnerJoin((totals, one), ()), passed(totals.columns))


TRUE_EVERYWHERE = build("1 = 1")


def _states(call: Linear) -> list[tuple[str, Scalar]]:
    """Counts and sums of one call's argument at the new and at the old version."""
    states: list[tuple[str, Scalar]] = []
    for when in ("new", "old"):
        known = build(":x IS NOT NULL", x=call.argument)
        states.append((f"{call.state}_n_{when}", _signed_count(known, when)))
        if call.needs_sum:
            states.append((f"{call.state}_s_{when}", _signed_sum(call, when)))
    return states


def _signed_count(known: Scalar, when: str) -> Scalar:
    moved = "0" if when == "new" else "-:w"
    return build(
        f"CAST(SUM(CASE WHEN NOT (:known) THEN 0 WHEN :side = 0 THEN 1 ELSE {moved} END) AS BIGINT)",
        known=known,
        side=column(SIDE),
        w=column(WEIGHT),
    )


def _signed_sum(call: Linear, when: str) -> Scalar:
    """A weight never multiplies the argument: a product of decimals would be rounded."""
    moved = "" if when == "new" else f"WHEN :w > 0 THEN {call.minus} ELSE :x"
    return build(
        f"SUM(CASE WHEN :side = 0 THEN :x {moved} END)",
        side=column(SIDE),
        w=column(WEIGHT),
        x=call.argument,
    )


def _visible(
    node: Aggregate, linear: tuple[Linear, ...], totals: Node, when: str, weight: int
) -> Node:
    shown = tuple(
        (name, call.visible(f"{call.state}_n_{when}", f"{call.state}_s_{when}"))
        for (name, _), call in zip(node.calls, linear, strict=True)
    )
    if node.keys:
        alive = build(":n > 0", n=column(f"{COUNT}_{when}"))
        totals = Filter(totals, alive)
    keys = tuple((key, column(key)) for key in node.keys)
    return Projection(totals, (*keys, *shown, (WEIGHT, number(weight))))
