"""Functions that fail, budgets, and what verify catches."""

from __future__ import annotations

from pathlib import Path

import pytest

import grebe
from grebe.errors import CheckFailedError, ConfigError, FunctionError, SkipThresholdExceeded
from grebe.model import State
from rows.pond import MEANT, SKIP, Pond

TEXT = f"SELECT id, {MEANT} AS size FROM lake.{{s}}.t"


def test_an_error_ends_it_and_loses_no_result(pond: Pond) -> None:
    pond.table("t", "(1, 'a', 1)", "(2, 'bad', 2)", "(3, 'ccc', 3)")
    function = pond.counted(checkpoint_size=1, batch_size=1)
    view = pond.view("v", pond.query({"id": "id", "size": function}, key=("id",)))
    before = view.status().standing.position
    with pytest.raises(FunctionError) as raised:
        view.refresh(concurrency=1)
    assert raised.value.code == "function-failed"
    assert "'bad'" in str(raised.value.detail)
    assert view.status().standing.position == before
    asked = pond.calls()
    pond.sql("UPDATE lake.{s}.t SET body = 'good' WHERE id = 2")
    view.refresh()
    later = pond.calls()
    assert sorted({*asked, *later}) == ["a", "bad", "ccc", "good"]
    assert len(asked) + len(later) == 4
    pond.check(view, TEXT)


def test_skipped_rows_are_listed_and_tried_again_when_asked_for(pond: Pond) -> None:
    pond.table("t", "(1, 'a', 1)", "(2, 'bad', 2)", "(3, 'bad', 3)")
    view = pond.view("v", pond.query({"id": "id", "size": pond.counted(rules=SKIP)}, key=("id",)))
    view.refresh()
    assert pond.calls() == ["a", "bad"]
    assert [(row["id"], row["size"]) for row in view.read().orderBy("id").collect()] == [
        (1, 1), (2, None), (3, None),
    ]  # fmt: skip
    found = view.errors()
    assert [(item["column"], item["type"], item["message"]) for item in found] == [
        ("size", "ValueError", "no bad")
    ] * 2
    view.verify()
    with pytest.raises(ConfigError, match="verified as a whole"):
        view.verify(sample=0.5)
    view.refresh()
    assert pond.calls() == []
    view.refresh(retry_errors=True)
    assert pond.calls() == ["bad"]
    pond.sql("UPDATE lake.{s}.t SET body = 'well' WHERE id = 2")
    view.refresh()
    assert pond.calls() == ["well"]
    assert len(view.errors()) == 1


def test_more_errors_than_allowed_commit_nothing(pond: Pond) -> None:
    pond.table("t", "(1, 'a', 1)", "(2, 'bad', 2)", "(3, 'bad2', 3)")
    rule = grebe.skip_on_error(max_skip_fraction=0.5)
    view = pond.view("v", pond.query({"size": pond.counted(rules=rule)}, key=("id",)))
    with pytest.raises(SkipThresholdExceeded) as raised:
        view.refresh()
    assert raised.value.code == "skip-threshold"
    assert view.read().count() == 0


def test_budgets_leave_rows_pending_and_never_a_stale_value(pond: Pond) -> None:
    pond.table("t", *(f"({n}, 'w{n:02}', {n})" for n in range(12)))
    view = pond.view("v", pond.query({"id": "id", "size": pond.counted()}, key=("id",)))
    for turn in range(2):
        view.refresh(max_rows=5)
        assert len(pond.calls()) == 5
        assert pond.differs(view, TEXT)[1] == []
        view.verify()
        assert view.state is State.STALE
        if turn == 0:
            pond.sql("UPDATE lake.{s}.t SET body = 'changed' WHERE id = 0")
    view.refresh()
    pond.check(view, TEXT)
    assert view.state is State.FRESH


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("UPDATE {t} SET size = 99 WHERE id = 2", "was altered"),
        ("UPDATE {t} SET id = 7 WHERE id = 2", "was altered"),
        ("DELETE FROM {t} WHERE id = 2", "rows are missing or too many"),
        ("INSERT INTO {t} SELECT * FROM {t} WHERE id = 2", "has a row id twice"),
        ("UPDATE {t} SET __grebe_inputs_1 = NULL WHERE id = 2", "was altered"),
    ],
)
def test_verify_catches_what_was_planted(pond: Pond, planted: str, found: str) -> None:
    from grebe.engine.rows.row_verify import verify_rows

    pond.table("t", "(1, 'a', 1)", "(2, 'bb', 2)")
    query = pond.query({"id": "id", "size": pond.counted()}, key=("id",))
    view = pond.view("v", query, with_no_data=False)
    pond.check(view, TEXT)
    compiled = pond.project.engine.view(str(view.name))
    before = pond.project.tables.position(compiled.storage_name, lambda: pond.project.spark)
    pond.sql(planted.format(t=compiled.storage_name.quoted()))
    head = pond.project.tables.source(compiled.storage_name, lambda: pond.project.spark).head()
    assert before is not None
    from dataclasses import replace

    with pytest.raises(CheckFailedError, match="differs") as raised:
        verify_rows(
            compiled, pond.project.tables, pond.project.spark, replace(before, version=head.version)
        )
    assert found in str(raised.value.detail)
    # A foreign write is noticed by itself, and the rows are put right without believing the altered ones.
    pond.calls()
    view.refresh()
    pond.check(view, TEXT)


def test_two_rows_of_one_key_are_told(pond: Pond) -> None:
    pond.table("t", "(1, 'a', 1)", "(2, 'bb', 2)")
    query = pond.query({"id": "id", "size": pond.counted()}, key=("id",))
    view = pond.view("v", query, with_no_data=False)
    for sql in (
        "INSERT INTO lake.{s}.t VALUES (2, 'bb', 3)",
        "INSERT INTO lake.{s}.t VALUES (3, 'x', 3), (3, 'y', 3)",
    ):
        pond.sql(sql)
        for full in (False, True):
            with pytest.raises(CheckFailedError) as raised:
                view.refresh(full=full)
            assert raised.value.code == "key-not-unique"
        pond.sql("DELETE FROM lake.{s}.t WHERE n = 3")
    view.refresh()
    pond.check(view, TEXT)


def test_torn_and_foreign_result_files_are_not_believed(pond: Pond) -> None:
    pond.table("t", "(1, 'a', 1)", "(2, 'bad', 2)")
    function = pond.counted(checkpoint_size=1, batch_size=1)
    view = pond.view("v", pond.query({"id": "id", "size": function}, key=("id",)))
    with pytest.raises(FunctionError):
        view.refresh(concurrency=1)
    pond.calls()
    folder = Path(pond.project.settings.home) / "results" / str(view.name)
    for number, file in enumerate(sorted(folder.rglob("*.parquet"))):
        if number % 2:
            file.write_bytes(b"PAR1")
        else:
            file.rename(file.with_name(file.name.replace("-r1.", "-r7.")))
    (folder / "p00000-a0-00000000-r1.parquet").write_bytes(b"")
    pond.sql("DELETE FROM lake.{s}.t WHERE id = 2")
    view.refresh()
    pond.check(view, TEXT)
