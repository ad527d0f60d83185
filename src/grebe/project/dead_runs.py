"""Runs that died without saying how they ended: told as dead, and settled when the next one starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grebe.errors import RegistryError
from grebe.model import Position
from grebe.project.definitions import Definition
from grebe.project.history import DIED, Runs
from grebe.registry.records import RunRecord

if TYPE_CHECKING:
    from grebe.api.project import Project
    from grebe.registry import Registry


def told(runs: Sequence[RunRecord], registry: Registry) -> Runs:
    """The runs, those that are dead with that as the reason."""
    dead = registry.dead(runs)
    return Runs(replace(run, reasons=(DIED,)) if run in dead else run for run in runs)


def settle(project: Project, views: Mapping[str, Definition]) -> None:
    """Write down how dead runs ended: whether they landed is known from the storage table."""
    if not project.has_registry() or not project.registry.dead(project.registry.unfinished()):
        return
    from grebe.engine.recover import UNREADABLE, settled

    look = project.look()

    def position(name: str) -> Position | None:
        facts = views[name].facts if name in views else None
        return look.position(facts.storage) if facts and facts.storage else None

    try:
        for item in settled(project.registry, position):
            if item.kind == UNREADABLE:
                project.say(f"what became of a run of {item.name} is unknown: {item.detail}")
    except RegistryError as error:
        project.say(f"the registry cannot be used: {error}")
