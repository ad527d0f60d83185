"""Subqueries met inside an expression: set aside until it is known which rows they are joined to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp

from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.lower.scope import Environment


class Kind(StrEnum):
    """What an expression wants of a subquery."""

    SCALAR = "scalar"
    EXISTS = "exists"
    MATCH = "match"
    """Is the comparison TRUE for some row: IN, ANY, and ALL by way of its negation."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A subquery whose value stands in expressions as the column ``name``.

    ``operands`` are compared with the subquery's columns by ``compare``; ``negated`` compares by
    the negation, which is how ALL is said with a match.
    """

    name: str
    kind: Kind
    query: exp.Query
    environment: Environment
    operands: tuple[Scalar, ...] = ()
    compare: type[exp.Binary] = exp.EQ
    negated: bool = False
    renamed: tuple[tuple[str, str], ...] = ()
    """Columns of the outer row that have another name where the subquery is joined."""
