"""Mark joins: IN, EXISTS, ANY where their value is used (under OR, NOT, CASE, in SELECT).

With a null-safe equality between the sides: see matched. Otherwise:
Law: ``m(l) = TRUE if some row of S makes θ true, else NULL if some makes it unknown, else FALSE``;
``d = dL with m at S_new, plus, for l in L_old that a row of dS touches (θ not FALSE) and whose
mark differs, -(l, m_old) + (l, m_new)``.
Needs: S at both versions, only where it can meet a touched row. A condition that can raise is
asked only of pairs that existed: dL- meets S_old, and L_old counts without the rows that are gone.
Falls back when: never.
Example: ``SELECT a, a IN (SELECT b FROM s) AS m FROM r`` -> dr marked by s_new, and the rows of
r_old whose mark a change of s has turned.
"""

from __future__ import annotations

from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    Filter,
    MarkJoin,
    Node,
    Projection,
    SemiJoin,
)
from grebe.compiler.algebra.scalar import (
    Scalar,
    all_of,
    build,
    column,
    conjuncts_of,
    never_null,
    passed,
    true_only,
)
from grebe.compiler.algebra.signed_zeros import among
from grebe.compiler.delta import keyed_joins
from grebe.compiler.delta.join import is_risky, links, narrowed
from grebe.compiler.delta.restrict import mark_conjuncts
from grebe.compiler.delta.rules import Rules
from grebe.compiler.delta.weighted import consolidated, plus, summed, weighted
from grebe.sql_text import made

COPIES = made("copies")
BEFORE = made("before")
AFTER = made("after")


def change(node: MarkJoin, of: Rules) -> Node:
    """Changed left rows with their new mark, and old left rows whose mark has turned."""
    by_key = keyed_joins.change(node, of)
    if by_key is not None:
        return by_key
    arrived = [
        weighted(MarkJoin(delta, near(right, delta, node.on), node.on, node.name), node.columns)
        for delta, right in meetings(node, of)
    ]
    turned = touched(node, of)
    gone = _marked(node, turned, BEFORE, "-:copies")
    come = _marked(node, turned, AFTER, ":copies")
    return summed(*arrived, gone, come)


def meetings(node: MarkJoin | SemiJoin, of: Rules) -> list[tuple[Node, Node]]:
    """Changed left rows, with the right side that they are compared with.

    A condition that can raise meets only pairs that the query has met: new rows with the new
    version, and rows that are gone with the old one.
    """
    delta = of.change(node.left)
    if not is_risky(node.on, node.inputs, of.types):
        return [(delta, of.new(node.right))]
    whole = consolidated(delta)
    return [
        (Filter(whole, build(":w > 0", w=column(WEIGHT))), of.new(node.right)),
        (Filter(whole, build(":w < 0", w=column(WEIGHT))), of.old(node.right)),
    ]


def touched(node: MarkJoin, of: Rules) -> Node:
    """Distinct old left rows, their copies, and their marks before and after, where they differ."""
    delta = consolidated(of.change(node.right))
    distinct = _distinct(node, delta, of)
    before = MarkJoin(distinct, near(of.old(node.right), distinct, node.on), node.on, BEFORE)
    after = MarkJoin(before, near(of.new(node.right), distinct, node.on), node.on, AFTER)
    differs = build("NOT (:b IS NOT DISTINCT FROM :a)", b=column(BEFORE), a=column(AFTER))
    return Filter(after, differs)


def _distinct(node: MarkJoin, delta: Node, of: Rules) -> Node:
    """Old left rows that a changed right row has a say in; only those that stay, if need be."""
    old, names = near(of.old(node.left), delta, node.on), node.left.columns
    if not is_risky(node.on, node.inputs, of.types):
        rows = SemiJoin(old, delta, _not_false(node.on))
        copies = ((COPIES, Scalar.of(build("COUNT(*)").copy())),)
        return Aggregate(rows, names, copies, signed=among(names, of.unsteady))
    gone = Filter(consolidated(of.change(node.left)), build(":w < 0", w=column(WEIGHT)))
    left = Filter(consolidated(summed(plus(old), gone)), build(":w > 0", w=column(WEIGHT)))
    staying = Projection(left, (*passed(names), (COPIES, column(WEIGHT))))
    return SemiJoin(staying, delta, _not_false(node.on))


def _not_false(on: Scalar) -> Scalar:
    """True where a row has a say in the mark; what can be hashed stays a plain equality."""
    known = true_only(on)
    if known:
        return known
    sure, unsure = never_null(on)
    return all_of([*sure, build("COALESCE(:theta, TRUE)", theta=all_of(unsure))])


def near(part: Node, base: Node, on: Scalar) -> Node:
    """The rows of a part that can have a say in the marks of ``base``."""
    return narrowed(part, base, links(part.columns, frozenset(base.columns), mark_conjuncts(on)))


def near_match(part: Node, base: Node, on: Scalar) -> Node:
    """The rows of a part that can match a row of ``base``: an unknown condition is no match."""
    return narrowed(part, base, links(part.columns, frozenset(base.columns), conjuncts_of(on)))


def _marked(node: MarkJoin, turned: Node, mark: str, weight: str) -> Node:
    outputs = (*((name, column(name)) for name in node.left.columns), (node.name, column(mark)))
    signed = build(f"CAST({weight} AS BIGINT)", copies=column(COPIES))
    return Projection(turned, (*outputs, (WEIGHT, signed)))
