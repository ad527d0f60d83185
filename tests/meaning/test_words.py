"""Texts are cut into words without losing a character."""

from __future__ import annotations

from random import Random

from meaning.disguise import disguised
from meaning.functions import in_columns
from meaning.literals import literals, used
from meaning.words import joined, select_list, without_alias, words

TEXT = "SELECT a.`b c`, 'it''s' AS q, 1.5e3 -- no, 'this'\n FROM t /* , */ WHERE x >>> 1 <=> r'\\n'"


def test_nothing_is_lost() -> None:
    for text in (TEXT, *literals(), *used()):
        assert joined(words(text)) == text


def test_items_of_a_select_list() -> None:
    assert select_list("SELECT f(a, b), 'x,y' AS q, g[1, 2];") == [
        "f(a, b)",
        "'x,y' AS q",
        "g[1, 2]",
    ]
    assert select_list("SELECT sum(a) FROM t") is None
    assert select_list("SET a = b") is None
    assert select_list("SELECT extract(DAY FROM d)") == ["extract(DAY FROM d)"]
    assert without_alias("f(a) AS b") == "f(a)"
    assert without_alias("CAST(a AS INT)") == "CAST(a AS INT)"


def test_literals_become_columns() -> None:
    all_of_them, first, second = in_columns("f('a', DATE '2024-01-01') + x", ["k0", "k1"])
    assert all_of_them == ("f(k0, k1) + x", {"k0": "'a'", "k1": "DATE '2024-01-01'"})
    assert first == ("f(k0, DATE '2024-01-01') + x", {"k0": "'a'"})
    assert second == ("f('a', k0) + x", {"k0": "DATE '2024-01-01'"})


def test_a_disguise_keeps_strings_and_tables() -> None:
    kept = [word.text for word in words(TEXT) if word.kind == "string"]
    for seed in range(50):
        made = words(disguised(TEXT, Random(seed), {"x"}, {"t"}))
        assert [word.text for word in made if word.kind == "string"] == kept
        assert any(word.text in ("t", "`t`") for word in made)
