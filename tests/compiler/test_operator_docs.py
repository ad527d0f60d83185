"""Every rule has a page, and every page says what the code does today."""

from __future__ import annotations

from pathlib import Path

import pytest

from grebe.compiler.delta import LAWS
from tools.operator_docs import FOLDER, PAGES, Page, index, text_of


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_pages_are_up_to_date(page: Page) -> None:
    written = (FOLDER / f"{page.file}.md").read_text()
    assert written == text_of(page), "run: .venv/bin/python -m tools.operator_docs"


def test_the_list_is_up_to_date() -> None:
    assert (FOLDER / "README.md").read_text() == index()


def test_every_law_has_a_page() -> None:
    modules = {law.__module__.removeprefix("grebe.compiler.") for law in LAWS.values()}
    assert modules <= {page.module for page in PAGES}


def test_every_page_belongs_to_a_file() -> None:
    for page in PAGES:
        assert Path(f"src/grebe/compiler/{page.module.replace('.', '/')}.py").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_every_rule_says_law_and_needs(page: Page) -> None:
    text = text_of(page)
    assert "Law" in text
    assert "Needs:" in text
    assert "Falls back when:" in text
