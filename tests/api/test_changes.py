"""Views that are vacuumed, dropped and altered, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.kept import NAME, kept


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("grebe.engine.engine.open_session", refuse)


def test_a_view_alone_keeps_its_own_last_commit(tmp_path: Path) -> None:
    """The snapshots are those of all tables: its last commit need not be the newest."""
    site = kept(tmp_path)
    for run in ("r1", "r2", "r3"):
        site.filled(run)
        site.run("INSERT INTO {l}.t SELECT i, 'a', i FROM range(40) r(i)")
    before = site.position()
    assert before.row_version is not None
    many = site.snapshots()
    with site.project() as project:
        done = project.vacuum("v", retention="0 days")
    assert done.kept_for == ()
    left = site.snapshots()
    assert int(before.row_version.partition(":")[0]) in left
    assert len(left) == len(many) - 4  # two fills, the table and the public name
    assert site.position() == before


def test_a_view_that_no_longer_compiles_is_dropped_as_a_whole(tmp_path: Path) -> None:
    """Its record was written again from the table; what is left of it would come back once more."""
    site = kept(tmp_path, facts=False)
    site.filled("r1")
    site.run("DROP TABLE {l}.t")
    with site.project() as project:
        assert project.drop("v") == (NAME,)
        assert (site.stored(), site.shown()) == ([], None)
        assert project.registry.views() == []
