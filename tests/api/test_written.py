"""What is remembered of a view holds for the very text it was found out of, and for no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grebe.config import load
from grebe.project.definitions import Definition, all_written
from grebe.project.summary import Summary, text_digest
from grebe.project.vacuum import has_unknown_children
from grebe.registry.records import ViewRecord

TEXT = "SELECT a FROM x.t"


def recorded(folder: Path, text: str) -> Definition:
    """A view that was compiled as TEXT and is written otherwise now."""
    settings = load(folder)
    key = Definition(settings.resolve("x.v"), TEXT, settings).digest
    storage = settings.resolve("x.__grebe_v_12345678")
    facts = Summary(key=key, text=text_digest(TEXT), storage=storage)
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


QUERY = "SELECT a, SUM(b) AS t FROM x.t WHERE c > 1 GROUP BY a"
SAME = (
    "select a, sum(b) as t from x.t where c > 1 group by a",
    "SELECT a,\n  SUM(b) AS t -- why\nFROM x.t\nWHERE c > 1 /* so */ GROUP BY a;",
    f"CREATE MATERIALIZED VIEW x.v AS {QUERY}",
    f"CREATE MATERIALIZED VIEW x.v COMMENT 'c' CLUSTER BY (a) REFRESH POLICY FULL AS {QUERY}",
    f"CREATE MATERIALIZED VIEW x.v TBLPROPERTIES ('grebe.lag' = '1 hour', 'p' = 'q') AS {QUERY}",
)
OTHER = (
    QUERY.replace("SUM", "MAX"), QUERY.replace("> 1", ">= 1"), QUERY.replace("> 1", "> 2"),
    QUERY.replace(" AS t", " AS u"), QUERY.replace("x.t", "y.t"), QUERY.replace(" WHERE c > 1", ""),
    QUERY.replace("SUM(b)", "SUM(DISTINCT b)"), f"{QUERY} HAVING SUM(b) > 0", f"{QUERY} LIMIT 1",
    QUERY.replace("SELECT a, SUM(b) AS t", "SELECT SUM(b) AS t, a"),
    f"CREATE MATERIALIZED VIEW x.v (a, u) AS {QUERY}",
    f"CREATE MATERIALIZED VIEW x.v PARTITIONED BY (a) AS {QUERY}",
)  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_F236_F267_edits_that_mean_the_same_keep_the_definition(tmp_path: Path, text: str) -> None:
    assert _digest(tmp_path, text) == _digest(tmp_path, QUERY)


@pytest.mark.parametrize("text", OTHER)
def test_F236_F267_edits_that_mean_something_else_make_another(tmp_path: Path, text: str) -> None:
    assert _digest(tmp_path, text) != _digest(tmp_path, QUERY)


def _digest(folder: Path, text: str) -> str:
    settings = load(folder)
    return Definition(settings.resolve("x.v"), text, settings).digest


def test_facts_that_cannot_be_read_are_found_out_again(tmp_path: Path) -> None:
    for text in (None, "", "{}", "[]", '{"key": 1}', "no JSON"):
        assert Summary.from_json(text) is None
    assert recorded(tmp_path, TEXT).facts == Summary.from_json(
        recorded(tmp_path, TEXT).record.compiled  # type: ignore[union-attr]
    )


def test_a_common_table_expression_is_no_table(tmp_path: Path) -> None:
    text = (
        "WITH t AS (SELECT a FROM x.t), v AS (SELECT a FROM t) SELECT a FROM v"
        " UNION ALL SELECT a FROM y.v UNION ALL (WITH w AS (SELECT a FROM w) SELECT a FROM w)"
    )
    settings = load(tmp_path)
    view = Definition(settings.resolve("x.v"), text, settings)
    assert view.tables == tuple(sorted(["lake.x.t", "lake.y.v", str(settings.resolve("w"))]))


def test_a_child_that_was_never_compiled_here_holds_all_versions(tmp_path: Path) -> None:
    """Its storage table may stand somewhere: only the record says where, and that is lost."""
    settings = load(tmp_path)
    texts = {"v": "SELECT a FROM x.t", "child": "SELECT a FROM x.v", "other": "SELECT a FROM x.t"}
    views = {
        str(name): Definition(name, text, settings)
        for name, text in ((settings.resolve(f"x.{key}"), text) for key, text in texts.items())
    }
    parent, child, other = views
    assert [has_unknown_children(name, views) for name in (parent, child, other)] == [
        True,
        False,
        False,
    ]
