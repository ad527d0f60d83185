"""The steps of a run as they ran: rows, seconds, and the passes that made each of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grebe.engine.result import StepRun
from grebe.errors import RefreshError
from grebe.model import TableName
from grebe.tabular import Tabular

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StepsRan(Tabular):
    """What one run of a view did, step by step."""

    view: TableName
    run_id: str
    steps: tuple[StepRun, ...]

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per step."""
        headings = ("step", "rows", "took", "run by", "bound by")
        return headings, [
            (
                f"{step.kind} {step.name}".strip() + (f": {step.way}" if step.way else ""),
                "" if step.rows is None else f"{step.rows:,}",
                f"{step.seconds:.2f} s",
                f"{step.engine}: {step.why}" if step.why else step.engine,
                ", ".join(step.passes),
            )
            for step in self.steps
        ]

    def text(self, *, sql: bool = False) -> str:
        """The steps for a person; with what each ran, if asked for."""
        lines = [f"{self.view}: run {self.run_id}", str(self)]
        if sql:
            for number, step in enumerate(self.steps, 1):
                lines.append(f"step {number}: {step.kind} {step.name}".rstrip())
                lines += [f"    {line}" for line in step.sql.splitlines()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "view": str(self.view),
            "run_id": self.run_id,
            "steps": [step.to_dict() for step in self.steps],
        }


def steps_ran(workspace: Workspace, view: TableName, run_id: str | None = None) -> StepsRan:
    """What a run of a view ran; the last one that is known, unless one is named.

    Raises:
        RefreshError: the registry knows none.
    """
    known = workspace.has_registry()
    found = workspace.registry.steps(str(view), run_id) if known else None
    if found is None:
        which = f"run {run_id}" if run_id else "a run that computed something"
        raise RefreshError(
            f'of view "{view}" no steps of {which} are known',
            detail="the registry keeps the steps of the last ten runs of a view",
            hint=f"refresh it, then: grebe explain {view.name} --last-run",
            code="unknown-run",
        )
    run, document = found
    return StepsRan(view, run, tuple(map(StepRun.from_dict, json.loads(document))))
