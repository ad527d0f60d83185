"""What became of a text: kept as Spark reads it, refused, or neither. Spark's answer is the measure.

Every text goes the way of a user's: it is compiled, built, and after an insertion refreshed; what the
public name shows is compared with plain Spark's answer to the same characters. Expressions are put
side by side into one view, and apart again where something about one of them has to be said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import isclose
from typing import TYPE_CHECKING

from grebe.config import Settings
from grebe.engine.compiled_view import CompiledView, ViewDefinition
from grebe.engine.engine import Engine
from grebe.errors import GrebeError, InternalError, StepFailedError
from grebe.model import Outcome, Policy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EQUAL = "equal"
REFUSED = "refused"
DIFFERENT = "different"
CRASHED = "crashed"
NOT_SPARK = "not-spark"
"""Plain Spark does not accept the text either."""
UNSTEADY = "unsteady"
"""Plain Spark gives another answer each time, and grebe took it all the same."""
CLOCK = "clock"
"""The same, under `full` and with the reason: the run's own moment is put in and recorded."""
WRONG = frozenset({DIFFERENT, CRASHED, UNSTEADY})
_MAY_BE_NULL = re.compile(r'"(containsNull|nullable|valueContainsNull)":(true|false),?')
"""No table promises that values are never NULL inside of others."""
_COLLECTED = re.compile("collect_list|array_agg|collect_set|string_agg|listagg", re.IGNORECASE)
"""Functions that promise no order of what they put together."""
_NARROW = re.compile('"(byte|short)"')
"""Types that Iceberg does not have: its tables and views show an integer."""
_numbers = count()

Change = Callable[[], None]
"""Changes the rows of a table."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one text under one policy."""

    text: str
    policy: Policy
    kind: str
    code: str = ""
    """Why it was refused, or why it is recomputed."""
    detail: str = ""

    def __str__(self) -> str:
        return f"[{self.policy.value}] {self.kind} {self.code}: {self.text}\n      {self.detail}"


@dataclass(frozen=True, slots=True)
class Rows:
    """The answer to a query, as texts: schema first, so that types are compared too."""

    schema: tuple[tuple[str, str], ...]
    values: tuple[tuple[str | None, ...], ...]

    @staticmethod
    def of(frame: DataFrame) -> Rows:
        fields = frame.schema.fields
        # The names may be anything, or repeat each other.
        plain = frame.toDF(*(f"c{place}" for place in range(len(fields))))
        shown = plain.selectExpr(
            *(shown_as(f"c{i}", item.dataType.simpleString()) for i, item in enumerate(fields))
        )
        values = sorted((tuple(row) for row in shown.collect()), key=repr)
        kinds = (_NARROW.sub('"integer"', _MAY_BE_NULL.sub("", f.dataType.json())) for f in fields)
        names = (item.name for item in fields)
        return Rows(tuple(zip(names, kinds, strict=True)), tuple(values))

    def column(self, place: int) -> list[str | None]:
        return [row[place] for row in self.values]


def shown_as(name: str, kind: str) -> str:
    """An expression that turns a value into a text that tells it apart from others."""
    if kind.startswith(("geometry", "geography")):
        return f"hex(st_asbinary({name}))"
    if kind == "binary":
        return f"hex({name})"
    return f"CAST({name} AS STRING)"


def same(one: Sequence[str | None], two: Sequence[str | None]) -> bool:
    """True for equal values; floats may differ in their last digits, zeros in their sign."""
    return len(one) == len(two) and all(map(same_value, one, two))


def same_value(one: str | None, two: str | None) -> bool:
    if one == two or one is None or two is None:
        return one == two
    try:
        return isclose(float(one), float(two), rel_tol=1e-12)
    except ValueError:
        return False


def code_of(error: GrebeError) -> str:
    """The code that says why something was refused."""
    reasons = getattr(error, "reasons", ())
    if reasons:
        return "+".join(sorted({str(reason.code) for reason in reasons}))
    return str(getattr(error, "feature", error.code))


def code_of_plan(view: CompiledView) -> str:
    """Why a view is recomputed each time; nothing for one that follows changes."""
    return "+".join(sorted({str(reason.code) for reason in view.plan.reasons}))


def is_clock(code: str, policy: Policy) -> bool:
    """Whether a view is known to read the clock and is allowed to."""
    return policy is Policy.FULL and "time-function" in code


def told(error: BaseException) -> str:
    """One line about an error."""
    text = error.detail if isinstance(error, GrebeError) and error.detail else ""
    line = f"{type(error).__name__}: {error} {text}"
    return " ".join(line.split())[:400]


