"""What cannot be a row view is refused before anything is written, with its code and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grebe.api.row_query import PLAIN, RowQuery
from grebe.compiler.rows.row_definition import FunctionUse, RowDefinition, row_definition
from grebe.compiler.rows.row_keys import class_of
from grebe.compiler.rows.row_layout import checked_layout
from grebe.engine.rows.row_options import RowOptions, row_options
from grebe.engine.rows.row_results import Asking, ResultStore
from grebe.errors import DefinitionError, GrebeError, NotBuiltError, RefreshError, RowViewError
from grebe.project.row_views import refuse_unbuilt
from grebe.udf import udf


@udf(version="1")
def size(body: str) -> int:
    return len(body)


@udf(version="1", deterministic=False)
def lucky(body: str) -> int:
    return 7


def query() -> RowQuery:
    return RowQuery("s.t", known=lambda: ("id", "body", "meta", "n"))


def plain(text: str) -> Callable[[], Any]:
    return lambda: query().select({"x": text})


REFUSED: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: query().search("cats"), "query-not-plain", PLAIN),
    (lambda: query().search([0.1, 0.2]), "query-not-plain", PLAIN),
    (lambda: query().where(""), "query-not-plain", "a condition is SQL text"),
    (lambda: query().where(7), "query-not-plain", "a condition is SQL text"),
    (lambda: query().where(size), "query-not-plain", "a condition is SQL text"),
    (lambda: query().where("count(*) > 1"), "query-not-plain", PLAIN),
    (lambda: query().where("id IN (SELECT 1)"), "query-not-plain", PLAIN),
    (lambda: query().where("EXISTS (SELECT 1)"), "query-not-plain", PLAIN),
    (lambda: query().where("id > 1 GROUP BY id"), "query-not-plain", PLAIN),
    (lambda: query().where("id >"), "query-not-plain", "not an expression"),
    (plain("sum(n)"), "query-not-plain", PLAIN),
    (plain("row_number() OVER (ORDER BY id)"), "query-not-plain", PLAIN),
    (plain("rank() OVER (PARTITION BY n ORDER BY id)"), "query-not-plain", PLAIN),
    (plain("(SELECT max(n) FROM s.t)"), "query-not-plain", PLAIN),
    (plain("explode(array(1, 2))"), "query-not-plain", PLAIN),
    (plain("*"), "query-not-plain", PLAIN),
    (plain("id, n"), "query-not-plain", PLAIN),
    (plain("id FROM s.u"), "query-not-plain", ""),
    (plain("DISTINCT id"), "query-not-plain", ""),
    (plain("a b c d"), "query-not-plain", "not an expression"),
    (lambda: query().select("id"), "query-not-plain", "a list or a mapping"),
    (lambda: query().select([]), "row-definition", "without columns"),
    (lambda: query().select({}), "row-definition", "without columns"),
    (lambda: query().select([7]), "query-not-plain", "names and functions"),
    (lambda: query().select({"x": len}).definition(), "row-definition", "is computed by"),
    (lambda: query().select({"x": (len, {"a": "b"})}).definition(), "row-definition", "is computed"),
    (lambda: query().select({"x": (size, "body")}).definition(), "row-definition", "no mapping"),
    (lambda: query().select({"x": (size, {"b": "id"})}).definition(), "row-definition", "no parameter"),
    (lambda: query().select({"x": (size, {"body": "text"})}).definition(), "unknown-column", "text"),
    (lambda: query().select(["missing"]).definition(), "unknown-column", "missing"),
    (lambda: query().select({"": "id"}).definition(), "row-definition", "no name"),
    (lambda: query().select({"x": lucky}).definition(), "not-built", "not deterministic"),
    (lambda: query().shuffle(42), "not-built", "shuffle(seed=42)"),
    (lambda: query().limit(-1), "query-not-plain", "limit must be at least 0"),
    (lambda: query().limit("3"), "query-not-plain", "limit must be at least 0"),
    (lambda: query().offset(-1), "query-not-plain", "offset must be at least 0"),
    (lambda: query().offset(True), "query-not-plain", "offset must be at least 0"),
    (lambda: query().key(), "row-definition", "a key has no columns"),
    (lambda: RowQuery("SELECT 1", is_query=True).definition(), "row-definition", "without columns"),
    (lambda: row_options(-1, None, False, None), "refresh-option", "max_rows"),
    (lambda: row_options(True, None, False, None), "refresh-option", "max_rows"),
    (lambda: row_options(None, 0, False, None), "refresh-option", "max_seconds"),
    (lambda: row_options(None, None, False, 0), "refresh-option", "concurrency"),
    (lambda: refuse_unbuilt({"where": "id = 1"}), "not-built", "where=…"),
    (lambda: refuse_unbuilt({"src_version": 1}), "not-built", "src_version=…"),
    (lambda: refuse_unbuilt({"max_rows_per_fragment": 7}), "not-built", "max_rows_per_fragment=…"),
    (lambda: class_of("interval day"), "input-type", "interval"),
    (lambda: class_of("variant"), "input-type", "variant"),
    (lambda: class_of("array<interval year>"), "input-type", "interval"),
    (lambda: row_definition({"$row_view": {}}), "row-definition", "not one that grebe wrote"),
    (lambda: row_definition(json.loads('{"$row_view": []}')), "row-definition", "not one"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "code", "text"), REFUSED)
def test_refused(make: Callable[[], Any], code: str, text: str) -> None:
    with pytest.raises(GrebeError) as raised:
        make()
    assert raised.value.code == code
    assert text in raised.value.message


def test_the_python_classes_that_document_002_names() -> None:
    with pytest.raises(ValueError, match="only support plain queries"):
        query().search("cats")
    with pytest.raises(NotImplementedError):
        refuse_unbuilt({"where": "id = 1"})
    with pytest.raises(TypeError, match="unexpected keyword"):
        refuse_unbuilt({"nonsense": 1})
    assert issubclass(RowViewError, ValueError)
    assert issubclass(NotBuiltError, NotImplementedError)


@pytest.mark.parametrize(
    ("outputs", "feature"),
    [
        (("__source_row_id",), "reserved_name"), (("__is_set",), "reserved_name"),
        (("__grebe_x",), "reserved_name"), (("a", "A"), "duplicate_column"),
    ],
)  # fmt: skip
def test_names_that_are_taken(outputs: tuple[str, ...], feature: str) -> None:
    items = tuple((name, "id") for name in outputs)
    with pytest.raises(DefinitionError) as raised:
        checked_layout(RowDefinition("t", items, outputs), [(name, "int") for name in outputs])
    assert getattr(raised.value, "feature", None) == feature


@pytest.mark.parametrize(("kind", "fits"), [("string", True), ("int", False), ("binary", False)])
def test_a_column_of_another_type_than_the_parameter_says(kind: str, fits: bool) -> None:
    use = FunctionUse("x", (("body", "body"),), size.to_dict())
    definition = RowDefinition("t", (("body", "body"),), ("x",), (use,))
    if fits:
        assert checked_layout(definition, [("body", kind)]).columns == (("x", "bigint"),)
        return
    with pytest.raises(RowViewError) as raised:
        checked_layout(definition, [("body", kind)])
    assert raised.value.code == "input-type"


def test_a_definition_says_the_same_after_it_was_written_down() -> None:
    made = query().where("n > 1").where("id < 9").select({"id": "id", "x": size, "y": (size, {"body": "meta.text"})})  # fmt: skip
    definition = made.key("id").limit(3).offset(1).definition()
    again = row_definition(json.loads(definition.to_text()))
    assert again == definition
    assert again.digest == definition.digest
    assert "`meta`.`text` AS `text`" in definition.query
    assert "WHERE (n > 1) AND (id < 9)" in definition.query
    other = made.key("id").limit(4).offset(1).definition()
    assert other.digest != definition.digest


def test_inputs_get_names_of_their_own() -> None:
    made = query().select({"body": "upper(body)", "x": size}).definition()
    assert made.items == (("body", "upper(body)"), ("body_2", "`body`"))
    assert made.functions[0].inputs == (("body", "body_2"),)


def test_results_that_cannot_be_read_here_are_told(tmp_path: Path) -> None:
    use = FunctionUse("x", (("body", "body"),), size.to_dict())
    asking = Asking(ResultStore(tmp_path, use), RowOptions(), "run")
    receipt = {"file": "p00000-a0-00000000-r1.parquet", "rows": 1, "failed": 0, "seconds": 0.0, "error": None}  # fmt: skip
    with pytest.raises(RefreshError) as raised:
        asking._take([receipt], 1, None)  # type: ignore[arg-type]
    assert raised.value.code == "results-unreachable"
