"""What Spark says of a text: its columns, whether it is steady, and whether we read it as Spark does.

Texts are analysed over empty relations that have the sources' columns; nothing runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from grebe.compiler.algebra.function_names import RANDOM_NAMES
from grebe.compiler.lower.translation import Difference, judged
from grebe.compiler.parser.clock_words import SUSPECT, names_clock, plan_names_clock
from grebe.compiler.parser.parse import parse, place_of
from grebe.compiler.parser.spans import Span, before_splice, spliced
from grebe.compiler.parser.tokens import tokens_of
from grebe.compiler.reasons import ReasonCode
from grebe.compiler.text.references import Parts, References
from grebe.compiler.text.verbatim import as_expression, placed, references_in, without_end
from grebe.engine.defined_functions import defined_function
from grebe.engine.meaning import Columns, Meaning
from grebe.errors import DefinitionError, SqlSyntaxError, UnsupportedSQLError, Where
from grebe.formats.storage_errors import cause_of
from grebe.model import Reason
from grebe.spark.spark_types import type_text
from grebe.spark.tuning import tune
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DIALECT: Final = "spark"
REFUSED: Final = "refused-by-spark"
"""The code of texts that Spark finds no meaning in."""
_COMPARABLE: Final = {"spark.sql.legacy.ctePrecedencePolicy": "LEGACY"}
"""With this Spark puts common table expressions where they are read. They have
numbers of their own otherwise, which no two readings of a text share."""
_TYPED: Final = re.compile(r"\b(DATE|TIMESTAMP(_NTZ|_LTZ)?)\s*$", re.IGNORECASE)
_MOST_QUESTIONS: Final = 400
"""Analyses that one text may cost; a text that needs more is kept as it is, without algebra."""


class TooManyQuestionsError(Exception):
    """The parts that differ were not found in reasonable time."""


@dataclass(slots=True)
class Judge:
    """Asks Spark about one definition."""

    sql: str
    spark: SparkSession
    relations: Mapping[Parts, Columns]
    """The columns of each table, by its name in the text."""
    names: dict[Parts, str] = field(default_factory=dict)
    asked: int = 0

    def meaning(self) -> Meaning:
        """What the text means to Spark.

        Raises:
            DefinitionError: Spark finds no meaning in it.
            UnsupportedSQLError: it gives other rows every time.
        """
        found = references_in(self.sql, DIALECT)
        self._refuse_defined_functions()
        try:
            self._show_relations()
            placed_names = placed(found, DIALECT, lambda parts: quote(self.names[parts]))
            text = without_end(spliced(self.sql, placed_names), DIALECT)
            fields = self._analyse(text).schema.fields
            columns = tuple((item.name, type_text(item.dataType)) for item in fields)
            with tune(self.spark, _COMPARABLE):
                self._resolve_names(found, placed_names)
                said = self._compare(text, columns)
        finally:
            for name in self.names.values():
                self.spark.catalog.dropTempView(name)
        back = (before_splice(span, placed_names) for span in said.kept)
        kept = frozenset(span for span in back if span is not None)
        if len(kept) < len(said.kept):
            return replace(said, kept=frozenset(), reasons=(*said.reasons, self._whole()))
        return replace(said, kept=kept)

    def _compare(self, text: str, columns: Columns) -> Meaning:
        clock = self._clock(text)
        tree = _tree(text)
        if tree is None:
            self._check_relations(text)
            code, where = ReasonCode.UNSUPPORTED_EXPRESSION.value, place_of(None, self.sql)
            reason = Reason(code, "the parser does not read this text", where)
            if _calls_chance(self.sql) or not self._steady(text):
                clock = self._unsteady(() if _calls_chance(self.sql) else clock)
            return Meaning(columns, reasons=(reason, *clock))
        if _is_recursive(tree):
            return Meaning(columns, reasons=clock)
        said = self._try(text)
        if said is None:  # a name means something else where common expressions are put in place
            return Meaning(columns, reasons=(self._whole(), *clock))

        def same(other: str) -> bool:
            self.asked += 1
            if self.asked > _MOST_QUESTIONS:
                raise TooManyQuestionsError
            tried = self._try(other)
            return tried is not None and bool(said.sameSemantics(tried))

        try:
            found = judged(text, tree, same)
        except TooManyQuestionsError:
            return Meaning(columns, reasons=(self._whole(), *clock))
        if (found.kept or found.differences) and not same(text):
            return Meaning(columns, reasons=self._unsteady(clock))
        differences = tuple(self._difference(text, item) for item in found.differences)
        return Meaning(columns, found.kept, (*differences, *clock))

    def _difference(self, text: str, item: Difference) -> Reason:
        theirs, ours = (self._named(words) for words in (item.span.of(text), item.ours))
        message = f"Spark reads {_short(theirs)} otherwise than {_short(ours)}"
        return Reason(ReasonCode.TRANSLATION_DIFFERS.value, message, place_of(None, self.sql))

    def _named(self, words: str) -> str:
        """The words with the tables' own names in the place of those of the empty relations."""
        for parts, name in self.names.items():
            own = ".".join(parts).replace("\\", r"\\")
            words = re.sub(rf"{re.escape(quote(name))}( AS `[^`]*`)?", own, words)
        return words

    def _whole(self) -> Reason:
        message = "what differs between Spark's reading and ours was not found"
        return Reason(ReasonCode.TRANSLATION_DIFFERS.value, message, place_of(None, self.sql))

    def _resolve_names(self, found: References, given: Sequence[tuple[Span, str]]) -> None:
        """Ask about tables that have the name of a common table expression elsewhere in the text."""
        for item in found.doubtful:
            parts = as_expression(found, item, given, DIALECT)
            if self._try(without_end(spliced(self.sql, parts), DIALECT)) is not None:
                name = item.parts[0]
                raise UnsupportedSQLError(
                    "cte",
                    f'"{name}" is the name of a table and of a common table expression',
                    hint="give the expression another name",
                    where=_where(self.sql, item.span),
                )

    def _check_relations(self, text: str) -> None:
        """Every relation that Spark finds in a text without a tree is one of ours, or defined in it."""
        plan = self._plan(text).split("== Analyzed Logical Plan ==", maxsplit=1)[0]
        defined = {word.lower() for word in re.findall(r"CTE \[([^\]]*)\]", plan)}
        known = {name.lower() for names in defined for name in names.split(", ")}
        known |= {name.lower() for name in self.names.values()}
        read = [name.lower() for name in re.findall(r"'UnresolvedRelation \[([^\]]*)\]", plan)]
        if any(name not in known for name in read):
            raise UnsupportedSQLError(
                "table_reference",
                "where the query names its tables cannot be told",
                hint="name tables plainly behind FROM and JOIN",
                where=place_of(None, self.sql),
            )

    def _refuse_defined_functions(self) -> None:
        """Nothing, or the error for a function whose text is kept elsewhere."""
        span = defined_function(self.sql, self.spark)
        if span is not None:
            raise UnsupportedSQLError(
                "defined_function",
                f"{span.of(self.sql)}() is written in SQL that is kept elsewhere: what it reads is not known",
                hint="write what it computes in its place",
                where=_where(self.sql, span),
            )

    def _steady(self, text: str) -> bool:
        return bool(self._analyse(text).sameSemantics(self._analyse(text)))

    def _unsteady(self, clock: tuple[Reason, ...]) -> tuple[Reason, ...]:
        """The text is not the same to Spark when it is read twice: the clock, or chance."""
        if not clock:
            raise UnsupportedSQLError(
                "non_deterministic",
                "the query gives other rows every time",
                hint="derive the value from columns, for example with a hash of the key",
                where=place_of(None, self.sql),
            )
        return clock

    def _clock(self, text: str) -> tuple[Reason, ...]:
        """A reason for what Spark reads as a moment: `now()`, `TIMESTAMP 'now'`, `ts < 'today'`."""
        suspects = [token for token in tokens_of(self.sql, DIALECT) if _may_be_clock(token)]
        typed = any(
            token.token_type is TokenType.STRING and _TYPED.search(self.sql[: token.start])
            for token in suspects
        )
        if not suspects or not (typed or plan_names_clock(self._plan(text))):
            return ()
        first = suspects[0]
        where = _where(self.sql, Span(first.start, first.end + 1))
        message = f'"{first.text}" changes with the clock'
        return (Reason(ReasonCode.TIME_FUNCTION.value, message, where),)

    def _plan(self, text: str) -> str:
        rows = self.spark.sql(f"EXPLAIN EXTENDED {text}").collect()
        return str(rows[0][0]).split("== Optimized Logical Plan ==", maxsplit=1)[0]

    def _analyse(self, text: str) -> DataFrame:
        from pyspark.errors import PySparkException

        try:
            return self.spark.sql(text)
        except Exception as error:  # Spark's own, and what its optimizer throws past them
            known = isinstance(error, PySparkException)
            raise DefinitionError(
                "Spark does not accept the query",
                detail=str(error).strip().split("\n", maxsplit=1)[0] if known else cause_of(error),
                code=REFUSED,
                where=place_of(None, self.sql),
            ) from error

    def _try(self, text: str) -> DataFrame | None:
        with suppress(DefinitionError):
            return self._analyse(text)
        return None

    def _show_relations(self) -> None:
        """Temporary views without rows for the tables."""
        for place, (parts, columns) in enumerate(self.relations.items()):
            name = f"__grebe_empty_{place}"
            items = (f"CAST(NULL AS {kind}) AS {quote(column)}" for column, kind in columns)
            self.spark.sql(f"SELECT {', '.join(items)} WHERE FALSE").createOrReplaceTempView(name)
            self.names[parts] = name


def _calls_chance(text: str) -> bool:
    """True when a text calls something that is known to give another value every time."""
    tokens = tokens_of(text, DIALECT)
    return any(
        one.text.lower() in RANDOM_NAMES and two.token_type is TokenType.L_PAREN
        for one, two in pairwise(tokens)
    )


def _may_be_clock(token: Token) -> bool:
    """True for a word for the present, and for a function that we know nothing of."""
    if token.token_type is TokenType.STRING:
        return names_clock(f"'{token.text}'")
    return token.token_type is not TokenType.IDENTIFIER and token.text.lower() in SUSPECT


def _tree(text: str) -> exp.Query | None:
    try:
        return parse(text, DIALECT)
    except (SqlSyntaxError, UnsupportedSQLError):
        return None


def _is_recursive(tree: exp.Expr) -> bool:
    return any(clause.args.get("recursive") for clause in tree.find_all(exp.With))


def _short(text: str, most: int = 300) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[:most]} …"


def _where(text: str, span: Span) -> Where:
    before = text[: span.start]
    line = before.count("\n") + 1
    column = span.start - (before.rfind("\n") + 1) + 1
    return Where(line, column, None, text, max(1, span.end - span.start))
