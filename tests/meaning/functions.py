"""Corpus: the examples that Spark's own documentation gives of each of its functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from meaning.words import Word, joined, literals, select_list, without_alias, words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST = 5
"""Literals of one example that are put into columns one by one."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a function."""

    function: str
    text: str

    @property
    def items(self) -> list[str]:
        """Its expressions; none when it is more than a SELECT list."""
        return [without_alias(item) for item in select_list(self.text) or ()]


def functions(spark: SparkSession) -> list[str]:
    """The names of all functions that Spark has of itself."""
    return [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]


def examples(spark: SparkSession, names: Sequence[str]) -> Iterator[Example]:
    """The examples of some functions; what a SET before them changes is not part of a view."""
    for name in names:
        quoted = f"`{name}`" if name[0].isalpha() or name[0] == "_" else name
        lines = [
            line
            for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED {quoted}").collect()
            for line in row[0].splitlines()
        ]
        escaped = False
        for line in lines:
            text = line.strip()
            if text.startswith("> SET"):
                escaped = "escapedStringLiterals=true" in text
            elif text.startswith("> ") and not escaped:
                yield Example(name, text[2:].strip().rstrip(";").strip())


def in_columns(item: str, names: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """An expression with its literals in columns: all of them, then one after the other.

    Each with the values of its columns.
    """
    places = list(literals(item))
    if not places:
        return
    pieces = words(item)
    yield _replaced(pieces, places, names)
    if len(places) > 1:
        for place in islice(places, _MOST):
            yield _replaced(pieces, [place], names)


def _replaced(
    pieces: Sequence[Word], places: Sequence[tuple[int, int]], names: Sequence[str]
) -> tuple[str, dict[str, str]]:
    made = list(pieces)
    values: dict[str, str] = {}
    for (start, stop), name in reversed(list(zip(places, names, strict=False))):
        values[name] = joined(pieces[start:stop])
        made[start:stop] = [Word("name", name)]
    return joined(made), values


def with_names(text: str, columns: int) -> str:
    """A query whose columns have names, whatever it calls them itself."""
    names = ", ".join(f"c{place}" for place in range(columns))
    return f"SELECT * FROM ({text}) AS q({names})"
