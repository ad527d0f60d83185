"""Joins of two relations in FROM: their kinds, ON, USING and NATURAL."""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.lower.block import Block
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.frame import Frame, crossed
from grebe.compiler.lower.pending import Pending
from grebe.compiler.lower.scope import Environment
from grebe.compiler.lower.shape import free_columns
from grebe.compiler.nodes import InnerJoin, Node, OuterJoin, Project, SemiJoin
from grebe.compiler.reasons import ReasonCode
from grebe.compiler.scalar import TRUE, Scalar, all_of, build, column, equals
from grebe.errors import AmbiguousColumnError, UnknownColumnError

_KINDS = ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI")


def join_frames(
    context: Context, left: Frame, right: Frame, join: exp.Join, environment: Environment
) -> Frame:
    """The relation that one join gives."""
    side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
    method = str(join.args.get("method") or "")
    _check(context, join, kind, method)
    shared = _shared_names(context, left, right, join, method)
    pairs = [_pair(context, left, right, name, join) for name in shared]
    conditions = [equals(column(one), column(other)) for one, other in pairs]
    if kind in ("SEMI", "ANTI"):
        context.features.add(f"{kind.lower()}_join")
        on, pending = _on(context, left, right, join, environment)
        node = _semi(context, left, right, all_of([*conditions, on]), pending, kind, join)
        return Frame(node, left.sources, left.star)
    if side in ("LEFT", "RIGHT", "FULL"):
        context.features.add(f"{side.lower()}_join")
        on, pending = _on(context, left, right, join, environment)
        node = _outer(context, left, right, all_of([*conditions, on]), pending, side, join)
    else:
        context.features.add("join")
        node = _inner(context, left, right, conditions, join, environment)
    both = crossed([left, right])
    frame = Frame(node, both.sources, both.star)
    return _merged(context, frame, left, right, shared, pairs, side)


def _check(context: Context, join: exp.Join, kind: str, method: str) -> None:
    if method not in ("", "NATURAL") or kind not in _KINDS:
        name = f"{method} {kind}".strip()
        context.refuse(ReasonCode.JOIN_KIND, f"a {name} join has no rule", join)


def _shared_names(
    context: Context, left: Frame, right: Frame, join: exp.Join, method: str
) -> list[str]:
    if method == "NATURAL":
        own = {name.lower() for name, _ in right.star}
        return list(dict.fromkeys(name for name, _ in left.star if name.lower() in own))
    return [item.name for item in join.args.get("using") or []]


def _pair(
    context: Context, left: Frame, right: Frame, name: str, join: exp.Join
) -> tuple[str, str]:
    found = []
    for frame in (left, right):
        columns = [own for public, own in frame.star if public.lower() == name.lower()]
        if len(columns) > 1:
            message = f'column "{name}" of USING is ambiguous'
            raise AmbiguousColumnError(message, where=context.where(join))
        if not columns:
            known = [public for public, _ in frame.star]
            raise UnknownColumnError.named(name, known, where=context.where(join))
        found.append(columns[0])
    return found[0], found[1]


def _on(
    context: Context, left: Frame, right: Frame, join: exp.Join, environment: Environment
) -> tuple[Scalar, dict[str, Pending]]:
    tree = join.args.get("on")
    if tree is None:
        return TRUE, {}
    resolver = crossed([left, right]).resolver(context, environment)
    return resolver.scalar(tree), resolver.pending


def _inner(
    context: Context,
    left: Frame,
    right: Frame,
    conditions: list[Scalar],
    join: exp.Join,
    environment: Environment,
) -> Node:
    on, pending = _on(context, left, right, join, environment)
    block = Block(context, InnerJoin((left.node, right.node), tuple(conditions)), pending)
    block.filter(on)
    return block.node


def _outer(
    context: Context,
    left: Frame,
    right: Frame,
    on: Scalar,
    pending: dict[str, Pending],
    side: str,
    join: exp.Join,
) -> Node:
    one, other = _with_subqueries(context, left.node, right.node, on, pending, join)
    if side == "RIGHT":
        return OuterJoin(other, one, on)
    return OuterJoin(one, other, on, full=side == "FULL")


def _semi(
    context: Context,
    left: Frame,
    right: Frame,
    on: Scalar,
    pending: dict[str, Pending],
    kind: str,
    join: exp.Join,
) -> Node:
    one, other = _with_subqueries(context, left.node, right.node, on, pending, join)
    node = SemiJoin(one, other, on, anti=kind == "ANTI")
    if one.columns == left.node.columns:
        return node
    return Project(node, tuple((name, column(name)) for name in left.node.columns))


def _with_subqueries(
    context: Context,
    left: Node,
    right: Node,
    on: Scalar,
    pending: dict[str, Pending],
    join: exp.Join,
) -> tuple[Node, Node]:
    """Both sides, each with the subqueries of ON that read only its own columns."""
    sides = [Block(context, left, pending), Block(context, right, pending)]
    for name in sorted(on.columns & set(pending)):
        item = pending[name]
        query = context.lower_query(context, item.query, item.environment)
        reads = free_columns(query.node).union(*(operand.columns for operand in item.operands))
        here = reads & {*left.columns, *right.columns}
        if here <= set(right.columns):
            sides[1].join_subquery(item)
        elif here <= set(left.columns):
            sides[0].join_subquery(item)
        else:
            message = "a subquery in ON reads both sides of the join"
            context.refuse(ReasonCode.SUBQUERY_IN_OUTER_JOIN, message, join.args.get("on"))
    return sides[0].node, sides[1].node


def _merged(
    context: Context,
    frame: Frame,
    left: Frame,
    right: Frame,
    shared: list[str],
    pairs: list[tuple[str, str]],
    side: str,
) -> Frame:
    """The frame in which each shared column is one column for bare names and stars."""
    if not shared:
        return frame
    node = frame.node
    merged: list[tuple[str, str]] = []
    for name, (one, other) in zip(shared, pairs, strict=True):
        own = other if side == "RIGHT" else one
        if side == "FULL":
            own = context.fresh(name)
            value = build("COALESCE(:a, :b)", a=column(one), b=column(other))
            kept = tuple((kept, column(kept)) for kept in node.columns)
            node = Project(node, (*kept, (own, value)))
        merged.append((name, own))
    gone = {name.lower() for name in shared}
    rest = tuple(pair for pair in right.star if pair[0].lower() not in gone)
    if context.dialect == "spark":
        first = tuple(pair for pair in left.star if pair[0].lower() not in gone)
        return Frame(node, frame.sources, (*merged, *first, *rest))
    by_name = {name.lower(): own for name, own in merged}
    first = tuple((name, by_name.get(name.lower(), own)) for name, own in left.star)
    return Frame(node, frame.sources, (*first, *rest))
