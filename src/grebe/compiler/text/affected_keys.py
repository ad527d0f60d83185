"""A query restricted to some keys: null-safe, and below the aggregation where that is the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.functions import aggregates_in
from grebe.compiler.parser.parse import place_of
from grebe.errors import UnknownColumnError
from grebe.sql_text import PREFIX, made

Value = bool | int | float | str | Decimal | date | datetime | None
Key = Value | tuple[Value, ...]

_MOST_KEYS: Final = 10_000
_KEYS: Final = made("keys")


def restricted(
    tree: exp.Query, columns: Sequence[str], keys: Sequence[Key] | str, text: str, dialect: str
) -> exp.Query:
    """The query's rows whose key is among the given ones."""
    inside = _inside(tree, columns)
    if inside is not None and isinstance(tree, exp.Select):
        predicate = _predicate(inside, columns, keys)
        old = tree.args.get("where")
        both = exp.and_(exp.paren(old.this), predicate) if old is not None else predicate
        tree.set("where", exp.Where(this=both))
        return tree
    _check_outputs(tree, columns, text)
    alias = made("query")
    outer = [exp.column(name, table=alias) for name in columns]
    predicate = _predicate(outer, columns, keys)
    source = exp.Subquery(this=tree, alias=exp.TableAlias(this=exp.to_identifier(alias)))
    return exp.select("*").from_(source).where(predicate)


def _inside(tree: exp.Query, columns: Sequence[str]) -> list[exp.Expr] | None:
    """The key as expressions below the aggregation, or None where the filter stays outside."""
    blocked = ("limit", "offset", "qualify", "windows", "laterals", "distinct")
    if not isinstance(tree, exp.Select) or any(tree.args.get(key) for key in blocked):
        return None
    if any(item.find(exp.Window, exp.Explode) for item in tree.expressions):
        return None
    found = [_output(tree, name) for name in columns]
    known = [item for item in found if item is not None]
    if len(known) < len(found) or any(_aggregates(item) for item in known):
        return None
    group = tree.args.get("group")
    if group is None:
        aggregated = any(_aggregates(item) for item in tree.expressions) or tree.args.get("having")
        return None if aggregated else known
    return known if _grouped(tree, group, known) else None


def _aggregates(tree: exp.Expr) -> bool:
    return any(True for _ in aggregates_in(tree))


def _output(tree: exp.Select, name: str) -> exp.Expr | None:
    """The expression of an output, None for one that a star may hide."""
    named: list[exp.Expr] = [
        item for item in tree.expressions if item.alias_or_name.lower() == name.lower()
    ]
    if len(named) != 1 or named[0].is_star:
        return None
    return named[0].unalias()


def _grouped(tree: exp.Select, group: exp.Group, items: Sequence[exp.Expr]) -> bool:
    """True when every expression is a key of a plain GROUP BY."""
    plain = not any(group.args.get(key) for key in ("rollup", "cube", "grouping_sets", "totals"))
    words = (exp.Rollup, exp.Cube, exp.GroupingSets)
    if not plain or any(isinstance(item, words) for item in group.expressions):
        return False
    if group.args.get("all"):
        return True
    keys = [_key(tree, item) for item in group.expressions]
    return all(item in keys for item in items)


def _key(tree: exp.Select, item: exp.Expr) -> exp.Expr:
    outputs: list[exp.Expr] = tree.expressions
    if isinstance(item, exp.Literal) and item.is_int:
        place = int(item.name) - 1
        return outputs[place].unalias() if 0 <= place < len(outputs) else item
    for output in outputs:
        alias = isinstance(output, exp.Alias) and isinstance(item, exp.Column) and not item.table
        if alias and output.alias.lower() == item.name.lower():
            return output.unalias()
    return item


