"""Types × values × required: what is stored, or why the event is a dead letter."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import pytest

from grebe.streams.event_text import Dead, parse_event
from grebe.streams.event_types import BadValueError, stored, type_of

WRONG, RANGE, TEXT, MISSING = "wrong-type", "out-of-range", "bad-text", "missing-field"
TYPES = (
    "string", "int", "long", "float", "double", "decimal(10,2)", "boolean", "timestamp", "date",
    "binary", "json", "string[]",
)  # fmt: skip
STAMP = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


# What each type makes of a value of JSON; "-" is wrong-type, and of `json` the text itself.
N: Final = "-"
TABLE: list[tuple[str, tuple[Any, ...]]] = [
    # string, int, long, float, double, decimal(10,2), boolean, timestamp, date, binary, string[]
    ("true", (N, N, N, N, N, N, True, N, N, N, N)),
    ("0", (N, 0, 0, 0.0, 0.0, Decimal("0.00"), N, at(0), N, N, N)),
    ("3", (N, 3, 3, 3.0, 3.0, Decimal("3.00"), N, at(3), N, N, N)),
    ("3.0", (N, 3, 3, 3.0, 3.0, Decimal("3.00"), N, at(3), N, N, N)),
    ("3.5", (N, N, N, 3.5, 3.5, Decimal("3.50"), N, N, N, N, N)),
    ("3.125", (N, N, N, 3.125, 3.125, RANGE, N, N, N, N, N)),
    ("0.1", (N, N, N, 0.10000000149011612, 0.1, Decimal("0.10"), N, N, N, N, N)),
    ("-1", (N, -1, -1, -1.0, -1.0, Decimal("-1.00"), N, RANGE, N, N, N)),
    ("2147483648", (N, RANGE, 2**31, float(2**31), float(2**31), RANGE, N, at(2**31), N, N, N)),
    ("1700000000", (N, 1700000000, 1700000000, 1.7e9, 1.7e9, RANGE, N, at(1700000000), N, N, N)),
    ("1700000000000", (N, RANGE, 1700000000000, RANGE, 1.7e12, RANGE, N, at(1700000000000), N, N, N)),
    ("7258118400000", (N, RANGE, 7258118400000, RANGE, 7258118400000.0, RANGE, N, RANGE, N, N, N)),
    ("9007199254740993", (N, RANGE, 2**53 + 1, RANGE, RANGE, RANGE, N, RANGE, N, N, N)),
    ("9007199254740993.0", (N, RANGE, 2**53 + 1, 9007199254740992.0, 9007199254740992.0, RANGE, N, RANGE, N, N, N)),
    ("9223372036854775808", (N, RANGE, RANGE, float(2**63), float(2**63), RANGE, N, RANGE, N, N, N)),
    ("1e400", (N, RANGE, RANGE, RANGE, RANGE, RANGE, N, RANGE, N, N, N)),
    ("1e300", (N, RANGE, RANGE, RANGE, 1e300, RANGE, N, RANGE, N, N, N)),
    ("1e-400", (N, N, N, RANGE, RANGE, RANGE, N, N, N, N, N)),
    ("16777217", (N, 16777217, 16777217, RANGE, 16777217.0, Decimal("16777217.00"), N, at(16777217), N, N, N)),
    ("12345678.90", (N, N, N, 12345679.0, 12345678.9, Decimal("12345678.90"), N, N, N, N, N)),
    ("123456789.00", (N, 123456789, 123456789, 123456792.0, 123456789.0, RANGE, N, at(123456789), N, N, N)),
    ("NaN", (N, N, N, math.nan, math.nan, N, N, N, N, N, N)),
    ("Infinity", (N, N, N, math.inf, math.inf, N, N, N, N, N, N)),
    ('"12"', ("12", N, N, N, N, N, N, N, N, N, N)),
    ('""', ("", N, N, N, N, N, N, N, N, b"", N)),
    ('"true"', ("true", N, N, N, N, N, N, N, N, b"\xb6\xbb\x9e", N)),
    (r'"a\u0000b"', (TEXT, N, N, N, N, N, N, N, N, N, N)),
    (r'"\ud800"', (TEXT, N, N, N, N, N, N, N, N, N, N)),
    (r'"\ud83d\ude00"', ("😀", N, N, N, N, N, N, N, N, N, N)),
    ('"2026-01-31T09:30:00Z"', ("2026-01-31T09:30:00Z", N, N, N, N, N, N, STAMP, N, N, N)),
    ('"2026-01-31T10:30:00+01:00"', ("2026-01-31T10:30:00+01:00", N, N, N, N, N, N, STAMP, N, N, N)),
    ('"2026-01-31 09:30"', ("2026-01-31 09:30", N, N, N, N, N, N, STAMP, N, N, N)),
    ('"2026-01-31T09:30:00.000000001Z"', ("2026-01-31T09:30:00.000000001Z", N, N, N, N, N, N, RANGE, N, N, N)),
    ('"2026-02-30T09:30:00Z"', ("2026-02-30T09:30:00Z", N, N, N, N, N, N, RANGE, N, N, N)),
    ('"2026-01-31"', ("2026-01-31", N, N, N, N, N, N, N, date(2026, 1, 31), N, N)),
    ('"2026-02-30"', ("2026-02-30", N, N, N, N, N, N, N, RANGE, N, N)),
    ('"aGk="', ("aGk=", N, N, N, N, N, N, N, N, b"hi", N)),
    ("[]", (N, N, N, N, N, N, N, N, N, N, [])),
    ('["a", null]', (N, N, N, N, N, N, N, N, N, N, ["a", None])),
    ('["a", 1]', (N, N, N, N, N, N, N, N, N, N, WRONG)),
    ('{"a": 1}', (N, N, N, N, N, N, N, N, N, N, N)),
]  # fmt: skip


def value_of(text: str) -> Any:
    return parse_event(b'{"v":%s}' % text.encode())["v"]


def outcome(kind: str, text: str) -> Any:
    try:
        return stored(type_of(kind, "v"), value_of(text), "v")
    except BadValueError as bad:
        assert bad.dead.field.startswith("v")
        assert bad.dead.text
        return str(bad.dead.code)


@pytest.mark.parametrize(("text", "wanted"), TABLE, ids=[text for text, _ in TABLE])
def test_F233_every_type_takes_what_is_of_it_and_nothing_else(
    text: str, wanted: tuple[Any, ...]
) -> None:
    kinds = [kind for kind in TYPES if kind != "json"]
    for kind, expected in zip(kinds, wanted, strict=True):
        found = outcome(kind, text)
        expected = WRONG if isinstance(expected, str) and expected == N else expected
        if isinstance(expected, float) and math.isnan(expected):
            assert math.isnan(found)
            continue
        assert (type(found), found) == (type(expected), expected), kind


@pytest.mark.parametrize("kind", TYPES)
def test_F233_required_or_not(kind: str) -> None:
    for mark in ("", "?"):
        assert stored(type_of(f"{kind}{mark}", "v"), None, "v") is None
    with pytest.raises(BadValueError) as raised:
        stored(type_of(f"{kind}!", "v"), None, "v")
    assert raised.value.dead.code == MISSING


@pytest.mark.parametrize(
    "number",
    ["1e400", "9007199254740993", "0.1234567890123456789012345", "1.10", "-0.0", "1E5", "123456789012345678901234567890"],
)  # fmt: skip
def test_a_number_is_kept_as_it_is_written_and_not_as_the_double_beside_it(number: str) -> None:
    text = stored(type_of("json", "v"), value_of(number), "v")
    assert isinstance(text, str)
    assert Decimal(text) == Decimal(number)


def test_an_exact_number_keeps_all_its_digits() -> None:
    kind = type_of("decimal(38,25)", "v")
    number = "1234567890123.1234567890123456789012345"
    assert stored(kind, value_of(number), "v") == Decimal(number)


def test_what_json_does_not_say_is_no_json() -> None:
    assert outcome("json", "NaN") == RANGE
    assert outcome("json", r'["\u0000"]') == TEXT
    assert outcome("json", '{"b": 1, "a": [null, true]}') == '{"b":1,"a":[null,true]}'


def test_objects_and_arrays_name_the_place_of_a_bad_value() -> None:
    kind = type_of({"a": "int!", "b": [{"c": "string!"}], "d": "int![]"}, "v")
    assert kind.spark == "STRUCT<`a`: INT, `b`: ARRAY<STRUCT<`c`: STRING>>, `d`: ARRAY<INT>>"
    assert stored(kind, {"a": 1, "b": [{"c": "x", "more": 1}]}, "v") == {
        "a": 1,
        "b": [{"c": "x"}],
        "d": None,
    }
    for value, field in [
        ({"b": []}, "v.a"),
        ({"a": 1, "b": [{"c": "x"}, {}]}, "v.b[1].c"),
        ({"a": 1, "d": [1, None]}, "v.d[1]"),
        (7, "v"),
    ]:
        with pytest.raises(BadValueError) as raised:
            stored(kind, value, "v")
        assert raised.value.dead.field == field


def test_values_of_programs_are_taken_as_they_are() -> None:
    assert stored(type_of("timestamp", "v"), datetime(2026, 1, 31, 9, 30), "v") == STAMP  # noqa: DTZ001
    assert stored(type_of("date", "v"), date(2026, 1, 31), "v") == date(2026, 1, 31)
    assert stored(type_of("binary", "v"), b"\x00", "v") == b"\x00"
    with pytest.raises(BadValueError):
        stored(type_of("date", "v"), STAMP, "v")


def test_a_dead_letter_says_what_it_is_of() -> None:
    dead = parse_event(b"[1]")
    assert isinstance(dead, Dead)
    assert json.loads(dead.to_json()) == {
        "code": "not-json",
        "field": "",
        "text": "an event is an object, not an array",
    }
    assert Dead.from_json(dead.to_json()) == dead
