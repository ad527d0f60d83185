"""How the cost of compiling grows with the text: seconds and characters at a size and at twice it.

python -m benchmarks.bench_growth

`text` is the definition, `written` all texts that are made from it: the build, the public SELECT and
every step of a refresh. Processor time, best of two. A growth of 2 is linear. Nothing is run.
Results: benchmarks/results/growth.json.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grebe.compiler.algebra.known_types import Types, scan_types
from grebe.compiler.emit import emit
from grebe.compiler.lower import Relation, lower
from grebe.compiler.plan.strategy import make_plan
from grebe.errors import UnsupportedSQLError

RESULT = Path(__file__).resolve().parent / "results" / "growth.json"
REPEATS = 2
COLUMNS = 12


@dataclass(frozen=True, slots=True)
class Case:
    """A text of any size over one table."""

    size: int
    text: Callable[[int], str]
    columns: Callable[[int], int] = lambda _: COLUMNS


@dataclass(frozen=True, slots=True)
class Cost:
    """What one text costs; ``code`` is why it is refused, if it is."""

    text: int
    seconds: float
    written: int
    code: str = ""


def _listed(count: int, word: str, term: str) -> str:
    return f" {word} ".join(term.format(i=i, c=i % COLUMNS) for i in range(count))


def _either(count: int) -> str:
    return f"SELECT c0 FROM t WHERE {_listed(count, 'OR', 'c1 = {i}')}"


def _all_of(count: int) -> str:
    return f"SELECT c0 FROM t WHERE {_listed(count, 'AND', 'c1 <> {i}')}"


def _glued(count: int) -> str:
    return f"SELECT {_listed(count, '||', 's')} AS v FROM t"


def _total(count: int) -> str:
    return f"SELECT {_listed(count, '+', 'c{c}')} AS v FROM t"


def _outputs(count: int) -> str:
    levels = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(count))
    return f"SELECT c0 + c1 AS a0, {levels} FROM t"


def _levels(count: int) -> str:
    steps = "".join(
        f", q{i + 1} AS (SELECT a.* FROM q{i} AS a JOIN q{i} AS b ON a.c0 = b.c1)"
        for i in range(count)
    )
    return f"WITH q0 AS (SELECT * FROM t){steps} SELECT * FROM q{count}"


def _joins(count: int) -> str:
    joined = " ".join(f"JOIN t AS t{i} ON t{i}.c0 = t{i - 1}.c1" for i in range(1, count))
    return f"SELECT t0.c2 FROM t AS t0 {joined}"


def _wide(count: int) -> str:
    return f"SELECT {', '.join(f'c{i} + 1 AS v{i}' for i in range(count))} FROM t"


CASES = {
    "OR terms": Case(1000, _either),
    "AND terms": Case(1000, _all_of),
    "concatenated terms": Case(1000, _glued),
    "added terms": Case(1000, _total),
    "columns that read columns before them, twice": Case(20, _outputs),
    "CTEs, each read twice by the next": Case(2, _levels),
    "the same over 500 columns": Case(2, _levels, lambda _: 500),
    "joins": Case(6, _joins),
    "columns": Case(500, _wide, lambda count: count),
}


def cost(case: Case, size: int) -> Cost:
    """The best of several compiles."""
    text = case.text(size)
    columns = (*((f"c{i}", "INT") for i in range(case.columns(size))), ("s", "STRING"))
    return min((once(text, columns) for _ in range(REPEATS)), key=lambda item: item.seconds)


def once(text: str, columns: tuple[tuple[str, str], ...]) -> Cost:
    begun = time.process_time()
    try:
        written = _written(text, columns)
    except UnsupportedSQLError as error:
        return Cost(len(text), time.process_time() - begun, 0, error.feature)
    return Cost(len(text), time.process_time() - begun, written)


def _written(text: str, columns: tuple[tuple[str, str], ...]) -> int:
    """Characters of all texts that are made from one."""
    one = lower(text, sources={"t": Relation("t", columns)})
    if one.root is None:
        raise SystemExit(f"not understood: {one.reasons}")
    plan = make_plan(one, Types("spark", scan_types(one.root, {"t": dict(columns)})))
    nodes = [plan.build, plan.public, *(step.node for step in plan.steps)]
    return sum(len(emit(node, "spark", lambda leaf: getattr(leaf, "table", "x"))) for node in nodes)


def main() -> None:
    document: dict[str, object] = {"unit": "seconds of processor time, best of 2; characters"}
    print(
        "| what | size | text | seconds | growth | written | growth |\n|---|---|---|---|---|---|---|"
    )
    for name, case in CASES.items():
        one, two = cost(case, case.size), cost(case, 2 * case.size)
        slower = two.seconds / one.seconds
        longer = two.written / one.written if two.written else None
        row = (
            f"{case.size} → {2 * case.size}",
            f"{one.text:,} → {two.text:,}",
            f"{one.seconds:.2f} → {two.seconds:.2f}",
            f"{slower:.1f}",
            f"{one.written:,} → {two.written:,}" if longer else two.code,
            f"{longer:.1f}" if longer else "",
        )
        print(f"| {name} | {' | '.join(row)} |", flush=True)
        document[name] = dict(
            zip(("size", "text", "seconds", "slower", "written", "longer"), row, strict=True)
        )
    RESULT.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