@dataclass(slots=True)
class Workshop:
    """One Spark, an engine over it, and a session that knows nothing of grebe."""

    spark: SparkSession
    settings: Settings
    plain: SparkSession
    schema: str
    engine: Engine
    answers: dict[str, Rows | Exception] = field(default_factory=dict)

    @staticmethod
    def opened(spark: SparkSession, settings: Settings, schema: str) -> Workshop:
        plain = spark.newSession()
        for session in (spark, plain):
            session.conf.set("spark.sql.shuffle.partitions", "1")
            session.conf.set("spark.sql.adaptive.enabled", "false")
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{schema}")
        plain.sql("USE lake")
        return Workshop(spark, settings, plain, schema, Engine(settings, spark))

    def table(self, name: str, select: str) -> str:
        """A table with the rows of a query; how texts name it."""
        self.spark.sql(f"CREATE TABLE lake.{self.schema}.{name} USING iceberg AS {select}")
        return f"{self.schema}.{name}"

    def insert(self, table: str, select: str) -> None:
        """More rows; answers of before no longer count."""
        self.spark.sql(f"INSERT INTO lake.{table} {select}")
        self.answers.clear()

    # --- plain Spark -------------------------------------------------------------------------

    def accepts(self, text: str) -> bool:
        """Whether plain Spark finds a meaning in the text; nothing runs."""
        try:
            self.plain.sql(text).schema  # noqa: B018  # Connect analyses when asked
        except Exception:
            return False
        return True

    def answer(self, text: str) -> Rows | Exception:
        """What plain Spark says to the text, or how it fails."""
        if text not in self.answers:
            try:
                self.answers[text] = Rows.of(self.plain.sql(text))
            except Exception as error:  # Spark's own, of any kind
                self.answers[text] = error
        return self.answers[text]

    def is_steady(self, text: str) -> bool:
        """False when the text gives something else each time; an answer of before is kept."""
        first = self.answer(text)
        return isinstance(first, Exception) or Rows.of(self.plain.sql(text)) == first

    # --- one query ---------------------------------------------------------------------------

    def judge(self, text: str, policy: Policy, changes: Sequence[Change] = ()) -> Verdict:
        """What becomes of a query, through building and refreshing it."""
        wanted = self.answer(text)
        if isinstance(wanted, Exception) and not self.accepts(text):
            return Verdict(text, policy, NOT_SPARK, detail=told(wanted))
        view = self.compiled(text, policy)
        if isinstance(view, Verdict):
            return view
        code = code_of_plan(view)
        for change in (None, *changes):
            if change is not None:
                change()
            found = self.shown(view)
            verdict = self.compared(text, policy, found)
            if verdict.kind == DIFFERENT and not self.is_steady(text):
                return Verdict(text, policy, CLOCK if is_clock(code, policy) else UNSTEADY, code)
            if verdict.kind != EQUAL:
                return verdict
        return Verdict(text, policy, EQUAL, code)

    def compared(self, text: str, policy: Policy, found: Rows | Exception) -> Verdict:
        """What is shown against Spark's answer."""
        wanted = self.answer(text)
        if isinstance(found, Exception):
            if isinstance(wanted, Exception):
                return Verdict(text, policy, EQUAL, "raises")
            return self.failed(text, policy, found)
        if isinstance(wanted, Exception):
            return Verdict(text, policy, DIFFERENT, detail=f"Spark raises {told(wanted)}")
        if found.schema != wanted.schema:
            detail = f"columns {found.schema}, Spark {wanted.schema}"
            return Verdict(text, policy, DIFFERENT, "schema", detail[:400])
        if _COLLECTED.search(text) and sorted(repr(found.values)) == sorted(repr(wanted.values)):
            return Verdict(text, policy, EQUAL)
        if len(found.values) != len(wanted.values) or not all(
            map(same, found.values, wanted.values)
        ):
            detail = f"{found.values[:4]}, Spark {wanted.values[:4]}"
            return Verdict(text, policy, DIFFERENT, detail=detail[:400])
        return Verdict(text, policy, EQUAL)

    def failed(self, text: str, policy: Policy, error: Exception) -> Verdict:
        """An error where Spark has an answer: a refusal only when it says what cannot be."""
        unstored = isinstance(error, StepFailedError) and error.step == "create"
        if unstored:
            return Verdict(text, policy, REFUSED, "not-stored", told(error))
        if isinstance(error, StepFailedError | InternalError) or not isinstance(error, GrebeError):
            return Verdict(text, policy, CRASHED, getattr(error, "code", ""), told(error))
        return Verdict(text, policy, REFUSED, code_of(error), told(error))

    def compiled(self, text: str, policy: Policy) -> CompiledView | Verdict:
        """The view of a text; a verdict when there is none."""
        name = self.settings.resolve(f"{self.schema}.v{next(_numbers)}")
        try:
            return self.engine.compile(ViewDefinition(name, text, policy))
        except Exception as error:  # whatever it is, it is told
            return self.failed(text, policy, error)

    def shown(self, view: CompiledView) -> Rows | Exception:
        """What the public name shows after a refresh, or how that failed."""
        name = str(view.name)
        try:
            if name not in self.engine.views:
                self.engine.add(view)
            (result,) = self.engine.refresh([name], policy=self.way(view))
            if result.outcome is Outcome.FAILED:
                return result.error or RuntimeError("failed without an error")
            return Rows.of(self.spark.table(name))
        except Exception as error:  # whatever it is, it is told
            return error

    @staticmethod
    def way(view: CompiledView) -> Policy | None:
        """From changes wherever that is possible: over tiny tables `auto` would not."""
        if view.definition.policy is Policy.AUTO and view.plan.is_incremental:
            return Policy.INCREMENTAL
        return None

    # --- many expressions --------------------------------------------------------------------

    def has_value(self, item: str, local: str) -> bool:
        """Whether plain Spark accepts an expression and computes it for all rows."""
        try:
            frame = self.plain.sql(f"SELECT {item} AS c FROM {local}")
            kind = frame.schema[0].dataType.simpleString()
            frame.selectExpr("c :: STRING").collect()
        except Exception:
            return False
        return not kind.startswith("interval")  # no table holds one

    def judge_items(
        self, items: Sequence[str], table: str, policy: Policy, change: Change | None = None
    ) -> dict[str, Verdict]:
        """What becomes of expressions over the rows of one relation, which has a column `id`.

        They are compiled one by one first: those that are treated alike share a view.
        """
        done: dict[str, Verdict] = {}
        groups: dict[str, list[str]] = {}
        for item in items:
            text = selected([item], table)
            if not self.accepts(text):
                done[item] = Verdict(item, policy, NOT_SPARK)
                continue
            view = self.compiled(text, policy)
            if isinstance(view, Verdict):
                done[item] = replace(view, text=item)
                continue
            groups.setdefault(code_of_plan(view), []).append(item)
        for code, group in groups.items():
            for verdict in self.side_by_side(group, table, policy, change, code=code):
                done[verdict.text] = verdict
        return done

    def side_by_side(
        self,
        items: Sequence[str],
        table: str,
        policy: Policy,
        change: Change | None = None,
        *,
        code: str = "",
    ) -> Iterator[Verdict]:
        """The verdicts on expressions in one view, or in two where one of them stops it.

        The code is why a view of each of them is recomputed: nothing when it is not.
        """
        if len(items) == 1:
            changes = [change] if change else []
            yield replace(self.judge(selected(items, table), policy, changes), text=items[0])
            return
        fine = self.fine_columns(selected(items, table), policy, code, change)
        if fine is None:
            middle = len(items) // 2
            for half in (items[:middle], items[middle:]):
                yield from self.side_by_side(half, table, policy, change, code=code)
            return
        for place, item in enumerate(items, 1):
            if place in fine:
                yield Verdict(item, policy, EQUAL, code)
            else:
                yield from self.side_by_side([item], table, policy, change, code=code)

    def fine_columns(
        self, text: str, policy: Policy, code: str, change: Change | None
    ) -> set[int] | None:
        """The columns that are Spark's, before and after a change; None: each has to be asked."""
        view = self.compiled(text, policy)
        if not isinstance(view, CompiledView):
            return None
        if policy is Policy.AUTO and code_of_plan(view) != code:
            return None
        fine = set(range(len(view.columns)))
        for step in (None, change) if change else (None,):
            if step is not None:
                step()
            found, wanted = self.shown(view), self.answer(text)
            if isinstance(found, Exception) or isinstance(wanted, Exception):
                return None
            if len(found.values) != len(wanted.values) or len(found.schema) != len(wanted.schema):
                return set()
            fine -= {
                place
                for place in range(len(wanted.schema))
                if found.schema[place] != wanted.schema[place]
                or not same(found.column(place), wanted.column(place))
            }
        return fine


def selected(items: Sequence[str], table: str) -> str:
    """A query of the expressions over each row of a table, which `id` tells apart."""
    columns = ", ".join(f"{item} AS c{place}" for place, item in enumerate(items))
    return f"SELECT id, {columns} FROM {table}"


def counted(verdicts: Iterable[Verdict]) -> Counter[str]:
    """How many of each kind, refusals by their code."""
    return Counter(
        f"{item.policy.value}: {item.kind}{' ' + item.code if item.code else ''}"
        for item in verdicts
    )
