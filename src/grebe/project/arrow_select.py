"""A small part of SQL over Arrow tables, without any engine: what the SELECT of a public name mostly is.

Columns, names, casts that lose nothing, CASE, comparisons and their combinations. Anything else is refused:
another engine could mean something else by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from grebe.errors import RefreshError

if TYPE_CHECKING:
    import pyarrow as pa

_COMPARED: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
}
_KINDS: Final[Mapping[str, str]] = {
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INT": "int32",
    "BIGINT": "int64",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "TEXT": "string",
    "VARCHAR": "string",
    "BOOLEAN": "bool_",
    "DATE": "date32",
    "BINARY": "binary",
    "VARBINARY": "binary",
}


def select_from(text: str, stored: pa.Table) -> pa.Table:
    """The rows of a SELECT over the one table that it names.

    Raises:
        RefreshError: it says more than is understood here.
    """
    import pyarrow as pa

    try:
        return _relation(_parsed(text), stored)
    except pa.ArrowException as error:
        raise needs_spark(str(error)) from error


def filtered(rows: pa.Table, condition: str) -> pa.Table:
    """The rows that meet a condition.

    Raises:
        RefreshError: it says more than is understood here.
    """
    import pyarrow as pa

    try:
        return rows.filter(_value(_parsed(condition), rows))
    except pa.ArrowException as error:
        raise needs_spark(str(error)) from error


def _parsed(text: str) -> exp.Expr:
    try:
        return parse_one(text, read="spark")
    except SqlglotError as error:
        raise needs_spark(f"the text cannot be read: {error}".split("\n", maxsplit=1)[0]) from error


def needs_spark(why: str) -> RefreshError:
    """The error for rows that only Spark can give."""
    return RefreshError(
        "these rows cannot be read without Spark",
        detail=why,
        hint="use view.read(), which gives a Spark DataFrame",
        code="only-spark",
    )


def _relation(node: exp.Expr, stored: pa.Table) -> pa.Table:
    import pyarrow as pa

    if isinstance(node, exp.Subquery):
        return _relation(node.this, stored)
    if isinstance(node, exp.Table):
        return stored
    known = {"expressions", "from_", "from", "where", "kind"}
    if not isinstance(node, exp.Select) or any(
        value for key, value in node.args.items() if key not in known
    ):
        raise needs_spark(f"the view is shown by {_shown(node)}")
    source = node.args.get("from_") or node.args.get("from")
    if source is None:
        raise needs_spark("the view reads no table")
    rows = _relation(source.this, stored)
    where = node.args.get("where")
    if where is not None:
        rows = rows.filter(_value(where.this, rows))
    items = node.expressions
    if len(items) == 1 and isinstance(items[0], exp.Star):
        return rows
    columns = [_column(_value(item, rows), rows) for item in items]
    return pa.table(columns, names=[item.alias_or_name for item in items])


def _column(value: Any, rows: pa.Table) -> Any:  # noqa: ANN401  Arrow's arrays have no common type
    import pyarrow as pa

    if isinstance(value, pa.Scalar):
        return pa.array([value.as_py()] * rows.num_rows, value.type)
    return value


def _value(node: exp.Expr, rows: pa.Table) -> Any:  # noqa: ANN401  as above
    if type(node) in _COMPARED:
        return _compare(type(node), _value(node.this, rows), _value(node.expression, rows))
    rule = _RULES.get(type(node))
    found = rule(node, rows) if rule is not None else None
    if found is None:
        raise needs_spark(f"it is not computed here: {_shown(node)}")
    return found


def _named(node: exp.Expr, rows: pa.Table) -> Any:  # noqa: ANN401  as above
    return rows[node.name] if node.name in rows.column_names else None


def _literal(node: exp.Expr, _: pa.Table) -> Any:  # noqa: ANN401  as above
    import pyarrow as pa

    if isinstance(node, exp.Literal):
        return pa.scalar(node.this) if node.is_string else _number(node.this)
    return pa.scalar(bool(node.this) if isinstance(node, exp.Boolean) else None)


def _negated(node: exp.Expr, rows: pa.Table) -> Any:  # noqa: ANN401  as above
    import pyarrow.compute as pc

    value = _value(node.this, rows)
    return pc.invert(value) if isinstance(node, exp.Not) else pc.negate_checked(value)


def _combined(node: exp.Expr, rows: pa.Table) -> Any:  # noqa: ANN401  as above
    import pyarrow.compute as pc

    combine = pc.and_kleene if isinstance(node, exp.And) else pc.or_kleene
    return combine(_value(node.this, rows), _value(node.expression, rows))


def _is(node: exp.Expr, rows: pa.Table) -> Any:  # noqa: ANN401  as above
    import pyarrow.compute as pc

    is_null = isinstance(node.expression, exp.Null)
    return pc.is_null(_value(node.this, rows)) if is_null else None


def _in(node: exp.Expr, rows: pa.Table) -> Any:  # noqa: ANN401  as above
    items = node.expressions
    found = [exp.EQ(this=node.this.copy(), expression=item.copy()) for item in items]
    return _value(exp.or_(*found), rows) if found else None


def _between(node: exp.Expr, rows: pa.Table) -> Any:  # noqa: ANN401  as above
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return _value(exp.and_(low, high), rows)


def _case(node: exp.Expr, rows: pa.Table) -> Any:  # noqa: ANN401  as above
    import pyarrow as pa
    import pyarrow.compute as pc

    if node.this is not None:
        return None
    default = node.args.get("default")
    result = _value(default, rows) if default is not None else None
    for branch in reversed(node.args["ifs"]):
        value = _value(branch.args["true"], rows)
        if result is None:
            result = pa.scalar(None, value.type)
        if value.type != result.type:
            raise needs_spark(f"the branches have two types: {_shown(node)}")
        result = pc.if_else(pc.fill_null(_value(branch.this, rows), False), value, result)
    return result


def _compare(kind: type[exp.Expr], left: Any, right: Any) -> Any:  # noqa: ANN401  as above
    import pyarrow as pa
    import pyarrow.compute as pc

    left, right = _alike(left, right)
    compared: Callable[..., Any] = getattr(pc, _COMPARED[kind])
    if not pa.types.is_floating(left.type):
        return compared(left, right)
    # In SQL as Spark speaks it NaN is one value, above all others.
    ranks = [pc.cast(pc.is_nan(side), pa.int8()) for side in (left, right)]
    numbers = [
        pc.if_else(pc.is_nan(side), pa.scalar(0.0, side.type), side) for side in (left, right)
    ]
    same = pc.and_kleene(pc.equal(*ranks), compared(*numbers))
    if kind in (exp.EQ,):
        return same
    return pc.or_kleene(same, pc.and_kleene(pc.not_equal(*ranks), compared(*ranks)))


def _alike(left: Any, right: Any) -> tuple[Any, Any]:  # noqa: ANN401  as above
    """Both sides with one type; a literal takes that of what it is compared with."""
    import pyarrow as pa

    if left.type == right.type:
        return left, right
    for one, other, turned in ((left, right, False), (right, left, True)):
        if isinstance(one, pa.Scalar):
            one = _as_type(one, other.type)
            return (other, one) if turned else (one, other)
    both = (left.type, right.type)
    if all(pa.types.is_integer(kind) for kind in both):
        return left.cast(pa.int64()), right.cast(pa.int64())
    raise needs_spark(f"a {left.type} is compared with a {right.type}")


def _as_type(value: pa.Scalar, kind: pa.DataType) -> pa.Scalar:
    import pyarrow as pa

    plain = value.as_py()
    numeric = pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_floating(kind)
    try:
        if plain is None:
            return pa.scalar(None, kind)
        if numeric and isinstance(plain, str):
            raise needs_spark("a number is compared with a text")
        if pa.types.is_floating(kind):
            return pa.scalar(float(plain), kind)
        if pa.types.is_integer(kind) and plain != int(plain):
            raise needs_spark(f"a {kind} is compared with {plain}")
        if pa.types.is_decimal(kind) and not isinstance(plain, str):
            return pa.scalar(Decimal(plain), kind)
        return value.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, TypeError) as error:
        raise needs_spark(f"a {kind} is compared with {plain!r}") from error


def _number(text: str) -> pa.Scalar:
    import pyarrow as pa

    if text.isdecimal():
        return pa.scalar(int(text))
    return pa.scalar(float(text)) if "e" in text.lower() else pa.scalar(Decimal(text))


def _cast(value: Any, to: exp.DataType) -> Any:  # noqa: ANN401  as above
    """The value in a type that holds all of it; a cast that could change one is left to Spark."""
    import pyarrow as pa

    kind = to.this.name
    own = value.type
    if kind in (
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "TIMESTAMPLTZ",
        "TIMESTAMPNTZ",
    ) and pa.types.is_timestamp(own):
        return value
    if kind in ("STRUCT", "LIST", "ARRAY", "MAP", "INTERVAL", "VARIANT"):
        raise needs_spark(f"a column of type {to.sql('spark')} is cast")
    wanted = _decimal(to) if kind == "DECIMAL" else _plain(kind)
    if wanted is None:
        raise needs_spark(f"a cast to {to.sql('spark')}")
    if own == wanted or (pa.types.is_large_string(own) and pa.types.is_string(wanted)):
        return value.cast(wanted)
    if pa.types.is_null(own) or _keeps_value(own, wanted):
        return value.cast(wanted)  # Arrow refuses a value that does not fit
    if pa.types.is_large_binary(own) and pa.types.is_binary(wanted):
        return value.cast(wanted)
    raise needs_spark(f"a cast from {own} to {to.sql('spark')}")


def _keeps_value(own: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a cast between numbers gives the same number or none."""
    import pyarrow as pa

    whole = pa.types.is_integer(own) or (pa.types.is_decimal(own) and own.scale == 0)
    if pa.types.is_integer(wanted):
        return bool(whole)
    if pa.types.is_decimal(wanted):
        return bool(whole or (pa.types.is_decimal(own) and own.scale <= wanted.scale))
    return bool(pa.types.is_floating(wanted) and pa.types.is_integer(own))


