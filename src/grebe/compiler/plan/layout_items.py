"""PARTITIONED BY and CLUSTER BY: what their items mean, and which stored column each is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import sqlglot
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from grebe.compiler.algebra.nodes import Distinct, Filter, Node, Projection, Stored, TopK
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.errors import DefinitionError
from grebe.model import Partition

_TRANSFORMS: Final = {
    "identity": "identity",
    **{
        f"{unit}{plural}": unit for unit in ("year", "month", "day", "hour") for plural in ("", "s")
    },
    "date": "day",
    "date_hour": "hour",
    "bucket": "bucket",
    "truncate": "truncate",
}
_WITH_WIDTH: Final = ("bucket", "truncate")
_CALL: Final = 4
"""The fewest tokens of a transform: its name, two parentheses and a column."""


def read_partitions(items: Iterable[str]) -> tuple[Partition, ...]:
    """The partitions that a statement asks for, over the view's own columns.

    >>> read_partitions(["months(day)", "bucket(4, `a b`)"])
    (Partition(column='day', transform='month', width=None), Partition(column='a b', transform='bucket', width=4))

    Raises:
        DefinitionError: an item is neither a column nor a transform of one.
    """
    return tuple(_read(item) for item in items)


def _read(item: str) -> Partition:
    try:
        tokens = sqlglot.tokenize(item, read="spark")
    except TokenError:
        tokens = []
    if len(tokens) == 1 and _is_name(tokens[0]):
        return Partition(tokens[0].text)
    texts = [token.text for token in tokens]
    if len(tokens) < _CALL or (texts[1], texts[-1]) != ("(", ")"):
        raise _no_partition(item)
    transform = _TRANSFORMS.get(texts[0].lower())
    inside = tokens[2:-1]
    names = [token.text for token in inside[::2] if _is_name(token)]
    widths = [int(token.text) for token in inside[::2] if token.text.isdecimal()]
    commas = [token.text for token in inside[1::2]]
    wanted = 1 if transform in _WITH_WIDTH else 0
    if transform is None or len(names) != 1 or len(widths) != wanted or commas != [","] * wanted:
        raise _no_partition(item)
    if widths and not widths[0]:
        raise _no_partition(item)
    return Partition(names[0], transform, widths[0] if widths else None)


def _is_name(token: Token) -> bool:
    if token.token_type is TokenType.IDENTIFIER:
        return True
    return (
        token.token_type is not TokenType.STRING
        and token.text.replace("_", "a").isalnum()
        and (not token.text[0].isdecimal())
    )


def _no_partition(item: str) -> DefinitionError:
    return DefinitionError(
        f'a view cannot be partitioned by "{item}"',
        hint="a column, or year, month, day, hour, bucket(n, …), truncate(n, …) of one",
        code="bad-partition",
    )


def stored_partitions(items: Sequence[str], plan: RefreshPlan) -> tuple[Partition, ...]:
    """The same partitions over the columns of the storage table.

    Raises:
        DefinitionError: no such column, or one that is computed when the view is read.
    """
    return tuple(
        Partition(_stored(part.column, plan, "partitioned"), part.transform, part.width)
        for part in read_partitions(items)
    )


def stored_order(items: Sequence[str], plan: RefreshPlan) -> tuple[str, ...]:
    """The columns of the storage table that a statement wants its rows sorted by.

    Raises:
        DefinitionError: an item is no column, or one that is computed when the view is read.
    """
    return tuple(_stored(_column(item), plan, "clustered") for item in items)


def _column(item: str) -> str:
    try:
        tokens = sqlglot.tokenize(item, read="spark")
    except TokenError:
        tokens = []
    if len(tokens) == 1 and _is_name(tokens[0]):
        return tokens[0].text
    raise DefinitionError(
        f'a view cannot be clustered by "{item}"',
        hint="CLUSTER BY takes columns of the view",
        code="bad-cluster",
    )


def _stored(name: str, plan: RefreshPlan, how: str) -> str:
    code = "bad-partition" if how == "partitioned" else "bad-cluster"
    named = {public.lower(): own for own, public in plan.outputs}
    named |= {public: own for own, public in plan.outputs}
    own = named.get(name) or named.get(name.lower())
    if own is None:
        raise DefinitionError(
            f'the view has no column "{name}" to be {how} by',
            hint=f"columns: {', '.join(public for _, public in plan.outputs)}",
            code=code,
        )
    column = _below(plan.public, own)
    if column is None:
        raise DefinitionError(
            f'column "{name}" is computed when the view is read, so no file can be placed by it',
            hint="name a column that is stored as it is, e.g. one of the GROUP BY",
            code=code,
        )
    return column


def _below(node: Node, name: str) -> str | None:
    """The stored column that a column of the public SELECT hands on unchanged."""
    match node:
        case Projection():
            below = dict(node.outputs)[name].column
            return None if below is None else _below(node.input, below)
        case Filter() | TopK() | Distinct():
            return _below(node.input, name)
        case Stored():
            return name if name in node.columns else None
    return None
