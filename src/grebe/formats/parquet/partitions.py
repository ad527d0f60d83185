"""Hive's way of writing columns into folder names: `day=2024-01-01/kind=a%2Fb/file.parquet`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from urllib.parse import unquote

NULL = "__HIVE_DEFAULT_PARTITION__"


def raw_values(path: str) -> dict[str, str | None]:
    """The columns that a file's folders fix, as text; None for NULL."""
    folders = [part.partition("=") for part in path.split("/")[:-1]]
    return {
        unquote(name): None if value == NULL else unquote(value)
        for name, found, value in folders
        if found and name
    }


def infer(paths: Iterable[str]) -> dict[str, str]:
    """The Spark type of every partition column: the narrowest that all its values have."""
    values: dict[str, set[str]] = {}
    for path in paths:
        for name, text in raw_values(path).items():
            found = values.setdefault(name, set())
            if text is not None:
                found.add(text)
    return {name: _narrowest(found) for name, found in values.items()}


def _narrowest(texts: set[str]) -> str:
    if texts:
        for kind in ("int", "bigint", "date"):
            if all(_fits(kind, text) for text in texts):
                return kind
    return "string"


def _fits(kind: str, text: str) -> bool:
    try:
        value = PARSE[kind](text)
    except ValueError:
        return False
    if isinstance(value, int):
        return str(value) == text and -(1 << LIMIT[kind]) <= value < 1 << LIMIT[kind]
    return str(value) == text


PARSE: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "bigint": int,
    "date": date.fromisoformat,
    "string": str,
}
LIMIT = {"int": 31, "bigint": 63}
