"""Expressions that give the same bits in Spark and in DuckDB, written for DuckDB: an allow-list.

Every form that is known here says for which types it is the same, and what type Spark gives it; anything
else is left to Spark (`NotSmallError`). A value on which the engines differ and that cannot be told from
its type (a text that is not ASCII in UPPER, a date before year 1 in YEAR) raises in DuckDB: the step is then
run by Spark. So does whatever raises in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.function_names import SINGLE
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.bind.small_kinds import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MOST_DIGITS,
    STRING,
    TIMESTAMP,
    VOID,
    NotSmallError,
    SmallKind,
    decimal,
    kind_of,
    widest,
)
from grebe.compiler.parser.opaque import OpaqueLiteral
from grebe.compiler.write.touched_rows import HASH
from grebe.sql_text import made

HASHED: Final = made("hash_of")
"""How the names of DuckDB's functions begin that give Spark's hash of some types."""
LEFT_TO_SPARK: Final = "left to Spark"
"""What a step says in DuckDB that has to be run by Spark."""

_MOST_DOUBLE: Final = 2**53
_SIGNED_DIGITS: Final = 34
_DOUBLE_DIGITS: Final = 15
"""Digits of a decimal up to which its double is the nearest one in both engines."""
_SHARE: Final = re.compile(r"0\.\d{1,6}|[01]|1\.0*")
_LARGE: Final = 10**15
"""Numbers up to here have a quotient that fits every type that Spark gives one."""
_INT_LIMIT: Final = 2**31
_BIGINT_LIMIT: Final = 2**63
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")
_TYPED: Final = re.compile(r"(date|timestamp|timestamp_ntz)\s*'([^']*)'", re.IGNORECASE)
_UNITS: Final = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_DAY_UNITS: Final = {"MM": "MONTH", "MON": "MONTH", "MONTH": "MONTH", "YEAR": "YEAR", "YYYY": "YEAR", "YY": "YEAR", "QUARTER": "QUARTER", "WEEK": "WEEK"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression for DuckDB, and the type that Spark gives it."""

    ast: exp.Expr
    kind: SmallKind


Kinds = Mapping[str, SmallKind]


