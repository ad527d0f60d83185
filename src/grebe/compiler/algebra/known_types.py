"""What is known of the types of sub-expressions. An input of the compiler, never a guess.

The engine asks Spark (analysis only) for the types of the expressions that `wanted` lists, and
gives them back keyed by their text. Names are unique in a compiled query, so the text says which
expression is meant. An unknown type is an answer too: the rules then recompute the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from re import compile as pattern
from typing import Final

from sqlglot import ParseError, exp

from grebe.compiler.algebra.functions import unwrapped
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Node,
    Scan,
    SetOperation,
    UnionAll,
    Windowed,
    walk,
)
from grebe.compiler.algebra.origins import origin
from grebe.compiler.algebra.scalar import Scalar, column

_DECIMAL: Final = pattern(r"(?:DECIMAL|NUMERIC|DEC)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?$")
_INTEGERS: Final = {
    "TINYINT": 3, "BYTE": 3, "UTINYINT": 3, "SMALLINT": 5, "SHORT": 5, "USMALLINT": 5,
    "INT": 10, "INTEGER": 10, "UINTEGER": 10, "BIGINT": 19, "LONG": 19, "HUGEINT": 39, "INT128": 39,
}  # fmt: skip
_UNCOMPARABLE: Final = pattern(r"\b(?:MAP\s*<|VARIANT\b)")
_FLOATS: Final = frozenset({"FLOAT", "REAL", "DOUBLE", "DOUBLE PRECISION"})


@dataclass(frozen=True, slots=True)
class Decimal:
    """An exact number type: integers are decimals of scale 0."""

    precision: int
    scale: int
    integer: bool


def is_exact(kind: str) -> bool:
    """True for integers and decimals, by the name of the type."""
    return kind in _INTEGERS or _DECIMAL.match(kind) is not None


@dataclass(frozen=True, slots=True)
class Types:
    """Types of expressions by text, for one dialect."""

    dialect: str = "spark"
    by_text: Mapping[str, str] = field(default_factory=dict)

    def of(self, item: Scalar) -> str | None:
        """The type of an expression in upper case, or None when it is not known."""
        found = self.by_text.get(item.text)
        return found.upper().strip() if found else None

    def target(self, item: Scalar) -> str | None:
        """The type of an expression as a cast can name it, or None: not known, or without a name."""
        found = self.by_text.get(item.text)
        if found is None or _spelled(found, self.dialect) is None or "COLLATE" in found.upper():
            return None
        return found

    def exact(self, item: Scalar) -> Decimal | None:
        """The exact number type of an expression, or None: a float, no number, or unknown."""
        name = self.of(item)
        if name is None:
            return None
        if name in _INTEGERS:
            return Decimal(_INTEGERS[name], 0, integer=True)
        match = _DECIMAL.match(name)
        if match is None:
            return None
        precision = int(match.group(1) or (10 if self.dialect == "spark" else 18))
        default_scale = 0 if match.group(1) or self.dialect == "spark" else 3
        return Decimal(precision, int(match.group(2) or default_scale), integer=False)

    def equal(self, one: str, other: str) -> bool:
        """True when two spellings mean the same type."""
        spelled = [_spelled(kind.upper(), self.dialect) for kind in (one, other)]
        return None not in spelled and spelled[0] == spelled[1]

    def comparable(self, kind: str) -> bool:
        """True unless the engine has no equality for values of the type, or of a part of it."""
        return self.dialect != "spark" or _UNCOMPARABLE.search(kind.upper()) is None

    def is_float(self, item: Scalar) -> bool:
        """True when the type is known to be a binary floating point one."""
        return self.of(item) in _FLOATS


@lru_cache(maxsize=1024)
def _spelled(kind: str, dialect: str) -> str | None:
    """A type in one spelling; None for what has no name in SQL, like the type of a bare NULL."""
    try:
        return exp.DataType.build(kind, dialect=dialect).sql(dialect)
    except ParseError:
        return None


def wanted(root: Node) -> tuple[tuple[Node, tuple[Scalar, ...]], ...]:
    """Relations with the expressions over them whose types decide a rule."""
    found: list[tuple[Node, tuple[Scalar, ...]]] = []
    for node in walk(root):
        if isinstance(node, (Aggregate, Windowed)):
            arguments = [_argument(call) for _, call in node.calls]
            keys = [column(key) for key in node.keys] if isinstance(node, Aggregate) else []
            texts = tuple(dict.fromkeys([*filter(None, arguments), *keys]))
            found.append((node.input, texts))
        if isinstance(node, (UnionAll, SetOperation)):
            found.append((node, tuple(column(name) for name in node.names)))
            found += [(branch, _made(branch)) for branch in node.inputs]
    found.append((root, _made(root)))
    return tuple((relation, items) for relation, items in found if items)


def _made(branch: Node) -> tuple[Scalar, ...]:
    """The columns whose types are neither a source's nor a literal's."""
    found = ((name, origin(branch, name)) for name in branch.columns)
    return tuple(
        column(name) for name, made in found if not made.is_scan and not made.value.is_literal
    )


def _argument(call: Scalar) -> Scalar | None:
    """What a call counts, adds up or compares, if it is a plain expression."""
    function = call.ast.this if isinstance(call.ast, exp.Window) else call.ast
    tree = unwrapped(function).this
    if isinstance(tree, exp.Distinct) and len(tree.expressions) == 1:
        tree = tree.expressions[0]
    if not isinstance(tree, exp.Expr) or isinstance(tree, (exp.Star, exp.Distinct, exp.Order)):
        return None
    return Scalar.of(tree.copy())


def scan_types(root: Node, tables: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Types of the columns that scans read, by text; ``tables`` gives each table's column types."""
    return {
        column(name).text: tables[node.table][source]
        for node in walk(root)
        if isinstance(node, Scan)
        for name, source in node.pairs
        if tables.get(node.table, {}).get(source)
    }
