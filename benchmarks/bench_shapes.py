"""Ordinary views over one table of events, refreshed after small changes all over it, against recomputing them.

    python -m benchmarks.bench_shapes [--set dashboards] [--rows 400000] [--share 0.001] [--rounds 3]
        [--small-steps auto] [--alone]

`dashboards` are eleven views that stand together; `shapes` are one view per operator and way of writing.
A round changes the tables, then refreshes the views and their twins, the sides in changing order;
afterwards both are verified. Processor seconds are those of this process and of Java together. With `--alone`
each view of a set is refreshed in a run of its own, so that each has its figures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.bench_refresh import prepared
from benchmarks.eventlog import Work, measured
from grebe.model import Outcome, Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from grebe.engine.engine import Engine

RESULTS = Path(__file__).parent / "results"
TWIN = "_full"
PLACES = "PARTITION BY day ORDER BY amount DESC, id"
DASHBOARDS = {
    "daily": "SELECT day, COUNT(*) AS n, SUM(amount) AS total FROM events GROUP BY day",
    "people": "SELECT day, COUNT(DISTINCT person) AS people FROM events GROUP BY day",
    "top": "SELECT day, id, person, amount, place FROM (SELECT day, id, person, amount, ROW_NUMBER() OVER"
    f" ({PLACES}) AS place FROM events) AS ranked WHERE place <= 10",
    "latest": "SELECT person, id, at, kind, amount FROM (SELECT person, id, at, kind, amount, ROW_NUMBER()"
    " OVER (PARTITION BY person ORDER BY at DESC, id DESC) AS place FROM events) AS ranked WHERE place = 1",
    "totals": "SELECT u.person, u.plan, COUNT(e.id) AS n, SUM(e.amount) AS total FROM users AS u"
    " LEFT JOIN events AS e ON e.person = u.person GROUP BY u.person, u.plan",
    "flags": "SELECT u.person, u.name, EXISTS (SELECT 1 FROM events AS e WHERE e.person = u.person"
    " AND e.kind = 'refund') AS refunded FROM users AS u",
    "medians": "SELECT person, PERCENTILE(amount, 0.5) AS middle FROM events GROUP BY person",
    "running": "SELECT day, total, SUM(total) OVER (PARTITION BY YEAR(day), MONTH(day) ORDER BY day"
    " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far FROM daily{twin}",
    "wide": "SELECT e.id, e.day, e.kind, e.amount, u.name, u.plan, u.country FROM events AS e"
    " JOIN users AS u ON u.person = e.person WHERE e.kind = 'refund'",
    "plans": "SELECT u.plan, e.day, COUNT(*) AS n, SUM(e.amount) AS total FROM events AS e"
    " JOIN users AS u ON u.person = e.person GROUP BY u.plan, e.day",
    "kinds": "SELECT person, kind, COUNT(*) AS n, MIN(amount) AS least, MAX(amount) AS most,"
    " MAX(at) AS last FROM events GROUP BY person, kind",
}
SHAPES = {
    "append": "SELECT id, person, amount FROM events WHERE kind = 'refund'",
    "groups": "SELECT person, COUNT(*) AS n, SUM(amount) AS total FROM events GROUP BY person",
    "extremes": "SELECT person, MIN(amount) AS low, MAX(amount) AS high FROM events GROUP BY person",
    "distinct": "SELECT DISTINCT person, kind FROM events",
    "counted": "SELECT person, COUNT(DISTINCT day) AS days FROM events GROUP BY person",
    "percentile": "SELECT person, PERCENTILE(amount, 0.5) AS middle FROM events GROUP BY person",
    "filtered": "SELECT person, SUM(amount) FILTER (WHERE kind = 'buy') AS bought FROM events GROUP BY person",
    "having": "SELECT person, COUNT(*) AS n FROM events GROUP BY person HAVING COUNT(*) > 90",
    "joined": "SELECT e.id, u.name FROM events AS e JOIN users AS u ON u.person = e.person"
    " WHERE e.kind = 'refund'",
    "left": "SELECT u.person, e.id FROM users AS u LEFT JOIN events AS e ON e.person = u.person"
    " AND e.kind = 'refund'",
    "exists": "SELECT person, name FROM users AS u WHERE EXISTS (SELECT 1 FROM events AS e"
    " WHERE e.person = u.person AND e.kind = 'refund')",
    "not exists": "SELECT person, name FROM users AS u WHERE NOT EXISTS (SELECT 1 FROM events AS e"
    " WHERE e.person = u.person AND e.kind = 'refund')",
    "not in": "SELECT person, name FROM users WHERE person NOT IN"
    " (SELECT person FROM events WHERE kind = 'refund')",
    "mark": "SELECT person, EXISTS (SELECT 1 FROM events AS e WHERE e.person = u.person"
    " AND e.kind = 'refund') AS refunded FROM users AS u",
    "scalar": "SELECT person, (SELECT MAX(amount) FROM events AS e WHERE e.person = u.person) AS most"
    " FROM users AS u",
    "union": "SELECT person FROM events WHERE kind = 'refund' UNION SELECT person FROM users"
    " WHERE plan = 'free'",
    "except": "SELECT person FROM users EXCEPT SELECT person FROM events WHERE kind = 'refund'",
    "window": f"SELECT id, ROW_NUMBER() OVER ({PLACES}) AS place FROM events",
    "running": "SELECT id, SUM(amount) OVER (PARTITION BY person ORDER BY at, id"
    " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far FROM events",
}
SETS = {"dashboards": DASHBOARDS, "shapes": SHAPES}
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Side:
    """What one side of a round cost."""

    work: Work
    statements: int = 0
    processor: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=list(SETS), default="dashboards")
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--share", type=float, default=0.001)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--alone", action="store_true", help="each view in a run of its own")
    parser.add_argument("--small-steps", choices=("auto", "spark"), default="auto")
    parser.add_argument("--folder", type=Path, default=Path(".cache/bench"))
    options = parser.parse_args()
    os.environ["GREBE_REFRESH__SMALL_STEPS"] = options.small_steps
    folder = options.folder.absolute() / f"shapes-{options.rows}-{options.small_steps}"
    log = folder / "events"
    engine = prepared(folder, log)
    make(engine.spark, options.rows)
    texts = {n: t for n, t in SETS[options.set].items() if not options.only or n in options.only}
    names = define(engine, texts, "", Policy.INCREMENTAL)
    twins = define(engine, texts, TWIN, Policy.FULL)
    succeeded(engine.refresh([*names, *twins], jobs=options.jobs))
    runs = [[name] for name in names] if options.alone else [names]
    sides: dict[str, list[tuple[Side, Side]]] = {}
    whole: dict[str, list[str]] = {}
    for turn in range(options.rounds + 1):
        change(engine.spark, options.rows, options.share, turn)
        for run in runs:
            both = compared(engine, log, run, turn, options.jobs, whole)
            if turn:  # the first round warms both sides
                sides.setdefault(" ".join(run), []).append(both)
        for name in names:
            engine.verify(name)
    write(options, sides, whole, len(names) * (options.rounds + 1))


def compared(
    engine: Engine, log: Path, run: list[str], turn: int, jobs: int, whole: dict[str, list[str]]
) -> tuple[Side, Side]:
    """What a run and that of its twins cost; ``whole`` is told why steps were left to Spark."""
    sides = {False: run, True: [f"{name}{TWIN}" for name in run]}
    found: dict[bool, Side] = {}
    for full in (False, True) if turn % 2 else (True, False):
        with costs(engine.spark, log) as side:
            results = engine.refresh(sides[full], jobs=jobs)
        found[full] = side
        succeeded(results)
        if not full:
            whole |= {r.view.name: left(r.steps) for r in results}
    return found[False], found[True]


def write(
    options: argparse.Namespace,
    sides: dict[str, list[tuple[Side, Side]]],
    whole: dict[str, list[str]],
    verified: int,
) -> None:
    """The report, printed and kept."""
    report = {
        "set": options.set,
        "rows": options.rows,
        "share": options.share,
        "small_steps": options.small_steps,
        "load": round(os.getloadavg()[0], 1),
        "verified": verified,
        "runs": {name: line(items) for name, items in sides.items()},
        "left_to_spark": {name: why for name, why in whole.items() if why},
    }
    text = json.dumps(report, indent=2)
    print(text, flush=True)
    RESULTS.mkdir(exist_ok=True)
    ending = f"{options.set}-{options.rows}-{options.share:g}-{options.small_steps}"
    (RESULTS / f"shapes-{ending}.json").write_text(text + "\n")


def line(items: Sequence[tuple[Side, Side]]) -> dict[str, Any]:
    """The medians of some rounds."""

    def middle(place: int, value: Any) -> float:  # noqa: ANN401
        return statistics.median(value(item[place]) for item in items)

    fast, slow = (middle(place, lambda side: side.processor) for place in range(2))
    return {
        "processor": round(fast, 2),
        "full_processor": round(slow, 2),
        "ratio": round(fast / slow, 3),
        "seconds": round(middle(0, lambda side: side.work.seconds), 2),
        "full_seconds": round(middle(1, lambda side: side.work.seconds), 2),
        "statements": middle(0, lambda side: side.statements),
        "full_statements": middle(1, lambda side: side.statements),
        "jobs": middle(0, lambda side: side.work.jobs),
        "full_jobs": middle(1, lambda side: side.work.jobs),
        "rows_read": middle(0, lambda side: side.work.rows_read),
        "full_rows_read": middle(1, lambda side: side.work.rows_read),
    }


def left(steps: Any) -> list[str]:  # noqa: ANN401
    """Why steps were left to Spark."""
    return sorted({step.why for step in steps if step.why})


def succeeded(results: Any) -> None:  # noqa: ANN401
    failed = {
        str(r.view): str(r.error or r.reasons) for r in results if r.outcome is Outcome.FAILED
    }
    assert not failed, failed


def define(engine: Engine, texts: dict[str, str], ending: str, policy: Policy) -> list[str]:
    names = []
    for name, text in texts.items():
        view = f"{name.replace(' ', '_')}{ending}"
        engine.define(view, text.format(twin=ending), policy)
        names.append(view)
    return names


EVENT = (
    "id, CAST(pmod(xxhash64(id, {seed}), {users}) AS BIGINT) AS person,"
    " DATE'2026-01-01' + CAST(pmod(xxhash64(id, 1), 365) AS INT) AS day,"
    " TIMESTAMP'2026-01-01 00:00:00' + make_dt_interval(0, 0, 0, pmod(xxhash64(id, 2), 31536000)) AS at,"
    " element_at(array('view', 'view', 'view', 'click', 'buy', 'refund'),"
    " CAST(pmod(xxhash64(id, 3), 6) AS INT) + 1) AS kind,"
    " CAST(pmod(xxhash64(id, 4), 100000) / 100 AS DECIMAL(10,2)) AS amount"
)


def make(spark: SparkSession, rows: int) -> None:
    users = max(1, rows // 80)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
    for name in ("events", "users"):
        spark.sql(f"DROP TABLE IF EXISTS lake.bench.{name} PURGE")
    properties = (
        "TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read',"
        " 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')"
    )
    spark.sql(
        f"CREATE TABLE lake.bench.events USING iceberg {properties} AS"
        f" SELECT {EVENT.format(seed=0, users=users)} FROM range(0, {rows}, 1, 4)"
    )
    spark.sql(
        f"CREATE TABLE lake.bench.users USING iceberg {properties} AS SELECT id AS person,"
        " concat('person ', id) AS name, element_at(array('free', 'pro', 'team'),"
        " CAST(id % 3 AS INT) + 1) AS plan, concat('c', id % 40) AS country"
        f" FROM range(0, {users}, 1, 1)"
    )


def change(spark: SparkSession, rows: int, share: float, turn: int) -> None:
    """A third of the changed rows come, a third go, a third are others."""
    third = max(1, int(rows * share / 3))
    every = max(1, rows // third)
    first = rows + turn * third
    users = max(1, rows // 80)
    spark.sql(
        f"INSERT INTO lake.bench.events SELECT {EVENT.format(seed=0, users=users)}"
        f" FROM range({first}, {first + third})"
    )
    spark.sql(f"DELETE FROM lake.bench.events WHERE id % {every} = {turn * 2} AND id < {rows}")
    spark.sql(
        f"UPDATE lake.bench.events SET amount = amount + 1 WHERE id % {every} = {turn * 2 + 1}"
        f" AND id < {rows}"
    )
    spark.sql(f"UPDATE lake.bench.users SET plan = 'pro' WHERE person % 2000 = {turn}")


@contextmanager
def costs(spark: SparkSession, log: Path) -> Iterator[Side]:
    """Counts statements, jobs, rows and processor time of the block."""
    from pyspark.sql import SparkSession as Session

    run = Session.sql
    side = Side(Work())

    def counted(self: SparkSession, *given: Any, **options: Any) -> Any:  # noqa: ANN401
        side.statements += 1
        return run(self, *given, **options)

    Session.sql = counted  # type: ignore[assignment, method-assign]
    try:
        with measured(spark, log) as work:
            side.work = work
            begun = processor_seconds()
            yield side
            side.processor = processor_seconds() - begun
    finally:
        Session.sql = run  # type: ignore[method-assign]


def processor_seconds() -> float:
    """Of this process and of every process below it."""
    return sum(_of_process(number) for number in (os.getpid(), *_below(os.getpid())))


def _below(parent: int) -> list[int]:
    above: dict[int, int] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                above[int(place.name)] = int(fields[1])
    found = [parent]
    for number in found:
        found += [child for child, owner in above.items() if owner == number]
    return found[1:]


def _of_process(number: int) -> float:
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
