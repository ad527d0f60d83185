"""The corpora, each as verdicts on a part of it: part 0 of 16, and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from random import Random

from grebe.model import Policy
from meaning import operators
from meaning.disguise import disguised
from meaning.functions import Example, examples, functions, in_columns, with_names
from meaning.harness import EQUAL, REFUSED, Verdict, Workshop, code_of_plan
from meaning.literals import literals, used
from meaning.tpc import Benchmark

POLICIES = (Policy.AUTO, Policy.FULL)
TOGETHER = 60
"""Expressions in one view."""
TRIPLES = 640
"""Expressions of three operators in the whole corpus."""
WIDE = 150
"""Columns of one table of literals."""
_numbers = count()

Part = tuple[int, int]
"""Which part of how many."""


def batches(items: Iterable[str], size: int = TOGETHER) -> Iterator[list[str]]:
    """Some at a time."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def _examples(workshop: Workshop, part: Part) -> list[Example]:
    place, of = part
    return list(examples(workshop.plain, functions(workshop.plain)[place::of]))


def function_examples(workshop: Workshop, part: Part) -> Iterator[Verdict]:
    """Each example: as it stands, or its expressions over the rows of a table."""
    found = _examples(workshop, part)
    items = list(dict.fromkeys(item for example in found for item in example.items))
    table = workshop.table(f"one{next(_numbers)}", "SELECT 1 AS id")
    more = adding(workshop, table, lambda number: f"SELECT {number}")
    for policy in POLICIES:
        for some in batches(items, 100):
            for verdict in workshop.judge_items(some, table, policy, more).values():
                yield verdict
                if verdict.code in ("not-stored", "type-not-stored"):  # but its text can be
                    text = f"CAST({verdict.text} AS STRING)"
                    yield from workshop.side_by_side([text], table, policy)
        for example in found:
            if not example.items and workshop.accepts(example.text):
                columns = len(workshop.plain.sql(example.text).columns)
                yield workshop.judge(with_names(example.text, columns), policy)
        for example in found[:: 1 if policy is Policy.FULL else 8]:
            if workshop.accepts(example.text):
                yield unnamed(workshop, example.text, policy)


def unnamed(workshop: Workshop, text: str, policy: Policy) -> Verdict:
    """What is said of an example as it stands; it is built where nothing else was like it."""
    view = workshop.compiled(text, policy)
    if isinstance(view, Verdict):
        return view
    return Verdict(text, policy, EQUAL, code_of_plan(view) or "compiled")


def function_columns(workshop: Workshop, part: Part) -> Iterator[Verdict]:
    """The examples' expressions with their literals in columns of a table."""
    names = [f"k{number}" for number in range(10)]
    items = dict.fromkeys(item for example in _examples(workshop, part) for item in example.items)
    texts: dict[str, dict[str, str]] = {}
    values: dict[str, str] = {}
    groups = []
    for item in items:
        for text, needed in accepted(workshop, item, names):
            if len(values) + len(needed) > WIDE:
                groups.append((texts, values))
                texts, values = {}, {}
            renamed, own = numbered(text, needed, len(values))
            texts[renamed] = own
            values |= own
    groups.append((texts, values))
    for made, row in groups:
        yield from over_literals(workshop, list(made), row)


