"""What follows a failure: every kind, until the view is suspended, resumed, or well."""

from __future__ import annotations

import pytest

from grebe.scheduler.backoff import (
    AFTER_A_DEATH,
    LONGEST_WAIT,
    FailureKind,
    RunFailure,
    after,
    after_success,
    kind_of,
    resumed,
    wait,
)
from grebe.scheduler.due import holds
from grebe.scheduler.wishes import KEPT_RUNS, ViewKnown

T = 1000.0


def times(kind: FailureKind, number: int, most: int = 5) -> ViewKnown:
    known = ViewKnown(inputs="a", wanted=True)
    for _ in range(number):
        known = after(known, RunFailure(kind, "a", "it is broken"), T, 1.0, most)
    return known


@pytest.mark.parametrize(
    ("codes", "kind"),
    [
        ({"conflict"}, FailureKind.AWAY), ({"step-failed", "out-of-reach"}, FailureKind.AWAY), ({"disk"}, FailureKind.AWAY),
        ({"registry"}, FailureKind.AWAY), ({"unknown-outcome"}, FailureKind.AWAY), ({"spark-lost"}, FailureKind.AWAY),
        ({"timed-out"}, FailureKind.SLOW), ({"unknown-table"}, FailureKind.SLOW), ({"step-failed"}, FailureKind.OWN),
        ({"integrity"}, FailureKind.OWN), ({"not-incremental"}, FailureKind.OWN), ({"schema-changed"}, FailureKind.OWN), (set(), FailureKind.OWN),
    ],
)  # fmt: skip
def test_the_kind_of_a_failure(codes: set[str], kind: FailureKind) -> None:
    assert kind_of(frozenset(codes)) is kind


def test_what_could_not_be_reached_is_tried_again_for_ever() -> None:
    known = times(FailureKind.AWAY, 50)
    assert (known.suspended, known.failures, known.retry_at) == (None, 0, T + LONGEST_WAIT)
    assert times(FailureKind.AWAY, 1).retry_at == T + 5
    assert times(FailureKind.AWAY, 3).retry_at == T + 20


def test_the_same_inputs_are_not_tried_again() -> None:
    known = times(FailureKind.OWN, 1)
    assert (known.failed_inputs, known.retry_at, known.wanted) == ("a", None, False)
    assert holds(known, T + 1e9) == "it failed on the same inputs"


@pytest.mark.parametrize("kind", [FailureKind.OWN, FailureKind.DIED, FailureKind.SLOW])
def test_five_in_a_row_and_no_more(kind: FailureKind) -> None:
    assert times(kind, 4).suspended is None
    assert "5 runs in a row failed: it is broken" in str(times(kind, 5).suspended)
    assert times(kind, 50, most=0).suspended is None  # who allows any number
    assert times(kind, 1, most=1).suspended


def test_who_killed_a_worker_waits_and_runs_alone() -> None:
    known = times(FailureKind.DIED, 1)
    assert known.alone
    assert known.retry_at == T + AFTER_A_DEATH
    least = after(ViewKnown(), RunFailure(FailureKind.DIED, "", "x"), T, 0.0, 5)
    assert least.retry_at == T + AFTER_A_DEATH / 2


def test_success_and_a_person_clear_what_was() -> None:
    well = after_success(times(FailureKind.DIED, 3), T, 2.5)
    assert well == ViewKnown(inputs="a", ended=T, durations=(2.5,))
    again = resumed(times(FailureKind.OWN, 5))
    assert (again.suspended, again.failures, again.failed_inputs, again.wanted) == (
        None,
        0,
        None,
        True,
    )
    many = ViewKnown()
    for number in range(50):
        many = after_success(many, T, float(number))
    assert len(many.durations) == KEPT_RUNS
    assert after_success(many, T, None).durations == many.durations  # nothing ran: nothing is known


def test_waits_are_drawn_and_bounded() -> None:
    assert wait(1, 0.0) == 0.0
    assert max(wait(tries, 1.0) for tries in range(1, 2000)) == LONGEST_WAIT