def _plain(kind: str) -> pa.DataType | None:
    import pyarrow as pa

    return getattr(pa, _KINDS[kind])() if kind in _KINDS else None


def _decimal(to: exp.DataType) -> pa.DataType:
    import pyarrow as pa

    sizes = [int(item.name) for item in to.expressions]
    return pa.decimal128(*(sizes or (10, 0)))


_RULES: Final[Mapping[type[exp.Expr], Callable[[Any, Any], Any]]] = {
    exp.Paren: lambda node, rows: _value(node.this, rows),
    exp.Alias: lambda node, rows: _value(node.this, rows),
    exp.Column: _named,
    exp.Literal: _literal,
    exp.Boolean: _literal,
    exp.Null: _literal,
    exp.Neg: _negated,
    exp.Not: _negated,
    exp.And: _combined,
    exp.Or: _combined,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Cast: lambda node, rows: _cast(_value(node.this, rows), node.to),
    # Spark's own text: sqlglot takes its CAST for one that gives NULL; one that could is refused.
    exp.TryCast: lambda node, rows: _cast(_value(node.this, rows), node.to),
    exp.Case: _case,
}
"""What is computed here, and how."""


def _shown(node: exp.Expr) -> str:
    text = node.sql("spark")
    return text if len(text) <= 80 else text[:77] + "..."
