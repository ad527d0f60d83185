"""A text as Spark reads it, kept with the view so that Spark is asked once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from grebe.compiler.parser.parse import place_of
from grebe.compiler.parser.spans import Span
from grebe.model import Reason

if TYPE_CHECKING:
    from grebe.compiler.text.references import Parts
    from grebe.engine.compiled_view import ViewDefinition

Columns = tuple[tuple[str, str], ...]
_ASKED: Final = 1
"""How Spark is asked; another number asks again."""
_MOST: Final = 10_000
_known: dict[str, Meaning] = {}
"""What this process has asked already."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A text as Spark reads it."""

    columns: Columns
    """Names and types of the result."""
    kept: frozenset[Span] = frozenset()
    """Expressions that the algebra holds as the user's characters."""
    reasons: tuple[Reason, ...] = ()
    """Why the text cannot be maintained, as far as Spark's reading shows it."""
    key: str = ""
    """What was asked."""

    @property
    def kept_as(self) -> str:
        """The text that a storage table keeps of it."""
        return json.dumps(
            {
                "key": self.key,
                "columns": self.columns,
                "kept": sorted(self.kept),
                "reasons": [(reason.code, reason.message) for reason in self.reasons],
            }
        )


def meaning_key(
    sql: str, relations: Mapping[Parts, Columns], settings: tuple[tuple[str, str], ...]
) -> str:
    """A digest of everything that decides what a text means."""
    said = repr((_ASKED, sql, sorted(relations.items()), sorted(settings)))
    return blake2b(said.encode(), digest_size=16).hexdigest()


def known_meaning(key: str, definition: ViewDefinition) -> Meaning | None:
    """What was found out before, by this process or by the one that made the view."""
    if key in _known:
        return _known[key]
    try:
        found = json.loads(definition.meaning or "{}")
        if found.get("key") != key:
            return None
        where = place_of(None, definition.sql)
        return Meaning(
            columns=tuple((name, kind) for name, kind in found["columns"]),
            kept=frozenset(Span(start, end) for start, end in found["kept"]),
            reasons=tuple(Reason(code, text, where) for code, text in found["reasons"]),
            key=key,
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None  # somebody wrote something else there: it is asked again


def remember(key: str, found: Meaning) -> Meaning:
    """Keep a meaning with what was asked, for the next time."""
    if len(_known) >= _MOST:
        _known.clear()
    _known[key] = replace(found, key=key)
    return _known[key]
