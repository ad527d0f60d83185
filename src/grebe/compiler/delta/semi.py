"""Semi and anti joins: EXISTS, IN, NOT EXISTS, NOT IN, ALL as conditions of WHERE.

With an equality between the sides: see matched. Otherwise:
Law: ``d(L ⋉ S) = dL ⋉ S_new + { l in L_old that a row of dS matches : [n_new > 0] - [n_old > 0] }``
with n the number of matches; the anti join has ``dL ▷ S_new`` and the opposite sign.
``x NOT IN S`` is an anti join on ``COALESCE(x = y, TRUE)``.
Needs: S at both versions, only where it can meet a touched row; conditions that can raise as in
mark.
Falls back when: never.
Example: ``r WHERE EXISTS (s.a = r.a)`` -> ``dr ⋉ s_new``, and rows of r_old whose first match came
or whose last match went.
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import MarkJoin, Node, SemiJoin
from grebe.compiler.algebra.scalar import build, column
from grebe.compiler.delta import keyed_joins
from grebe.compiler.delta.mark import AFTER, COPIES, meetings, near_match, touched
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import summed, weighted
from grebe.sql_text import made


def change(node: SemiJoin, of: Rules) -> Node:
    """Changed left rows that match, and old left rows that began or ceased to."""
    by_key = keyed_joins.change(node, of)
    if by_key is not None:
        return by_key
    arrived = [
        weighted(
            SemiJoin(delta, near_match(right, delta, node.on), node.on, node.anti), node.columns
        )
        for delta, right in meetings(node, of)
    ]
    known = build("COALESCE(:theta, FALSE)", theta=node.on)
    turned = touched(MarkJoin(node.left, node.right, known, made("mark")), of)
    entering = ":copies" if not node.anti else "-:copies"
    leaving = "-:copies" if not node.anti else ":copies"
    weight = build(
        f"CAST(CASE WHEN :after THEN {entering} ELSE {leaving} END AS BIGINT)",
        after=column(AFTER),
        copies=column(COPIES),
    )
    return summed(*arrived, weighted(turned, node.columns, weight))
