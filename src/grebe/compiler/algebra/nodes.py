"""Relational algebra as frozen dataclasses: what a view means, and what its change is.

One algebra serves both. A definition is a tree of nodes over scans; a delta rule turns it into
another tree over scans at the old version, at the new version, and over their deltas. A tree that
is a delta has one more column, `WEIGHT`.

Nodes compare by digest, so that equal subtrees are shared and equal inputs give equal plans in
any process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from hashlib import blake2b

from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.budget import spend
from grebe.errors import Where
from grebe.model import WEIGHT as WEIGHT


class At(StrEnum):
    """Which rows of a source a scan gives."""

    QUERY = "query"
    """No version yet: the definition itself."""
    OLD = "old"
    NEW = "new"
    DELTA = "delta"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A relation. ``columns`` names its output in order; no name occurs twice."""

    columns: tuple[str, ...] = field(init=False, repr=False)
    """The names of the output columns in order."""
    digest: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", self._named())
        object.__setattr__(self, "digest", _digest(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def _named(self) -> tuple[str, ...]:
        return ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The relations this one is made from."""
        return ()


@dataclass(frozen=True, slots=True)
class RowsNear:
    """Rows whose ``column`` has a value that occurs in the deltas: (source, its column)."""

    column: str
    deltas: tuple[tuple[str, str], ...]
    kept: bool = False
    """True when just these are read, once for everybody who needs them."""


@dataclass(frozen=True, slots=True, eq=False)
class Scan(Node):
    """A source: pairs of (name in the query, column of the table)."""

    table: str
    pairs: tuple[tuple[str, str], ...]
    at: At = At.QUERY
    near: RowsNear | None = None
    """Which rows are enough; a scan may give more, up to all of them."""

    def _named(self) -> tuple[str, ...]:
        names = tuple(name for name, _ in self.pairs)
        return (*names, WEIGHT) if self.at is At.DELTA else names


@dataclass(frozen=True, slots=True, eq=False)
class Stored(Node):
    """The view's own stored rows, as they were when the refresh was planned."""

    names: tuple[str, ...]

    def _named(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True, eq=False)
class Named(Node):
    """The result of an earlier step of the plan."""

    step: str
    names: tuple[str, ...]

    def _named(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True, eq=False)
class Verbatim(Node):
    """A definition that has no algebra: its own text, which can only be recomputed."""

    sql: str
    names: tuple[str, ...]

    def _named(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True, eq=False)
class Values(Node):
    """Constant rows."""

    names: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]

    def _named(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True, eq=False)
class Empty(Node):
    """No rows, with the columns and types of another relation."""

    like: Node

    def _named(self) -> tuple[str, ...]:
        return self.like.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.like,)


