"""Which test shows which feature, read from the names of the tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# What needs Spark stands with the other tests that start one.
FILES = (*sorted(FOLDER.glob("test_*.py")), FOLDER.parent / "engine" / "test_programs.py")
DOCUMENT = FOLDER.parent.parent / "docs" / "ducklake-programs.md"
_NUMBER = re.compile(r"F\d{3}|C\d{1,2}(?=_)")
# Tests that carry the names which the first plan gave them.
_NAMED = {"test_named.py": "F067"}


def shown() -> dict[str, list[str]]:
    """Tests by the number of the feature they show."""
    found: dict[str, list[str]] = {}
    for file in FILES:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                numbers = _NUMBER.findall(node.name) or filter(None, [_NAMED.get(file.name)])
                for number in numbers:
                    found.setdefault(number, []).append(
                        f"{'' if file.parent == FOLDER else '../engine/'}{file.name}::{node.name}"
                    )
    return dict(sorted(found.items()))
