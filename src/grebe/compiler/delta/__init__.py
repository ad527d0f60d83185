"""The delta rules: one operator, one file, one law. This is the only dispatch.

Every node offers three relations: `old`, `new` and its change. A rule makes a node's change from
the three of its inputs, so a tree of any depth is maintained by composing the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from grebe.compiler.coercion import coerced
from grebe.compiler.delta import (
    aggregate,
    join,
    mark,
    outer,
    partition,
    project,
    scan,
    selection,
    semi,
    setops,
    union,
    unnest,
)
from grebe.compiler.delta.rules import Rules
from grebe.compiler.nodes import (
    Aggregate,
    Distinct,
    Empty,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Project,
    Scan,
    SemiJoin,
    SetOperation,
    TopK,
    UnionAll,
    Unnest,
    Values,
    Window,
)
from grebe.compiler.types import Types

LAWS: Final[Mapping[type[Node], Callable[..., Node]]] = {
    Scan: scan.change,
    Values: scan.constant,
    Empty: scan.constant,
    Filter: selection.change,
    Project: project.change,
    InnerJoin: join.change,
    OuterJoin: outer.change,
    SemiJoin: semi.change,
    MarkJoin: mark.change,
    UnionAll: union.change,
    SetOperation: setops.change,
    Distinct: setops.distinct,
    Aggregate: aggregate.change,
    Window: partition.change,
    TopK: partition.change,
    Unnest: unnest.change,
}


def rules(types: Types | None = None) -> Rules:
    """The rules for one definition."""
    return Rules(types or Types(), LAWS)


def change(node: Node, types: Types | None = None) -> Node:
    """The exact change of a definition: its columns and a weight."""
    known = types or Types()
    return rules(known).change(coerced(node, known))


__all__ = ["LAWS", "Rules", "change", "rules"]
