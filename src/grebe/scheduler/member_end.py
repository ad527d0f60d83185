"""How the run of one view ended, as the loop hears of it."""

from __future__ import annotations

from dataclasses import dataclass

from grebe.model import Outcome


@dataclass(frozen=True, slots=True)
class MemberEnd:
    """How the run of one view ended."""

    view: str
    outcome: str
    codes: tuple[str, ...] = ()
    says: str = ""
    seconds: float = 0.0
    run_id: str = ""

    @property
    def failed(self) -> bool:
        """True for a run that did not make the view what it should be."""
        return self.outcome == Outcome.FAILED


DIED, TIMED_OUT = "died", "timed-out"
