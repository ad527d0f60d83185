"""From a plan to the steps that run: passes over steps, each pure, in the order in which they stand here.

`bind` knows the sources' deltas and what metadata says. A step whose inputs are the results of earlier
ones is bound again when those are there (`rebind`). Nothing else decides what runs: an engine carries
out the steps, `explain` prints the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from grebe.compiler.bind.broadcast import mark_small_sides
from grebe.compiler.bind.choose_steps import append_only
from grebe.compiler.bind.factor import factor_terms
from grebe.compiler.bind.kept_scans import keep_scans
from grebe.compiler.bind.key_ranges import fill_key_bounds, narrow_stored
from grebe.compiler.bind.known import Known
from grebe.compiler.bind.prune import drop_empty, drop_unchanged, stop_without_writes
from grebe.compiler.bind.scan_limits import limit_scans
from grebe.compiler.bind.shared_reads import share_reads
from grebe.compiler.bind.situation import DeltaFacts as DeltaFacts
from grebe.compiler.bind.situation import Situation, Steps
from grebe.compiler.bind.trail import Trail, traced
from grebe.compiler.bind.whole_state import read_state_whole
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.write.steps import Step

PASSES: Final[tuple[Callable[[Steps, Situation], Steps], ...]] = (
    append_only,
    drop_unchanged,
    fill_key_bounds,
    factor_terms,
    stop_without_writes,
    read_state_whole,
    limit_scans,
    mark_small_sides,
)
"""Once the deltas are read."""

REBIND: Final[tuple[Callable[[Step, Known], Steps], ...]] = (
    drop_empty,
    narrow_stored,
    share_reads,
    keep_scans,
)
"""Once the steps before one have run."""


def bind(plan: RefreshPlan, facts: DeltaFacts, trail: Trail | None = None) -> Steps:
    """The steps for these deltas: empty terms dropped, cheaper writes where they are provable.

    No step at all means that no row of the view changes. ``trail`` is told which pass changed what.
    """
    situation = Situation(plan, facts)
    steps = plan.steps
    for one in PASSES:
        steps = traced(one.__name__, steps, one(steps, situation), trail)
    return steps


def rebind(step: Step, known: Known, trail: Trail | None = None) -> Steps:
    """What a bound step has become by what the steps before it gave; nothing, one step, or more."""
    steps: Steps = (step,)
    for one in REBIND:
        changed = tuple(new for item in steps for new in one(item, known))
        steps = traced(one.__name__, steps, changed, trail)
    return steps
