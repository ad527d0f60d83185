"""What every rule is given: the old, the new and the change of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import At, Node
from grebe.compiler.algebra.rewriting import pinned
from grebe.errors import InternalError


@dataclass(slots=True)
class Rules:
    """The three relations of any node; each computed once."""

    types: Types
    laws: Mapping[type[Node], Callable[..., Node]]
    unsteady: frozenset[str] = frozenset()
    """Columns whose equal values need not be the same (`signed_zeros`)."""
    changes: dict[str, Node] = field(default_factory=dict)
    pins: dict[tuple[str, At], Node] = field(default_factory=dict)
    applied: dict[str, str] = field(default_factory=dict)
    """The law that gave each change, by the digest of its node: what an explanation prints."""

    def old(self, node: Node) -> Node:
        """The relation at the versions that the view shows now."""
        return self._at(node, At.OLD)

    def new(self, node: Node) -> Node:
        """The relation at the versions that the view will show."""
        return self._at(node, At.NEW)

    def change(self, node: Node) -> Node:
        """The exact change: the node's columns and a weight; equal rows may occur apart."""
        if node.digest not in self.changes:
            law = self.laws.get(type(node))
            if law is None:
                raise InternalError.broken(f"no delta rule for {type(node).__name__}")
            self.changes[node.digest] = law(node, self)
            self.record(node, law.__module__)
        return self.changes[node.digest]

    def record(self, node: Node, module: str) -> None:
        """The law that was applied to a node; one that was tried first has said so before."""
        self.applied.setdefault(node.digest, module.rpartition(".")[2])

    def _at(self, node: Node, at: At) -> Node:
        key = (node.digest, at)
        if key not in self.pins:
            self.pins[key] = pinned(node, at, self.pins)
        return self.pins[key]
