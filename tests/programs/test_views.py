"""F070: a set of views over one connection, checked, created once, and kept in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from grebe.errors import (
    CheckFailedError,
    ConflictError,
    CycleError,
    DefinitionError,
    HistoryExpiredError,
    RefreshError,
    SchemaChangedError,
    SourceError,
    SourceReplacedError,
    StepFailedError,
    UnknownColumnError,
    UnknownTableError,
)
from grebe.program import Views
from grebe.program.failures import typed
from programs.lake import Lake

TOTALS = "SELECT g, SUM(x) AS s, COUNT(*) AS n FROM t GROUP BY g"


@pytest.fixture
def views(lake: Lake) -> Views:
    lake.run(
        "CREATE TABLE dl.t (g INTEGER, x INTEGER)",
        "INSERT INTO dl.t VALUES (1, 10), (1, 20), (2, 5), (NULL, 7)",
    )
    return Views(lake.con)


def chain(views: Views) -> Views:
    views.add("top", "SELECT n, SUM(s) AS s FROM totals GROUP BY n")
    views.add("totals", TOTALS)
    views.add("large", "SELECT g, s FROM big WHERE s > 6")
    views.add("big", "SELECT g, SUM(x) AS s FROM t GROUP BY g HAVING COUNT(*) > 1")
    return views


def test_F070_order_and_levels(views: Views) -> None:
    assert chain(views).levels() == [["big", "totals"], ["large", "top"]]


def test_F070_tree(views: Views) -> None:
    assert chain(views).tree().splitlines() == [
        "large", "  big", "    dl.main.t", "top", "  totals", "    dl.main.t",
    ]  # fmt: skip


def test_F070_circle(views: Views) -> None:
    views.add("a", "SELECT g FROM b")
    views.add("b", "SELECT g FROM a")
    with pytest.raises(CycleError, match="a -> b -> a"):
        views.check()


def test_F070_a_view_that_reads_itself(views: Views) -> None:
    views.add("a", "SELECT g FROM a")
    with pytest.raises(CycleError, match="a -> a"):
        views.check()


def test_F070_missing_catalog(views: Views) -> None:
    views.add("a", "SELECT g FROM t", sources={"t": {"catalog": "nowhere"}})
    with pytest.raises(SourceError, match="nowhere") as caught:
        views.check()
    assert caught.value.code == "catalog-not-found"


def test_F070_a_catalog_that_is_no_ducklake(views: Views) -> None:
    views.add("a", "SELECT g FROM t", sources={"t": {"catalog": "memory"}})
    with pytest.raises(SourceError, match="memory") as caught:
        views.check()
    assert caught.value.code == "not-ducklake"


def test_F070_missing_table(views: Views) -> None:
    views.add("a", "SELECT g FROM nothing")
    with pytest.raises(UnknownTableError, match="nothing"):
        views.check()


def test_F070_missing_column(views: Views) -> None:
    views.add("a", "SELECT nothing FROM t")
    with pytest.raises(UnknownColumnError, match="nothing"):
        views.check()


def test_F070_a_name_twice(views: Views) -> None:
    views.add("a", "SELECT g FROM t")
    with pytest.raises(DefinitionError, match="already"):
        views.add("A", "SELECT g FROM t")


def test_F070_initialize_is_idempotent(views: Views, lake: Lake) -> None:
    chain(views)
    assert sorted(views.initialize()) == ["big", "large", "top", "totals"]
    head = lake.head()
    assert views.initialize() == []
    assert lake.head() == head


def test_F070_another_definition_under_the_same_name(views: Views, lake: Lake) -> None:
    views.add("a", "SELECT g FROM t")
    views.initialize()
    again = Views(lake.con)
    again.add("a", "SELECT x FROM t")
    with pytest.raises(DefinitionError) as caught:
        again.initialize()
    assert caught.value.code == "definition-changed"
    lake.run("DELETE FROM dl._ivm_cursors")
    with pytest.raises(DefinitionError, match="a table but no cursor"):
        views.initialize()


@pytest.mark.parametrize("parallelism", [1, 2])
def test_F070_a_chain_is_kept_in_one_call(views: Views, lake: Lake, parallelism: int) -> None:
    chain(views).initialize()
    lake.run("INSERT INTO dl.t VALUES (2, 1), (5, 5)", "DELETE FROM dl.t WHERE x = 10")
    assert {item.view_name for item in _waiting(views)} == {"big", "totals"}
    done = views.maintain(parallelism=parallelism)
    assert [item.changed for item in done] == [True] * 4
    totals = TOTALS.replace("FROM t", "FROM dl.t")
    big = "SELECT g, SUM(x) AS s FROM dl.t GROUP BY g HAVING COUNT(*) > 1"
    for name, sql in {
        "totals": totals,
        "big": big,
        "top": f"SELECT n, SUM(s) AS s FROM ({totals}) AS q GROUP BY n",
        "large": f"SELECT g, s FROM ({big}) AS q WHERE s > 6",
    }.items():
        assert sorted(views.read(name), key=str) == sorted(lake.rows(sql), key=str), name
    assert [item.changed for item in views.maintain()] == [False] * 4
    assert not _waiting(views)


class _Waiting:
    def __init__(self, name: str) -> None:
        self.view_name = name


def _waiting(views: Views) -> list[_Waiting]:
    return [_Waiting(item.mv_name) for item in views.pending() if item.pending_changes]


def test_F070_F071_explain_tolerates_a_broken_view(views: Views) -> None:
    views.add("good", TOTALS)
    views.add("broken", "SELECT g, SUM(x) OVER () AS s FROM t")
    found = views.explain()
    assert found["good"].startswith("dl.main.good: upsert groups")
    assert "Window functions are not supported" in found["broken"]


def test_F070_errors_are_typed(views: Views, lake: Lake) -> None:
    views.add("a", "SELECT g FROM t")
    views.initialize()
    lake.run("DROP TABLE dl.t", "CREATE TABLE dl.t (g INTEGER, x INTEGER)")
    with pytest.raises(SourceReplacedError, match=r"dl\.main\.t"):
        views.maintain()
    assert lake.value("SELECT 1") == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Invalid Input Error: [range_expired] gone", HistoryExpiredError),
        ("[schema-changed] a column", SchemaChangedError),
        ("[integrity] a row", CheckFailedError),
        ("[conflict] moved", ConflictError),
        ("Transaction conflict - attempting to insert", ConflictError),
        ("[foreign-write] somebody", RefreshError),
        ("Out of memory", StepFailedError),
    ],
)
def test_F070_codes_of_messages(text: str, kind: type[Exception]) -> None:
    assert type(typed(Exception(text))) is kind


def test_F070_views_in_a_folder_of_their_own(tmp_path: Path) -> None:
    lake = Lake(tmp_path, catalogs=("one", "two"))
    lake.run("CREATE TABLE one.t (g INTEGER, x INTEGER)", "INSERT INTO one.t VALUES (1, 1)")
    views = Views(lake.con, catalog="two")
    views.add("v", TOTALS, sources={"t": {"catalog": "one"}})
    views.initialize()
    lake.run("INSERT INTO one.t VALUES (1, 4)")
    views.maintain()
    assert views.read("v") == [(1, 5, 2)]
    lake.close()


def test_F070_many_independent_views_side_by_side(lake: Lake) -> None:
    lake.run("CREATE TABLE dl.t (g INTEGER, x INTEGER)", "INSERT INTO dl.t VALUES (1, 1), (2, 2)")
    views = Views(lake.con)
    for number in range(8):
        views.add(f"v{number}", f"SELECT g, SUM(x) + {number} AS s FROM t GROUP BY g")
    views.initialize()
    for number in range(2):
        lake.run(f"INSERT INTO dl.t VALUES (1, {number})")
        done = views.maintain(parallelism=8)
        assert [(item.view, item.changed) for item in done] == [
            (f"dl.main.v{place}", True) for place in range(8)
        ]
    for number in range(8):
        assert sorted(views.read(f"v{number}")) == [(1, 2 + number), (2, 2 + number)]
