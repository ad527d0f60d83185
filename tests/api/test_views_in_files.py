"""Files under `views/`: an odd one is told and hides no other; a view over a view waits for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grebe.config import Settings, load
from grebe.errors import CycleError, GrebeError
from grebe.project.definitions import Definition, all_written
from grebe.project.summary import Summary, text_digest
from grebe.registry.records import ViewRecord
from grebe.view_graph import levels

RELATIONS = """
[relations.p.other]
to = "q"
column = "{column}"
key = "id"
"""


def view_file(folder: Path, name: str, text: str | dict[str, object]) -> None:
    place = folder / "views" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text if isinstance(text, str) else json.dumps(text))


def compiled(view: Definition, columns: tuple[tuple[str, str], ...] = ()) -> ViewRecord:
    """The record of a view as if it had been refreshed."""
    storage = replace(view.name, name=f"__grebe_{view.name.name}_12345678")
    facts = Summary(
        view.digest, text_digest(view.text), view.file, storage=storage, columns=columns,
        query=view.query, context=view.context, parents=view.tables,
    )  # fmt: skip
    return ViewRecord(view.key, view.text, compiled=facts.to_json())


def settings_of(folder: Path, toml: str = "") -> Settings:
    (folder / "grebe.toml").write_text(toml)
    return load(folder)


# --- one odd view hides no other (F218) ----------------------------------------------------------


def test_F218_a_file_in_a_catalog_that_is_not_there_hides_no_other(tmp_path: Path) -> None:
    view_file(tmp_path, "x/y/z.sql", "SELECT 1 AS a")
    view_file(tmp_path, "good.sql", "SELECT 1 AS a")
    found = all_written(load(tmp_path), [])
    assert {name: view.error and view.error.code for name, view in found.items()} == {
        "lake.main.good": None,
        "x.y.z": "unknown-table",
    }


def test_F218_a_name_in_a_text_counts_not_the_place_of_its_file(tmp_path: Path) -> None:
    view_file(tmp_path, "x/y/z.sql", "CREATE MATERIALIZED VIEW main.v AS SELECT 1 AS a")
    view_file(tmp_path, "w.sql", "CREATE MATERIALIZED VIEW no.main.w AS SELECT 1 AS a")
    found = all_written(load(tmp_path), [])
    assert {name: view.error is None for name, view in found.items()} == {
        "lake.main.v": True,
        "no.main.w": False,
    }


def test_F218_a_record_in_a_catalog_that_is_not_there_hides_no_other(tmp_path: Path) -> None:
    found = all_written(
        load(tmp_path),
        [ViewRecord("gone.main.v", "SELECT 1 AS a"), ViewRecord("lake.main.v", "SELECT 1 AS a")],
    )
    assert {name: view.error is None for name, view in found.items()} == {
        "gone.main.v": False,
        "lake.main.v": True,
    }


# --- a broken header, and a file that is gone ------------------------------------------------------

GOOD = "CREATE MATERIALIZED VIEW sales.daily AS SELECT 1 AS a"
BROKEN = (
    "CREATE MATERIALIZED VIEW sales.daily TBLPROPERTIES ('grebe.lag' = 'soon') AS SELECT 1 AS a"
)


@pytest.mark.parametrize("text", [BROKEN, "CREATE MATERIALIZED", "\x00", "{", ""])
def test_a_broken_text_keeps_the_name_that_the_file_had(tmp_path: Path, text: str) -> None:
    view_file(tmp_path, "daily.sql", GOOD)
    settings = load(tmp_path)
    record = compiled(all_written(settings, [])["lake.sales.daily"])
    view_file(tmp_path, "daily.sql", text)
    found = all_written(settings, [record])
    assert list(found) == ["lake.sales.daily"]
    assert found["lake.sales.daily"].error is not None
    assert found["lake.sales.daily"].record == record


def test_a_view_whose_file_is_gone_says_so(tmp_path: Path) -> None:
    view_file(tmp_path, "daily.sql", GOOD)
    settings = load(tmp_path)
    view = all_written(settings, [])["lake.sales.daily"]
    assert view.notes == ()
    record = compiled(view)
    assert all_written(settings, [record])["lake.sales.daily"].notes == ()
    (tmp_path / "views" / "daily.sql").unlink()
    (note,) = all_written(settings, [record])["lake.sales.daily"].notes
    assert note.code == "file-gone"
    assert "views/daily.sql" in note.message


# --- declarative views over views ------------------------------------------------------------------


def child(source: str = "p", **more: object) -> dict[str, object]:
    return {"$type": "c", "$from": source, **more}


def test_F193_a_view_over_one_that_is_new_too_waits_for_it(tmp_path: Path) -> None:
    view_file(tmp_path, "c.json", child())
    view_file(tmp_path, "p.sql", "SELECT 1 AS a, 'x' AS b")
    settings = load(tmp_path)
    known: dict[str, dict[str, str]] = {}
    found = all_written(settings, [], compiled=lambda view: known.get(view.key))
    one = found["lake.main.c"]
    assert (one.error, one.parents_among(found)) == (None, ("lake.main.p",))
    assert (one.lag, one.schedule, one.tags) == (None, None, ())
    with pytest.raises(GrebeError) as caught:
        one.statement  # noqa: B018
    assert caught.value.code == "not-compiled"
    known["lake.main.p"] = {"a": "int", "b": "string"}
    assert "base.`a` AS `a`, base.`b` AS `b`" in one.query


def test_F193_a_view_over_one_that_was_edited_sees_its_new_columns(tmp_path: Path) -> None:
    settings = load(tmp_path)
    view_file(tmp_path, "p.sql", "SELECT 1 AS a")
    record = compiled(all_written(settings, [])["lake.main.p"], (("a", "int"),))
    view_file(tmp_path, "c.json", child(**{"$select": ["b"]}))
    assert all_written(settings, [record])["lake.main.c"].error is not None
    view_file(tmp_path, "p.sql", "SELECT 1 AS a, 2 AS b")
    one = all_written(settings, [record], compiled=lambda _: {"a": "int", "b": "int"})
    assert "`b`" in one["lake.main.c"].query


def test_F193_a_source_that_nobody_knows_is_told(tmp_path: Path) -> None:
    view_file(tmp_path, "c.json", child("nothing"))
    one = all_written(load(tmp_path), [])["lake.main.c"]
    assert one.error is not None
    assert one.error.code == "unknown-table"  # no lake was ever written, so it has no tables


def test_F193_a_circle_of_views_is_a_cycle(tmp_path: Path) -> None:
    view_file(tmp_path, "c.json", child())
    view_file(tmp_path, "p.json", {"$type": "p", "$from": "main.c"})
    found = all_written(load(tmp_path), [])
    with pytest.raises(CycleError):
        levels({name: view.parents_among(found) for name, view in found.items()})


# --- what else than the text makes a definition (F236) -----------------------------------------------


def edited(folder: Path, before: str, after: str, **spec: object) -> Definition:
    """A view compiled with one grebe.toml, and read with another."""
    columns = (("id", "int"), ("a", "int"), ("b", "int"))
    settings = settings_of(folder, before)
    for name in ("p", "q"):
        view_file(folder, f"{name}.sql", "SELECT 1 AS id, 2 AS a, 3 AS b")
    parents = [
        compiled(view, columns)
        for view in all_written(settings, []).values()
        if view.name.name in ("p", "q")
    ]
    view_file(folder, "c.json", child(**spec))
    record = compiled(all_written(settings, parents)["lake.main.c"])
    found = all_written(settings_of(folder, after), [*parents, record])
    return found["lake.main.c"]


def test_F236_another_relation_is_another_definition(tmp_path: Path) -> None:
    one, other = RELATIONS.format(column="a"), RELATIONS.format(column="b")
    assert not edited(tmp_path, one, one, **{"$expand": ["other"]}).has_changed
    view = edited(tmp_path, one, other, **{"$expand": ["other"]})
    assert view.has_changed
    assert "base.`b` = j1.`id`" in view.query
    assert not edited(tmp_path, one, other).has_changed  # which does not use it


def test_F236_a_relation_that_is_taken_away_is_told(tmp_path: Path) -> None:
    view = edited(tmp_path, RELATIONS.format(column="a"), "", **{"$expand": ["other"]})
    assert view.error is not None
    assert view.error.code == "invalid-expand"


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("SELECT a FROM t", True),
        ("SELECT a FROM main.t", True),
        ("SELECT a FROM lake.main.t", False),
        ("WITH t AS (SELECT 1 AS a) SELECT a FROM t", False),
    ],
)
def test_F236_other_defaults_are_another_definition_where_they_count(
    tmp_path: Path, text: str, changes: bool
) -> None:
    catalogs = '[catalogs.lake]\nformat = "iceberg"\nroot = "a"\n[catalogs.pond]\nformat = "iceberg"\nroot = "b"\n'
    before = settings_of(tmp_path, catalogs + '[defaults]\ncatalog = "lake"\n')
    view_file(tmp_path, "v.sql", f"CREATE MATERIALIZED VIEW lake.x.v AS {text}")
    record = compiled(all_written(before, [])["lake.x.v"])
    after = settings_of(tmp_path, catalogs + '[defaults]\ncatalog = "pond"\n')
    assert all_written(before, [record])["lake.x.v"].has_changed is False
    assert all_written(after, [record])["lake.x.v"].has_changed is changes
