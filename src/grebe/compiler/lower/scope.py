"""Names and scopes: which column a name means, decided by where it stands and never by its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.nodes import Node
from grebe.sql_text import PREFIX, apart, plain, quote

RESERVED = PREFIX


def dotted(parts: Iterable[str]) -> str:
    """A name of several parts as one text, which no other name has.

    >>> dotted(["main", "t"]), dotted(["main.t"]), dotted(['a " b'])
    ('main.t', '"main.t"', '"a "" b"')
    """
    return ".".join(quote(part, "duckdb") if "." in part or '"' in part else part for part in parts)


@dataclass(frozen=True, slots=True)
class Relation:
    """A table that a query may read: how scans name it, and its columns with types if known."""

    name: str
    columns: tuple[tuple[str, str | None], ...]


_SPOKEN: Final = frozenset(
    (
        "user",
        "current_user",
        "session_user",
        "current_date",
        "current_time",
        "current_timestamp",
        "grouping__id",
    )
)
"""Names that Spark takes for functions wherever no column of the innermost SELECT has them, quoted or not.

In a correlated subquery that we write, the column of the outer row would be one of them.
"""


@dataclass(slots=True)
class Names:
    """Gives every column of one compile a name of its own."""

    last: dict[str, int] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def fresh(self, base: str) -> str:
        """The wanted name; or, where that is taken or grebe's own, one that no user has.

        >>> names = Names()
        >>> names.fresh("Amount"), names.fresh("amount"), names.fresh("amount_2")
        ('Amount', '__grebe__amount_2', '__grebe__amount_2_2')
        >>> names.fresh("__grebe_key"), names.fresh("key")
        ('__grebe__key', '__grebe__key_2')
        >>> names.fresh("user")
        '__grebe__user'
        """
        name = wanted = plain(base).removeprefix(PREFIX) or "column"
        count = self.last.get(wanted.lower(), 1)
        while name.lower() in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.last[wanted.lower()] = count
        self.taken.add(name.lower())
        return name if name == base and name.lower() not in _SPOKEN else apart(name)


Columns = tuple[tuple[str, str], ...]
"""Pairs of (name that a user writes, internal column)."""


@dataclass(frozen=True, slots=True)
class Query:
    """A lowered query: a relation, and which of its columns are the output, in order."""

    node: Node
    columns: Columns


@dataclass(frozen=True, slots=True)
class NamedSource:
    """One relation in FROM: its qualifier (`t`, or `lake`, `sales`, `orders`) and its columns.

    ``open`` accepts any name: the columns of something that was refused are not known.
    """

    qualifier: tuple[str, ...]
    columns: Columns
    open: bool = False

    def answers(self, qualifier: tuple[str, ...]) -> bool:
        """True when the written qualifier names this relation."""
        own = tuple(part.lower() for part in self.qualifier)
        return bool(qualifier) and own[-len(qualifier) :] == qualifier


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column, and the struct fields that the rest of a dotted name reads from it."""

    column: str
    fields: tuple[str, ...] = ()


class AmbiguousNameError(Exception):
    """Several relations have a column of that name."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The relations of one FROM, what a bare name can mean, and the query around it."""

    sources: tuple[NamedSource, ...]
    star: Columns
    outer: Scope | None = None

    def find(
        self, parts: tuple[str, ...], has_fields: Callable[[str], bool] = lambda _: True
    ) -> FoundColumn | None:
        """The column that a dotted name means here, or None; the longest qualifier wins.

        Only a column that ``has_fields`` can be what a name with dots begins with.
        """
        lowered = tuple(part.lower() for part in parts)
        for length in range(len(parts) - 1, 0, -1):
            found = self._qualified(lowered[:length], lowered[length])
            if found is not None:
                return FoundColumn(found, parts[length + 1 :])
        bare = _matches(self.star, lowered[0])
        if len(bare) > 1:
            raise AmbiguousNameError
        if len(parts) > 1:
            bare = [column for column in bare if has_fields(column)]
        return FoundColumn(bare[0], parts[1:]) if bare else None

    def _qualified(self, qualifier: tuple[str, ...], name: str) -> str | None:
        found = [
            column
            for source in self.sources
            if source.answers(qualifier)
            for column in _matches(source.columns, name)
        ]
        if len(set(found)) > 1:
            raise AmbiguousNameError
        return found[0] if found else None

    @property
    def is_open(self) -> bool:
        """True when some relation here was refused, so that unknown names are no error."""
        return any(source.open for source in self.sources)

    def around(self) -> Iterator[Scope]:
        """This scope and those of the queries around it, inside first."""
        current: Scope | None = self
        while current is not None:
            yield current
            current = current.outer


def _matches(columns: Columns, name: str) -> list[str]:
    return list(dict.fromkeys(column for own, column in columns if own.lower() == name))


@dataclass(frozen=True, slots=True)
class Cte:
    """A common table expression with the environment of its definition."""

    query: exp.Query
    environment: Environment
    columns: tuple[str, ...] = ()
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Environment:
    """What surrounds a query: common table expressions by lower-case name, and the outer scope."""

    ctes: Mapping[str, Cte] = field(default_factory=dict)
    outer: Scope | None = None

    def inside(self, scope: Scope | None) -> Environment:
        """The environment of a subquery that may read the given scope."""
        return Environment(self.ctes, scope)