def _check_outputs(tree: exp.Query, columns: Sequence[str], text: str) -> None:
    """Every key column must be an output, unless a star hides what the outputs are."""
    selects = tree.selects
    if any(item.is_star for item in selects):
        return
    known = [item.alias_or_name for item in selects]
    for name in columns:
        if name.lower() not in {own.lower() for own in known}:
            raise UnknownColumnError.named(name, known, where=place_of(tree, text))


def _predicate(
    items: Sequence[exp.Expr], columns: Sequence[str], keys: Sequence[Key] | str
) -> exp.Expr:
    if not isinstance(keys, str):
        return key_predicate(items, keys)
    # The relation's columns get names of grebe's own: a bare name of the query inside the
    # subquery would otherwise mean the relation's column, and the test would always be TRUE.
    own = [f"{PREFIX}key_{place}" for place in range(1, len(columns) + 1)]
    renamed = [exp.alias_(exp.column(name), new) for name, new in zip(columns, own, strict=True)]
    relation = exp.select(*renamed).from_(exp.to_table(keys)).subquery(_KEYS)
    tests = [
        exp.NullSafeEQ(this=exp.column(new, table=_KEYS), expression=_operand(item))
        for new, item in zip(own, items, strict=True)
    ]
    return exp.Exists(this=exp.select("1").from_(relation).where(exp.and_(*tests)))


def _operand(item: exp.Expr) -> exp.Expr:
    simple = isinstance(item, (exp.Column, exp.Func, exp.Paren))
    return item.copy() if simple else exp.paren(item)


def key_predicate(items: Sequence[exp.Expr], keys: Sequence[Key]) -> exp.Expr:
    """TRUE for rows whose items form one of the keys; a NULL equals a NULL."""
    if not items:
        raise ValueError("a key has at least one column")
    if len(keys) > _MOST_KEYS:
        raise ValueError(
            f"{len(keys)} keys are too many for a text: give the name of a relation that holds them"
        )
    rows = [_row(key, len(items)) for key in keys]
    whole = [row for row in rows if None not in row]
    partial = [row for row in rows if None in row]
    tests: list[exp.Expr] = [_is_row(items, row) for row in partial]
    if whole:
        tests.insert(0, _in_list(items, whole))
    if not tests:
        return exp.false()
    return exp.paren(exp.or_(*tests)) if len(tests) > 1 else tests[0]


def _row(key: Key, width: int) -> tuple[Value, ...]:
    row = key if isinstance(key, tuple) else (key,)
    if len(row) != width:
        raise ValueError(f"the key {row!r} has {len(row)} values for {width} columns")
    return row


def _in_list(items: Sequence[exp.Expr], rows: Sequence[tuple[Value, ...]]) -> exp.Expr:
    values: list[exp.Expr] = []
    for row in rows:
        cells = [literal(value) for value in row]
        values.append(cells[0] if len(items) == 1 else exp.Tuple(expressions=cells))
    left = _operand(items[0])
    if len(items) > 1:
        left = exp.Tuple(expressions=[item.copy() for item in items])
    return exp.In(this=left, expressions=values)


def _is_row(items: Sequence[exp.Expr], row: tuple[Value, ...]) -> exp.Expr:
    tests: list[exp.Expr] = []
    for item, value in zip(items, row, strict=True):
        if value is None:
            tests.append(exp.Is(this=_operand(item), expression=exp.null()))
        else:
            tests.append(exp.EQ(this=_operand(item), expression=literal(value)))
    return exp.paren(exp.and_(*tests)) if len(tests) > 1 else tests[0]


def literal(value: Value) -> exp.Expr:
    """A value as SQL of any dialect."""
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | Decimal():
            return exp.Literal.number(str(value))
        case float():
            return exp.cast(exp.Literal.string(repr(value)), "DOUBLE")
        case datetime():
            kind = "TIMESTAMPTZ" if value.tzinfo else "TIMESTAMP"
            return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), kind)
        case date():
            return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
        case str():
            return exp.Literal.string(value)
    raise ValueError(f"a key cannot hold a {type(value).__name__}")
