"""Spark's SQL as the parser reads it, with the place of every expression and without known misreadings.

The parser's library reads the words of many databases and writes back what they have in common.
Here every expression remembers its span, so that the judge can compare it with the user's own
characters, and constants that the parser would turn into other expressions are kept as written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from grebe.compiler.parser.opaque import literal
from grebe.compiler.parser.spans import KEY

_SPANNED: Final = (
    "_parse_select",
    "_parse_select_query",
    "parse_set_operation",
    "_parse_set_operations",
    "_parse_lambda",
    "_parse_expression",
    "_parse_disjunction",
    "_parse_conjunction",
    "_parse_equality",
    "_parse_comparison",
    "_parse_range",
    "_parse_bitwise",
    "_parse_term",
    "_parse_factor",
    "_parse_unary",
    "_parse_type",
    "_parse_atom",
    "_parse_column",
    "_parse_primary",
    "_parse_function",
)
"""The parser's methods that read one expression, from the loosest operator to the tightest."""


def _spanned(method: Callable[..., Any]) -> Callable[..., Any]:
    """The parser's method, after which the expression knows its first and last character."""

    def read(self: Any, *given: Any, **options: Any) -> Any:  # noqa: ANN401  # whatever the method takes
        begun = given[0] if given and isinstance(given[0], exp.Expr) else options.get("this")
        first = self._curr
        tree = method(self, *given, **options)
        if not isinstance(tree, exp.Expr):
            return tree
        last = self._prev
        if isinstance(begun, exp.Expr):
            known = begun.meta.get(KEY)
            start = known[0] if known else None
        else:
            start = first.start if first else None
        if start is not None and last is not None and last.end >= start:
            tree.meta[KEY] = (start, last.end + 1)
        return tree

    return read


def _with_spans(parser: type[Any]) -> type[Any]:
    parser._parse_set_operations = _with_first(parser._parse_set_operations)
    for name in _SPANNED:
        method = getattr(parser, name, None)
        if method is not None:
            setattr(parser, name, _spanned(method))
    parser._parse_select_query = _with_start(parser._parse_select_query)
    return parser


def _with_start(method: Callable[..., Any]) -> Callable[..., Any]:
    """The parser's method, during which it is known where its query began."""

    def read(self: Any, *given: Any, **options: Any) -> Any:  # noqa: ANN401
        starts = self.__dict__.setdefault("_grebe_starts", [])
        starts.append(self._curr.start if self._curr else None)
        try:
            return method(self, *given, **options)
        finally:
            starts.pop()

    return read


def _with_first(method: Callable[..., Any]) -> Callable[..., Any]:
    """The parser's method, before which the first query of a chain knows its span."""

    def read(self: Any, this: Any) -> Any:  # noqa: ANN401
        starts = self.__dict__.get("_grebe_starts")
        if isinstance(this, exp.Expr) and KEY not in this.meta and starts and self._prev:
            start = starts[-1]
            if start is not None:
                this.meta[KEY] = (start, self._prev.end + 1)
        return method(self, this)

    return read


def _typed_literal(self: Any, this: exp.Expr, kind: exp.DataType) -> exp.Expr:  # noqa: ANN401
    """``DATE '2026-01-31'`` as it is written: a cast of the text would be another expression."""
    if not isinstance(this, exp.Literal):
        return self.expression(exp.Cast(this=this, to=kind))  # type: ignore[no-any-return]
    start = self._tokens[self._index - 2].start
    cast = exp.Cast(this=this, to=kind)
    return literal(self.sql[start : self._prev.end + 1], cast)


_TYPED: Final = (
    exp.DType.DATE,
    exp.DType.TIME,
    exp.DType.TIMESTAMP,
    exp.DType.TIMESTAMPLTZ,
    exp.DType.TIMESTAMPTZ,
    exp.DType.TIMESTAMPNTZ,
)


def _percentile(self: Any) -> exp.Expr:  # noqa: ANN401
    """PERCENTILE with all of its arguments; the parser knows two."""
    if self._curr.token_type is TokenType.DISTINCT:
        built: exp.Expr = self._parse_distinct_arg_function(exp.Quantile)
        return built
    given = self._parse_function_args()
    if len(given) > _PERCENTILE_ARGUMENTS:
        return exp.Anonymous(this="percentile", expressions=given)
    return exp.Quantile.from_arg_list(given)


_PERCENTILE_ARGUMENTS: Final = 2


def _date_trunc(given: list[exp.Expr]) -> exp.Expr:
    """DATE_TRUNC by a unit that is written, or by one that a column holds."""
    if given and isinstance(given[0], exp.Literal):
        built: exp.Expr = SparkParser.FUNCTIONS["DATE_TRUNC"](given)
        return built
    return exp.Anonymous(this="date_trunc", expressions=given)


class GrebeSpark(Spark):
    """Spark's dialect for definitions."""

    SUPPORTS_ORDER_BY_ALL = False  # any column called "all" would be taken for those words
    NORMALIZE_NOT_NULL = False
    INTERSECT_BINDS_TIGHTER_THAN_UNION_AND_EXCEPT = True

    class Tokenizer(Spark.Tokenizer):
        """A quote inside a string is doubled or has a backslash."""

        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    @_with_spans
    class Parser(SparkParser):
        """Every expression with its span."""

        TYPE_LITERAL_PARSERS: ClassVar[dict[Any, Any]] = {
            **SparkParser.TYPE_LITERAL_PARSERS,
            **dict.fromkeys(_TYPED, _typed_literal),
        }
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            **SparkParser.FUNCTION_PARSERS,
            "PERCENTILE": _percentile,
        }
        FUNCTIONS: ClassVar[dict[str, Any]] = {
            **SparkParser.FUNCTIONS,
            "DATE_TRUNC": _date_trunc,
        }


class GrebeDuckDB(DuckDB):
    """DuckDB's dialect for definitions."""

    SUPPORTS_ORDER_BY_ALL = False

    @_with_spans
    class Parser(DuckDBParser):
        """Every expression with its span."""


READ: Final[dict[str, type[Dialect]]] = {"spark": GrebeSpark, "duckdb": GrebeDuckDB}
"""The dialect that reads a definition, by the name of the one that runs it."""
