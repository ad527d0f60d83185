"""Joins of two relations in FROM: their kinds, ON, USING and NATURAL."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from grebe.compiler.algebra.nodes import InnerJoin, Node, OuterJoin, Projection, SemiJoin
from grebe.compiler.algebra.scalar import TRUE, Scalar, all_of, build, column, equals
from grebe.compiler.lower.block import Block
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.frame import Frame, crossed
from grebe.compiler.lower.pending import Pending
from grebe.compiler.lower.scope import Environment
from grebe.compiler.lower.shape import exactly, free_columns
from grebe.compiler.reasons import ReasonCode
from grebe.errors import AmbiguousColumnError, UnknownColumnError

_KINDS = ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI")


def join_frames(
    context: Context, left: Frame, right: Frame, join: exp.Join, environment: Environment
) -> Frame:
    """The relation that one join gives."""
    return _Join(context, left, right, join, environment).frame()


@dataclass(frozen=True, slots=True)
class _Join:
    context: Context
    left: Frame
    right: Frame
    tree: exp.Join
    environment: Environment

    def word(self, key: str) -> str:
        return str(self.tree.args.get(key) or "")

    def frame(self) -> Frame:
        kind, side = self.word("kind"), self.word("side")
        if self.word("method") == "POSITIONAL":
            message = "a POSITIONAL JOIN pairs rows in the order in which they happen to be read"
            self.context.refuse(ReasonCode.NON_DETERMINISTIC, message, self.tree)
        if self.word("method") not in ("", "NATURAL") or kind not in _KINDS:
            name = f"{self.word('method')} {kind}".strip()
            self.context.refuse(ReasonCode.JOIN_KIND, f"a {name} join has no rule", self.tree)
        shared = self.shared_names()
        pairs = [self.pair(name) for name in shared]
        conditions = [equals(column(one), column(other)) for one, other in pairs]
        if kind in ("SEMI", "ANTI"):
            self.context.features.add(f"{kind.lower()}_join")
            return Frame(self.semi(conditions, kind), self.left.sources, self.left.star)
        if side in ("LEFT", "RIGHT", "FULL"):
            self.context.features.add(f"{side.lower()}_join")
            node = self.outer(conditions, side)
        else:
            self.context.features.add("join")
            node = self.inner(conditions)
        return self.merged(node, shared, pairs)

    def shared_names(self) -> list[str]:
        if self.word("method") == "NATURAL":
            own = {name.lower() for name, _ in self.right.star}
            return list(dict.fromkeys(n for n, _ in self.left.star if n.lower() in own))
        return [item.name for item in self.tree.args.get("using") or []]

    def pair(self, name: str) -> tuple[str, str]:
        """The columns of both sides that a shared name means."""
        return self.one(self.left, name), self.one(self.right, name)

    def one(self, frame: Frame, name: str) -> str:
        found = [own for public, own in frame.star if public.lower() == name.lower()]
        where = self.context.where(self.tree)
        if len(found) > 1:
            raise AmbiguousColumnError(f'column "{name}" of USING is ambiguous', where=where)
        if not found:
            known = [public for public, _ in frame.star]
            raise UnknownColumnError.named(name, known, where=where)
        return found[0]

    def on(self) -> tuple[Scalar, dict[str, Pending]]:
        tree = self.tree.args.get("on")
        if tree is None:
            return TRUE, {}
        resolver = crossed([self.left, self.right]).resolver(self.context, self.environment)
        return resolver.scalar(tree), resolver.pending

    def inner(self, conditions: list[Scalar]) -> Node:
        on, pending = self.on()
        joined = InnerJoin((self.left.node, self.right.node), tuple(conditions))
        block = Block(self.context, joined, pending)
        block.filter(on)
        return block.node

    def outer(self, conditions: list[Scalar], side: str) -> Node:
        on, pending = self.on()
        left, right = self.with_subqueries(on, pending)
        whole = all_of([*conditions, on])
        if side == "RIGHT":
            return OuterJoin(right, left, whole)
        return OuterJoin(left, right, whole, full=side == "FULL")

    def semi(self, conditions: list[Scalar], kind: str) -> Node:
        on, pending = self.on()
        left, right = self.with_subqueries(on, pending)
        node = SemiJoin(left, right, all_of([*conditions, on]), anti=kind == "ANTI")
        return exactly(self.context, node, self.left.node.columns)

    def with_subqueries(self, on: Scalar, pending: dict[str, Pending]) -> tuple[Node, Node]:
        """Both sides, each with the subqueries of ON that read only its own columns."""
        left, right = self.left.node, self.right.node
        sides = [Block(self.context, left, pending), Block(self.context, right, pending)]
        for name in sorted(on.columns & set(pending)):
            item = pending[name]
            query = self.context.lower_query(self.context, item.query, item.environment)
            reads = free_columns(query.node).union(*(o.columns for o in item.operands))
            here = reads & {*left.columns, *right.columns}
            if here <= set(right.columns):
                sides[1].join_subquery(item)
            elif here <= set(left.columns):
                sides[0].join_subquery(item)
            else:
                message = "a subquery in ON reads both sides of the join"
                place = self.tree.args.get("on")
                self.context.refuse(ReasonCode.SUBQUERY_IN_OUTER_JOIN, message, place)
        return sides[0].node, sides[1].node

    def merged(self, node: Node, shared: list[str], pairs: list[tuple[str, str]]) -> Frame:
        """The frame in which each shared column is one column for bare names and stars."""
        both = crossed([self.left, self.right])
        if not shared:
            return Frame(node, both.sources, both.star)
        side = self.word("side")
        merged: list[tuple[str, str]] = []
        for name, (one, other) in zip(shared, pairs, strict=True):
            own = other if side == "RIGHT" else one
            if side == "FULL":
                own = self.context.fresh(name)
                value = build("COALESCE(:a, :b)", a=column(one), b=column(other))
                kept = tuple((kept, column(kept)) for kept in node.columns)
                node = Projection(node, (*kept, (own, value)))
            merged.append((name, own))
        return Frame(node, both.sources, self.star(dict(merged)))

    def star(self, merged: dict[str, str]) -> tuple[tuple[str, str], ...]:
        """Spark shows shared columns first, DuckDB where the left side has them."""
        own = {name.lower(): column_ for name, column_ in merged.items()}
        rest = tuple(pair for pair in self.right.star if pair[0].lower() not in own)
        if self.context.dialect == "spark":
            first = tuple(pair for pair in self.left.star if pair[0].lower() not in own)
            return (*merged.items(), *first, *rest)
        first = tuple((name, own.get(name.lower(), found)) for name, found in self.left.star)
        return (*first, *rest)
