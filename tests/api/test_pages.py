"""The reference pages say what the code says. `GREBE_GOLDEN=write` writes them anew."""

from __future__ import annotations

import os

import pytest

from api.pages import ELSEWHERE, PAGES, PAGES_WRITTEN, TESTS, shown


@pytest.mark.parametrize("name", PAGES_WRITTEN)
def test_the_page_is_up_to_date(name: str) -> None:
    text = PAGES_WRITTEN[name]()
    if os.environ.get("GREBE_GOLDEN") == "write":
        (PAGES / name).write_text(text, encoding="utf-8")
    assert (PAGES / name).read_text(encoding="utf-8") == text


def test_every_named_test_exists() -> None:
    for tests in ELSEWHERE.values():
        for test in tests:
            file, _, name = test.partition("::")
            assert name.startswith("test_"), f"{test} names no test"
            assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), test


def test_every_feature_is_shown_by_some_test() -> None:
    assert [number for number, tests in shown().items() if not tests] == []
