"""Functions that somebody wrote in SQL and a catalog or session keeps: `CREATE FUNCTION … RETURN …`.

Spark puts their text in the place of the call. It may read tables and the clock, and whoever replaces
the function changes what every text that calls it means: nobody can follow that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot.tokenizer_core import Token, TokenType

from grebe.compiler.parser.spans import Span
from grebe.compiler.parser.tokens import tokens_of
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DIALECT: Final = "spark"
_IN_SQL: Final = "Class: sqlFunction"
"""What Spark says of a function without a class of its own."""
_NOT_CALLED: Final = frozenset(
    [
        "all",
        "and",
        "any",
        "as",
        "between",
        "by",
        "case",
        "cube",
        "distinct",
        "else",
        "except",
        "exists",
        "filter",
        "from",
        "group",
        "having",
        "if",
        "in",
        "intersect",
        "interval",
        "join",
        "lateral",
        "like",
        "not",
        "on",
        "or",
        "over",
        "partition",
        "rollup",
        "select",
        "sets",
        "some",
        "struct",
        "then",
        "union",
        "using",
        "values",
        "when",
        "where",
        "window",
        "with",
        "within",
    ]
)
"""Words of the language that may stand before a bracket."""
_own: set[str] = set()
"""The names of Spark's own functions, asked once."""


def defined_function(text: str, spark: SparkSession) -> Span | None:
    """Where a text calls a function that was written in SQL; None where it calls none."""
    for names, span in _calls(tokens_of(text, _DIALECT)):
        # Spark looks among its own functions first, unless a schema is named.
        known = len(names) == 1 and names[0].lower() in _NOT_CALLED | _own_functions(spark)
        if not known and _is_in_sql(names, spark):
            return span
    return None


def _calls(tokens: Sequence[Token]) -> Iterator[tuple[list[str], Span]]:
    """The dotted names before opening brackets, each once."""
    seen: set[tuple[str, ...]] = set()
    for place, token in enumerate(tokens):
        if token.token_type is not TokenType.L_PAREN or not place:
            continue
        at = place - 1
        parts = [tokens[at]]
        while at > 1 and tokens[at - 1].token_type is TokenType.DOT:
            at -= 2
            parts.insert(0, tokens[at])
        names = [part.text for part in parts]
        if all(_is_name(part) for part in parts) and tuple(names) not in seen:
            seen.add(tuple(names))
            yield names, Span(parts[0].start, parts[-1].end + 1)


def _is_name(token: Token) -> bool:
    quoted = token.token_type is TokenType.IDENTIFIER
    return quoted or (token.text.replace("_", "a").isalnum() and not token.text[0].isdigit())


def _own_functions(spark: SparkSession) -> set[str]:
    if not _own:
        _own.update(str(row[0]).lower() for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect())
    return _own


def _is_in_sql(names: Sequence[str], spark: SparkSession) -> bool:
    name = ".".join(map(quote, names))
    try:
        said = spark.sql(f"DESCRIBE FUNCTION {name}").collect()
    except Exception:  # there is none of that name: Spark itself refuses a call of it
        return False
    return any(str(row[0]).startswith(_IN_SQL) for row in said)
