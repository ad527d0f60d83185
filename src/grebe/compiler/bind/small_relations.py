"""Relations for DuckDB: the same tree, with every expression on the list of small ones and every type known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    At,
    Consolidate,
    Distinct,
    Empty,
    Filter,
    InnerJoin,
    MarkJoin,
    Named,
    Node,
    OuterJoin,
    Projection,
    Repeat,
    Scan,
    SemiJoin,
    SetOperation,
    Small,
    Stored,
    TopK,
    UnionAll,
    Values,
    Windowed,
)
from grebe.compiler.algebra.scalar import Scalar, column
from grebe.compiler.bind.small_expressions import Kinds, SmallWriter
from grebe.compiler.bind.small_kinds import BIGINT, BOOLEAN, NotSmallError, SmallKind, widest
from grebe.sql_text import made

SmallLeaf = Scan | Stored | Named
KindsOf = Callable[[SmallLeaf], Mapping[str, SmallKind]]
"""The types of a leaf's columns, by the names that the table has for them."""


@dataclass(frozen=True, slots=True)
class SmallRelation:
    """A relation for DuckDB, and the types that Spark gives its columns."""

    node: Node
    kinds: Kinds


@dataclass(frozen=True, slots=True)
class Translator:
    """Writes whole relations; each part once."""

    kinds_of: KindsOf
    utc: bool
    hashes: dict[str, tuple[SmallKind, ...]] = field(default_factory=dict)
    known: dict[str, SmallRelation] = field(default_factory=dict)

    def relation(self, node: Node) -> SmallRelation:
        """The relation for DuckDB.

        Raises:
            NotSmallError: something in it is not known to be the same there.
        """
        if node.digest not in self.known:
            method = _FORMS.get(type(node))
            if method is None:
                raise NotSmallError(f"{type(node).__name__} is not known to be the same in DuckDB")
            self.known[node.digest] = method(self, node)
        return self.known[node.digest]

    def writer(self, kinds: Kinds) -> SmallWriter:
        return SmallWriter(kinds, self.utc, self.hashes)

    def leaf(self, node: SmallLeaf) -> SmallRelation:
        found = self.kinds_of(node)
        names = (
            dict(node.pairs) if isinstance(node, Scan) else {name: name for name in node.columns}
        )
        kinds = {name: found[own] for name, own in names.items()}
        if isinstance(node, Scan) and node.at is At.DELTA:
            kinds[WEIGHT] = BIGINT
        return SmallRelation(node, kinds)

    def empty(self, node: Empty) -> SmallRelation:
        """No rows; without the table whose columns they have."""
        like = self.relation(node.like)
        one: Node = Values((made("one"),), ((Scalar.of(exp.Literal.number(1)),),))
        none = Filter(one, Scalar.of(exp.false()))
        outputs = tuple((name, _null(kind)) for name, kind in like.kinds.items())
        return SmallRelation(Projection(none, outputs), like.kinds)

    def values(self, node: Values) -> SmallRelation:
        writer = self.writer({})
        rows = [[writer.typed(item) for item in row] for row in node.rows]
        kinds = [widest(tuple(row[place].kind for row in rows)) for place in range(len(node.names))]
        if any(kind.is_void for kind in kinds):
            raise NotSmallError("a bare NULL")
        written = tuple(
            tuple(_as(item.ast, kind) for item, kind in zip(row, kinds, strict=True))
            for row in rows
        )
        return SmallRelation(replace(node, rows=written), dict(zip(node.names, kinds, strict=True)))

    def filter(self, node: Filter) -> SmallRelation:
        below = self.relation(node.input)
        test = Scalar.of(self.writer(below.kinds).truth(node.predicate.ast))
        return SmallRelation(Filter(below.node, test), below.kinds)

    def projection(self, node: Projection) -> SmallRelation:
        below = self.relation(node.input)
        writer = self.writer(below.kinds)
        kinds: dict[str, SmallKind] = {}
        outputs: list[tuple[str, Scalar]] = []
        for name, item in node.outputs:
            found = writer.typed(item)
            if found.kind.is_void:
                raise NotSmallError("a bare NULL")
            kinds[name] = found.kind
            outputs.append((name, Scalar.of(found.ast)))
        return SmallRelation(Projection(below.node, tuple(outputs)), kinds)

    def inner(self, node: InnerJoin) -> SmallRelation:
        parts = [self.relation(part) for part in node.parts]
        kinds = _together(parts)
        writer = self.writer(kinds)
        on = tuple(Scalar.of(writer.truth(item.ast)) for item in node.on)
        return SmallRelation(InnerJoin(tuple(part.node for part in parts), on), kinds)

    def outer(self, node: OuterJoin) -> SmallRelation:
        left, right = self.relation(node.left), self.relation(node.right)
        kinds = _together((left, right))
        on = Scalar.of(self.writer(kinds).truth(node.on.ast))
        return SmallRelation(replace(node, left=left.node, right=right.node, on=on), kinds)

    def semi(self, node: SemiJoin) -> SmallRelation:
        left, right = self.relation(node.left), self.relation(node.right)
        on = Scalar.of(self.writer(_together((left, right))).truth(node.on.ast))
        return SmallRelation(replace(node, left=left.node, right=right.node, on=on), left.kinds)

    def mark(self, node: MarkJoin) -> SmallRelation:
        left, right = self.relation(node.left), self.relation(node.right)
        on = Scalar.of(self.writer(_together((left, right))).truth(node.on.ast))
        kinds = {**left.kinds, node.name: BOOLEAN}
        return SmallRelation(replace(node, left=left.node, right=right.node, on=on), kinds)

    def union(self, node: UnionAll) -> SmallRelation:
        branches, kinds = self._aligned(node.branches, node.names)
        return SmallRelation(replace(node, branches=tuple(branches)), kinds)

    def operation(self, node: SetOperation) -> SmallRelation:
        (left, right), kinds = self._aligned((node.left, node.right), node.names)
        _check_identity(kinds, kinds)
        return SmallRelation(replace(node, left=left, right=right), kinds)

    def _aligned(self, nodes: Sequence[Node], names: Sequence[str]) -> tuple[list[Node], Kinds]:
        """Branches whose columns have one type, place by place."""
        found = [self.relation(node) for node in nodes]
        own = [[item.kinds[name] for name in item.node.columns] for item in found]
        kinds = [widest(tuple(row[place] for row in own)) for place in range(len(names))]
        branches = [_widened(item, kinds) for item in found]
        return branches, dict(zip(names, kinds, strict=True))

    def distinct(self, node: Distinct) -> SmallRelation:
        below = self.relation(node.input)
        _check_identity(below.kinds, below.kinds)
        return SmallRelation(Distinct(below.node), below.kinds)

    def aggregate(self, node: Aggregate) -> SmallRelation:
        below = self.relation(node.input)
        _check_identity(below.kinds, node.keys)
        writer = self.writer(below.kinds)
        calls = [(name, writer.typed(call)) for name, call in node.calls]
        kinds = {key: below.kinds[key] for key in node.keys}
        kinds |= {name: call.kind for name, call in calls}
        written = tuple((name, Scalar.of(call.ast)) for name, call in calls)
        return SmallRelation(Aggregate(below.node, node.keys, written), kinds)

    def windowed(self, node: Windowed) -> SmallRelation:
        below = self.relation(node.input)
        writer = self.writer(below.kinds)
        calls = [(name, writer.typed(call)) for name, call in node.calls]
        written = tuple((name, Scalar.of(call.ast)) for name, call in calls)
        kinds = {**below.kinds, **{name: call.kind for name, call in calls}}
        return SmallRelation(replace(node, input=below.node, calls=written), kinds)

    def topk(self, node: TopK) -> SmallRelation:
        below = self.relation(node.input)
        _check_identity(below.kinds, (*node.partition, *(item.column for item in node.order)))
        return SmallRelation(replace(node, input=below.node), below.kinds)

    def consolidate(self, node: Consolidate) -> SmallRelation:
        below = self.relation(node.input)
        _check_identity(below.kinds, below.kinds)
        return SmallRelation(Consolidate(below.node), below.kinds)

    def repeat(self, node: Repeat) -> SmallRelation:
        below = self.relation(node.input)
        return SmallRelation(Repeat(below.node), below.kinds)

    def through(self, node: Small) -> SmallRelation:
        return self.relation(node.input)


