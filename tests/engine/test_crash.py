"""L5: kill a refresh anywhere, recover, refresh: the views equal their queries.

`make test` kills at some places; `make test-crash` at every place of every kind of refresh, and
counts in docs/evidence/engine_crash.json.
"""

from __future__ import annotations

import pytest

from engine.site import KINDS, MATRIX, Site
from evidence import LongRun

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("first", "refresh.committed"),
        ("incremental", "iceberg.proved"),
        ("graph", "run.recorded"),
        ("large", "run.staged"),
    ],
)
def test_a_refresh_that_is_killed(site: Site, kind: str, place: str) -> None:
    site.killed(kind, place, KINDS.index(kind))


@pytest.mark.crash
@pytest.mark.timeout(0)
def test_refreshes_killed_at_every_place(site: Site, engine_run: LongRun) -> None:
    for seed in engine_run.seeds():
        kind, place = MATRIX[seed % len(MATRIX)]
        site.killed(kind, place, seed)
        engine_run.add(kills=1, **{kind: 1, place.replace(".", "_"): 1})