@dataclass(frozen=True, slots=True)
class SmallWriter:
    """Writes expressions over columns of known types."""

    kinds: Kinds
    utc: bool
    """Whether the session's clock is that of UTC: only then a moment's day is the same everywhere."""
    hashes: dict[str, tuple[SmallKind, ...]] = field(default_factory=dict)
    """The hash functions that are needed, by name."""
    tries: bool = False
    """Whether it only matters where a value raises: it may raise in more places, and its digits do not count."""

    def typed(self, item: Scalar) -> Typed:
        """The expression for DuckDB.

        Raises:
            NotSmallError: it is not on the list.
        """
        return self.write(item.ast)

    def write(self, tree: exp.Expr) -> Typed:
        method = _FORMS.get(type(tree))
        if method is None:
            raise NotSmallError(f"{_word(tree)} is not known to be the same in DuckDB")
        known = _PARTS | _MORE_PARTS.get(type(tree), frozenset())
        odd = [name for name, value in tree.args.items() if value and name not in known]
        if odd:
            raise NotSmallError(f"{_word(tree)} with {odd[0]}")
        return method(self, tree)

    def as_kind(self, tree: exp.Expr, kind: SmallKind) -> exp.Expr:
        """The expression widened to a type that holds all of its values."""
        return _cast(self.write(tree), kind)

    # --- what an expression is made of ------------------------------------------------------

    def paren(self, tree: exp.Paren) -> Typed:
        return self.write(tree.this)

    def column(self, tree: exp.Column) -> Typed:
        kind = self.kinds.get(tree.name)
        if kind is None:
            raise NotSmallError(f"the type of {tree.name} is not known")
        return Typed(tree.copy(), kind)

    def literal(self, tree: exp.Literal) -> Typed:
        if tree.is_string:
            return Typed(tree.copy(), STRING)
        text = tree.name
        if text.isdigit():
            value = int(text)
            kind = INT if value < _INT_LIMIT else BIGINT
            if value >= _BIGINT_LIMIT:
                raise NotSmallError("a number beyond a BIGINT")
            return Typed(_to(tree.copy(), kind), kind)
        whole, point, part = text.partition(".")
        if not point or not (whole + part).isdigit():
            raise NotSmallError(f"the number {text}")
        scale = len(part)
        precision = max(len((whole + part).lstrip("0")), scale, 1)
        if precision > MOST_DIGITS:
            raise NotSmallError("a decimal of more than 38 digits")
        kind = SmallKind("decimal", precision, scale)
        return Typed(_to(exp.Literal.string(text), kind), kind)

    def typed_literal(self, tree: OpaqueLiteral) -> Typed:
        found = _TYPED.fullmatch(str(tree.this).strip())
        if found is None:
            raise NotSmallError(f"the constant {tree.this}")
        return self.moment_of(found[2], kind_of(found[1]))

    def moment_of(self, text: str, kind: SmallKind) -> Typed:
        """A text as a date or a time, where every engine reads it so."""
        if kind == DATE and _DATE.fullmatch(text):
            read: Callable[[str], object] = date.fromisoformat
        elif kind.name == "timestamp_ntz" or (kind == TIMESTAMP and self.utc):
            if not (_MOMENT.fullmatch(text) or _DATE.fullmatch(text)):
                raise NotSmallError(f"the time '{text}'")
            read = datetime.fromisoformat
        else:
            raise NotSmallError(f"the text '{text}' as a {kind}")
        try:
            read(text)
        except ValueError:
            raise NotSmallError(f"the text '{text}' as a {kind}") from None
        return Typed(_to(exp.Literal.string(text), kind), kind)

    def boolean(self, tree: exp.Boolean) -> Typed:
        return Typed(tree.copy(), BOOLEAN)

    def null(self, tree: exp.Null) -> Typed:
        return Typed(tree.copy(), VOID)

    # --- truth ------------------------------------------------------------------------------

    def connector(self, tree: exp.Connector) -> Typed:
        parts = [exp.paren(self.truth(part), copy=False) for part in (tree.left, tree.right)]
        return Typed(type(tree)(this=parts[0], expression=parts[1]), BOOLEAN)

    def truth(self, tree: exp.Expr) -> exp.Expr:
        """A condition, or NULL."""
        found = self.write(tree)
        if found.kind.is_void:
            return _to(found.ast, BOOLEAN)
        if found.kind != BOOLEAN:
            raise NotSmallError(f"a {found.kind} as a condition")
        return found.ast

    def negation(self, tree: exp.Not) -> Typed:
        return Typed(exp.Not(this=exp.paren(self.truth(tree.this), copy=False)), BOOLEAN)

    def comparison(self, tree: exp.Binary) -> Typed:
        left, right = self.sides(tree.left, tree.right)
        return Typed(type(tree)(this=left, expression=right), BOOLEAN)

    def sides(self, *trees: exp.Expr) -> list[exp.Expr]:
        """Values made comparable as Spark does it, where both engines then compare them alike."""
        found = [self.write(tree) for tree in trees]
        times = {
            item.kind for item in found if item.kind.name in ("date", "timestamp", "timestamp_ntz")
        }
        if len(times) == 1:
            (time,) = times
            found = [
                self._as_moment(tree, item, time) for tree, item in zip(trees, found, strict=True)
            ]
        kind = widest(tuple(item.kind for item in found))
        if kind.is_void or not kind.has_identity:
            raise NotSmallError(f"a {kind} is compared")
        return [_cast(item, kind) for item in found]

    def _as_moment(self, tree: exp.Expr, item: Typed, kind: SmallKind) -> Typed:
        inner = tree.unnest()
        if item.kind == STRING and isinstance(inner, exp.Literal):
            return self.moment_of(inner.name, kind)
        return item

    def between(self, tree: exp.Between) -> Typed:
        if tree.args.get("symmetric"):
            raise NotSmallError("BETWEEN SYMMETRIC")
        low = exp.GTE(this=tree.this, expression=tree.args["low"])
        high = exp.LTE(this=tree.this, expression=tree.args["high"])
        parts = [exp.paren(self.write(part.copy()).ast, copy=False) for part in (low, high)]
        return Typed(exp.And(this=parts[0], expression=parts[1]), BOOLEAN)

    def among(self, tree: exp.In) -> Typed:
        if any(value for name, value in tree.args.items() if name not in ("this", "expressions")):
            raise NotSmallError("IN of something else than a list")
        first, *others = self.sides(tree.this, *tree.expressions)
        return Typed(exp.In(this=first, expressions=others), BOOLEAN)

    def is_this(self, tree: exp.Is) -> Typed:
        what = tree.expression
        if not isinstance(what, (exp.Null, exp.Boolean)):
            raise NotSmallError("IS of something else than NULL, TRUE or FALSE")
        value = (
            self.truth(tree.this) if isinstance(what, exp.Boolean) else self.write(tree.this).ast
        )
        found: exp.Expr = exp.Is(this=exp.paren(value, copy=False), expression=what.copy())
        negated = tree.args.get("negate")
        return Typed(exp.Not(this=exp.paren(found, copy=False)) if negated else found, BOOLEAN)

    def like(self, tree: exp.Like) -> Typed:
        pattern = tree.expression.unnest()
        if not isinstance(pattern, exp.Literal) or not pattern.is_string or "\\" in pattern.name:
            raise NotSmallError("LIKE by a pattern that is no plain constant")
        return Typed(exp.Like(this=self.string(tree.this), expression=pattern.copy()), BOOLEAN)

    # --- choices ----------------------------------------------------------------------------

    def case(self, tree: exp.Case) -> Typed:
        subject = tree.this
        values = [branch.args["true"] for branch in tree.args["ifs"]]
        default = tree.args.get("default")
        found = [self.write(value) for value in values]
        last = self.write(default) if default is not None else Typed(exp.null(), VOID)
        kind = widest((*(item.kind for item in found), last.kind))
        built = exp.Case(ifs=[])
        for branch, value in zip(tree.args["ifs"], found, strict=True):
            test = branch.this
            if subject is not None:
                test = exp.EQ(this=subject.copy(), expression=test.copy())
            built.append("ifs", exp.If(this=self.truth(test), true=_cast(value, kind)))
        built.set("default", _cast(last, kind))
        return Typed(built, kind)

    def choice(self, tree: exp.If) -> Typed:
        branch = exp.If(this=tree.this.copy(), true=tree.args["true"].copy())
        default = tree.args.get("false")
        return self.case(exp.Case(ifs=[branch], default=default.copy() if default else None))

    def coalesce(self, tree: exp.Coalesce) -> Typed:
        return self.common(exp.Coalesce, tree)

    def common(self, form: type[exp.Expr], tree: exp.Expr) -> Typed:
        found = [self.write(item) for item in (tree.this, *tree.expressions)]
        kind = widest(tuple(item.kind for item in found))
        first, *others = (_cast(item, kind) for item in found)
        return Typed(form(this=first, expressions=others), kind)

    def extreme(self, tree: exp.Greatest | exp.Least) -> Typed:
        found = self.common(exp.Coalesce, tree)
        if not found.kind.has_identity:
            raise NotSmallError(f"the extreme of a {found.kind}")
        items = [found.ast.this, *found.ast.expressions]
        return Typed(exp.Anonymous(this=tree.key, expressions=items), found.kind)

    def nullif(self, tree: exp.Nullif) -> Typed:
        left, right = self.sides(tree.this, tree.expression)
        kind = self.write(tree.this).kind
        equal = exp.EQ(this=left, expression=right)
        otherwise = self.write(tree.this).ast
        branch = exp.If(this=equal, true=_to(exp.null(), kind))
        return Typed(exp.Case(ifs=[branch], default=otherwise), kind)

    # --- numbers ----------------------------------------------------------------------------

    def number(self, tree: exp.Expr) -> Typed:
        found = self.write(tree)
        if not found.kind.is_number:
            raise NotSmallError(f"arithmetic with a {found.kind}")
        return found

    def minus(self, tree: exp.Neg) -> Typed:
        found = self.number(tree.this)
        value = found.ast
        if found.kind.precision > _SIGNED_DIGITS:
            # Spark rounds the opposite of a decimal to 34 digits.
            limit = "1" + "0" * (_SIGNED_DIGITS - found.kind.scale)
            end = _to(exp.Literal.string(limit), found.kind)
            low = exp.LTE(this=value.copy(), expression=exp.Neg(this=end.copy()))
            high = exp.GTE(this=value.copy(), expression=end)
            value = _unless(exp.Or(this=low, expression=high), value, found.kind)
        return Typed(_to(exp.Neg(this=exp.paren(value, copy=False)), found.kind), found.kind)

    def arithmetic(self, tree: exp.Binary) -> Typed:
        left, right = self.number(tree.left), self.number(tree.right)
        if left.kind.is_whole and right.kind.is_whole:
            kind = widest((left.kind, right.kind))
            sides = [_to(item.ast, kind) for item in (left, right)]
        else:
            one, two = self._exactly(tree.left, left), self._exactly(tree.right, right)
            kind = _result(type(tree), one.kind, two.kind)
            sides = [_to(one.ast, one.kind), _to(two.ast, two.kind)]
        return Typed(_to(type(tree)(this=sides[0], expression=sides[1]), kind), kind)

    def _exactly(self, tree: exp.Expr, found: Typed) -> Typed:
        """A whole number as a decimal; Spark gives a constant no more digits than it has."""
        inner = tree.unnest()
        if isinstance(inner, exp.Literal) and found.kind.is_whole:
            digits = len(inner.name.lstrip("0")) or 1
            return Typed(found.ast, SmallKind("decimal", digits, 0))
        return Typed(found.ast, found.kind.as_decimal)

    def remainder(self, tree: exp.Mod) -> Typed:
        left, right = self.number(tree.left), self.number(tree.right)
        if not (left.kind.is_whole and right.kind.is_whole):
            raise NotSmallError("the remainder of a decimal")
        kind = widest((left.kind, right.kind))
        one, two = _to(left.ast, kind), _to(right.ast, kind)
        # DuckDB gives NULL where Spark raises.
        none = exp.EQ(this=two.copy(), expression=exp.Literal.number(0))
        rest = exp.Mod(this=one, expression=_unless(none, two, kind))
        return Typed(_to(rest, kind), kind)

    def quotient(self, tree: exp.Div) -> Typed:
        """Where only errors count: of any numbers that are not too large, by one of at least 1."""
        if not self.tries:
            raise NotSmallError("a division, which each engine rounds in its own way")
        left, right = (_to(self._real(item), DOUBLE) for item in (tree.left, tree.right))
        small = exp.LT(this=exp.Abs(this=right.copy()), expression=exp.Literal.number(1))
        large = exp.GTE(this=exp.Abs(this=left.copy()), expression=exp.Literal.number(_LARGE))
        either = exp.Or(this=small, expression=large)
        return Typed(_unless(either, exp.Div(this=left, expression=right), DOUBLE), DOUBLE)

    def _real(self, tree: exp.Expr) -> exp.Expr:
        found = self.write(tree)
        return found.ast if found.kind == DOUBLE else self.number(tree).ast

    def _proof(self, tree: exp.Anonymous) -> Typed:
        """The text by which `write/probe.py` tries what readers would compute."""
        _, _, *texts = tree.expressions
        tried = SmallWriter(self.kinds, self.utc, self.hashes, tries=True)
        found = [tried.write(item.this) for item in texts]
        items = [_to(item.ast, STRING) for item in found]
        fixed = [exp.Literal.string(text) for text in ("", "v")]
        return Typed(exp.Anonymous(this="concat_ws", expressions=[*fixed, *items]), STRING)

    def cast(self, tree: exp.Cast) -> Typed:
        if tree.args.get("safe") or tree.args.get("format") or isinstance(tree.this, exp.Interval):
            raise NotSmallError("TRY_CAST")
        kind, found = kind_of(tree.args["to"].sql("spark")), self.write(tree.this)
        inner = tree.this.unnest()
        if found.kind == STRING and isinstance(inner, exp.Literal):
            return self.moment_of(inner.name, kind)
        if found.kind.is_void or found.kind == kind or self._is_same(found.kind, kind):
            return Typed(_to(found.ast, kind), kind)
        if self.tries and kind == DOUBLE and found.kind.is_number:
            return Typed(_to(found.ast, kind), kind)
        if self.tries and kind.is_number and (found.kind.is_number or found.kind == DOUBLE):
            value, most = _to(found.ast, DOUBLE), 10 ** (_whole_digits(kind) - 1)
            large = exp.GTE(this=exp.Abs(this=value.copy()), expression=exp.Literal.number(most))
            return Typed(_unless(large, value, DOUBLE), DOUBLE)
        raise NotSmallError(f"a {found.kind} as a {kind}")

    def _is_same(self, old: SmallKind, new: SmallKind) -> bool:
        """Whether a cast keeps the value, or raises, in both engines."""
        if old.is_whole:
            return new.is_number or new == STRING
        if old.is_decimal:
            return new.is_decimal and new.scale >= old.scale
        return new == DATE and self.has_days(old)

    # --- times ------------------------------------------------------------------------------

    def has_days(self, kind: SmallKind) -> bool:
        """Whether a time has the same day in both engines."""
        return kind.name in ("date", "timestamp_ntz") or (kind == TIMESTAMP and self.utc)

    def moment(self, tree: exp.Expr) -> Typed:
        """A time of which both engines know the parts: from year 1 on, else Spark is asked."""
        found = self.write(tree)
        if not self.has_days(found.kind):
            raise NotSmallError(f"a part of a {found.kind}")
        known = exp.LT(
            this=found.ast.copy(), expression=_to(exp.Literal.string("0001-01-01"), found.kind)
        )
        return Typed(_unless(known, found.ast, found.kind), found.kind)

    def day_of(self, tree: exp.TsOrDsToDate) -> Typed:
        """What the parser puts around an argument of YEAR and its like; DATE(x) is another form."""
        if tree.args.get("safe") or tree.args.get("format"):
            raise NotSmallError("TO_DATE")
        found = self.write(tree.this)
        if not self.has_days(found.kind):
            raise NotSmallError(f"the day of a {found.kind}")
        return Typed(_to(found.ast, DATE), DATE)

    def part(self, tree: exp.Year | exp.Month | exp.Day | exp.Quarter) -> Typed:
        return self._part(type(tree).__name__.upper(), tree.this)

    def extract(self, tree: exp.Extract) -> Typed:
        word = tree.name.upper()
        if word not in ("YEAR", "QUARTER", "MONTH", "DAY"):
            raise NotSmallError(f"EXTRACT of {word}")
        return self._part(word, tree.expression)

    def _part(self, word: str, tree: exp.Expr) -> Typed:
        value = self.moment(tree).ast
        part = exp.Extract(this=exp.var(word), expression=value)
        return Typed(_to(part, INT), INT)

    def truncated(self, tree: exp.TimestampTrunc) -> Typed:
        unit = tree.unit.name.upper() if tree.unit is not None else ""
        found = self.moment(tree.this)
        if unit not in _UNITS or found.kind.name != "timestamp" or tree.args.get("zone"):
            raise NotSmallError(f"DATE_TRUNC('{unit}') of a {found.kind}")
        return Typed(_to(_truncated(unit, found.ast), TIMESTAMP), TIMESTAMP)

    def truncated_day(self, tree: exp.DateTrunc) -> Typed:
        unit = _DAY_UNITS.get(tree.args["unit"].name.upper())
        found = self.moment(tree.this)
        if unit is None or found.kind != DATE:
            raise NotSmallError(f"TRUNC of a {found.kind}")
        return Typed(_to(_truncated(unit, found.ast), DATE), DATE)

    # --- texts ------------------------------------------------------------------------------

    def string(self, tree: exp.Expr) -> exp.Expr:
        found = self.write(tree)
        if found.kind != STRING:
            raise NotSmallError(f"a {found.kind} as a text")
        return found.ast

    def joined(self, tree: exp.Concat | exp.DPipe) -> Typed:
        items = tree.expressions if isinstance(tree, exp.Concat) else [tree.left, tree.right]
        if tree.args.get("coalesce"):
            raise NotSmallError("CONCAT that leaves NULL out")
        parts = [exp.paren(self.string(item), copy=False) for item in items]
        built: exp.Expr = parts[0]
        for other in parts[1:]:
            built = exp.DPipe(this=built, expression=other)
        return Typed(built, STRING)

    def substring(self, tree: exp.Substring) -> Typed:
        start, length = tree.args.get("start"), tree.args.get("length")
        numbers = [item for item in (start, length) if item is not None]
        if start is None or not all(
            isinstance(n, exp.Literal) and n.name.isdigit() for n in numbers
        ):
            raise NotSmallError("SUBSTRING by something else than constants")
        if int(start.name) == 0 or any(int(n.name) >= _INT_LIMIT for n in numbers):
            raise NotSmallError("SUBSTRING from 0")
        items = [self.string(tree.this), *(number.copy() for number in numbers)]
        return Typed(exp.Anonymous(this="substring", expressions=items), STRING)

    def length(self, tree: exp.Length) -> Typed:
        found = exp.Anonymous(this="length", expressions=[self.string(tree.this)])
        return Typed(_to(found, INT), INT)

    def cased(self, tree: exp.Upper | exp.Lower) -> Typed:
        """Beyond ASCII each engine has its own rules."""
        value = self.string(tree.this)
        size = exp.Anonymous(this="strlen", expressions=[value.copy()])
        letters = exp.Anonymous(this="length", expressions=[value.copy()])
        other = exp.NEQ(this=size, expression=letters)
        return Typed(
            exp.Anonymous(this=tree.key, expressions=[_unless(other, value, STRING)]), STRING
        )

    # --- aggregates -------------------------------------------------------------------------

    def count(self, tree: exp.Count) -> Typed:
        what = tree.this
        if isinstance(what, exp.Star):
            return Typed(_to(exp.Count(this=exp.Star()), BIGINT), BIGINT)
        if tree.expressions or what is None:
            raise NotSmallError("COUNT of several columns")
        if isinstance(what, exp.Distinct):
            if len(what.expressions) != 1 or what.args.get("on"):
                raise NotSmallError("COUNT(DISTINCT) of several columns")
            found = self.write(what.expressions[0])
            if not found.kind.has_identity:
                raise NotSmallError(f"different values of a {found.kind}")
            call = exp.Count(this=exp.Distinct(expressions=[found.ast]))
        else:
            call = exp.Count(this=self.write(what).ast)
        return Typed(_to(call, BIGINT), BIGINT)

    def count_if(self, tree: exp.CountIf) -> Typed:
        test = exp.If(this=self.truth(tree.this), true=exp.Literal.number(1))
        return Typed(_to(exp.Count(this=exp.Case(ifs=[test])), BIGINT), BIGINT)

    def total(self, tree: exp.Sum) -> Typed:
        found = self.number(self._plain(tree))
        kind = BIGINT
        if found.kind.is_decimal:
            kind = SmallKind(
                "decimal", min(MOST_DIGITS, found.kind.precision + 10), found.kind.scale
            )
        added = _to(exp.Sum(this=_to(found.ast, found.kind)), kind)
        return Typed(_within_digits(added, kind), kind)

    def mean(self, tree: exp.Avg) -> Typed:
        """Of whole numbers: as doubles, where their sum is exact in one."""
        found = self.number(self._plain(tree))
        if not found.kind.is_whole:
            raise NotSmallError(f"the mean of a {found.kind}")
        value = _to(found.ast, SmallKind("decimal", MOST_DIGITS, 0))
        reach = exp.Sum(this=exp.Abs(this=value.copy()))
        many = exp.GT(
            this=reach,
            expression=_to(
                exp.Literal.string(str(_MOST_DOUBLE)), SmallKind("decimal", MOST_DIGITS, 0)
            ),
        )
        total = _to(exp.Sum(this=value), DOUBLE)
        count = _to(exp.Count(this=found.ast.copy()), DOUBLE)
        empty = exp.Anonymous(this="nullif", expressions=[count, exp.Literal.number(0)])
        return Typed(
            _unless(many, exp.paren(exp.Div(this=total, expression=empty)), DOUBLE), DOUBLE
        )

    def percentile(self, tree: exp.Quantile | exp.Median) -> Typed:
        """Of numbers that are doubles without a rounding: between two neighbours as Spark weighs them."""
        share = tree.args.get("quantile")
        text = "0.5" if isinstance(tree, exp.Median) else share.name if share is not None else ""
        found = self.number(tree.this)
        if not _SHARE.fullmatch(text) or found.kind.precision > _DOUBLE_DIGITS:
            raise NotSmallError("a percentile that is no plain one")
        if found.kind.name == "bigint":
            raise NotSmallError("a percentile of a BIGINT")
        value = _to(found.ast, DOUBLE).sql("duckdb")
        values = f"list({value} ORDER BY {value}) FILTER ({value} IS NOT NULL)"
        place = f"((COUNT({value}) - 1) * CAST('{text}' AS DOUBLE))"
        low, high = f"FLOOR({place})", f"CEIL({place})"
        one, two = (f"({values})[CAST({end} AS BIGINT) + 1]" for end in (low, high))
        between = f"({high} - {place}) * {one} + ({place} - {low}) * {two}"
        whole = f"CASE WHEN {low} = {high} OR {one} = {two} THEN {one} ELSE {between} END"
        return Typed(_to(exp.maybe_parse(whole, dialect="duckdb"), DOUBLE), DOUBLE)

    def end(self, tree: exp.Min | exp.Max) -> Typed:
        found = self.write(self._plain(tree))
        if not found.kind.has_identity or found.kind == BOOLEAN:
            raise NotSmallError(f"the extreme of a {found.kind}")
        return Typed(type(tree)(this=found.ast), found.kind)

    @staticmethod
    def _plain(tree: exp.Expr) -> exp.Expr:
        """The argument of a call that has one and nothing else."""
        what = tree.this
        if (
            tree.expressions
            or not isinstance(what, exp.Expr)
            or isinstance(what, (exp.Distinct, exp.Order))
        ):
            raise NotSmallError(f"{_word(tree)} with more than an argument")
        return what

    def picked(self, tree: exp.Filter) -> Typed:
        found = self.write(tree.this)
        where = exp.Where(this=self.truth(tree.expression.this))
        whole = exp.paren(found.ast, copy=False)
        for call in list(whole.find_all(exp.AggFunc)):
            call.replace(exp.Filter(this=call.copy(), expression=where.copy()))
        return Typed(whole.this, found.kind)

    def window(self, tree: exp.Window) -> Typed:
        """A call over ordered rows; where rows are equal in the order, the compiler has made them differ."""
        if any(tree.args.get(name) for name in ("alias", "first", "exclude")) or not isinstance(
            tree.this,
            (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Sum, exp.Count, exp.Min, exp.Max),
        ):
            raise NotSmallError(f"{_word(tree.this)} over ordered rows")
        found = self.write(tree.this)
        parts = [self._key(item) for item in tree.args.get("partition_by") or ()]
        order, spec = tree.args.get("order"), tree.args.get("spec")
        if spec is not None and spec.args.get("exclude"):
            raise NotSmallError("EXCLUDE")
        ordered = None
        if order is not None:
            ordered = exp.Order(expressions=[self._ordered(item) for item in order.expressions])
        if ordered is None and not isinstance(tree.this, exp.AggFunc):
            raise NotSmallError("places without an order")
        is_range = ordered is not None and (spec is None or spec.args.get("kind") != "ROWS")
        if isinstance(tree.this, exp.AggFunc) and is_range:
            raise NotSmallError("a frame that is no number of rows")
        call = found.ast.this if isinstance(found.ast, exp.Cast) else found.ast
        if isinstance(call, exp.Case):
            raise NotSmallError("a running sum of 38 digits")
        built = exp.Window(
            this=call,
            partition_by=parts,
            order=ordered,
            spec=spec.copy() if spec else None,
            over="OVER",
        )
        return Typed(_to(built, found.kind), found.kind)

    def place(self, tree: exp.Expr) -> Typed:
        if tree.args.get("this") or tree.expressions:
            raise NotSmallError(f"{_word(tree)} with arguments")
        return Typed(_to(type(tree)(), INT), INT)

    def _key(self, tree: exp.Expr) -> exp.Expr:
        found = self.write(tree)
        if not found.kind.has_identity:
            raise NotSmallError(f"rows by a {found.kind}")
        return found.ast

    def _ordered(self, tree: exp.Ordered) -> exp.Expr:
        first = bool(tree.args.get("nulls_first"))
        return exp.Ordered(
            this=self._key(tree.this), desc=bool(tree.args.get("desc")), nulls_first=first
        )

    # --- grebe's own functions --------------------------------------------------------------

    def own(self, tree: exp.Anonymous) -> Typed:
        name = tree.name.lower()
        if name == HASH:
            return self._hash(tree)
        if name == SINGLE:
            (inner,) = tree.expressions
            found = self.write(inner)
            return Typed(exp.Anonymous(this=SINGLE, expressions=[found.ast]), found.kind)
        if name == "concat_ws" and [str(item) for item in tree.expressions[:2]] == ["''", "'v'"]:
            return self._proof(tree)
        raise NotSmallError(f"{_word(tree)} is not known to be the same in DuckDB")

    def _hash(self, tree: exp.Anonymous) -> Typed:
        found = [self.write(item) for item in tree.expressions]
        kinds = tuple(item.kind for item in found)
        if any(kind.name in ("void", "binary") for kind in kinds):
            raise NotSmallError("the checksum of bytes")
        words = (re.sub(r"\W", "_", kind.text) for kind in kinds)
        name = "_".join((HASHED, *words)).rstrip("_")
        self.hashes[name] = kinds
        items = [_to(item.ast, item.kind) for item in found]
        return Typed(exp.Anonymous(this=name, expressions=items), BIGINT)


