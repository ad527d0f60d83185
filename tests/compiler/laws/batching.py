"""A query over one database turned into the same query over a batch of them.

The case id joins every key: scans read it, joins equate it, groups, partitions and set operations
contain it. One statement then checks thousands of databases. Where the case id changes what a node
means (an aggregate without keys becomes a grouped one), the batched tree is still an ordinary query
that must be maintained, but the original has to be checked one database at a time as well:
``changed_by_batching`` says so.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from compiler.laws.databases import CASE, CASES
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    Scan,
    SemiJoin,
    SetOperation,
    TopK,
    UnionAll,
    Unnest,
    Values,
    Windowed,
    walk,
)
from grebe.compiler.algebra.scalar import TRUE, Scalar, all_of, build, column, conjuncts_of, equals

Batched = tuple[Node, str]
"""A batched relation, and the name of its case column."""


Memo = dict[str, Batched]


def batch(root: Node) -> Node:
    """The tree over a batch of databases; its last column is the case id."""
    node, case = _batch(root, {})
    return _exactly(node, (*root.columns, case), (*root.columns, CASE))


def changed_by_batching(root: Node) -> bool:
    """True when the case id gives a node another meaning, or takes a non-equi join its shape."""
    return any(_is_changed(node) for node in walk(root))


def _is_changed(node: Node) -> bool:
    match node:
        case Aggregate(keys=()) | Windowed(partition=()) | TopK(partition=()) | Values():
            return True
        case InnerJoin():
            return not any(_equates(item) for item in node.on)
        case OuterJoin() | SemiJoin() | MarkJoin():
            return not any(_equates(item) for item in conjuncts_of(node.on))
    return False


def _equates(item: Scalar) -> bool:
    return isinstance(item.ast, (exp.EQ, exp.NullSafeEQ)) and len(item.columns) > 1


def _batch(node: Node, memo: Memo) -> Batched:
    """Equal subtrees stay equal, unless only the case id would tell them apart in a join."""
    if any(isinstance(leaf, Scan) and not leaf.pairs for leaf in walk(node)):
        return _made(node, memo)
    if node.digest not in memo:
        memo[node.digest] = _made(node, memo)
    return memo[node.digest]


def _made(node: Node, memo: Memo) -> Batched:
    match node:
        case Scan():
            return _scan(node, memo)
        case Values():
            cases = Scan(CASES, ((f"case_{node.digest[:12]}", CASE),))
            return InnerJoin((cases, node), ()), cases.columns[0]
        case Projection():
            # A new name wherever columns get new names: a relation may be joined with itself.
            below, own = _batch(node.input, memo)
            case = f"case_{node.digest[:12]}"
            return Projection(below, (*node.outputs, (case, column(own)))), case
        case InnerJoin():
            return _inner(node, memo)
        case OuterJoin() | SemiJoin() | MarkJoin():
            return _binary(node, memo)
        case UnionAll() | SetOperation():
            return _stacked(node, memo)
        case Filter() | Distinct() | Aggregate() | Windowed() | TopK() | Unnest():
            return _unary(node, memo)
    raise AssertionError(f"no batched form of {type(node).__name__}")


def _scan(node: Scan, memo: Memo) -> Batched:
    case = f"case_{node.digest[:12]}"
    if not node.pairs:
        case = f"{case}_{len(memo)}"
        memo[case] = (node, case)
    return replace(node, pairs=(*node.pairs, (case, CASE))), case


def _unary(node: Node, memo: Memo) -> Batched:
    (child,) = node.inputs
    below, case = _batch(child, memo)
    match node:
        case Distinct():
            return Distinct(_exactly(below, (*child.columns, case))), case
        case Aggregate():
            return replace(node, input=below, keys=(*node.keys, case)), case
        case Windowed():
            calls = tuple((name, _split_by(call, case)) for name, call in node.calls)
            narrow = _exactly(below, (*child.columns, case))
            return replace(node, input=narrow, partition=(*node.partition, case), calls=calls), case
        case TopK():
            narrow = _exactly(below, (*child.columns, case))
            return replace(node, input=narrow, partition=(*node.partition, case)), case
    return replace(node, input=below), case


def _split_by(call: Scalar, case: str) -> Scalar:
    tree = call.copy()
    for window in tree.find_all(exp.Window):
        parts = [*window.args.get("partition_by", []), column(case).copy()]
        window.set("partition_by", parts)
    return Scalar.of(tree)


def _inner(node: InnerJoin, memo: Memo) -> Batched:
    parts = [_batch(part, memo) for part in node.parts]
    first = parts[0][1]
    same_case = [equals(column(first), column(case)) for _, case in parts[1:]]
    return InnerJoin(tuple(part for part, _ in parts), (*node.on, *same_case)), first


def _binary(node: OuterJoin | SemiJoin | MarkJoin, memo: Memo) -> Batched:
    left, mine = _batch(node.left, memo)
    right, theirs = _batch(node.right, memo)
    on = all_of((*conjuncts_of(node.on), equals(column(mine), column(theirs))))
    if node.on == TRUE:
        on = equals(column(mine), column(theirs))
    joined = replace(node, left=left, right=right, on=on)
    if isinstance(node, OuterJoin) and node.full:
        return _full(joined, node.columns, mine, theirs)
    return joined, mine


def _full(joined: OuterJoin, columns: tuple[str, ...], mine: str, theirs: str) -> Batched:
    case = f"{mine}_or_{theirs}"
    either = build("COALESCE(:one, :two)", one=column(mine), two=column(theirs))
    return Projection(joined, (*((name, column(name)) for name in columns), (case, either))), case


def _stacked(node: UnionAll | SetOperation, memo: Memo) -> Batched:
    case = f"case_{node.digest[:12]}"
    branches = []
    for child in node.inputs:
        below, own = _batch(child, memo)
        branches.append(_exactly(below, (*child.columns, own), (*child.columns, case)))
    names = (*node.names, case)
    if isinstance(node, UnionAll):
        return UnionAll(tuple(branches), names), case
    return replace(node, left=branches[0], right=branches[1], names=names), case


def _exactly(node: Node, columns: tuple[str, ...], names: tuple[str, ...] | None = None) -> Node:
    wanted = tuple(zip(names or columns, map(column, columns), strict=True))
    if node.columns == columns and names in (None, columns):
        return node
    return Projection(node, wanted)
