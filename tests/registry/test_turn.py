"""Turns: of two runs of a graph, who has a view has what reads it."""

from __future__ import annotations

from grebe.registry import Registry
from grebe.registry.turn import Turn

VIEWS = ["a", "b", "c", "d"]
PARENTS = {"c": ["a"], "d": ["c"]}


def test_what_reads_a_view_of_somebody_else_is_left_to_him(registry: Registry) -> None:
    with Turn(registry, ["a"], "first"), Turn(registry, VIEWS, "second", PARENTS) as second:
        assert set(second.held) == {"a"}
        assert set(second.leases) == {"b"}
        # Free for the first one, which comes to them after their parent.
        assert registry.holder("c") is None
        assert registry.holder("d") is None


def test_a_turn_gives_back_what_it_took(registry: Registry) -> None:
    with Turn(registry, VIEWS, "first", PARENTS) as turn:
        assert set(turn.leases) == set(VIEWS)
    assert all(registry.holder(view) is None for view in VIEWS)
