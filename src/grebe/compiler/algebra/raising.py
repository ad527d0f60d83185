"""Which expressions can raise on some input.

A telescoped join makes pairs of rows that never existed; an expression that raises on such a pair
would fail where the query does not, so the delta is consolidated before it. That costs a shuffle:
hence decimals are looked at closely, whose sums and products are as wide as they need to be.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.functions import is_total
from grebe.compiler.algebra.known_types import Decimal, Types
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.parser.chains import links, parts_of

_WIDEST: Final = 38
"""Digits of the widest decimal; a result that may need more can overflow."""

_LITERAL: Final = Decimal(10, 0, integer=True)
_WIDENING: Final = (exp.Add, exp.Sub, exp.Mul, exp.Neg)
_SEALED: Final = (exp.DataType, exp.Try)


def can_raise(tree: exp.Expr, types: Types) -> bool:
    """True when the expression may raise on some input; unknown ones are taken to be able to."""
    return bool(raising(tree, types))


def raising(tree: exp.Expr, types: Types) -> list[exp.Expr]:
    """The parts of an expression that may raise themselves; nothing inside TRY does."""
    found: list[exp.Expr] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _SEALED) or (isinstance(node, _WIDENING) and _exact(node, types)):
            continue
        if not is_total(node):
            found.append(node)
        waiting.extend(parts_of(node))
    return found


def _exact(tree: exp.Expr, types: Types) -> Decimal | None:
    """The decimal that holds every result of an expression, or None when there is none."""
    match tree:
        case exp.Paren():
            return _exact(tree.this, types)
        case exp.Neg():
            below = _exact(tree.this, types)
            # The smallest integer has no counterpart above zero.
            return None if below is None or below.integer else below
        case exp.Column():
            return types.exact(Scalar.of(tree.copy()))
        case exp.Literal(is_int=True):
            return _LITERAL if len(tree.this) < _LITERAL.precision else None
        case exp.Add() | exp.Sub() | exp.Mul():
            return _widened(tree, types)
    return None


def _widened(tree: exp.Add | exp.Sub | exp.Mul, types: Types) -> Decimal | None:
    """The decimal that holds a chain of operations, which is evaluated from the left."""
    (_, first), *others = links(tree)
    whole = _exact(first, types)
    for operator, operand in others:
        whole = _combined(operator, whole, _exact(operand, types))
        if whole is None:
            return None
    return whole


def _combined(
    operator: exp.Expr | None, one: Decimal | None, two: Decimal | None
) -> Decimal | None:
    if one is None or two is None or (one.integer and two.integer):
        # Integers stay as narrow as they are, and overflow.
        return None
    if isinstance(operator, exp.Mul):
        precision, scale = _digits(one) + _digits(two) + 1, one.scale + two.scale
    else:
        scale = max(one.scale, two.scale)
        precision = max(_digits(one) - one.scale, _digits(two) - two.scale) + scale + 1
    return Decimal(precision, scale, integer=False) if precision <= _WIDEST else None


def _digits(number: Decimal) -> int:
    """Its precision, as wide as either engine makes an integer of it."""
    return number.precision + (1 if number.integer else 0)
