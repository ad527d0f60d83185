"""The steps of a plan that are bound: cheaper ones where every change is an insertion."""

from __future__ import annotations

from grebe.compiler.bind.situation import Situation, Steps


def append_only(steps: Steps, situation: Situation) -> Steps:
    """The steps that only add rows, where the view can only grow and nothing was deleted."""
    growing = situation.facts.insert_only and situation.plan.appending
    return situation.plan.appending if growing else steps
