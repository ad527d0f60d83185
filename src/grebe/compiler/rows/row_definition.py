"""What a row view is: a plain query, and functions over some of its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

from grebe.errors import DefinitionError
from grebe.sql_text import quote

DOCUMENT: Final = "$row_view"
"""The key of a definition's text that is one of a row view."""
LAYOUT: Final = 1
"""Of what is stored of a row view; counted up when the same columns mean something else."""


class RowIdentity(StrEnum):
    """Which row is which, from one version of a source to the next."""

    KEY = "key"
    """By columns that a person named: no two rows have the same values there."""
    CONTENT = "content"
    """By all that the view reads of a row: equal rows are copies of each other."""


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A function that computes one column."""

    column: str
    inputs: tuple[tuple[str, str], ...]
    """(parameter, column of the query)."""
    said: Mapping[str, Any]
    """The function itself, as plain values."""

    @property
    def fingerprint(self) -> str:
        """What its results depend on."""
        return str(self.said["fingerprint"])

    @property
    def returns(self) -> str:
        """The type of its values."""
        return str(self.said["returns"])


@dataclass(frozen=True)
class RowDefinition:
    """Everything that a person said of a row view."""

    relation: str
    """What is read: a table as it is named, or a query."""
    items: tuple[tuple[str, str], ...]
    """(name, expression) of each column that is read, those that only functions need among them."""
    outputs: tuple[str, ...]
    """The columns of the view, in order: items, and what functions compute."""
    functions: tuple[FunctionUse, ...] = ()
    where: str | None = None
    key: tuple[str, ...] = ()
    """Items that tell rows apart."""
    limit: int | None = None
    offset: int = 0
    is_query: bool = False

    @property
    def identity(self) -> RowIdentity:
        """Which row is which."""
        return RowIdentity.KEY if self.key else RowIdentity.CONTENT

    @property
    def has_bounds(self) -> bool:
        """True when only some of the rows that the filter lets through are chosen."""
        return self.limit is not None or self.offset > 0

    @property
    def query(self) -> str:
        """The query without functions and bounds; its last line tells definitions apart."""
        return f"{self.over(self._source)}\n/* row view {self.digest} */"

    @property
    def _source(self) -> str:
        return f"(\n{self.relation}\n) AS row_source" if self.is_query else self.relation

    def over(self, relation: str, more: str = "") -> str:
        """The query over another relation that has the same columns, with more columns in the end."""
        items = ", ".join(f"{text} AS {quote(name)}" for name, text in self.items)
        where = f"\nWHERE {self.where}" if self.where else ""
        return f"SELECT {items}{more}\nFROM {relation}{where}"

    @cached_property
    def digest(self) -> str:
        """Another one means that other rows or values are stored."""
        document = self.to_dict()
        document["functions"] = [
            [use.column, use.inputs, use.fingerprint, use.returns] for use in self.functions
        ]
        text = json.dumps([LAYOUT, document], sort_keys=True, ensure_ascii=False)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def function_of(self, column: str) -> FunctionUse | None:
        """The function that computes a column, if one does."""
        return next((use for use in self.functions if use.column == column), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "relation": self.relation,
            "items": [list(item) for item in self.items],
            "outputs": list(self.outputs),
            "functions": [
                {"column": use.column, "inputs": [list(item) for item in use.inputs], **use.said}
                for use in self.functions
            ],
            "where": self.where,
            "key": list(self.key),
            "limit": self.limit,
            "offset": self.offset,
            "is_query": self.is_query,
        }

    def to_text(self) -> str:
        """The text that the registry and the storage table keep."""
        return json.dumps({DOCUMENT: self.to_dict()}, sort_keys=True, ensure_ascii=False)


def is_row_view(document: object) -> bool:
    """True for the JSON of a row view."""
    return isinstance(document, dict) and DOCUMENT in document


def row_definition(document: Any) -> RowDefinition:  # noqa: ANN401  any JSON may be given
    """The definition that a document says.

    Raises:
        DefinitionError: it says none.
    """
    try:
        said = document[DOCUMENT]
        functions = tuple(
            FunctionUse(
                item["column"],
                tuple((name, column) for name, column in item["inputs"]),
                {key: value for key, value in item.items() if key not in ("column", "inputs")},
            )
            for item in said["functions"]
        )
        bare = RowDefinition(
            said["relation"],
            tuple((name, text) for name, text in said["items"]),
            tuple(said["outputs"]),
            where=said["where"],
            key=tuple(said["key"]),
            limit=said["limit"],
            offset=said["offset"],
            is_query=said["is_query"],
        )
        return replace(bare, functions=functions)
    except (KeyError, TypeError, ValueError) as error:
        raise DefinitionError(
            "the definition of a row view is not one that grebe wrote",
            detail=f"{type(error).__name__}: {error}",
            hint="make it with project.table(…).select(…).create_materialized_view(…)",
            code="row-definition",
        ) from None