@dataclass(frozen=True, slots=True, eq=False)
class Filter(Node):
    """The rows for which the predicate is TRUE."""

    input: Node
    predicate: Scalar

    def _named(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class Projection(Node):
    """Computed columns: pairs of (name, expression over the input)."""

    input: Node
    outputs: tuple[tuple[str, Scalar], ...]

    def _named(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class InnerJoin(Node):
    """All combinations of rows for which every conjunct is TRUE; N-way, cross without any."""

    parts: tuple[Node, ...]
    on: tuple[Scalar, ...]

    def _named(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.columns)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, slots=True, eq=False)
class OuterJoin(Node):
    """LEFT or FULL; a RIGHT join is a LEFT one with its sides exchanged."""

    left: Node
    right: Node
    on: Scalar
    full: bool = False

    def _named(self) -> tuple[str, ...]:
        return (*self.left.columns, *self.right.columns)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class SemiJoin(Node):
    """The left rows that have a match (``anti``: that have none)."""

    left: Node
    right: Node
    on: Scalar
    anti: bool = False

    def _named(self) -> tuple[str, ...]:
        return self.left.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class MarkJoin(Node):
    """The left rows with one more column: TRUE if a match, else NULL if an unknown, else FALSE."""

    left: Node
    right: Node
    on: Scalar
    name: str

    def _named(self) -> tuple[str, ...]:
        return (*self.left.columns, self.name)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class UnionAll(Node):
    """The rows of all branches, columns by position."""

    branches: tuple[Node, ...]
    names: tuple[str, ...]

    def _named(self) -> tuple[str, ...]:
        return self.names

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches


class SetKind(StrEnum):
    """The set operations other than UNION ALL."""

    UNION = "union"
    EXCEPT = "except"
    EXCEPT_ALL = "except_all"
    INTERSECT = "intersect"
    INTERSECT_ALL = "intersect_all"


@dataclass(frozen=True, slots=True, eq=False)
class SetOperation(Node):
    """UNION, EXCEPT [ALL], INTERSECT [ALL]; columns by position."""

    kind: SetKind
    left: Node
    right: Node
    names: tuple[str, ...]

    def _named(self) -> tuple[str, ...]:
        return self.names

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Distinct(Node):
    """Each row once."""

    input: Node

    def _named(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate(Node):
    """One row per group: key columns of the input, then calls. Without keys: always one row."""

    input: Node
    keys: tuple[str, ...]
    calls: tuple[tuple[str, Scalar], ...]
    where: Where | None = field(default=None, compare=False)
    signed: tuple[str, ...] = ()
    """Keys whose equal values are one group only when they are the same value (`signed_zeros`)."""

    def _named(self) -> tuple[str, ...]:
        return (*self.keys, *(name for name, _ in self.calls))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class Windowed(Node):
    """The input with window calls, all over the same partition columns."""

    input: Node
    partition: tuple[str, ...]
    calls: tuple[tuple[str, Scalar], ...]
    where: Where | None = field(default=None, compare=False)

    def _named(self) -> tuple[str, ...]:
        return (*self.input.columns, *(name for name, _ in self.calls))

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Order:
    """One sort key: a column of the input."""

    column: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, eq=False)
class TopK(Node):
    """The rows at positions offset+1 … offset+limit of each partition, in a total order."""

    input: Node
    partition: tuple[str, ...]
    order: tuple[Order, ...]
    limit: int | None
    offset: int = 0
    where: Where | None = field(default=None, compare=False)

    def _named(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class Unnest(Node):
    """The input with each row once per element of an array or map it holds.

    ``outer`` keeps a row whose collection is empty or NULL; ``position`` names the ordinal column.
    """

    input: Node
    collection: Scalar
    names: tuple[str, ...]
    outer: bool = False
    position: str | None = None

    def _named(self) -> tuple[str, ...]:
        ordinal = (self.position,) if self.position else ()
        return (*self.input.columns, *ordinal, *self.names)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class Consolidate(Node):
    """A delta with the weights of equal rows summed and zeros dropped."""

    input: Node
    signed: tuple[str, ...] = ()
    """Columns whose equal values need not be the same value (`signed_zeros`)."""

    def _named(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class Repeat(Node):
    """A delta with every row |weight| times and weight +1 or -1.

    A weight must never multiply a decimal: Spark would round the product.
    """

    input: Node

    def _named(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, eq=False)
class Small(Node):
    """The same rows, expected to be few: every worker may get a copy of all of them."""

    input: Node

    def _named(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


def walk(node: Node) -> Iterator[Node]:
    """Every distinct node of the tree, inputs before what is made from them."""
    seen: set[str] = set()

    def visit(current: Node) -> Iterator[Node]:
        if current.digest in seen:
            return
        seen.add(current.digest)
        for child in current.inputs:
            yield from visit(child)
        yield current

    yield from visit(node)


_NAME = 8
"""Characters that a column takes in a text that lists it, about."""
_UNSPELLED = ("columns", "digest", "where")


def _digest(node: Node) -> str:
    values = [getattr(node, item.name) for item in fields(node) if item.name not in _UNSPELLED]
    if getattr(node, "signed", None) == ():
        values.pop()
    if isinstance(node, Scan) and node.near is None:
        values.pop()  # what a definition means has nothing to do with how much of it is read
    parts = [type(node).__name__, *(_spell(value) for value in values)]
    spelled = "\x1f".join(parts)
    spend(len(spelled) + _NAME * len(node.columns))
    return blake2b(spelled.encode(), digest_size=16).hexdigest()


def _spell(value: object) -> str:
    if isinstance(value, Node):
        return value.digest
    if isinstance(value, Scalar):
        return value.text
    if isinstance(value, tuple):
        return "(" + "\x1e".join(_spell(item) for item in value) + ")"
    return repr(value)
