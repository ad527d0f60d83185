"""Keys that old projects are read by: each is written in one place, and none has another name."""

from __future__ import annotations

import doctest
import re
from dataclasses import fields
from pathlib import Path

from grebe import stored_properties
from grebe.stored_properties import KEYS, StoredProperties, pairs_of, pairs_text

SOURCE = Path(__file__).resolve().parents[1] / "src" / "grebe"
OF_OLD = [
    "grebe.view",
    "grebe.sql",
    "grebe.policy",
    "grebe.settings",
    "grebe.columns",
    "grebe.partitions",
    "grebe.fingerprint",
    "grebe.layout",
    "grebe.frozen",
    "grebe.meaning",
    "grebe.definition",
    "grebe.lag",
    "grebe.schedule",
    "grebe.trigger",
    "grebe.grace",
    "grebe.at-most-every",
    "grebe.catch-up",
    "grebe.max-failures",
    "grebe.timeout",
    "grebe.verify",
    "grebe.strategy",
    "grebe.suspended",
    "grebe.tags",
    "grebe.threshold",
    "grebe.check",
    "grebe.file",
    "grebe.project",
    "grebe.properties",
    "grebe.public",
    "grebe.expired-before",
    "grebe.least-files",
]


def test_no_key_has_another_name_than_before() -> None:
    assert list(KEYS.values()) == OF_OLD
    commits = ("RUN", "PART", "FRONTIER", "ROW_VERSION", "TABLE")
    assert [getattr(stored_properties, name) for name in commits] == [
        "grebe.run", "grebe.part", "grebe.frontier", "grebe.row-version", "grebe.table",
    ]  # fmt: skip


def test_what_is_kept_comes_back() -> None:
    texts = {item.name: f"a {item.name}" for item in fields(StoredProperties)}
    stored = StoredProperties(**texts)
    assert StoredProperties.from_properties({**stored.to_properties(), "team": "us"}) == stored
    assert StoredProperties.from_properties(None) == StoredProperties()
    assert StoredProperties(lag="").to_properties() == {"grebe.lag": ""}


def test_what_people_gave_comes_back_or_is_nothing() -> None:
    pairs = (("team", "it's us"), ("a", "b"))
    assert pairs_of(pairs_text(pairs)) == pairs
    assert pairs_of("{") == pairs_of("[1]") == pairs_of(None) == ()


def test_no_key_is_written_elsewhere() -> None:
    keys = re.compile(rf"""["']({"|".join(map(re.escape, OF_OLD))}|grebe\.)["']""")
    found = [
        f"{file.relative_to(SOURCE)}: {line.strip()}"
        for file in sorted(SOURCE.rglob("*.py"))
        if file.name != "stored_properties.py"
        for line in file.read_text(encoding="utf-8").splitlines()
        if keys.search(line)
    ]
    assert found == []


def test_the_examples_in_its_docstrings() -> None:
    found = doctest.testmod(stored_properties)
    assert (found.failed, found.attempted > 0) == (0, True)
