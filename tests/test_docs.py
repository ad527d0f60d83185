"""What the pages name is there: files, modules, links, pictures; and nothing that readers have no list of."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "tools", "examples", "benchmarks", "docs", "requirements")
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
READ = {page: page.read_text(encoding="utf-8") for page in PAGES}
_CODE = re.compile(r"`([^`\n]+)`")
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FEATURE = re.compile(r"\bF\d{3}\b")
_FILE = re.compile(r"[\w./-]+\.(?:py|sql|toml|lock|svg)")
MADE = {
    "grebe.toml", "seeds/shop.orders.sql", "views/by_city.sql", "views/daily.sql",
    "views/sales/daily.sql",
}  # fmt: skip
"""Files of a user's project, not of this repository."""


def every_path() -> set[str]:
    """Every file and folder of the repository, as it may be called: with or without what stands before it."""
    found: set[str] = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if "__pycache__" not in path.parts:
                parts = path.relative_to(ROOT).parts
                found |= {"/".join(parts[start:]) for start in range(len(parts))}
    return found | {path.name for path in ROOT.iterdir()} | set(FOLDERS)


def not_of_this_format(page: Path) -> set[str]:
    """A page of a format names the files in that format's folder."""
    formats = ROOT / "src" / "grebe" / "formats"
    if page.parent.name != "formats":
        return set()
    own = {file.name for file in (formats / page.stem.partition("-")[0]).glob("*.py")}
    shared = {file.name for file in formats.glob("*.py")}
    return {file.name for file in ROOT.glob("src/**/*.py")} - own - shared


def named(page: Path) -> set[str]:
    """What a page writes as code, outside of examples."""
    return set(_CODE.findall(_FENCED.sub("", READ[page])))


NAMES_OF_TODAY = [page for page in PAGES if page.name != "CHANGELOG.md"]


@pytest.mark.parametrize("page", NAMES_OF_TODAY, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    paths = every_path() - not_of_this_format(page)
    words = named(page)
    files = {word.partition("::")[0] for word in words} - MADE
    missing = {word for word in files if _FILE.fullmatch(word) and word not in paths}
    rooms = {
        word for word in words if re.fullmatch(r"(src|tests|docs)/[\w/]+/|\w+/\w[\w/]*/", word)
    }
    missing |= {word for word in rooms if word.strip("/") not in paths}
    modules = {word.partition("(")[0] for word in words if re.fullmatch(r"grebe(\.\w+)+.*", word)}
    missing |= {word for word in modules if _is_module(word) and not _resolves(word)}
    assert not missing


def _is_module(word: str) -> bool:
    """`grebe.lag` is a property and `grebe.toml` a file."""
    room = ROOT / "src" / "grebe" / word.split(".")[1]
    return room.is_dir() or room.with_suffix(".py").is_file()


def _resolves(word: str) -> bool:
    parts = word.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found is not None
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = [link for link in _LINK.findall(_FENCED.sub("", READ[page])) if ":" not in link]
    missing = []
    for link in targets:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            missing.append(link)
    assert not missing


def headings(page: Path) -> set[str]:
    """The anchors that a page has."""
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    texts = [line.lstrip("#").strip().lower() for line in lines]
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


@pytest.mark.parametrize("page", NAMES_OF_TODAY, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_import_what_is_there(page: Path) -> None:
    missing = []
    for body in _PYTHON.findall(READ[page]):
        for module, names in re.findall(
            r"^from (grebe[\w.]*) import ([\w, ]+)$", body, re.MULTILINE
        ):
            missing += [
                f"{module}.{name.split()[0]}"
                for name in names.split(",")
                if not _resolves(f"{module}.{name.split()[0]}")
            ]
        missing += [name for name in re.findall(r"\b(grebe\.\w+)\(", body) if not _resolves(name)]
    assert not missing


def test_pages_speak_of_nothing_that_readers_have_no_list_of() -> None:
    assert [str(page) for page in PAGES if _FEATURE.search(READ[page])] == []


def test_every_page_is_in_the_list_of_pages() -> None:
    docs = ROOT / "docs"
    listed = {(docs / link).resolve() for link in _LINK.findall(READ[docs / "README.md"])}
    pages = [*docs.glob("*.md"), *docs.glob("reference/*.md"), *docs.glob("formats/*.md")]
    assert {page.name for page in pages if page.resolve() not in listed} == {"README.md"}


def test_examples_are_what_users_write() -> None:
    used = [file for file in (ROOT / "examples").rglob("*.py") if "Engine" in file.read_text()]
    assert used == []


def charts() -> ModuleType:
    specification = importlib.util.spec_from_file_location("charts", ROOT / "tools" / "charts.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["charts"] = module
    specification.loader.exec_module(module)
    return module


def test_the_chart_shows_the_figures() -> None:
    made = charts()
    drawn = made.chart(made.bars())
    if os.environ.get("GREBE_GOLDEN") == "write":
        made.PICTURE.write_text(drawn, encoding="utf-8")
    assert made.PICTURE.read_text(encoding="utf-8") == drawn
