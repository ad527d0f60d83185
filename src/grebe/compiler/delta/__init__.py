"""The delta rules: one operator, one file, one law. This is the only dispatch.

Every node offers three relations: `old`, `new` and its change. A rule makes a node's change from
the three of its inputs, so a tree of any depth is maintained by composing the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from grebe.compiler.algebra.coercion import coerced
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    Empty,
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
)
from grebe.compiler.delta import (
    aggregate,
    filter,  # noqa: A004  the operator is called so
    join,
    mark,
    outer,
    projection,
    recompute,
    scan,
    semi,
    setops,
    union,
    unnest,
)
from grebe.compiler.delta.rules import Rules

LAWS: Final[Mapping[type[Node], Callable[..., Node]]] = {
    Scan: scan.change,
    Values: scan.constant,
    Empty: scan.constant,
    Filter: filter.change,
    Projection: projection.change,
    InnerJoin: join.change,
    OuterJoin: outer.change,
    SemiJoin: semi.change,
    MarkJoin: mark.change,
    UnionAll: union.change,
    SetOperation: setops.change,
    Distinct: setops.distinct,
    Aggregate: aggregate.change,
    Windowed: recompute.change,
    TopK: recompute.change,
    Unnest: unnest.change,
}


def rules(types: Types | None = None, unsteady: frozenset[str] = frozenset()) -> Rules:
    """The rules for one definition, and its columns whose equal values need not be the same."""
    return Rules(types or Types(), LAWS, unsteady)


def change(node: Node, types: Types | None = None) -> Node:
    """The exact change of a definition: its columns and a weight."""
    known = types or Types()
    return rules(known).change(coerced(node, known))


__all__ = ["LAWS", "Rules", "change", "rules"]
