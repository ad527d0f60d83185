"""Tree to nodes: what a query means, or why it cannot be maintained."""

from grebe.compiler.lower.pipeline import Lowered, lower
from grebe.compiler.lower.scope import Relation

__all__ = ["Lowered", "Relation", "lower"]
