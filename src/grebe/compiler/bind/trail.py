"""Which pass changed which step: kept for explain, of no influence on anything."""

from __future__ import annotations

from dataclasses import dataclass, field

from grebe.compiler.bind.situation import Steps
from grebe.compiler.write.steps import Step


@dataclass(slots=True)
class Trail:
    """The passes that changed each step, and those by which a step went away."""

    changed: dict[str, list[str]] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)

    def of(self, step: Step) -> tuple[str, ...]:
        """The passes that made a step what it is."""
        return tuple(dict.fromkeys(self.changed.get(key_of(step), ())))


def key_of(step: Step) -> str:
    """What a step is known by: its name, or what it does to the table."""
    name = getattr(step, "name", None)
    return f"{type(step).__name__} {name}" if name else type(step).__name__


def traced(name: str, before: Steps, after: Steps, trail: Trail | None) -> Steps:
    """The steps after a pass; the trail is told what it did."""
    if trail is None or before == after:
        return after
    old = {key_of(step): step for step in before}
    new = {key_of(step): step for step in after}
    for key, step in new.items():
        if key not in old or old[key] != step:
            trail.changed.setdefault(key, []).append(name)
    trail.dropped.update({key: name for key in old if key not in new})
    return after
