"""What becomes of an event: rows, a dead letter with its code and field, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grebe.streams.callables import load_functions
from grebe.streams.definition import declared_stream
from grebe.streams.event_text import LARGEST, Dead, dump, text_of_event
from grebe.streams.row_making import EventRows, make_rows

SCHEMA = {"id": "string!", "n": "int"}
OK = {"$type": "V", "$stream": "tail", "$schema": SCHEMA}


def made(event: object, **directives: object) -> EventRows:
    definition = declared_stream({**OK, **{f"${key}": item for key, item in directives.items()}})
    return make_rows(definition, load_functions(definition, ""), text_of_event(event), "0:7")


def code(event: object, **directives: object) -> tuple[str, str]:
    dead = made(event, **directives).dead
    assert dead is not None
    assert dead.text
    return str(dead.code), dead.field


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        (b"", "not-json"),
        (b"{", "not-json"),
        (b"[]", "not-json"),
        (b"7", "not-json"),
        (b"null", "not-json"),
        (b'{"id": "a", "id": "b"}', "not-json"),
        (b'{"id": "\xff"}', "bad-text"),
        (b'{"id": "' + b"x" * LARGEST + b'"}', "too-large"),
        (b'{"a": ' * 10_000 + b"1" + b"}" * 10_000, "too-large"),
        (b'{"a": ' * 300 + b"1" + b"}" * 300, "too-large"),
        (b'{"id": "a", "n": ' + b"1" * 5_000 + b"}", "not-json"),
        ({"id": {1, 2}}, "not-json"),
        ({7: "a"}, "not-json"),
        (object(), "not-json"),
    ],
    ids=str,
)
def test_what_is_no_event_is_a_dead_letter(event: object, wanted: str) -> None:
    assert code(event) == (wanted, "")


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        ({}, ("missing-field", "id")),
        ({"id": None}, ("missing-field", "id")),
        ({"id": 7}, ("wrong-type", "id")),
        ({"id": "a", "n": True}, ("wrong-type", "n")),
        ({"id": "a", "n": 2**31}, ("out-of-range", "n")),
        ({"id": "a\0"}, ("bad-text", "id")),
    ],
)
def test_a_bad_field_is_named(event: object, wanted: tuple[str, str]) -> None:
    assert code(event) == wanted


def test_further_fields_are_ignored_or_refused() -> None:
    event = {"id": "a", "n": 1, "more": 2}
    assert made(event).rows == ({"id": "a", "n": 1},)
    assert code(event, extra="dead") == ("extra-field", "more")


@pytest.mark.parametrize(
    ("event", "document", "counts"),
    [
        ({"o": "ok"}, {"o": {"$ne": "canceled"}}, True),
        ({"o": "canceled"}, {"o": {"$ne": "canceled"}}, False),
        ({}, {"o": {"$ne": "canceled"}}, True),
        ({"o": None}, {"o": None}, True),
        ({"o": 1}, {"o": True}, False),
        ({"o": 1.0}, {"o": 1}, True),
        ({"o": 5}, {"o": {"$gt": 4, "$lte": 5}}, True),
        ({}, {"o": {"$gt": 4}}, False),
        ({"o": "b"}, {"o": {"$in": ["a", "b"]}}, True),
        ({"o": "b"}, {"o": {"$nin": ["a", "b"]}}, False),
        ({"e": [{"x": 1}]}, {"e[0].x": 1}, True),
        ({"e": []}, {"e[0]": {"$exists": True}}, False),
        ({"e": {"x-y": 1}}, {"e.x-y": 1}, True),
        ({"a": 1, "b": 2}, {"$or": [{"a": 2}, {"b": 2}]}, True),
        ({"a": 1, "b": 2}, {"$and": [{"a": 1}, {"b": 1}]}, False),
        ({"a": 1}, {"$not": {"a": 1}}, False),
        ({"a": 1, "b": 2}, {"a": 1, "b": 1}, False),
    ],
)
def test_F234_a_filter_says_which_events_count(event: Any, document: Any, counts: bool) -> None:
    found = made({"id": "a", **event}, filter=document)
    assert found.dead is None
    assert bool(found.rows) is counts


def test_F234_a_filter_that_fails_makes_its_event_a_dead_letter() -> None:
    assert code({"id": "a", "n": "x"}, filter={"n": {"$gt": 4}}) == ("filter-failed", "")
    kept = "streams.views_of_people:kept"
    assert made({"id": "a", "n": 1}, filter=kept).rows
    assert made({"id": "a", "n": -1}, filter=kept) == EventRows()
    assert code({"id": "a"}, filter=kept) == ("filter-failed", "")


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ("one", 1),
        ("many", 2),
        ("none", 0),
        ("empty", 0),
        ("text", "transform-failed"),
        ("number", "transform-failed"),
        ("texts", "transform-failed"),
        ("generator", "transform-failed"),
        ("tuple", "transform-failed"),
        ("no such shape", "transform-failed"),
    ],
)
def test_F232_each_shape_that_a_function_may_return(shape: str, wanted: object) -> None:
    found = made({"shape": shape}, transform="streams.views_of_people:shaped")
    assert (found.dead.code if found.dead else len(found.rows)) == wanted


def test_what_a_function_changes_in_its_event_is_nobody_elses_business() -> None:
    text = text_of_event({"id": "a", "n": 3})
    found = made(text, transform="streams.views_of_people:mutating")
    assert found.rows == ({"id": "changed", "n": 3},)
    assert text == b'{"id":"a","n":3}'
    both = {"filter": "streams.views_of_people:mutating_filter"}
    assert made(text, **both, transform="streams.views_of_people:mutating").rows == found.rows
    assert made(text, **both).rows == ({"id": "a", "n": 3},)


def test_a_mapping_makes_rows_of_places() -> None:
    event = {
        "script": "api",
        "logs": [{"level": "log", "message": ["a", 1, None]}, {"level": "warn", "message": "b"}],
        "url": "https://a.example:8443/b/c?d=1",
    }
    schema = {"id": "string!", "script": "string", "level": "string", "text": "string", "path": "string", "kind": "string", "n": "int"}  # fmt: skip
    mapping = {
        "$each": "logs",
        "id": ["$position", "$index"],
        "script": "^.script",
        "level": "level",
        "text": {"$join": "message"},
        "path": {"$url": "^.url", "part": "pathname"},
        "kind": {"$const": "log"},
        "n": {"$path": "n", "default": 0},
    }
    found = made(event, schema=schema, transform=mapping)
    common = {"script": "api", "path": "/b/c", "kind": "log", "n": 0}
    assert found.rows == (
        {"id": "0:7-0", "level": "log", "text": "a 1 ", **common},
        {"id": "0:7-1", "level": "warn", "text": "b", **common},
    )
    assert made({"logs": None}, schema=schema, transform=mapping) == EventRows()
    assert code({"logs": 7}, schema=schema, transform=mapping) == ("transform-failed", "")


@pytest.mark.parametrize("url", ["", "not a url", "http://", "//a/b", "http://[::1", 7, "a:b"])
def test_C41_a_bad_url_kills_its_own_event_alone(url: object) -> None:
    mapping = {"id": {"$url": "url"}}
    assert code({"url": url}, transform=mapping) == ("transform-failed", "")


def test_a_programs_values_are_json_as_they_were_written() -> None:
    assert dump({"a": [1, None, True, "é"], "b": {}}) == '{"a":[1,null,true,"\\u00e9"],"b":{}}'
    assert isinstance(text_of_event({"a": object()}), Dead)
    assert json.loads(dump({"a": 1.5})) == {"a": 1.5}
