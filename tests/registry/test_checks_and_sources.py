"""Checks, versions of sources and costs: what was written down is read back as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

from grebe.model import Cost, Outcome, Version
from grebe.registry import CheckRecord, Registry, RunRecord, SourceRecord

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def test_a_check_is_written_down_as_it_was(registry: Registry) -> None:
    equal = CheckRecord("v", True, 3_000_000_000, 0, 1.5, 0.01, (("lake.s.t", "7"),))
    differs = CheckRecord("v", False, 0, 10, 2.0, trouble="integrity", error="differs'; --")
    unknown = CheckRecord("w", None, trouble="expired", error="x")
    for check in (equal, differs, unknown):
        registry.note_check(check)
    found = registry.checks()
    assert [replace(check, checked_at=None) for check in found] == [unknown, differs, equal]
    assert all(check.checked_at is not None for check in found)
    assert [check.equal for check in registry.checks("v")] == [False, True]
    assert registry.checks("v", limit=1)[0].differing == 10
    latest = registry.latest_checks()
    assert {name: check.equal for name, check in latest.items()} == {"v": False, "w": None}


def test_a_version_is_written_down_once_when_it_is_first_seen(registry: Registry) -> None:
    one = SourceRecord("lake.s.t", "a", Version("1"), AT)
    two = SourceRecord("lake.s.t", "a", Version("2"))
    replaced = SourceRecord("lake.s.t", "b", Version("1"))
    other = SourceRecord("lake.s.u'", "a", Version("1"))
    registry.see_sources([one, other])
    first = registry.sources("lake.s.t")
    registry.see_sources([one, two, replaced])
    found = registry.sources("lake.s.t")
    assert {replace(item, seen_at=None) for item in found} == {one, two, replaced}
    assert first[0] in found, "when it was first seen stays"
    assert len(registry.sources()) == 4
    assert len(registry.sources(limit=1)) == 1


def test_two_that_see_the_same_versions_at_once_do_not_disturb_each_other(
    registry: Registry,
) -> None:
    seen = [SourceRecord(f"t{number}", "a", Version("1")) for number in range(20)]

    def see(number: int) -> None:
        registry.see_sources(seen if number % 2 else seen[::-1])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(see, range(8)))
    assert len(registry.sources(limit=None)) == 20


def test_what_a_run_cost_is_kept(registry: Registry) -> None:
    cost = Cost(Outcome.INCREMENTAL, 2.5, 2.0, Outcome.FULL, 0.9)
    for run, found in (("a", cost), ("b", None), ("c", Cost(Outcome.FULL, 1.0))):
        registry.begin(RunRecord(run, "v"))
        registry.finish(RunRecord(run, "v", outcome=Outcome.FULL, cost=found))
    assert [run.cost for run in registry.runs()] == [Cost(Outcome.FULL, 1.0), None, cost]
    assert cost.was_dearer
    assert str(cost) == "incremental took 2.5 s, full would take about 0.9 s"
    assert not replace(cost, seconds=1.0).was_dearer
