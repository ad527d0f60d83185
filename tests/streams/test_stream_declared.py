"""The form of a stream view's definition: every rule has a code, and names the field at fault."""

from __future__ import annotations

import pytest

from grebe.errors import DeclarationError
from grebe.streams.callables import definition_digest, load_functions
from grebe.streams.definition import declared_stream, named_function
from streams import views_of_people

OK = {"$type": "V", "$stream": "tail", "$schema": {"id": "string!", "n": "int"}}


def schema(**fields: object) -> dict[str, object]:
    return {**OK, "$schema": fields}


BAD = [
    ("text", "INVALID_DEFINITION", ""),
    ({**OK, "$form": 1}, "INVALID_DIRECTIVE", "$form"),
    ({**OK, "$from": "orders"}, "INVALID_DIRECTIVE", "$from"),
    ({**OK, "$type": ""}, "INVALID_NAME", "$type"),
    ({**OK, "$type": None}, "INVALID_NAME", "$type"),
    ({**OK, "$type": "a b"}, "INVALID_NAME", "$type"),
    ({**OK, "$type": "__grebe_x"}, "INVALID_NAME", "$type"),
    ({"$type": "V", "$schema": {"a": "int"}}, "MISSING_STREAM", "$stream"),
    ({**OK, "$stream": ""}, "INVALID_STREAM", "$stream"),
    ({**OK, "$stream": "a/b"}, "INVALID_STREAM", "$stream"),
    ({**OK, "$stream": ["tail"]}, "INVALID_STREAM", "$stream"),
    ({"$type": "V", "$stream": "tail"}, "MISSING_SCHEMA", "$schema"),
    ({**OK, "$schema": {}}, "INVALID_SCHEMA", "$schema"),
    ({**OK, "$schema": ["id"]}, "INVALID_SCHEMA", "$schema"),
    ({**OK, "$schema": {7: "int"}}, "INVALID_SCHEMA", "$schema"),
    (schema(__grebe_dead="string"), "INVALID_SCHEMA", "$schema.__grebe_dead"),
    (schema(__GREBE_at="string"), "INVALID_SCHEMA", "$schema.__GREBE_at"),
    (schema(_change_type="string"), "INVALID_SCHEMA", "$schema._change_type"),
    (schema(a="int", A="int"), "INVALID_SCHEMA", "$schema.A"),
    (schema(**{"a b": "int"}), "INVALID_SCHEMA", "$schema.a b"),
    (schema(a="integer"), "INVALID_TYPE", "$schema.a"),
    (schema(a="int!?"), "INVALID_TYPE", "$schema.a"),
    (schema(a=7), "INVALID_TYPE", "$schema.a"),
    (schema(a="decimal"), "INVALID_TYPE", "$schema.a"),
    (schema(a="decimal(39,0)"), "INVALID_TYPE", "$schema.a"),
    (schema(a="decimal(3,4)"), "INVALID_TYPE", "$schema.a"),
    (schema(a={}), "INVALID_TYPE", "$schema.a"),
    (schema(a={"b": "strin"}), "INVALID_TYPE", "$schema.a.b"),
    (schema(a=["int", "int"]), "INVALID_TYPE", "$schema.a"),
    ({**OK, "$filter": {}}, "INVALID_FILTER", "$filter"),
    ({**OK, "$filter": 7}, "INVALID_FILTER", "$filter"),
    ({**OK, "$filter": {"n": {"$above": 1}}}, "INVALID_FILTER", "$filter.n"),
    ({**OK, "$filter": {"n": {"$gt": None}}}, "INVALID_FILTER", "$filter.n"),
    ({**OK, "$filter": {"n": [1]}}, "INVALID_FILTER", "$filter.n"),
    ({**OK, "$filter": {"a..b": 1}}, "INVALID_FILTER", "$filter.a..b"),
    ({**OK, "$filter": {"$or": []}}, "INVALID_FILTER", "$filter.$or"),
    ({**OK, "$filter": {"n": {"$in": []}}}, "INVALID_FILTER", "$filter.n"),
    ({**OK, "$filter": {"n": {"$exists": 1}}}, "INVALID_FILTER", "$filter.n"),
    ({**OK, "$filter": "lambda e: True"}, "INVALID_FILTER", "$filter"),
    ({**OK, "$transform": 7}, "INVALID_TRANSFORM", "$transform"),
    ({**OK, "$transform": {}}, "INVALID_TRANSFORM", "$transform"),
    ({**OK, "$transform": {"$each": "logs"}}, "INVALID_TRANSFORM", "$transform"),
    ({**OK, "$transform": {"other": "a"}}, "INVALID_TRANSFORM", "$transform.other"),
    ({**OK, "$transform": {"id": ""}}, "INVALID_TRANSFORM", "$transform.id"),
    ({**OK, "$transform": {"id": "a[x]"}}, "INVALID_TRANSFORM", "$transform.id"),
    ({**OK, "$transform": {"id": []}}, "INVALID_TRANSFORM", "$transform.id"),
    ({**OK, "$transform": {"id": {"$eval": "x"}}}, "INVALID_TRANSFORM", "$transform.id"),
    (
        {**OK, "$transform": {"id": {"$url": "u", "part": "x"}}},
        "INVALID_TRANSFORM",
        "$transform.id",
    ),
    ({**OK, "$transform": {"id": {"$path": "u", "els": 1}}}, "INVALID_TRANSFORM", "$transform.id"),
    ({**OK, "$transform": {"$each": "a b", "id": 7}}, "INVALID_TRANSFORM", "$transform.id"),
    ({**OK, "$transform": "__main__:f"}, "INVALID_TRANSFORM", "$transform"),
    ({**OK, "$transform": "no function"}, "INVALID_TRANSFORM", "$transform"),
    ({**OK, "$key": "other"}, "INVALID_KEY", "$key"),
    ({**OK, "$key": "n"}, "INVALID_KEY", "$key"),
    ({**OK, "$key": 7}, "INVALID_KEY", "$key"),
    ({**schema(a="double!"), "$key": "a"}, "INVALID_KEY", "$key"),
    ({**OK, "$extra": "keep"}, "INVALID_SCHEMA", "$extra"),
    ({**OK, "$refresh": "streaming"}, "INVALID_REFRESH", "$refresh"),
    ({**OK, "$refresh": {"modes": 1}}, "INVALID_REFRESH", "$refresh.modes"),
    ({**OK, "$refresh": {"mode": "scheduled"}}, "INVALID_REFRESH_MODE", "$refresh.mode"),
    ({**OK, "$refresh": {"retention": "long"}}, "INVALID_RETENTION", "$refresh.retention"),
    ({**OK, "$refresh": {"dedupe": 7}}, "INVALID_RETENTION", "$refresh.dedupe"),
    (
        {**OK, "$refresh": {"retention": "1 day", "dedupe": "2 days"}},
        "INVALID_RETENTION",
        "$refresh.retention",
    ),
    ({**OK, "$refresh": {"backend": "native"}}, "INVALID_BACKEND", "$refresh.backend"),
    ({**OK, "$refresh": {"backend": "parquet"}}, "INVALID_BACKEND", "$refresh.backend"),
]


