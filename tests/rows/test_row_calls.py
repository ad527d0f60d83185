"""A function is asked once for each of its inputs, whatever happens to the rows that have them."""

from __future__ import annotations

import pytest

from grebe.api import Project
from grebe.errors import RowViewError
from grebe.model import Outcome, State
from rows.pond import MEANT, Pond

ROWS = ("(1, 'a', 1)", "(2, 'bb', 2)", "(3, 'ccc', 3)", "(4, NULL, 4)", "(5, 'bb', 5)")
TEXT = f"SELECT id, {MEANT} AS size, n * 2 AS twice FROM lake.{{s}}.t WHERE n < 100"


@pytest.mark.parametrize("by", ["key", "content"])
def test_calls_of_a_whole_life(pond: Pond, by: str) -> None:
    pond.table("t", *ROWS)
    select = {"id": "id", "size": pond.counted(), "twice": "n * 2"}
    query = pond.query(select, where="n < 100", **({"key": ("id",)} if by == "key" else {}))
    view = pond.view("v", query)
    assert pond.calls() == []
    assert view.read().count() == 0
    assert view.state is State.STALE
    assert [reason.code for reason in view.status().standing.reasons] == ["rows-pending"]
    expected = [
        (None, ["None", "a", "bb", "ccc"]),
        ("INSERT INTO lake.{s}.t VALUES (6, 'dddd', 6), (7, 'a', 7)", ["dddd"]),
        ("UPDATE lake.{s}.t SET n = n + 1 WHERE id = 1", []),
        ("UPDATE lake.{s}.t SET body = 'eeeee' WHERE id = 2", ["eeeee"]),
        ("UPDATE lake.{s}.t SET body = 'a' WHERE id = 1", []),
        ("DELETE FROM lake.{s}.t WHERE id = 3", []),
        ("INSERT INTO lake.{s}.t VALUES (3, 'ccc', 3)", []),
        ("UPDATE lake.{s}.t SET n = 1000 WHERE id = 6", []),
        ("UPDATE lake.{s}.t SET n = 6 WHERE id = 6", []),
        ("INSERT OVERWRITE lake.{s}.t SELECT * FROM lake.{s}.t", []),
        ("INSERT INTO lake.{s}.t VALUES (10, 'bb', 1), (10 + 1, 'new', 1000)", []),
    ]
    for sql, calls in expected:
        if sql:
            pond.sql(sql)
        foreseen = view.plan_refresh().numbers
        result = view.refresh()
        assert pond.calls() == calls, sql
        assert foreseen.to_compute == len(calls) == sum(item.calls for item in result.functions), (
            sql
        )
        pond.check(view, TEXT)
        assert view.state is State.FRESH
    assert view.refresh().outcome is Outcome.NO_OP
    pond.sql(
        "CALL lake.system.rewrite_data_files(table => '{s}.t', options => map('rewrite-all', 'true'))"
    )
    assert view.refresh().outcome is Outcome.NO_OP
    assert pond.calls() == []


def test_another_definition_asks_only_for_what_nobody_knows(pond: Pond) -> None:
    pond.table("t", *ROWS)
    one, two = pond.counted(), pond.counted("other")
    view = pond.view("v", pond.query({"id": "id", "size": one}, key=("id",)), with_no_data=False)
    assert pond.calls() == ["None", "a", "bb", "ccc"]
    wider = pond.query({"id": "id", "size": one, "n": "n"}, where="n < 4", key=("id",))
    view = pond.view("v", wider, with_no_data=False, replace=True)
    assert pond.calls() == []
    pond.check(view, f"SELECT id, {MEANT} AS size, n FROM lake.{{s}}.t WHERE n < 4")
    both = pond.query({"size": one, "again": two}, where="n < 4", key=("id",))
    view = pond.view("v", both, with_no_data=False, replace=True)
    assert pond.calls() == ["a", "bb", "ccc"]
    pond.check(view, f"SELECT {MEANT} AS size, {MEANT} AS again FROM lake.{{s}}.t WHERE n < 4")
    edited = pond.query({"size": pond.counted(version="2")}, where="n < 3", key=("id",))
    pond.view("v", edited, with_no_data=False, replace=True)
    assert pond.calls() == ["a", "bb"]


def test_rows_that_leave_and_come_back_are_not_asked_for_again(pond: Pond) -> None:
    pond.table("t", *ROWS)
    view = pond.view("v", pond.query({"id": "id", "size": pond.counted()}), with_no_data=False)
    pond.calls()
    pond.sql("DELETE FROM lake.{s}.t")
    view.refresh()
    assert view.read().count() == 0
    pond.sql(f"INSERT INTO lake.{{s}}.t VALUES {', '.join(ROWS)}")
    result = view.refresh()
    assert pond.calls() == []
    assert result.functions[0].reused == 4
    assert view.cleanup_checkpoints() > 0
    pond.sql("DELETE FROM lake.{s}.t WHERE id = 1")
    view.refresh()
    assert view.cleanup_checkpoints() > 0
    pond.sql("INSERT INTO lake.{s}.t VALUES (1, 'a', 1)")
    view.refresh()
    assert pond.calls() == ["a"]
    pond.check(view, f"SELECT id, {MEANT} AS size FROM lake.{{s}}.t")