def _together(parts: Sequence[SmallRelation]) -> Kinds:
    return {name: kind for part in parts for name, kind in part.kinds.items()}


def _check_identity(kinds: Kinds, names: Sequence[str] | Kinds) -> None:
    """Nothing where rows that are equal in these columns are the same rows in both engines."""
    for name in names:
        if not kinds[name].has_identity:
            raise NotSmallError(f"rows are told apart by a {kinds[name]}")


def _widened(item: SmallRelation, kinds: Sequence[SmallKind]) -> Node:
    own = [item.kinds[name] for name in item.node.columns]
    if own == list(kinds):
        return item.node
    outputs = tuple(
        (name, column(name) if mine == kind else _as(column(name).copy(), kind))
        for name, mine, kind in zip(item.node.columns, own, kinds, strict=True)
    )
    return Projection(item.node, outputs)


def _null(kind: SmallKind) -> Scalar:
    return _as(exp.null(), kind)


def _as(tree: exp.Expr, kind: SmallKind) -> Scalar:
    return Scalar.of(exp.Cast(this=tree, to=kind.to_duckdb()))


_FORMS: Final[dict[type[Node], Callable[..., SmallRelation]]] = {
    Scan: Translator.leaf,
    Stored: Translator.leaf,
    Named: Translator.leaf,
    Values: Translator.values,
    Empty: Translator.empty,
    Filter: Translator.filter,
    Projection: Translator.projection,
    InnerJoin: Translator.inner,
    OuterJoin: Translator.outer,
    SemiJoin: Translator.semi,
    MarkJoin: Translator.mark,
    UnionAll: Translator.union,
    SetOperation: Translator.operation,
    Distinct: Translator.distinct,
    Aggregate: Translator.aggregate,
    Windowed: Translator.windowed,
    TopK: Translator.topk,
    Consolidate: Translator.consolidate,
    Repeat: Translator.repeat,
    Small: Translator.through,
}