@pytest.mark.parametrize(("spec", "code", "field"), BAD)
def test_what_is_wrong_is_told_with_its_code_and_field(spec: object, code: str, field: str) -> None:
    with pytest.raises(DeclarationError) as raised:
        declared_stream(spec)
    assert (raised.value.feature, raised.value.field) == (code, field)


def test_a_function_must_survive_a_restart() -> None:
    def inner() -> None: ...

    for function in (lambda event: event, inner):
        with pytest.raises(DeclarationError) as raised:
            named_function(function, "INVALID_TRANSFORM", "$transform")
        assert raised.value.feature == "INVALID_TRANSFORM"
    name = named_function(views_of_people.doubled, "INVALID_TRANSFORM", "$transform")
    assert name == "streams.views_of_people:doubled"


@pytest.mark.parametrize("name", ["no.such.module:f", "streams.views_of_people:nothing", "os:sep"])
def test_a_function_that_cannot_be_imported_is_told(name: str) -> None:
    definition = declared_stream({**OK, "$transform": name})
    with pytest.raises(DeclarationError, match=r"\$transform"):
        load_functions(definition, "")


def test_a_definition_is_another_one_when_its_functions_say_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    definition = declared_stream({**OK, "$transform": "streams.views_of_people:doubled"})
    first = definition_digest(definition, "")
    assert definition_digest(definition, "") == first
    monkeypatch.setattr(views_of_people, "FACTOR", 3)  # a constant of a function that it calls
    assert definition_digest(definition, "") != first


def test_how_it_is_refreshed_is_not_what_it_says() -> None:
    one = declared_stream(OK).digest({})
    assert declared_stream({**OK, "$refresh": {"retention": "30 days"}}).digest({}) == one
    assert declared_stream({**OK, "$filter": {"n": 1}}).digest({}) != one
