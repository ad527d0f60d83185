"""What creating a view costs before anything is read: TPC-H and TPC-DS texts, judged by Spark or not.

python -m benchmarks.bench_create

`judged` is the time of Spark's answers about the user's own text, `other` that of lowering, types
and the plan, which was there before; both are the best of three, in a session that is warm. Texts
are DuckDB's, written in Spark's words once. Results: benchmarks/results/create.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

RESULT = ROOT / "benchmarks" / "results" / "create.json"
REPEATS = 3
WARM = 12
"""Texts that are asked before the clock counts."""


def main() -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    document: dict[str, object] = {"unit": "milliseconds, best of 3, warm"}
    for name in ("tpch", "tpcds"):
        document[name] = measured(spark, name)
    RESULT.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))
    spark.stop()


def measured(spark: object, name: str) -> dict[str, object]:
    import sqlglot

    from compiler.tpc import open_benchmark, sources_of, texts_of
    from grebe.engine.spark_judge import Judge
    from grebe.errors import GrebeError

    connection = open_benchmark(name, 0)
    relations = {
        (table,): tuple((column, spark_type(kind)) for column, kind in relation.columns)
        for table, relation in sources_of(connection).items()
    }
    judged: dict[int, float] = {}
    other: dict[int, float] = {}
    asked: dict[int, int] = {}
    kept, refused, warm = 0, [], 0
    for number, duck in texts_of(connection, name).items():
        text = sqlglot.transpile(duck, read="duckdb", write="spark")[0]
        used = {parts: columns for parts, columns in relations.items() if parts[0] in text}
        try:
            judge = Judge(text, spark, used)  # type: ignore[arg-type]
            meaning = judge.meaning()
        except GrebeError:
            refused.append(number)  # Spark does not accept it
            continue
        warm += 1
        if warm <= WARM:
            Judge(text, spark, used).meaning()  # type: ignore[arg-type]
        kept += bool(meaning.kept or meaning.reasons)
        asked[number] = judge.asked
        judged[number] = best(lambda t=text, u=used: Judge(t, spark, u).meaning())  # type: ignore[misc]
        other[number] = best(lambda t=text, u=used: rest(spark, t, u))  # type: ignore[misc]
    worst = max(judged, key=judged.__getitem__)
    return {
        "queries": len(judged),
        "not_accepted_by_spark": refused,
        "not_the_same_at_once": kept,
        "questions_median": median(asked.values()),
        "judged_median": round(median(judged.values()), 1),
        "judged_worst": round(judged[worst], 1),
        "judged_worst_query": worst,
        "other_median": round(median(other.values()), 1),
        "other_worst": round(max(other.values()), 1),
    }


def rest(
    spark: object, text: str, used: dict[tuple[str, ...], tuple[tuple[str, str], ...]]
) -> None:
    """Lowering, types and the plan, as they were before texts were judged."""
    from grebe.compiler.lower import Relation, lower
    from grebe.compiler.plan.strategy import make_plan
    from grebe.engine.compile_view import Analysis
    from grebe.engine.compiled_view import Used

    sources = {parts[0]: Relation(parts[0], columns) for parts, columns in used.items()}
    schemas = {
        parts[0]: [Used(name, place, kind) for place, (name, kind) in enumerate(columns)]
        for parts, columns in used.items()
    }
    analysis = Analysis(text, spark, {}, schemas)  # type: ignore[arg-type]
    lowered = lower(text, dialect="spark", sources=sources)
    plan = make_plan(lowered, analysis.types(lowered.root))
    if lowered.root is not None:
        analysis.columns(plan.definition)
        analysis.columns(plan.build)


def best(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return min(taken) * 1000


def spark_type(kind: str) -> str:
    return kind.replace("VARCHAR", "STRING").replace("INTEGER", "INT")


if __name__ == "__main__":
    main()
