"""What one compile gathers: names, reasons, notes, and the places they point to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from grebe.compiler.lower.scope import Environment, Names, Query, Relation, dotted
from grebe.compiler.parser.parse import place_of
from grebe.compiler.parser.spans import Span
from grebe.compiler.reasons import DESCRIPTIONS, ReasonCode, feature_of
from grebe.errors import DefinitionError, UnknownTableError, UnsupportedSQLError, Where
from grebe.model import Reason
from grebe.sql_text import is_made

_NESTED = ("STRUCT", "ARRAY", "MAP", "UNION", "JSON", "VARIANT")
"""How the types begin of which a dotted name can read a part."""


@dataclass(slots=True)
class Context:
    """The state of one compile; nothing of it outlives the call."""

    text: str
    dialect: str
    file: str | None
    sources: Mapping[str, Relation]
    lower_query: Callable[[Context, exp.Expr, Environment], Query]
    kept: frozenset[Span] = frozenset()
    """Expressions that stay as the user's characters."""
    outputs: tuple[str, ...] = ()
    """What the engine calls the outputs that the user gave no name."""
    names: Names = field(default_factory=Names)
    reasons: list[Reason] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    types: dict[str, str] = field(default_factory=dict)
    """Type text of internal columns that come straight from a table."""
    hopeless: bool = False
    """Set once something was met that no tree can express."""

    def where(self, tree: exp.Expr | None) -> Where:
        """The place of a tree in the text."""
        return place_of(tree, self.text, self.file)

    def fresh(self, base: str) -> str:
        """A column name that nothing else in this compile has."""
        return self.names.fresh(base)

    def is_nested(self, name: str) -> bool:
        """True for a column that is known to have fields; Spark looks no further than its name."""
        return self.dialect == "spark" or self.types.get(name, "").upper().startswith(_NESTED)

    def may_be_nested(self, name: str) -> bool:
        """True for a column that has fields, or whose type nobody knows."""
        return name not in self.types or self.is_nested(name)

    def refuse(
        self, code: ReasonCode, message: str, tree: exp.Expr | None, *, expressible: bool = False
    ) -> None:
        """Remember why the query cannot be maintained, and go on."""
        where = self.where(tree)
        if DESCRIPTIONS[code].always_refused:
            raise UnsupportedSQLError(
                feature_of(code), message, hint=DESCRIPTIONS[code].instead, where=where
            )
        reason = Reason(code.value, message, where)
        if reason not in self.reasons:
            self.reasons.append(reason)
        self.hopeless = self.hopeless or not expressible

    def stop(self, feature: str, message: str, tree: exp.Expr | None) -> NoReturn:
        """Raise for SQL that no view can have."""
        raise self.unsupported(feature, message, tree)

    def unsupported(self, feature: str, message: str, tree: exp.Expr | None) -> UnsupportedSQLError:
        """The error for SQL that no view can have."""
        return UnsupportedSQLError(feature, message, where=self.where(tree))

    def invalid(self, message: str, tree: exp.Expr | None, hint: str | None = None) -> NoReturn:
        """Raise for a text that no engine would accept either.

        After something was refused, what looks wrong may only follow from it: of a function in
        FROM no columns are known.
        """
        if self.hopeless:
            first = self.reasons[0]
            raise UnsupportedSQLError(
                feature_of(ReasonCode(first.code)),
                first.message,
                hint=DESCRIPTIONS[ReasonCode(first.code)].instead,
                where=first.where,
                reasons=self.reasons,
            )
        raise DefinitionError(message, hint=hint, where=self.where(tree))

    def note(self, text: str) -> None:
        """Remember something that the author of the view should know."""
        if text not in self.notes:
            self.notes.append(text)

    def relation(self, parts: tuple[str, ...], tree: exp.Expr) -> Relation:
        """The table behind a name as the user wrote it."""
        written = dotted(parts)
        found = self.sources.get(written.lower()) or self.sources.get(".".join(parts).lower())
        if found is None:
            raise UnknownTableError.named(written, sorted(self.sources), where=self.where(tree))
        for name, _ in found.columns:
            if is_made(name):
                message = f'column "{name}" of table "{written}" begins with the reserved prefix'
                self.stop("reserved_name", message, tree)
        self.tables.add(found.name)
        return found
