"""Which views a person means."""

from __future__ import annotations

import pytest

from grebe.errors import UnknownTableError
from grebe.project.selection import select

GRAPH = {
    "lake.s.a": (),
    "lake.s.b": ("lake.s.a",),
    "lake.s.c": ("lake.s.b",),
    "lake.s.d": ("lake.s.b", "lake.s.e"),
    "lake.s.e": (),
    "lake.main.a": (),
}
TAGS = {"lake.s.a": ("hourly",), "lake.s.d": ("hourly", "money")}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, "a b c d e main.a"),
        ("", "a b c d e main.a"),
        ("*", "a b c d e main.a"),
        ("s.b", "b"),
        ("lake.s.b", "b"),
        ("a", "main.a"),
        ("+s.b", "a b"),
        ("s.b+", "b c d"),
        ("+s.d", "a b d e"),
        ("+s.b+", "a b c d"),
        ("tag:hourly", "a d"),
        ("+tag:money", "a b d e"),
        ("s.[ab]", "a b"),
        ("s.*", "a b c d e"),
        ("s.a s.c", "a c"),
        ("s.a,s.c", "a c"),
    ],
)
def test_selections(text: str | None, names: str) -> None:
    wanted = {f"lake.{n}" if "." in n else f"lake.s.{n}" for n in names.split()}
    assert select(text, GRAPH, TAGS, ("lake", "main")) == wanted


ODD = {
    "lake.main.my view": (),
    "lake.s.a,b": ("lake.main.my view",),
    "lake.s.+x": (),
    "lake.s.q`r": (),
}


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        ("my view", {"lake.main.my view"}),
        (["my view", "s.a,b"], {"lake.main.my view", "lake.s.a,b"}),
        ("`my view` s.`a,b`", {"lake.main.my view", "lake.s.a,b"}),
        ("+s.`a,b`", {"lake.main.my view", "lake.s.a,b"}),
        (["my*"], {"lake.main.my view"}),
        ("s.+x", {"lake.s.+x"}),
        ("s.`q``r`", {"lake.s.q`r"}),
        ("lake.s.q`r", {"lake.s.q`r"}),
        ([], set(ODD)),
    ],
)
def test_names_with_signs_of_the_selection_in_them(
    selection: str | list[str], names: set[str]
) -> None:
    assert select(selection, ODD, {}, ("lake", "main")) == names


@pytest.mark.parametrize("text", ["s.x", "tag:none", "x.*", "+s.x", "s.a s.x"])
def test_what_selects_nothing_is_told(text: str) -> None:
    with pytest.raises(UnknownTableError) as caught:
        select(text, GRAPH, TAGS, ("lake", "main"))
    assert caught.value.hint