def _truncated(unit: str, value: exp.Expr) -> exp.Expr:
    items = [exp.Literal.string(unit.lower()), value]
    return exp.Anonymous(this="date_trunc", expressions=items)


def _unless(odd: exp.Expr, value: exp.Expr, kind: SmallKind) -> exp.Expr:
    """The value; where the engines may differ on it, the step is left to Spark."""
    left = exp.Anonymous(this="error", expressions=[exp.Literal.string(LEFT_TO_SPARK)])
    branch = exp.If(this=odd, true=_to(left, kind))
    return exp.Case(ifs=[branch], default=value)


def _result(form: type[exp.Expr], one: SmallKind, two: SmallKind) -> SmallKind:
    if form is exp.Mul:
        return decimal(one.precision + two.precision + 1, one.scale + two.scale)
    scale = max(one.scale, two.scale)
    whole = max(one.precision - one.scale, two.precision - two.scale)
    return decimal(whole + scale + 1, scale)


def _within_digits(value: exp.Expr, kind: SmallKind) -> exp.Expr:
    """The value; an error where it has more than 38 digits, which DuckDB's sums may have."""
    if kind.precision < MOST_DIGITS:
        return value
    most = SmallKind("decimal", MOST_DIGITS, kind.scale)
    digits = "9" * (MOST_DIGITS - kind.scale) + "." + "9" * kind.scale
    end = _to(exp.Literal.string(digits.rstrip(".") or "0"), most)
    low = exp.LT(this=value.copy(), expression=exp.Neg(this=end.copy()))
    high = exp.GT(this=value.copy(), expression=end)
    return _unless(exp.Or(this=low, expression=high), value, kind)


