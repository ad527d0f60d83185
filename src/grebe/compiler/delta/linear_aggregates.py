"""Aggregate calls that a running count and sum can answer exactly.

COUNT needs no type. SUM needs an exact one: a float sum depends on the order of the rows and
never recovers from an infinity. AVG needs one for which sum / count is bit by bit what the
engine's own AVG gives: small integers, decimals of up to 9 digits on DuckDB, and on Spark those of
precision up to 24 and scale from 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.known_types import Decimal, Types
from grebe.compiler.algebra.nodes import Aggregate
from grebe.compiler.algebra.scalar import Scalar, build, column, number, rename
from grebe.sql_text import PREFIX, plain

_AVG_DECIMAL: Final = 24
_AVG_SCALE: Final = 2
_AVG_DIGITS: Final = 9
"""Digits of a DECIMAL on DuckDB: the same is true of the sum of its digits."""
_AVG_INTEGER: Final = 10
"""Digits of INT: the sum of fewer than 2^22 such values is exact in the engine's double, too."""


_NEGATED_DIGITS: Final = 34
"""Spark's `-x` keeps no more digits of a decimal than that."""
_SUBTRACTED_SCALE: Final = 6
"""A difference of decimals of 38 digits keeps its scale up to here."""


@dataclass(frozen=True, slots=True)
class Linear:
    """One call: its argument, how its state columns are named, and how its value is read."""

    kind: str
    argument: Scalar
    state: str
    result: str | None = None
    """The type of the visible value where the engine's own arithmetic would give another."""
    dividend: str = ":s"
    """How the sum enters a division, so that the quotient is rounded once, as AVG rounds it."""
    divisor: str = ":n"
    minus: str = "-:x"
    """How the argument is taken away again, every digit of it."""

    @property
    def needs_sum(self) -> bool:
        return self.kind != "count"

    def visible(self, count: str, total: str) -> Scalar:
        """The value that readers see, from the columns that hold the state."""
        n, s = column(count), column(total)
        if self.kind == "count":
            return n
        if self.kind == "sum":
            shown = f"CAST(:s AS {self.result})" if self.result else ":s"
            return build(f"CASE WHEN :n > 0 THEN {shown} END", n=n, s=s)
        if self.result:
            quotient = f"CAST({self.dividend} / {self.divisor} AS {self.result})"
            return build(f"CASE WHEN :n > 0 THEN {quotient} END", n=n, s=s)
        return build("CASE WHEN :n > 0 THEN CAST(:s AS DOUBLE) / :n END", n=n, s=s)


def linear_calls(node: Aggregate, types: Types) -> tuple[Linear, ...] | None:
    """The calls of an aggregate when all of them are linear, else None."""
    found = [linear_call(call, types) for _, call in node.calls]
    return tuple(item for item in found if item) if all(found) else None


def linear_call(call: Scalar, types: Types) -> Linear | None:
    """The linear form of one call, or None when it has none for its type."""
    tree = call.ast
    if isinstance(tree, exp.Count):
        return _count(tree)
    if not isinstance(tree, (exp.Sum, exp.Avg)) or isinstance(tree.this, exp.Distinct):
        return None
    argument = Scalar.of(tree.this.copy())
    number_type = types.exact(argument)
    if number_type is None:
        return None
    state = _state_name(argument)
    if isinstance(tree, exp.Sum):
        minus = _minus(number_type, types)
        result = _sum_type(number_type, types)
        return Linear("sum", argument, state, result, minus=minus) if minus else None
    if number_type.integer and number_type.precision <= _AVG_INTEGER:
        return Linear("avg", argument, state)
    if types.dialect == "duckdb" and number_type.precision <= _AVG_DIGITS:
        return Linear("avg", argument, state, "DOUBLE", *_digits(number_type))
    if types.dialect == "spark" and _divides_like_avg(number_type):
        result = f"DECIMAL({number_type.precision + 4}, {number_type.scale + 4})"
        dividend = f"CAST(:s AS DECIMAL({_AVG_DECIMAL + 10}, {number_type.scale}))"
        return Linear("avg", argument, state, result, dividend)
    return None


def _digits(exact: Decimal) -> tuple[str, str]:
    """What DuckDB divides, as doubles: the sum without its point, and the count with as many zeros."""
    power = 10**exact.scale
    return f"CAST(CAST(:s * {power} AS HUGEINT) AS DOUBLE)", f"(:n * {power})"


def _divides_like_avg(exact: Decimal) -> bool:
    """True when Spark's division of DECIMAL(34, s) by a count has the scale of its AVG, s + 4.

    It has at least 6 digits, so below scale 2 the quotient would be rounded twice.
    """
    return not exact.integer and exact.precision <= _AVG_DECIMAL and exact.scale >= _AVG_SCALE


def _minus(exact: Decimal, types: Types) -> str | None:
    """How a value is taken from a sum without losing a digit, where there is a way.

    >>> _minus(Decimal(38, 6, integer=False), Types(dialect="spark"))
    '0 - :x'
    """
    if types.dialect != "spark" or exact.integer or exact.precision <= _NEGATED_DIGITS:
        return "-:x"
    return "0 - :x" if exact.scale <= _SUBTRACTED_SCALE else None


def _sum_type(exact: Decimal, types: Types) -> str | None:
    """The type of the engine's own SUM, where the state has a wider one."""
    if types.dialect != "spark":
        return None
    if exact.integer:
        return "BIGINT"
    return f"DECIMAL({min(38, exact.precision + 10)}, {exact.scale})"


def _count(tree: exp.Count) -> Linear | None:
    if isinstance(tree.this, exp.Distinct) or tree.expressions:
        return None
    argument = number(1) if isinstance(tree.this, exp.Star) else Scalar.of(tree.this.copy())
    return Linear("count", argument, _state_name(argument))


def _state_name(argument: Scalar) -> str:
    named = rename(
        argument, {name: plain(name) for name in argument.columns if plain(name) != name}
    )
    return f"{PREFIX}{blake2b(named.text.encode(), digest_size=8).hexdigest()}"
