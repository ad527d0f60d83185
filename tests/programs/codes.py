"""Every code by which a query is refused, and every one that a program raises, read from the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from grebe.compiler.lower.relations import _REFUSED_TABLE_PARTS
from grebe.compiler.reasons import DESCRIPTIONS

FOLDER = Path(__file__).resolve().parent.parent.parent / "src" / "grebe" / "compiler"
_CALLS = ("UnsupportedSQLError", "stop", "unsupported")
_RAISED = re.compile(r"\[([a-z]+(?:[-_][a-z]+)*)\] ")


def refused() -> dict[str, str]:
    """What each code of a refused query says, the first message found."""
    found: dict[str, str] = {}
    for description in DESCRIPTIONS.values():
        named = ":…" if description.feature == "aggregate" else ""
        found.setdefault(f"{description.feature}{named}", description.text)
    for code, message in _REFUSED_TABLE_PARTS.values():
        found.setdefault(code, message)
    for file in sorted(FOLDER.rglob("*.py")):
        for code, message in _raised(ast.parse(file.read_text(encoding="utf-8"))):
            found.setdefault(code, message)
    return dict(sorted(found.items()))


def _raised(tree: ast.AST) -> Iterator[tuple[str, str]]:
    texts = {
        target.id: _text(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.lower().endswith("message")
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
        code = node.args[0]
        if called in _CALLS and isinstance(code, ast.Constant) and isinstance(code.value, str):
            message = node.args[1] if len(node.args) > 1 else node.args[0]
            yield code.value, texts.get(_name(message), "") or _text(message)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.AST) -> str:
    """A message with a mark in the place of what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return "…" if isinstance(node, ast.FormattedValue) else ""


def raised() -> set[str]:
    """The codes in the messages of a program's statements."""
    found: set[str] = set()
    for file in (FOLDER / "program").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(_RAISED.findall(node.value))
    return found


def table() -> str:
    """The table of the docs, one row per code."""
    lines = ["| `feature` | what it says |", "|---|---|"]
    lines += [f"| `{code}` | {message} |" for code, message in refused().items()]
    return "\n".join(lines) + "\n"
