"""Long chains of one operator as trees that are not deep.

The parser reads `a OR b OR c …` into a tree that is as deep as the chain is long, and whatever walks
a tree by calling itself stops there. Here a long chain becomes a tree whose depth is the logarithm
of its length, over the same operands in the same order. Its text is the chain's, without brackets,
so nothing else is said by it: an operand in brackets is a `Paren` and no link of the chain. Who asks
what an operator is applied to, and not only which parts there are, reads `links`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import exp

LONG: Final = 16
"""Chains of more operands are balanced; shorter ones stay as the parser built them."""

_FAMILIES: Final[tuple[tuple[type[exp.Expr], ...], ...]] = (
    (exp.And,),
    (exp.Or,),
    (exp.Add, exp.Sub),
    (exp.Mul,),
    (exp.DPipe,),
    (exp.BitwiseAnd,),
    (exp.BitwiseOr,),
    (exp.BitwiseXor,),
)
"""Operators that bind equally tight, so that a chain of them is read from the left."""
_FAMILY: Final = {kind: place for place, family in enumerate(_FAMILIES) for kind in family}

Link = tuple[exp.Expr | None, exp.Expr]
"""An operand with the operator before it; the first one has none."""


def balance(tree: exp.Expr) -> None:
    """Make the long chains inside of a tree shallow, in place. The tree itself must be none."""
    for node in list(tree.walk()):
        if _family(node) is not None and not _is_link(node):
            found = links(node)
            if len(found) > LONG:
                built = _joined(found)
                built.meta.update(node.meta)
                node.replace(built)


def chain(kind: type[exp.Binary], operands: Sequence[exp.Expr]) -> exp.Expr:
    """One operator between all operands; the caller gives them away."""
    first, *others = operands
    shell = kind(this=exp.null(), expression=exp.null())
    found: list[Link] = [(None, first), *((shell, operand) for operand in others)]
    if len(found) > LONG:
        return _joined(found)
    built = first
    for operand in others:
        built = kind(this=built, expression=operand)
    return built


def links(tree: exp.Expr) -> list[Link]:
    """The operands of a chain in the order of the text, each with the operator before it."""
    family = _family(tree)
    found: list[Link] = []
    waiting: list[Link] = [(None, tree)]
    while waiting:
        operator, node = waiting.pop()
        if family is not None and _family(node) == family:
            waiting.append((node, node.args["expression"]))
            waiting.append((operator, node.this))
        else:
            found.append((operator, node))
    return found


def parts_of(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What a node is made from: the operands of a whole chain, else the expressions below it."""
    if _family(tree) is None:
        return tree.iter_expressions()
    return (operand for _, operand in links(tree))


def is_within(node: exp.Expr, parent: exp.Expr | None) -> bool:
    """True when a node is a part of the chain that its parent belongs to, and no operand of it."""
    family = _family(node)
    return family is not None and parent is not None and _family(parent) == family


def _family(node: exp.Expr) -> int | None:
    return _FAMILY.get(type(node))


def _is_link(node: exp.Expr) -> bool:
    return is_within(node, node.parent)


def _applied(operator: exp.Expr, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    rest = {key: value for key, value in operator.args.items() if key not in ("this", "expression")}
    return type(operator)(**{**rest, "this": left, "expression": right})


def _joined(found: Sequence[Link]) -> exp.Expr:
    """The operands under a tree of their operators, halved again and again."""
    if len(found) == 1:
        return found[0][1]
    middle = (len(found) + 1) // 2
    operator = found[middle][0]
    left, right = _joined(found[:middle]), _joined([(None, found[middle][1]), *found[middle + 1 :]])
    if operator is None:
        raise ValueError("an operand of a chain has no operator before it")
    return _applied(operator, left, right)
