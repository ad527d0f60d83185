"""A relation reduced to some keys, with the restriction as near to the scans as it may go.

Law: ``restrict(Q, K) = Q ⋉ K`` (null-safe). The semi join is pushed down where the operator is
independent per key, because a "restricted" read that filters at the top is a full scan.

It goes through projections (the key expression evaluated in place), filters, all branches of
UNION ALL and set operations, inner joins (by equalities, to every part), the preserved side of a
LEFT join (to the other side only by an equality *from the preserved column*), both sides of a
FULL join only for its USING keys, the left of semi, anti and mark joins (to the right only by an
equality with the key), aggregates by their group keys, windows and top-k by their partition keys.
Never into a nullable side by its own column. Where it stops, the filter stays above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    SemiJoin,
    SetOperation,
    TopK,
    UnionAll,
    Unnest,
    Windowed,
)
from grebe.compiler.algebra.scalar import (
    Scalar,
    all_of,
    column,
    conjuncts_of,
    equated,
    never_null,
    same,
    substitute,
    true_only,
)
from grebe.compiler.algebra.try_casts import forgiving

Pair = tuple[Scalar, str]
"""An expression over the relation, and the key column that it must equal."""
Pairs = tuple[Pair, ...]


def restrict(node: Node, keys: Node, pairs: Sequence[Pair]) -> Node:
    """The rows whose pair values occur together in ``keys``."""
    if not pairs:
        return node
    mild = _mild(pairs)
    if len(mild) < len(pairs):
        return _above(restrict(node, keys, mild), keys, tuple(pairs))
    push = _PUSHES.get(type(node))
    return push(node, keys, mild) if push else _above(node, keys, mild)


def _mild(pairs: Sequence[Pair]) -> Pairs:
    """The pairs that may be evaluated on any row: below, more rows are met than the query meets."""
    found = ((forgiving(item), key) for item, key in pairs)
    return tuple((item, key) for item, key in found if item is not None)


def restrict_columns(node: Node, keys: Node, names: Sequence[str]) -> Node:
    """The rows whose named columns occur in ``keys``, which names them with a key mark."""
    from grebe.compiler.delta.weighted import key_name

    return restrict(node, keys, [(column(name), key_name(name)) for name in names])


def _above(node: Node, keys: Node, pairs: Pairs) -> Node:
    return SemiJoin(node, keys, all_of(same(item, column(key)) for item, key in pairs))


def _finished(node: Node, keys: Node, pairs: Pairs, *, complete: bool) -> Node:
    return node if complete else _above(node, keys, pairs)


def _within(pairs: Pairs, columns: Sequence[str]) -> Pairs:
    allowed = frozenset(columns)
    return tuple(pair for pair in pairs if pair[0].columns <= allowed)


def _filter(node: Filter, keys: Node, pairs: Pairs) -> Node:
    return Filter(restrict(node.input, keys, pairs), node.predicate)


def _project(node: Projection, keys: Node, pairs: Pairs) -> Node:
    """A constant column restricts the keys instead of the rows."""
    inside = dict(node.outputs)
    if any(item.column is None and _reads_literal(item, inside) for item, _ in pairs):
        return _above(node, keys, pairs)  # a bare NULL has no type inside a larger expression
    below = [(substitute(item, inside), key) for item, key in pairs]
    fixed = [same(column(key), item) for item, key in below if item.is_literal]
    moving = tuple((item, key) for item, key in below if not item.is_literal)
    left = Filter(keys, all_of(fixed)) if fixed else keys
    reduced = restrict(node.input, left, moving) if moving else _above(node.input, left, ())
    return Projection(reduced, node.outputs)


def _reads_literal(item: Scalar, outputs: Mapping[str, Scalar]) -> bool:
    return any(outputs[name].is_literal for name in item.columns if name in outputs)


def _union(node: UnionAll, keys: Node, pairs: Pairs) -> Node:
    inside = {name for item, _ in pairs if item.column is None for name in item.columns}
    if any(inside & _bare_columns(branch, node.names) for branch in node.branches):
        return _above(node, keys, pairs)
    branches = tuple(_by_position(branch, node.names, keys, pairs) for branch in node.branches)
    return UnionAll(branches, node.names)


def _bare_columns(branch: Node, names: Sequence[str]) -> set[str]:
    """The columns of a union for which a branch gives a literal, which may lack a type."""
    below = branch
    while isinstance(below, Filter):
        below = below.input
    if not isinstance(below, Projection):
        return set()
    literals = {name for name, item in below.outputs if item.is_literal}
    return {name for name, own in zip(names, branch.columns, strict=True) if own in literals}


def _set_operation(node: SetOperation, keys: Node, pairs: Pairs) -> Node:
    left = _by_position(node.left, node.names, keys, pairs)
    return replace(node, left=left, right=_by_position(node.right, node.names, keys, pairs))


def _by_position(branch: Node, names: Sequence[str], keys: Node, pairs: Pairs) -> Node:
    own = {name: column(item) for name, item in zip(names, branch.columns, strict=True)}
    return restrict(branch, keys, [(substitute(item, own), key) for item, key in pairs])


def _inner(node: InnerJoin, keys: Node, pairs: Pairs) -> Node:
    equal = equal_columns(node.on)
    shares = [_reaching(pairs, part.columns, equal) for part in node.parts]
    parts = tuple(
        restrict(part, keys, share) for part, share in zip(node.parts, shares, strict=True)
    )
    complete = any(len(share) == len(pairs) for share in shares)
    return _finished(InnerJoin(parts, node.on), keys, pairs, complete=complete)


def equal_columns(conjuncts: Sequence[Scalar]) -> dict[str, frozenset[str]]:
    """For each column, the columns that a conjunction of equalities makes equal to it."""
    groups: dict[str, set[str]] = {}
    for item in conjuncts:
        names = equated(item)
        if names:
            merged = groups.get(names[0], {names[0]}) | groups.get(names[1], {names[1]})
            groups.update(dict.fromkeys(merged, merged))
    return {name: frozenset(group) for name, group in groups.items()}


def _reaching(pairs: Pairs, columns: Sequence[str], equal: dict[str, frozenset[str]]) -> Pairs:
    """The pairs as expressions over some columns, where equalities allow it."""
    own = frozenset(columns)
    found: list[Pair] = []
    for item, key in pairs:
        if item.columns <= own:
            found.append((item, key))
        elif item.column is not None:
            names = sorted(equal.get(item.column, frozenset()) & own)
            found += [(column(names[0]), key)] if names else []
    return tuple(found)


def _outer(node: OuterJoin, keys: Node, pairs: Pairs) -> Node:
    if node.full:
        return _full(node, keys, pairs)
    mine = _within(pairs, node.left.columns)
    across = across_pairs(mine, node.on, node.right.columns)
    reduced = replace(
        node, left=restrict(node.left, keys, mine), right=restrict(node.right, keys, across)
    )
    return _finished(reduced, keys, pairs, complete=len(mine) == len(pairs))


def across_pairs(pairs: Pairs, on: Scalar, columns: Sequence[str]) -> Pairs:
    """Pairs of the preserved side carried to the other side by equalities of the ON clause."""
    links = _links(conjuncts_of(on), columns)
    return tuple((column(links[item.column]), key) for item, key in pairs if item.column in links)


def across_columns(on: Scalar, columns: Sequence[str]) -> dict[str, str]:
    """For columns of the other side, the columns of the preserved side that equal them."""
    return {theirs: mine for mine, theirs in _links(conjuncts_of(on), columns).items()}


def _links(conjuncts: Sequence[Scalar], columns: Sequence[str]) -> dict[str, str]:
    other = frozenset(columns)
    links: dict[str, str] = {}
    for names in filter(None, map(equated, conjuncts)):
        for mine, theirs in (names, names[::-1]):
            if theirs in other and mine not in other:
                links.setdefault(mine, theirs)
    return links


def mark_conjuncts(on: Scalar) -> tuple[Scalar, ...]:
    """The conjuncts that a row of the right side must meet to have a say in the mark.

    A plain equality is not among them: with a NULL it is unknown, which the mark must show.
    """
    known = true_only(on)
    return conjuncts_of(known) if known else never_null(on)[0]


def _full(node: OuterJoin, keys: Node, pairs: Pairs) -> Node:
    """Only a USING key: COALESCE of two columns that the ON clause equates."""
    equal = equal_columns(conjuncts_of(node.on))
    left: list[Pair] = []
    right: list[Pair] = []
    for item, key in pairs:
        names = [part.name for part in item.ast.find_all(exp.Column)]
        if (
            isinstance(item.ast, exp.Coalesce)
            and len(names) == 2
            and len(list(item.ast.walk())) == _COALESCE_OF_TWO
            and names[1] in equal.get(names[0], frozenset())
        ):
            mine, theirs = sorted(names, key=lambda name: name not in node.left.columns)
            left.append((column(mine), key))
            right.append((column(theirs), key))
    reduced = replace(
        node, left=restrict(node.left, keys, left), right=restrict(node.right, keys, right)
    )
    return _finished(reduced, keys, pairs, complete=len(left) == len(pairs))


_COALESCE_OF_TWO: Final = 5
"""Nodes of COALESCE(a, b): the call, two columns and their identifiers."""


def _left_of(node: SemiJoin | MarkJoin, keys: Node, pairs: Pairs) -> Node:
    mine = _within(pairs, node.left.columns)
    on = all_of(mark_conjuncts(node.on)) if isinstance(node, MarkJoin) else node.on
    across = across_pairs(mine, on, node.right.columns)
    reduced = replace(
        node, left=restrict(node.left, keys, mine), right=restrict(node.right, keys, across)
    )
    return _finished(reduced, keys, pairs, complete=len(mine) == len(pairs))


def _aggregate(node: Aggregate, keys: Node, pairs: Pairs) -> Node:
    mine = _within(pairs, node.keys) if node.keys else ()
    reduced = replace(node, input=restrict(node.input, keys, mine))
    return _finished(reduced, keys, pairs, complete=len(mine) == len(pairs))


def _partitioned(node: Windowed | TopK, keys: Node, pairs: Pairs) -> Node:
    mine = _within(pairs, node.partition) if node.partition else ()
    reduced = replace(node, input=restrict(node.input, keys, mine))
    return _finished(reduced, keys, pairs, complete=len(mine) == len(pairs))


def _unnest(node: Unnest, keys: Node, pairs: Pairs) -> Node:
    mine = _within(pairs, node.input.columns)
    reduced = replace(node, input=restrict(node.input, keys, mine))
    return _finished(reduced, keys, pairs, complete=len(mine) == len(pairs))


def _distinct(node: Distinct, keys: Node, pairs: Pairs) -> Node:
    return Distinct(restrict(node.input, keys, pairs))


_PUSHES: Final[dict[type[Node], Callable[..., Node]]] = {
    Filter: _filter,
    Projection: _project,
    UnionAll: _union,
    SetOperation: _set_operation,
    InnerJoin: _inner,
    OuterJoin: _outer,
    SemiJoin: _left_of,
    MarkJoin: _left_of,
    Aggregate: _aggregate,
    Windowed: _partitioned,
    TopK: _partitioned,
    Unnest: _unnest,
    Distinct: _distinct,
}
