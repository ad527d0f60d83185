"""RefreshPlan: what one refresh will do, as data.

The engine runs the steps, `explain` prints the same steps, `compile_ivm` arranges them as a
program. A plan names no version, no path and no session: equal inputs give an equal plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b

from grebe.compiler.algebra.key_bounds import Parameter, parameters, ranges
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import Node
from grebe.compiler.write.steps import OverwriteStep, Shape, Step
from grebe.model import LAYOUT, Reason


class Strategy(StrEnum):
    """How the root is written."""

    APPEND = "append"
    GROUPS = "upsert groups"
    REPLACE = "replace keys"
    BAG = "bag"
    OVERWRITE = "overwrite"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class RefreshPlan:
    """Everything that refreshing a view takes, apart from versions."""

    types: Types
    definition: Node
    outputs: tuple[tuple[str, str], ...]
    """(internal column, public name) in the order of the SELECT list."""
    tables: tuple[str, ...]
    strategy: Strategy
    shape: Shape
    build: Node
    """All rows of the storage table at the new versions."""
    public: Node
    """What readers see, over the stored rows."""
    steps: tuple[Step, ...]
    appending: tuple[Step, ...] = ()
    """The steps when every change is an insertion and the view can only grow."""
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    laws: tuple[tuple[str, str], ...] = ()
    """The law that gave the change of each node, by the node's digest."""
    fingerprint: str = field(default="")

    @property
    def dialect(self) -> str:
        """The SQL dialect that the plan speaks."""
        return self.types.dialect

    @property
    def is_incremental(self) -> bool:
        """True when the view can be maintained from changes."""
        return not self.reasons

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The key ranges that `bind` can make use of."""
        return parameters(step.node for step in self.steps)

    @property
    def ranges(self) -> dict[Parameter, tuple[tuple[str, str], ...]]:
        """For each of them, the tables and columns that it would filter."""
        return ranges(step.node for step in self.steps)

    @property
    def full(self) -> tuple[Step, ...]:
        """The steps of a full refresh."""
        return (OverwriteStep(self.build),)


def fingerprint_of(plan: RefreshPlan) -> str:
    """A digest of what the plan means; whitespace, comments and case of the text do not count."""
    parts = [
        str(LAYOUT),
        plan.dialect,
        plan.strategy,
        repr(plan.outputs),
        plan.build.digest,
        plan.public.digest,
    ]
    return blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()