def accepted(
    workshop: Workshop, item: str, names: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """The forms of an expression that Spark accepts: all literals in columns, or else one each."""
    for place, (text, values) in enumerate(in_columns(item, names)):
        columns = ", ".join(f"{value} AS {name}" for name, value in values.items())
        if workshop.accepts(f"SELECT {text} AS c FROM (SELECT 1 AS id, {columns}) AS r"):
            yield text, values
            if place == 0:
                return


def numbered(text: str, values: dict[str, str], first: int) -> tuple[str, dict[str, str]]:
    """The same with columns of its own."""
    own: dict[str, str] = {}
    for place, (name, value) in enumerate(values.items()):
        new = f"lit{first + place}"
        text = text.replace(name, new)
        own[new] = value
    return text, own


def over_literals(
    workshop: Workshop, items: Sequence[str], row: dict[str, str]
) -> Iterator[Verdict]:
    """The verdicts on expressions over a table that holds their literals, twice after a change."""
    if not items:
        return
    columns = ", ".join(f"{value} AS {name}" for name, value in row.items())
    table = workshop.table(f"lits{next(_numbers)}", f"SELECT 1 AS id, {columns}")
    more = adding(workshop, table, lambda number: f"SELECT {number}, {', '.join(row.values())}")
    for policy in POLICIES:
        for some in batches(items):
            yield from workshop.judge_items(some, table, policy, more).values()


def adding(workshop: Workshop, table: str, select: Callable[[int], str]) -> Callable[[], None]:
    """A change that puts one more row into a table."""
    return lambda: workshop.insert(table, select(next(_numbers) + 1000))


def operator_pairs(workshop: Workshop, part: Part) -> Iterator[Verdict]:
    """Every operator inside of every other, and some of three, over columns of each type."""
    place, of = part
    rng = Random(place)
    chosen = [*operators.pairs()[place::of], *operators.triples(rng, TRIPLES // of)]
    workshop.plain.sql(f"CREATE OR REPLACE TEMP VIEW few AS {operators.rows(1, 3, narrow=True)}")
    items = dict.fromkeys(operators.filled(item, rng) for item in chosen for _ in range(2))
    running = [item for item in items if workshop.has_value(item, "few")]
    table = workshop.table(f"kinds{next(_numbers)}", operators.rows(1, 2))
    relation = operators.relation(table)
    more = adding(
        workshop,
        table,
        lambda number: f"SELECT {number}, * EXCEPT(id) FROM ({operators.rows(3, 3)})",
    )
    for policy in POLICIES:
        for some in batches(running):
            yield from workshop.side_by_side(some, relation, policy, more)


ROWS_OF_TEXTS = (
    "VALUES (1, \"O'Brien\", TIMESTAMP'2024-02-29 01:02:03'), (2, 'a', TIMESTAMP'1970-01-01'),"
    " (3, 'OBrien', NULL), (4, '%', TIMESTAMP'2999-01-01') AS t(id, s, g)"
)


def literal_forms(workshop: Workshop, part: Part) -> Iterator[Verdict]:
    """Literals alone and in use."""
    place, of = part
    items = list(dict.fromkeys([*literals(), *used()]))[place::of]
    workshop.plain.sql(f"CREATE OR REPLACE TEMP VIEW texts AS SELECT * FROM {ROWS_OF_TEXTS}")
    running = [item for item in items if workshop.has_value(item, "texts")]
    table = workshop.table(f"texts{next(_numbers)}", f"SELECT * FROM {ROWS_OF_TEXTS}")
    more = adding(
        workshop, table, lambda number: f"SELECT {number}, \"O'Brien\", TIMESTAMP'2024-03-01'"
    )
    for policy in POLICIES:
        for some in batches(running, 30):
            yield from workshop.side_by_side(some, table, policy, more)


def disguised_queries(benchmark: Benchmark, numbers: Iterable[int], seed: int) -> Iterator[Verdict]:
    """Queries in disguise: what becomes of them, and whether they are planned as in plain text."""
    rng = Random(seed)
    workshop = benchmark.workshop
    for number in numbers:
        text = benchmark.texts[number]
        other = disguised(text, rng, benchmark.columns, benchmark.tables)
        for policy in POLICIES:
            verdict = workshop.judge(other, policy)
            one, two = workshop.compiled(text, policy), workshop.compiled(other, policy)
            if isinstance(one, Verdict) or isinstance(two, Verdict):
                yield verdict
            elif one.plan.strategy is not two.plan.strategy or (
                code_of_plan(one) != code_of_plan(two) or len(one.plan.steps) != len(two.plan.steps)
            ):
                detail = f"query {number}: {code_of_plan(one)} as {code_of_plan(two)}"
                yield replace(verdict, code=f"{verdict.code} another plan".strip(), detail=detail)
            else:
                yield verdict


def refused_under_full(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """What Spark accepts and `full` does not."""
    return [v for v in verdicts if v.kind == REFUSED and v.policy is Policy.FULL]
