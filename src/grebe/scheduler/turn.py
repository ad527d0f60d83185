"""One turn of the loop: look, decide, claim, start. It is the same over a registry and over a test's memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from grebe.scheduler.due import Decision, Moment, decisions
from grebe.scheduler.run_groups import PlannedRun, plan_runs
from grebe.scheduler.wishes import ViewKnown, Wish


@dataclass(frozen=True, slots=True)
class Sight:
    """What a look found."""

    moment: Moment
    wishes: Mapping[str, Wish]
    known: Mapping[str, ViewKnown]


class Board(Protocol):
    """Where copies meet: what is known, and who may run what."""

    def look(self) -> Sight:
        """What is so now."""

    def take(self, run: PlannedRun) -> PlannedRun | None:
        """The run with the views that are ours now, by lease and slot; the others are left out in silence."""

    def tell(self, sight: Sight, found: Mapping[str, Decision]) -> None:
        """Write down what changed for people: edges such as late and in time."""


class Hands(Protocol):
    """Who carries runs out."""

    def is_free(self, run: PlannedRun) -> bool:
        """Whether a run could begin now; a check that runs gives way to a refresh."""

    def start(self, run: PlannedRun) -> None:
        """Begin a run."""


def turn(board: Board, hands: Hands) -> float:
    """Begin what is due; the seconds after which something else is, if nothing moves before."""
    sight = board.look()
    found = decisions(sight.wishes, sight.known, sight.moment)
    board.tell(sight, found)
    for run in plan_runs(found, sight.wishes, sight.known, sight.moment.now):
        # No lease is held while a run waits: asked first, taken then.
        if not hands.is_free(run):
            continue
        taken = board.take(run)
        if taken is not None:
            hands.start(taken)
    now = sight.moment.now
    later = [item.at - now for item in found.values() if item.at is not None and item.at > now]
    return min(later, default=math.inf)
