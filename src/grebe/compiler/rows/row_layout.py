"""What is stored of a row view: its columns, and those that only grebe sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from grebe.compiler.algebra.nodes import Filter, Node, Projection, Stored
from grebe.compiler.algebra.scalar import column
from grebe.compiler.rows.row_definition import FunctionUse, RowDefinition, RowIdentity
from grebe.compiler.rows.row_keys import checksum_of, class_of, key_of
from grebe.errors import DefinitionError, RowViewError, UnsupportedSQLError
from grebe.sql_text import is_made, made, quote

ROW_ID: Final = "__source_row_id"
IS_SET: Final = "__is_set"
SYSTEM: Final = (ROW_ID, IS_SET)
ROW: Final = made("row")
MATCH: Final = made("match")
SUM: Final = made("sum")
ERRORS: Final = made("errors")
ERRORS_TYPE: Final = (
    "array<struct<column:string,type:string,message:string,attempts:int,run_id:string>>"
)


@dataclass(frozen=True, slots=True)
class RowLayout:
    """A row view with the types of its query's columns."""

    definition: RowDefinition
    read: tuple[tuple[str, str], ...]
    """The columns of the query with their types."""

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The public columns with their types."""
        kinds = dict(self.read)
        kinds |= {use.column: use.returns for use in self.definition.functions}
        return tuple((name, kinds[name]) for name in self.definition.outputs)

    @property
    def stored(self) -> tuple[tuple[str, str], ...]:
        """All columns of the storage table, but the checksum over them."""
        match = [(MATCH, "binary")] if self.definition.identity is RowIdentity.KEY else []
        keys = [(key_column(place), "binary") for place, _ in self.functions]
        return (
            (ROW_ID, "bigint"),
            (IS_SET, "boolean"),
            *self.columns,
            (ROW, "binary"),
            *match,
            *keys,
            (ERRORS, ERRORS_TYPE),
        )

    @property
    def functions(self) -> tuple[tuple[int, FunctionUse], ...]:
        """The functions with their places."""
        return tuple(enumerate(self.definition.functions))

    @property
    def checksum(self) -> str:
        """The expression of the checksum of a stored row."""
        return checksum_of(self.stored)

    @property
    def hashes(self) -> tuple[tuple[str, str], ...]:
        """(name, expression) of what is computed of each row of the query."""
        kinds = dict(self.read)
        found = [(ROW, key_of("row", self.read))]
        if self.definition.identity is RowIdentity.KEY:
            pairs = [(name, kinds[name]) for name in self.definition.key]
            found.append((MATCH, key_of("match", pairs)))
        for place, use in self.functions:
            pairs = [(name, kinds[name]) for _, name in use.inputs]
            found.append((key_column(place), key_of(use.fingerprint, pairs)))
        return tuple(found)

    @property
    def matched_on(self) -> str:
        """The column that says which row is which."""
        return MATCH if self.definition.identity is RowIdentity.KEY else ROW

    @property
    def public(self) -> Node:
        """What readers see of the stored rows."""
        names = (*(name for name, _ in self.stored), SUM)
        visible = Filter(Stored(names), column(IS_SET))
        return Projection(visible, tuple((name, column(name)) for name, _ in self.columns))


def key_column(place: int) -> str:
    """The stored column with the key of a function's inputs."""
    return made(f"inputs_{place + 1}")


_TAKES: Final = {"int": "i", "float": "fi", "str": "s", "bytes": "b", "bool": "o", "date": "t"}
"""What a parameter of an annotation can be given, by the classes of types."""


def _refuse_other_types(use: FunctionUse, kinds: dict[str, str]) -> None:
    words = use.said["parameters"]
    for (parameter, name), word in zip(use.inputs, words, strict=False):
        takes = _TAKES.get(word)
        if takes is not None and class_of(kinds[name]) not in takes:
            raise RowViewError(
                f'function "{use.said["name"]}" takes {word} for "{parameter}"',
                detail=f"the column it is given has type {kinds[name]}",
                hint="cast the column in the select, or annotate the parameter otherwise",
                code="input-type",
            )


def checked_layout(definition: RowDefinition, read: Sequence[tuple[str, str]]) -> RowLayout:
    """The layout of a view, its names and types checked.

    Raises:
        DefinitionError: a name is taken, or a type cannot be an input.
    """
    seen: set[str] = set()
    for name in definition.outputs:
        if name.lower() in SYSTEM or is_made(name):
            raise UnsupportedSQLError(
                "reserved_name",
                f'the column name "{name}" is reserved',
                hint=f"select it as {quote(name.strip('_') or 'value')}",
            )
        if name.lower() in seen:
            raise UnsupportedSQLError(
                "duplicate_column", f'the output name "{name}" occurs twice', hint="rename one"
            )
        seen.add(name.lower())
    if not definition.outputs:
        raise DefinitionError("a view without columns", hint="select some", code="row-definition")
    layout = RowLayout(definition, tuple(read))
    for use in definition.functions:
        _refuse_other_types(use, dict(read))
    _ = layout.hashes, layout.checksum
    return layout
