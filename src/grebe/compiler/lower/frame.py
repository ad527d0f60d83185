"""What FROM gives: rows, and the names that can be said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from grebe.compiler.algebra.nodes import InnerJoin, Node, Values
from grebe.compiler.algebra.scalar import number
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.expressions import Resolver
from grebe.compiler.lower.scope import Columns, Environment, NamedSource, Query, Scope
from grebe.sql_text import made


@dataclass(frozen=True, slots=True)
class Frame:
    """A relation of FROM with its qualifiers and the columns that a bare name or star means."""

    node: Node
    sources: tuple[NamedSource, ...]
    star: Columns

    def scope(self, environment: Environment) -> Scope:
        """The names as an expression sees them."""
        return Scope(self.sources, self.star, environment.outer)

    def resolver(self, context: Context, environment: Environment) -> Resolver:
        """Resolves expressions over this relation."""
        return Resolver(context, environment, self.scope(environment))


def no_rows_needed(context: Context) -> Frame:
    """The one row that a SELECT without FROM reads."""
    return Frame(Values((context.fresh(made("one")),), ((number(1),),)), (), ())


def of_query(query: Query, qualifier: tuple[str, ...]) -> Frame:
    """The frame of a relation with named columns."""
    return Frame(query.node, (NamedSource(qualifier, query.columns),), query.columns)


def renamed(context: Context, query: Query, names: Sequence[str], tree: exp.Expr) -> Query:
    """The query with its first columns under other names."""
    if len(names) > len(query.columns):
        context.invalid("there are more column aliases than columns", tree)
    rest = query.columns[len(names) :]
    pairs = zip(names, query.columns, strict=False)
    return Query(query.node, (*((name, own) for name, (_, own) in pairs), *rest))


def aliased(context: Context, query: Query, tree: exp.Expr, default: tuple[str, ...]) -> Frame:
    """The frame of a query in FROM under the alias that stands behind it."""
    alias = tree.args.get("alias")
    names = [item.name for item in alias.columns] if isinstance(alias, exp.TableAlias) else []
    qualifier = (tree.alias,) if tree.alias else default
    return of_query(renamed(context, query, names, tree), qualifier)


def crossed(frames: Sequence[Frame]) -> Frame:
    """All combinations of the rows of several relations."""
    if len(frames) == 1:
        return frames[0]
    return Frame(
        InnerJoin(tuple(frame.node for frame in frames), ()),
        tuple(source for frame in frames for source in frame.sources),
        tuple(pair for frame in frames for pair in frame.star),
    )
