"""What readers would compute of a row is tried before the row is stored.

The public SELECT stands above the stored groups and is evaluated by every reader. An expression
of it that raises (a division by a sum that became zero, a total beyond BIGINT) makes the query
itself fail; so the refresh must fail too, and leave the old rows, instead of committing rows that
nobody can read.

What stands above a LIMIT is left out: only its few rows are computed, by the query as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import Filter, Node, OuterJoin, Projection, Stored
from grebe.compiler.algebra.raising import can_raise
from grebe.compiler.algebra.scalar import Scalar, all_of, build, column, substitute
from grebe.compiler.write.steps import MergeStep, Step
from grebe.model import ACTION


def proof(public: Node, types: Types) -> Scalar | None:
    """A condition that is true of every stored row, and raises where a reader would; or None."""
    found = _Walk(types)
    found.climb(public)
    return all_of(found.tried) if found.tried else None


def tried(step: Step, proven: Scalar) -> Step:
    """The step with what it writes tried; rows that go need no proof."""
    if not isinstance(step, MergeStep):
        return step
    passes = build(":action = 'delete' OR :proof", action=column(ACTION), proof=proven)
    return replace(step, node=Filter(step.node, passes))


@dataclass(slots=True)
class _Walk:
    """From the stored rows up: what each column is over them, and what a row has passed so far."""

    types: Types
    columns: dict[str, Scalar] = field(default_factory=dict)
    passed: list[Scalar] = field(default_factory=list)
    tried: list[Scalar] = field(default_factory=list)

    def climb(self, node: Node) -> bool:
        """True when all of the node could be followed."""
        match node:
            case Stored():
                self.columns = {name: column(name) for name in node.columns}
                return True
            case OuterJoin(right=Stored() as stored):
                return self.climb(stored)
            case Filter() if self.climb(node.input):
                self._try([node.predicate])
                self.passed.append(substitute(node.predicate, self.columns))
                return True
            case Projection() if self.climb(node.input):
                self._try([item for _, item in node.outputs])
                self.columns = {name: substitute(item, self.columns) for name, item in node.outputs}
                return True
        return False

    def _try(self, items: list[Scalar]) -> None:
        raising = [
            substitute(item, self.columns) for item in items if can_raise(item.ast, self.types)
        ]
        if not raising:
            return
        texts = [exp.cast(item.copy(), "STRING") for item in raising]
        # Never NULL, never empty, and nothing that an optimizer could know. Not sqlglot's own
        # ConcatWs: it writes a NULL where Spark's function leaves a NULL out.
        fixed = [exp.Literal.string(text) for text in ("", "v")]
        value = exp.Anonymous(this="CONCAT_WS", expressions=[*fixed, *texts])
        met = all_of(self.passed) if self.passed else None
        shown: exp.Expr = value
        if met is not None:
            shown = exp.Case(
                ifs=[exp.If(this=met.copy(), true=value)], default=exp.Literal.string("v")
            )
        self.tried.append(Scalar.of(exp.NEQ(this=shown, expression=exp.Literal.string(""))))
