"""What a refresh is bound to: its plan, and what is known of the change."""

from __future__ import annotations

from dataclasses import dataclass, field

from grebe.compiler.algebra.key_bounds import Bounds, Parameter
from grebe.compiler.bind.sizes import SideSizes
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.write.steps import Step

Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class DeltaFacts:
    """What is known of the sources' deltas once they are read."""

    unchanged: frozenset[str] = frozenset()
    insert_only: bool = False
    bounds: Bounds = field(default_factory=dict)
    """Key ranges of the deltas, where the file bounds say that they prune."""
    sizes: SideSizes = field(default_factory=SideSizes)
    """Rows of the sources and of their deltas, where metadata says."""
    never_null: frozenset[Parameter] = frozenset()
    """Columns of the deltas that hold no NULL."""


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a pass may look at."""

    plan: RefreshPlan
    facts: DeltaFacts
