"""How long compiling takes: the median and the worst of TPC-H and TPC-DS, into a JSON file.

python -m benchmarks.compile
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

RESULT = ROOT / "benchmarks" / "results" / "compile.json"
REPEATS = 3


def main() -> None:
    from compiler.laws.benchmarks import changing
    from compiler.laws.engine import Database
    from compiler.laws.plans import schemas
    from compiler.tpc import texts_of

    document: dict[str, object] = {"unit": "milliseconds of processor time, best of 3"}
    for name, scale in (("tpch", 0.01), ("tpcds", 0.01)):
        database: Database = changing(name, scale, 0)
        sources = schemas(database)
        times = {
            number: timed(text, sources, database)
            for number, text in texts_of(database.connection, name).items()
        }
        worst = max(times, key=times.__getitem__)
        document[name] = {
            "queries": len(times),
            "median": round(median(times.values()), 1),
            "worst": round(times[worst], 1),
            "worst_query": worst,
        }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


def timed(text: str, sources: object, database: object) -> float:
    """Text to plan, without the engine's share (the types are asked for beforehand)."""
    from grebe.compiler.lower import lower
    from grebe.compiler.plan.strategy import make_plan

    one = lower(text, dialect="duckdb", sources=sources)
    types = database.types_of(one.root)
    taken = []
    for _ in range(REPEATS):
        begun = time.process_time()
        make_plan(lower(text, dialect="duckdb", sources=sources), types)
        taken.append(time.process_time() - begun)
    return min(taken) * 1000


if __name__ == "__main__":
    main()