def _whole_digits(kind: SmallKind) -> int:
    known = kind.as_decimal
    return known.precision - known.scale - (1 if kind.is_whole else 0)


def _cast(item: Typed, kind: SmallKind) -> exp.Expr:
    return item.ast if item.kind == kind else _to(item.ast, kind)


def _to(tree: exp.Expr, kind: SmallKind) -> exp.Expr:
    return exp.Cast(this=tree, to=kind.to_duckdb())


def _word(tree: exp.Expr) -> str:
    return tree.name.upper() if isinstance(tree, exp.Anonymous) else type(tree).__name__


_PARTS: Final = frozenset({"this", "expression", "expressions"})
_MORE_PARTS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Between: frozenset({"low", "high"}),
    exp.Is: frozenset({"negate"}),
    exp.Literal: frozenset({"is_string"}),
    exp.Case: frozenset({"ifs", "default"}),
    exp.If: frozenset({"true", "false"}),
    exp.Cast: frozenset({"to", "_type"}),
    exp.TryCast: frozenset({"to", "_type"}),
    exp.Greatest: frozenset({"ignore_nulls"}),
    exp.Least: frozenset({"ignore_nulls"}),
    exp.TimestampTrunc: frozenset({"unit"}),
    exp.DateTrunc: frozenset({"unit"}),
    exp.Concat: frozenset({"safe"}),
    exp.DPipe: frozenset({"safe"}),
    exp.Substring: frozenset({"start", "length"}),
    exp.Count: frozenset({"big_int"}),
    exp.Quantile: frozenset({"quantile"}),
    exp.Window: frozenset({"partition_by", "order", "spec", "over"}),
}
"""What each form is made of; with anything more it is another one."""
_FORMS: Final[dict[type[exp.Expr], Callable[..., Typed]]] = {
    exp.Paren: SmallWriter.paren,
    exp.Column: SmallWriter.column,
    exp.Literal: SmallWriter.literal,
    OpaqueLiteral: SmallWriter.typed_literal,
    exp.Boolean: SmallWriter.boolean,
    exp.Null: SmallWriter.null,
    exp.And: SmallWriter.connector,
    exp.Or: SmallWriter.connector,
    exp.Not: SmallWriter.negation,
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        SmallWriter.comparison,
    ),
    exp.Between: SmallWriter.between,
    exp.In: SmallWriter.among,
    exp.Is: SmallWriter.is_this,
    exp.Like: SmallWriter.like,
    exp.Case: SmallWriter.case,
    exp.If: SmallWriter.choice,
    exp.Coalesce: SmallWriter.coalesce,
    exp.Greatest: SmallWriter.extreme,
    exp.Least: SmallWriter.extreme,
    exp.Nullif: SmallWriter.nullif,
    exp.Neg: SmallWriter.minus,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), SmallWriter.arithmetic),
    exp.Mod: SmallWriter.remainder,
    exp.Div: SmallWriter.quotient,
    **dict.fromkeys((exp.Cast, exp.TryCast), SmallWriter.cast),
    exp.TsOrDsToDate: SmallWriter.day_of,
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.Quarter), SmallWriter.part),
    exp.Extract: SmallWriter.extract,
    exp.TimestampTrunc: SmallWriter.truncated,
    exp.DateTrunc: SmallWriter.truncated_day,
    exp.Concat: SmallWriter.joined,
    exp.DPipe: SmallWriter.joined,
    exp.Substring: SmallWriter.substring,
    exp.Length: SmallWriter.length,
    **dict.fromkeys((exp.Upper, exp.Lower), SmallWriter.cased),
    exp.Count: SmallWriter.count,
    exp.CountIf: SmallWriter.count_if,
    exp.Sum: SmallWriter.total,
    exp.Avg: SmallWriter.mean,
    **dict.fromkeys((exp.Min, exp.Max), SmallWriter.end),
    **dict.fromkeys((exp.Quantile, exp.Median), SmallWriter.percentile),
    exp.Filter: SmallWriter.picked,
    exp.Window: SmallWriter.window,
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank), SmallWriter.place),
    exp.Anonymous: SmallWriter.own,
}
"""The allow-list: what is not here is left to Spark."""
