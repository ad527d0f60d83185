"""No state of a view's own tables exists that `refresh --full-refresh` does not lead out of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from cli.tampering import KINDS, TAKEN, Tampered
from grebe.errors import GrebeError
from grebe.model import Outcome, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SHORT = {
    ("own", "column added"),
    ("own", "metadata gone"),
    ("folders", "append only"),
    ("duck", "column renamed"),
}
"""The others take long, and go to the long suites."""
ALL = [
    pytest.param(kind, name, marks=() if (kind, name) in SHORT else pytest.mark.laws)
    for kind, kinds in KINDS.items()
    for name in kinds
]


@pytest.fixture(scope="module")
def sites(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Tampered]]:
    folder = tmp_path_factory.mktemp("tampered")
    made = {kind: Tampered(spark, folder / kind, kind) for kind in KINDS}
    yield made
    for site in made.values():
        site.project.close()


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_a_full_refresh_comes_back_from(sites: dict[str, Tampered], kind: str, name: str) -> None:
    site = sites[kind]
    view = site.view()
    assert site.public() == site.plain()
    KINDS[kind][name](site)
    site.project.status(view)
    (done,) = site.project.refresh(view)
    told = (done.outcome, done.reasons, done.error)
    if done.outcome is Outcome.FAILED:
        assert isinstance(done.error, GrebeError), told
        assert done.error.code not in ("internal", "unexpected"), told
        assert done.error.hint, told
    elif site.rows_are_trusted(name):
        assert site.rows() == site.plain(), told
        assert site.public() == site.plain(), told
        assert site.project.view(view).status().state is State.FRESH
    site.more()
    (done,) = site.project.refresh(view, full=True)
    told = (done.outcome, done.reasons, done.error)
    assert done.outcome is Outcome.FULL, told
    if name in ("manifests gone", "manifest lists gone"):
        assert "storage-unreadable" in [reason.code for reason in done.reasons], told
    assert site.rows() == site.plain(), told
    assert site.public() == site.plain(), told
    site.more()
    (done,) = site.project.refresh(view)
    assert done.outcome is Outcome.INCREMENTAL, done
    assert site.rows() == site.plain()
    assert site.public() == site.plain()
    site.project.drop(view)
    assert view not in site.project.written()


@pytest.mark.parametrize(
    "case",
    [
        "own view",
        *(
            pytest.param(case, marks=pytest.mark.laws)
            for case in sorted(TAKEN)
            if case != "own view"
        ),
    ],
)
def test_a_public_name_that_is_somebody_elses_is_left_alone(
    sites: dict[str, Tampered], case: str
) -> None:
    kind, what = case.split()
    site = sites[kind]
    view = site.view()
    take, give_back = TAKEN[case]
    take(site)
    for full in (False, True):
        (done,) = site.project.refresh(view, full=full)
        assert isinstance(done.error, GrebeError), done
        assert done.error.code == "name-taken"
        assert what in str(done.error)
        assert done.error.hint
    give_back(site)
    (done,) = site.project.refresh(view)
    assert done.error is None
    assert site.public() == site.plain()
