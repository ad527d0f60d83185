"""What the strategies share: touched rows with their copies before and after, and checksums."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from grebe.compiler.algebra.nodes import WEIGHT, Filter, Node, Projection, Repeat, UnionAll
from grebe.compiler.algebra.scalar import Scalar, build, column, number, passed, text
from grebe.compiler.write.steps import COPIES
from grebe.model import ACTION
from grebe.sql_text import made

CHECKSUM = made("check")
"""A stored checksum of the row: it turns a row that somebody altered from silent to loud."""

HASH = made("hash")
"""grebe's name for the engine's 64-bit hash function."""

BEFORE, AFTER = made("before"), made("after")


def checksum(names: Sequence[str]) -> Scalar:
    """The hash of some columns."""
    arguments = [column(name).copy() for name in names]
    return Scalar.of(exp.Anonymous(this=HASH, expressions=arguments))


def as_merge(touched: Node, names: Sequence[str]) -> Node:
    """Delete markers and inserts that turn ``BEFORE`` stored copies of a row into ``AFTER``.

    A MERGE cannot delete k of n equal rows: a marker removes all copies, and those that stay are
    inserted again. Rows that only grow need no marker.
    """
    before, after = column(BEFORE), column(AFTER)
    shrunk = Filter(touched, build(":after < :before", after=after, before=before))
    delete = (*passed(names), (ACTION, text("delete")), (COPIES, before))
    wanted = build(
        "CAST(CASE WHEN :after > :before THEN :after - :before ELSE :after END AS BIGINT)",
        after=after,
        before=before,
    )
    changed = build(":after <> :before AND :after > 0", after=after, before=before)
    growing = Repeat(Projection(Filter(touched, changed), (*passed(names), (WEIGHT, wanted))))
    insert = (*passed(names), (ACTION, text("insert")), (COPIES, number(0)))
    columns = (*names, ACTION, COPIES)
    return UnionAll((Projection(shrunk, delete), Projection(growing, insert)), columns)