def test_limit_and_offset_count_by_the_key(pond: Pond) -> None:
    pond.table("t", *(f"({n}, 'w{n:03}', {n})" for n in range(1, 10)))
    query = pond.query({"id": "id", "size": pond.counted()}, key=("id",), limit=4, offset=2)
    view = pond.view("v", query, with_no_data=False)
    assert pond.calls() == [f"w{n:03}" for n in (3, 4, 5, 6)]
    text = f"SELECT id, {MEANT} AS size FROM lake.{{s}}.t ORDER BY id LIMIT 4 OFFSET 2"
    for sql, calls in [
        ("DELETE FROM lake.{s}.t WHERE id = 4", ["w007"]),
        ("DELETE FROM lake.{s}.t WHERE id = 1", ["w008"]),
        ("INSERT INTO lake.{s}.t VALUES (0, 'w000', 0)", []),
        ("INSERT INTO lake.{s}.t VALUES (20, 'w020', 0)", []),
    ]:
        pond.sql(sql)
        view.refresh()
        assert pond.calls() == calls
        pond.check(view, text)


def test_equal_rows_are_copies(pond: Pond) -> None:
    pond.table("t", "(1, 'a', 1)", "(1, 'a', 1)", "(2, 'b', 2)")
    view = pond.view("v", pond.query({"id": "id", "size": pond.counted()}), with_no_data=False)
    text = f"SELECT id, {MEANT} AS size FROM lake.{{s}}.t"
    pond.check(view, text)
    pond.sql("INSERT INTO lake.{s}.t VALUES (1, 'a', 5)")
    view.refresh()
    pond.check(view, text)
    pond.sql("DELETE FROM lake.{s}.t WHERE n = 1")
    view.refresh()
    pond.check(view, text)
    assert view.read().count() == 2
    assert pond.calls() == ["a", "b"]


def test_what_only_row_views_have_is_refused_by_others(pond: Pond) -> None:
    pond.table("t", "(1, 'a', 1)")
    name = f"{pond.schema}.q"
    view = pond.project.create_view(name, f"SELECT id FROM lake.{pond.schema}.t", build=False)
    for ask in (view.errors, view.plan_refresh, view.metadata, view.cleanup_checkpoints):
        with pytest.raises(RowViewError) as raised:
            ask()
        assert raised.value.code == "not-a-row-view"


def test_views_over_row_views_and_row_views_over_anything(pond: Pond) -> None:
    """A row view over a query view, one over a join, a query view and a row view over a row view."""
    pond.table("t", *ROWS)
    project, name = pond.project, pond.schema
    grouped = f"SELECT body, count(*) AS c FROM lake.{name}.t GROUP BY body"
    project.create_view(f"{name}.g", grouped)
    over_query = pond.query({"body": "body", "size": pond.counted()}, table="g", key=("body",))
    one = pond.view("one", over_query, with_no_data=False)
    assert pond.calls() == ["None", "a", "bb", "ccc"]
    join = f"SELECT a.id, concat(a.body, b.body) AS body FROM lake.{name}.t AS a JOIN lake.{name}.t AS b ON a.id = b.id + 1"
    made = project.query(join).select({"id": "id", "size": pond.counted()}).key("id")
    two = pond.view("two", made, with_no_data=False)
    assert pond.calls() == ["None", "bba", "cccbb"]  # two rows have NULL: it is one input
    sums = project.create_view(f"{name}.sums", f"SELECT sum(size) AS s FROM lake.{name}.one")
    top = pond.query({"body": "body", "n": (pond.counted("n"), {"body": "body"})}, table="one", where="size > 1")  # fmt: skip
    three = pond.view("three", top, with_no_data=False)
    assert pond.calls() == ["bb", "ccc"]
    texts = {
        one: f"SELECT body, {MEANT} AS size FROM ({grouped})",
        two: f"SELECT id, {MEANT} AS size FROM ({join})",
        sums: f"SELECT sum({MEANT}) AS s FROM ({grouped})",
        three: f"SELECT body, {MEANT} AS n FROM ({grouped}) WHERE length(body) > 1",
    }
    for sql, calls in [
        ("INSERT INTO lake.{s}.t VALUES (6, 'dddd', 6)", ["dddd", "dddd", "ddddbb"]),
        ("DELETE FROM lake.{s}.t WHERE id = 3", []),
        ("UPDATE lake.{s}.t SET n = 0", []),
    ]:
        pond.sql(sql)
        assert not project.refresh([f"+{three.name}", str(two.name), str(sums.name)]).failed
        assert pond.calls() == calls
        for view, text in texts.items():
            pond.check(view, text)


def test_a_process_without_the_functions_module_refreshes_and_verifies(pond: Pond) -> None:
    pond.table("t", *ROWS)
    view = pond.view("v", pond.query({"id": "id", "size": pond.counted()}, key=("id",)))
    assert "packed" not in view.metadata()["grebe.function.size"]
    other = Project.open(pond.project.settings.folder, spark=pond.project.spark)
    view = other.view(f"{pond.schema}.v")
    view.refresh()
    assert pond.calls() == ["None", "a", "bb", "ccc"]
    pond.check(view, f"SELECT id, {MEANT} AS size FROM lake.{{s}}.t")
