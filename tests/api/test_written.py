"""What is remembered of a view holds for the very text it was found out of, and for no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from grebe.api.facts import Facts, text_digest
from grebe.api.written import Written, all_written
from grebe.config import load
from grebe.registry.records import ViewRecord

TEXT = "SELECT a FROM x.t"


def recorded(folder: Path, text: str) -> Written:
    """A view that was compiled as TEXT and is written otherwise now."""
    settings = load(folder)
    key = Written(settings.resolve("x.v"), TEXT, settings).digest
    storage = settings.resolve("x.__grebe_v_12345678")
    facts = Facts(key=key, text=text_digest(TEXT), storage=storage)
    record = ViewRecord("lake.x.v", TEXT, compiled=facts.to_json())
    return all_written(settings, [replace(record, definition=text)])["lake.x.v"]


def test_F236_the_same_text_needs_no_parser(tmp_path: Path) -> None:
    view = recorded(tmp_path, TEXT)
    assert view.is_as_compiled
    assert not view.has_changed


def test_F236_another_spelling_is_the_same_definition(tmp_path: Path) -> None:
    view = recorded(tmp_path, "select  a\nfrom x.t -- the same")
    assert not view.is_as_compiled
    assert not view.has_changed


def test_F267_another_query_is_another_definition(tmp_path: Path) -> None:
    view = recorded(tmp_path, "SELECT b FROM x.t")
    assert view.has_changed
    assert view.tables == ("lake.x.t",)


def test_facts_that_cannot_be_read_are_found_out_again(tmp_path: Path) -> None:
    for text in (None, "", "{}", "[]", '{"key": 1}', "no JSON"):
        assert Facts.from_json(text) is None
    assert recorded(tmp_path, TEXT).facts == Facts.from_json(
        recorded(tmp_path, TEXT).record.compiled  # type: ignore[union-attr]
    )


def test_a_common_table_expression_is_no_table(tmp_path: Path) -> None:
    text = (
        "WITH t AS (SELECT a FROM x.t), v AS (SELECT a FROM t) SELECT a FROM v"
        " UNION ALL SELECT a FROM y.v UNION ALL (WITH w AS (SELECT a FROM w) SELECT a FROM w)"
    )
    settings = load(tmp_path)
    view = Written(settings.resolve("x.v"), text, settings)
    assert view.tables == tuple(sorted(["lake.x.t", "lake.y.v", str(settings.resolve("w"))]))
