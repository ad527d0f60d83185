"""Texts that nobody here wrote: kept as Spark reads them or refused, never anything else.

`make test` takes a part of each corpus, `make test-laws` goes on by seed through the others and counts
in docs/evidence/meaning.json.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

from evidence import LongRun
from grebe.config import Settings
from meaning import corpora
from meaning.harness import WRONG, Verdict, Workshop, counted
from meaning.tpc import Benchmark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PARTS = 16
SHORT = {"functions": 96, "functions in columns": 64, "operators": 256, "literals": 96}
"""`make test` takes one of so many parts."""
CORPORA = {
    "functions": corpora.function_examples,
    "functions in columns": corpora.function_columns,
    "operators": corpora.operator_pairs,
    "literals": corpora.literal_forms,
}
Corpus = Callable[[Workshop, corpora.Part], Iterator[Verdict]]
FAITHFUL = {"non_deterministic", "not-stored", "type-not-stored"}
"""Why an example of a function may be refused under `full`: it is another one each time, or its
type is one that no table holds."""


@pytest.fixture(scope="module")
def workshop(spark: SparkSession, project: Settings) -> Workshop:
    return Workshop.opened(spark, project, "meaning")


@pytest.fixture
def meaning_run(long_run: LongRun) -> LongRun:
    """The long run with evidence of its own."""
    return LongRun.resume("meaning", long_run.check, long_run.minutes, folder=long_run.folder)


@pytest.fixture(scope="module")
def benchmarks(workshop: Workshop) -> Callable[[str], Benchmark]:
    opened: dict[str, Benchmark] = {}

    def of(name: str) -> Benchmark:
        if name not in opened:
            opened[name] = Benchmark.opened(workshop, name)
        return opened[name]

    return of


def checked(verdicts: Iterable[Verdict]) -> Counter[str]:
    """How many there are of each kind; none may be wrong."""
    found = list(verdicts)
    wrong = [str(item) for item in found if item.kind in WRONG]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(found)}", *wrong[:20]])
    return Counter(
        {
            key.replace(": ", " ").replace(" ", "_").replace("-", "_"): number
            for key, number in counted(found).items()
        }
    )


def of_corpus(workshop: Workshop, name: str, part: corpora.Part) -> Counter[str]:
    """The counts of a part; of functions `full` refuses none that can be kept."""
    found = list(CORPORA[name](workshop, part))
    refused = [item for item in corpora.refused_under_full(found) if item.code not in FAITHFUL]
    assert not refused or not name.startswith("functions"), "\n".join(map(str, refused[:20]))
    return checked(found)


@pytest.mark.parametrize("name", CORPORA)
def test_kept_or_refused(workshop: Workshop, name: str) -> None:
    counts = of_corpus(workshop, name, (5, SHORT[name]))
    assert counts["auto_equal"] > 3, counts


def test_queries_in_disguise(benchmarks: Callable[[str], Benchmark]) -> None:
    counts = checked(corpora.disguised_queries(benchmarks("tpch"), [3, 6, 14], 0))
    assert sum(counts.values()) == 6, counts


@pytest.mark.laws
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", CORPORA)
def test_all_kept_or_refused(workshop: Workshop, meaning_run: LongRun, name: str) -> None:
    for seed in meaning_run.seeds():
        counts = of_corpus(workshop, name, (seed % PARTS, PARTS))
        meaning_run.add(**counts, queries=sum(counts.values()))
        if seed - meaning_run.first == PARTS - 1:
            meaning_run.minutes = 0  # nothing new would come


@pytest.mark.laws
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("name", "last"), [("tpch", 22), ("tpcds", 99)])
def test_all_queries_in_disguise(
    benchmarks: Callable[[str], Benchmark], meaning_run: LongRun, name: str, last: int
) -> None:
    for seed in meaning_run.seeds():
        numbers = range(seed % PARTS + 1, last + 1, PARTS)
        counts = checked(corpora.disguised_queries(benchmarks(name), numbers, seed))
        meaning_run.add(**counts, queries=sum(counts.values()))
