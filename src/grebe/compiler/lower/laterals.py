"""Outputs that later outputs of the same SELECT read by name.

A short one is written again wherever its name stands. A longer one would make the text grow with
every use, and twice as much with every level of uses: it gets a column of its own, computed once
below whatever reads it, as Spark does it too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.scalar import is_closed
from grebe.compiler.budget import too_large

SHORT: Final = 40
"""Nodes of an expression that is written again; a sum of two columns has five."""
MOST: Final = 20_000
"""Nodes of an expression that has to be written out whole, as a key of GROUP BY has."""


@dataclass(slots=True)
class Item:
    """One output of a SELECT: its public name ("" for none) and its expression so far."""

    name: str
    tree: exp.Expr


@dataclass(slots=True)
class Laterals:
    """The columns of longer outputs, by name, with the output that each one stands for."""

    fresh: Callable[[str], str]
    columns: dict[str, str] = field(default_factory=dict)
    """Names of outputs in lower case, by the column that holds each of them."""
    trees: dict[str, exp.Expr] = field(default_factory=dict)
    open: bool = False
    """True while outputs may get columns of their own."""

    def read(self, name: str, tree: exp.Expr) -> exp.Expr:
        """What stands for an output where its name is written."""
        if not self.open:
            return operand(self.inlined(tree))
        known = next((own for own, output in self.columns.items() if output == name), None)
        if known is None:
            if _is_short(tree) or tree.find(exp.Explode) is not None:
                return operand(tree)
            known = self.fresh(name)
            self.columns[known], self.trees[known] = name, tree
        return exp.Column(this=exp.to_identifier(known, quoted=True))

    def inlined(self, tree: exp.Expr) -> exp.Expr:
        """The expression with every column of an output written out."""
        if not self.trees or not self._mentions(tree):
            return tree
        built = exp.Paren(this=tree.copy())
        waiting: list[exp.Expr] = [built]
        size = 0
        while waiting:
            node = waiting.pop()
            size += 1
            if size > MOST:
                raise too_large()
            found = self.trees.get(node.name) if isinstance(node, exp.Column) else None
            if found is not None:
                copied = operand(found)
                node.replace(copied)
                node = copied
            waiting.extend(node.iter_expressions())
        whole = built.this
        return whole if isinstance(whole, exp.Expr) else tree

    def _mentions(self, tree: exp.Expr) -> bool:
        return any(column.name in self.trees for column in tree.find_all(exp.Column))


def _is_short(tree: exp.Expr) -> bool:
    return next(islice(tree.walk(), SHORT, None), None) is None


def operand(tree: exp.Expr) -> exp.Expr:
    """A copy that can stand anywhere in a larger expression."""
    return tree.copy() if is_closed(tree) else exp.paren(tree.copy(), copy=False)
