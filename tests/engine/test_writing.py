"""The cheapest write that means the same: what is chosen for which rows and which target."""

from __future__ import annotations

import pyarrow as pa
import pytest

from grebe import thresholds
from grebe.compiler.algebra.nodes import Named
from grebe.compiler.write.steps import COPIES, MergeStep
from grebe.engine.writing import merge_of
from grebe.formats.base import ACTION, Append, KeyBounds, Merge, VersionStats

STEP = MergeStep(Named("rows", ("k", "v", ACTION, COPIES)), ("k",))
FILES = [KeyBounds("k", low, low + 9) for low in range(0, 100, 10)]


def rows(*changes: tuple[int | None, str]) -> pa.Table:
    keys = pa.array([key for key, _ in changes], pa.int64())
    actions = [action for _, action in changes]
    copies = [0 if action == "insert" else 1 for action in actions]
    return pa.table({"k": keys, "v": keys, ACTION: actions, COPIES: copies})


def target(stored: int = 100) -> VersionStats:
    return VersionStats(stored, len(FILES), 0, {"k": FILES})


def test_only_new_rows_are_appended() -> None:
    _, write = merge_of(rows((1, "insert"), (2, "insert")), STEP, target())
    assert isinstance(write, Append)
    assert write.rows.arrow.column_names == ["k", "v"]


def test_a_merge_without_new_rows_says_so_and_expects_what_is_stored() -> None:
    _, write = merge_of(rows((1, "update"), (2, "delete"), (3, "delete")), STEP, target())
    assert isinstance(write, Merge)
    assert (write.has_inserts, write.expect_updated, write.expect_deleted) == (False, 1, 2)


def test_a_narrow_range_of_matched_keys_prunes_and_new_keys_do_not_widen_it() -> None:
    _, write = merge_of(rows((3, "update"), (8, "delete"), (10**9, "insert")), STEP, target())
    assert isinstance(write, Merge)
    assert write.prune == "__grebe_target.`k` BETWEEN 3 AND 8"


@pytest.mark.parametrize(
    "changes",
    [((3, "update"), (97, "delete")), ((3, "update"), (None, "delete"))],
    ids=["wide", "a null key"],
)
def test_a_range_that_skips_nothing_or_would_lose_a_null_is_not_asked(
    changes: tuple[tuple[int | None, str], ...],
) -> None:
    _, write = merge_of(rows(*changes), STEP, target(thresholds.MERGED_ROWS))
    assert isinstance(write, Merge)
    assert write.prune is None
    assert write.target_is_large


def test_a_small_target_is_merged_in_one_pass() -> None:
    _, write = merge_of(rows((3, "update"), (97, "insert")), STEP, target())
    assert isinstance(write, Merge)
    assert not write.target_is_large


def test_many_small_files_do_not_hide_that_a_range_skips_the_large_ones() -> None:
    large = [KeyBounds("k", low, low + 9, bytes=1_000_000) for low in range(0, 100, 10)]
    small = [KeyBounds("k", 0, 99, bytes=100)] * 30
    _, write = merge_of(
        rows((3, "update"), (8, "delete")), STEP, VersionStats(100, 40, 0, {"k": [*large, *small]})
    )
    assert isinstance(write, Merge)
    assert write.prune == "__grebe_target.`k` BETWEEN 3 AND 8"
