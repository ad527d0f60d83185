"""A definition without an algebra: its own text, in which each table can be put in its place.

The text is kept with every base table under its full name, as one identifier: what stands behind
it (a pinned relation, an empty one that has its columns, a view's own SELECT) is filled in later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from grebe.compiler.nodes import Verbatim
from grebe.compiler.parse import parse, place_of
from grebe.compiler.rewrite import base_tables
from grebe.errors import InternalError, UnsupportedSQLError
from grebe.sql_text import made

Parts = tuple[str, ...]


def tables_in(sql: str, dialect: str) -> list[Parts]:
    """The names of base tables as they are written, each once."""
    found = base_tables(parse(sql, dialect))
    return list(dict.fromkeys(_parts(table) for table in found))


def anchored(sql: str, dialect: str, names: Mapping[Parts, str]) -> str:
    """The text with every base table under its full name, without comments.

    >>> anchored("select s.t.a from s.t -- all", "spark", {("s", "t"): "lake.s.t"})
    'SELECT t.a FROM `lake.s.t` AS `t`'
    """
    tree = parse(sql, dialect)
    tables = list(base_tables(tree))
    for table in tables:
        _unqualify(tree, table)
    for table in tables:
        _take_place(table, exp.to_table(_quoted(names[_parts(table)]), dialect=dialect))
    text = tree.sql(dialect, comments=False)
    if set(tables_in(text, dialect)) != {(names[_parts(table)],) for table in tables}:
        raise UnsupportedSQLError(
            "cte",
            "a common table expression has the full name of a table",
            hint="give it another name",
            where=place_of(None, sql),
        )
    return text


def filled(text: str, dialect: str, relation: Callable[[str], str | None]) -> str:
    """An anchored text with its tables replaced by relations, which are names or `(SELECT …)`.

    >>> filled("SELECT t.a FROM `lake.s.t` AS t", "spark", lambda name: "(SELECT 1 AS a)")
    'SELECT t.a FROM (SELECT 1 AS a) AS t'
    """
    tree = parse(text, dialect)
    for table in list(base_tables(tree)):
        given = relation(table.name)
        if given is not None:
            query = parse(f"SELECT * FROM {given}", dialect)
            _take_place(table, query.args["from_"].this)
    return tree.sql(dialect, comments=False)


def relation_of(node: Verbatim, dialect: str, relation: Callable[[str], str]) -> str:
    """The node as a relation with its own column names, over relations for its tables."""
    names = ", ".join(exp.to_identifier(name, quoted=True).sql(dialect) for name in node.names)
    return f"({filled(node.sql, dialect, relation)}) AS {made('verbatim')} ({names})"


def _parts(table: exp.Table) -> Parts:
    return tuple(part.name for part in table.parts)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _take_place(table: exp.Table, other: exp.Expr) -> None:
    """Replace what is read, and keep everything else that stands with the table."""
    if not isinstance(other, (exp.Table, exp.Subquery)):
        raise InternalError.broken("a relation is a table or a subquery")
    kept = {key: value for key, value in table.args.items() if key not in ("this", "db", "catalog")}
    if not kept.get("alias"):
        kept["alias"] = exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
    for key, value in kept.items():
        if value:
            other.set(key, value)
    table.replace(other)


def _unqualify(tree: exp.Expr, table: exp.Table) -> None:
    """Columns that name the table with its schema name it by its last part alone."""
    if table.args.get("alias") or not table.args.get("db"):
        return
    written = [part.name.lower() for part in table.parts]
    for column in tree.find_all(exp.Column):
        before = [part.name.lower() for part in column.parts[:-1]]
        if len(before) > 1 and written[-len(before) :] == before:
            column.set("db", None)
            column.set("catalog", None)
