"""Which names of a generated text are neither a user's nor grebe's own."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp, parse_one
from sqlglot.tokens import Tokenizer

from grebe.sql_text import is_made


def strangers(text: str, dialect: str, known: Collection[str]) -> set[str]:
    """Made-up names without the prefix: of columns, relations, CTEs, aliases and parameters.

    ``known``: the names that users gave, and those of stored columns.
    """
    users = {name.lower() for name in known}
    tree = parse_one(text, dialect=dialect)
    found = {item.name for item in tree.find_all(exp.Identifier) if not _is_field(item)}
    return {name for name in found if not is_made(name) and name.lower() not in users}


def _is_field(item: exp.Identifier) -> bool:
    """True for a part of a struct or of a type, and for a table's full name."""
    match item.parent:
        case exp.Table() if len(item.parent.parts) > 1:
            return True  # a table of a catalog, whose last part is an alias at most
        case exp.Dot():
            return item.arg_key == "expression" or item.find_ancestor(exp.Table) is not None
        case exp.PropertyEQ() | exp.Kwarg():
            return item.arg_key == "this"
        case exp.ColumnDef() | exp.DataType():
            return True
    return item.find_ancestor(exp.DataType) is not None


def words_of(sql: str, dialect: str) -> set[str]:
    """Every word and quoted name of a user's text."""
    return {token.text for token in Tokenizer(dialect=dialect).tokenize(sql)}
