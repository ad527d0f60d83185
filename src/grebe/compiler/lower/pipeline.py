"""The way through lowering, from text to a tree of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from grebe.compiler.algebra.nodes import Node, Scan, walk
from grebe.compiler.algebra.root import with_stored_names
from grebe.compiler.budget import limited
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.query import lower_query
from grebe.compiler.lower.scope import Environment, Query, Relation
from grebe.compiler.lower.shape import exactly, free_columns
from grebe.compiler.lower.simplify import simplified
from grebe.compiler.lower.used_columns import pruned
from grebe.compiler.parser.parse import normalised, parse, plain, too_deep
from grebe.compiler.parser.spans import Span
from grebe.compiler.reasons import ReasonCode
from grebe.errors import InternalError
from grebe.model import Reason


@dataclass(frozen=True, slots=True)
class Lowered:
    """What a query means.

    ``outputs`` pairs each internal column of ``root`` with its public name, in SELECT order.
    ``root`` is None when ``reasons`` holds something that no tree can express.
    """

    root: Node | None
    outputs: tuple[tuple[str, str], ...]
    tables: tuple[str, ...]
    reasons: tuple[Reason, ...]
    notes: tuple[str, ...]
    features: frozenset[str]
    sql: str


def lower(
    sql: str,
    *,
    dialect: str = "spark",
    sources: Mapping[str, Relation],
    file: str | None = None,
    kept: frozenset[Span] = frozenset(),
    outputs: Sequence[str] = (),
) -> Lowered:
    """The meaning of a query over the given tables.

    ``kept`` are the expressions that stay as the user's characters, ``outputs`` what the engine
    calls the columns of the result: for those without a name.

    Raises:
        DefinitionError: the text is not a query over these tables, or never can be a view.
        ValueError: the dialect is not known.
    """
    tree = plain(parse(sql, dialect, file))
    keys = {name.lower(): relation for name, relation in sources.items()}
    context = Context(sql, dialect, file, keys, lower_query, kept, tuple(outputs))
    try:
        with limited():
            return _lowered(context, tree)
    except RecursionError:
        raise too_deep(sql, file) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InternalError(
            f"this query was not understood: {error}",
            hint="please report this with the view's definition",
            where=context.where(tree),
        ) from error


def _lowered(context: Context, tree: exp.Query) -> Lowered:
    query = _named(context, lower_query(context, tree, Environment()))
    _check_outputs(context, query, tree)
    node = exactly(context, query.node, [name for _, name in query.columns])
    root: Node | None = None
    free = free_columns(node)
    if free and not context.hopeless:
        message = "a subquery reads a column that is not grouped in the outer query"
        context.refuse(ReasonCode.CORRELATED_SUBQUERY, message, tree)
    if not context.hopeless:
        root = with_stored_names(pruned(context, simplified(node), node.columns))
    columns = node.columns if root is None else root.columns
    publics = [name for name, _ in query.columns]
    found = {item.table for item in walk(root) if isinstance(item, Scan)} if root else set()
    return Lowered(
        root=root,
        outputs=tuple(zip(columns, publics, strict=True)),
        tables=tuple(sorted(found or context.tables)),
        reasons=tuple(context.reasons),
        notes=tuple(context.notes),
        features=frozenset(context.features),
        sql=normalised(tree, context.dialect),
    )


def _named(context: Context, query: Query) -> Query:
    """The query with the engine's names for outputs that have none."""
    if len(context.outputs) != len(query.columns):
        return query
    pairs = zip(query.columns, context.outputs, strict=True)
    return replace(query, columns=tuple((name or own, column) for (name, column), own in pairs))


def _check_outputs(context: Context, query: Query, tree: exp.Query) -> None:
    """Every output has a name, and no name occurs twice."""
    select = tree
    while isinstance(select, (exp.SetOperation, exp.Subquery)):
        select = select.this
    trees = select.expressions if isinstance(select, exp.Select) else []
    seen: set[str] = set()
    for index, (name, _) in enumerate(query.columns):
        place = trees[index] if len(trees) == len(query.columns) else select
        if not name:
            context.stop("unnamed_column", f"output {index + 1} has no name: add AS", place)
        if name.lower() in seen:
            context.stop("duplicate_column", f'the output name "{name}" occurs twice', place)
        seen.add(name.lower())
