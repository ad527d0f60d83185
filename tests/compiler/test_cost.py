"""The choice between incremental and full: measured times count where something alike was measured."""

from __future__ import annotations

import pytest

from grebe.compiler.plan.cost import Past, Sizes, full_is_cheaper

FULLS = [Past(False, 0, 60.0), Past(False, 0, 61.0)]
SMALL = [Past(True, 1, 1.0), Past(True, 1, 1.2), Past(True, 10, 1.1)]
LARGE = [Past(True, 100_000, 11.0), Past(True, 200_000, 21.0), Past(True, 1, 1.0)]


@pytest.mark.parametrize(
    ("changed", "total", "past", "code"),
    [
        (5_000, 10**8, [], None),
        (4 * 10**7, 10**8, [], "changeset-too-large"),
        # Runs of one row say nothing of the cost of a row, either way.
        (5_000, 10**8, FULLS + SMALL, None),
        (10**8, 10**8, FULLS + SMALL, "changeset-too-large"),
        # Ten seconds for 100,000 rows: a full refresh takes as long as 600,000.
        (500_000, 10**6, FULLS + LARGE, None),
        (700_000, 10**6, FULLS + LARGE, "full-cheaper"),
        (700_000, 10**6, FULLS[:1] + LARGE, "full-cheaper"),  # the first build is enough
        # Far beyond what was measured the share decides.
        (3_000_000, 10**8, FULLS + LARGE, None),
        (900_000, 10**6, FULLS + LARGE, "changeset-too-large"),
        (1_000, 1_000, FULLS + LARGE, None),
        (None, 10, FULLS, None),
        (0, 10, FULLS, None),
    ],
)
def test_what_decides(changed: int | None, total: int, past: list[Past], code: str | None) -> None:
    reason = full_is_cheaper(Sizes(changed, total), past)
    assert (reason.code if reason else None) == code
    assert reason is None or reason.numbers


@pytest.mark.parametrize(("changed", "code"), [(29, None), (30, None), (31, "changeset-too-large")])
def test_F108_a_share_that_was_set_decides_whatever_was_measured(
    changed: int, code: str | None
) -> None:
    for past in ([], FULLS + SMALL, FULLS + LARGE):
        reason = full_is_cheaper(Sizes(changed, 100), past, 0.3)
        assert (reason.code if reason else None) == code


def test_a_join_reads_what_did_not_change_too() -> None:
    """Measured: at 0.7 % of the rows half of a full refresh, at 7 % nearly two."""
    for changed, code in ((50_000, None), (500_000, "changeset-too-large")):
        reason = full_is_cheaper(Sizes(changed, 7_650_000, sources=3))
        assert (reason.code if reason else None) == code
        assert full_is_cheaper(Sizes(changed, 7_650_000)) is None
