"""What streams cost beside bare appends of the same rows by delta-rs, in the same run.

python -m benchmarks.bench_streams [batch | sustained | webhook | isolation | restart | many]

Without a word all of them. `BENCH_BATCHES` says how many batches `many` stores (10,000). Every row has the
load of the machine when it was measured. Results: benchmarks/results/streams.json.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import grebe
from grebe.api import Project
from grebe.project.stream_views import writer_of

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "streams.json"
EXAMPLE = ROOT / "examples" / "tail"
WARM = 20


def tail_events(count: int, first: int = 0) -> list[dict[str, Any]]:
    """Events as a tail worker sends them."""
    return [
        {
            "scriptName": f"script-{number % 7}",
            "outcome": "ok" if number % 10 else "exception",
            "eventTimestamp": 1763600000000 + number,
            "event": {
                "request": {
                    "method": "GET",
                    "url": f"https://api.example/orders/{number}?page=2",
                    "headers": {"cf-ray": f"{number:x}"},
                    "cf": {"colo": "OSL", "country": "NO"},
                },
                "response": {"status": 200},
            },
            "logs": [{"level": "log", "message": ["order", number], "timestamp": 1763600000000}],
            "exceptions": [] if number % 10 else [{"name": "TypeError", "message": "x"}],
        }
        for number in range(first, first + count)
    ]


@contextmanager
def opened() -> Iterator[Project]:
    """A project with the three views of the example."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "grebe.toml").write_text((EXAMPLE / "grebe.toml").read_text())
        with grebe.open(folder) as project:
            for name in ("logs", "errors", "requests"):
                spec = json.loads((EXAMPLE / "views" / f"{name}.json").read_text())
                project.define_stream_view(spec)
            yield project


def bare_append(project: Project, folder: str, count: int) -> Callable[[], float]:
    """Three appends by delta-rs of the rows that the views hold, to tables of their own."""
    from deltalake import DeltaTable, write_deltalake

    tables = []
    for view in project.views():
        writer = writer_of(project.workspace, project.workspace.named(view.name))
        rows = writer.table.rows([*dict(writer.definition.columns), "__grebe_batch"]).slice(
            0, count
        )
        path = f"{folder}/{view.name.name}"
        DeltaTable.create(path, rows.schema)
        tables.append((DeltaTable(path), rows))

    def append() -> float:
        begun = time.perf_counter()
        for table, rows in tables:
            write_deltalake(table, rows, mode="append")
        return time.perf_counter() - begun

    return append


def times(run: Callable[[int], float], count: int) -> dict[str, float]:
    for number in range(WARM):
        run(number)
    found = sorted(run(number + WARM) for number in range(count))
    return {"p50": round(median(found) * 1000, 1), "least": round(found[0] * 1000, 1)}


def batch() -> dict[str, Any]:
    with opened() as project, tempfile.TemporaryDirectory() as folder:

        def ingest(number: int) -> float:
            events = tail_events(100, number * 100)
            begun = time.perf_counter()
            project.ingest("tail", events, batch=f"b{number}")
            return time.perf_counter() - begun

        ours = times(ingest, 60)
        append = bare_append(project, folder, 100)
        bare = times(lambda _: append(), 60)
        return {"ours_ms": ours, "bare_ms": bare, "ratio": round(ours["p50"] / bare["p50"], 2), "started_spark": project.workspace.engine.started is not None}  # fmt: skip


def sustained() -> dict[str, Any]:
    with opened() as project:
        parts = [tail_events(1000, number * 1000) for number in range(20)]
        project.ingest("tail", parts[0], batch="warm")
        begun = time.perf_counter()
        for number, part in enumerate(parts[1:]):
            project.ingest("tail", part, batch=f"b{number}")
        return {"events_per_second": round(19_000 / (time.perf_counter() - begun))}


def webhook() -> dict[str, Any]:
    import httpx

    from grebe.web.served import Served
    from grebe.web.server import Server, bind

    with opened() as project, Server(Served(project), bind("127.0.0.1", 0)) as server:
        url = "http://{}:{}/streams/tail".format(*server.address)
        with httpx.Client(timeout=60) as client:

            def post(number: int) -> float:
                events = tail_events(20, number * 20)
                begun = time.perf_counter()
                client.post(url, json=events, headers={"idempotency-key": f"k{number}"}).raise_for_status()  # fmt: skip
                return time.perf_counter() - begun

            one = times(post, 60)

        def send(who: int) -> None:
            with httpx.Client(timeout=60) as own:
                for number in range(20):
                    own.post(
                        url, json=tail_events(20, (who * 100 + number) * 20)
                    ).raise_for_status()

        threads = [threading.Thread(target=send, args=[who]) for who in range(8)]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rate = round(8 * 20 * 20 / (time.perf_counter() - begun))
    with opened() as project, tempfile.TemporaryDirectory() as folder:
        project.ingest("tail", tail_events(20), batch="a")
        append = bare_append(project, folder, 20)
        bare = times(lambda _: append() / 3, 60)
    return {"one_client_ms": one, "bare_ms": bare, "ratio": round(one["p50"] / bare["p50"], 2), "eight_clients_events_per_second": rate}  # fmt: skip


def isolation() -> dict[str, Any]:
    from grebe.streams.callables import load_functions
    from grebe.streams.definition import declared_stream
    from grebe.streams.event_text import text_of_event
    from grebe.streams.isolate import IsolatedProcess, OwnProcess

    spec = json.loads((EXAMPLE / "views" / "requests.json").read_text())
    spec |= {"$transform": "tail_views:requests", "$filter": "tail_views:asked"}
    said = declared_stream(spec)
    given = [(text_of_event(event), f"0:{n}") for n, event in enumerate(tail_events(1000))]
    here = OwnProcess(said, load_functions(said, str(EXAMPLE)))
    there = IsolatedProcess(said, str(EXAMPLE))

    def timed(maker: IsolatedProcess | OwnProcess) -> Callable[[int], float]:
        def run(_: int) -> float:
            begun = time.perf_counter()
            maker.rows(given)
            return time.perf_counter() - begun

        return run

    try:
        one, two = times(timed(here), 30), times(timed(there), 30)
    finally:
        there.close()
    return {"in_process_ms": one, "worker_ms": two, "ratio": round(two["p50"] / one["p50"], 2)}


def restart() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "grebe.toml").write_text((EXAMPLE / "grebe.toml").read_text())
        spec = {"$type": "Keys", "$stream": "keys", "$schema": {"id": "string!"}, "$key": "id"}
        with grebe.open(folder) as project:
            project.define_stream_view(spec)
            for number in range(100):
                events = [{"id": f"{number}-{place}"} for place in range(10_000)]
                from grebe.project.stream_views import ingest_into

                view = project.workspace.named("Keys")
                ingest_into(project.workspace, view, events, batch=f"b{number}", size=10_000)
        begun, worked = time.perf_counter(), time.process_time()
        with grebe.open(folder) as project:
            done = project.ingest_stream("Keys", [{"id": "5-5"}, {"id": "new"}])
            took = time.perf_counter() - begun
        return {"keys": 1_000_000, "batches": 100, "seconds": round(took, 2), "processor_seconds": round(time.process_time() - worked, 2), "rows": done.rows}  # fmt: skip


def many() -> dict[str, Any]:
    count = int(os.environ.get("BENCH_BATCHES", "10000"))
    spec = {"$type": "Many", "$stream": "many", "$schema": {"id": "string!", "n": "int"}}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "grebe.toml").write_text((EXAMPLE / "grebe.toml").read_text())
        with grebe.open(folder) as project:
            view = project.define_stream_view(spec)
            found = []
            for number in range(count):
                events = [{"id": f"{number}-{place}", "n": place} for place in range(20)]
                begun = time.perf_counter()
                project.ingest_stream(view, events, batch=f"b{number}")
                found.append(time.perf_counter() - begun)
            writer = writer_of(project.workspace, project.workspace.named("Many"))
            files = len(list(Path(folder).rglob("*.parquet")))
            first, last = median(found[20:120]) * 1000, median(found[-100:]) * 1000
            rows = writer.table.rows(["id"]).num_rows
            return {"batches": count, "first_100_ms": round(first, 1), "last_100_ms": round(last, 1), "ratio": round(last / first, 2), "rows": rows, "files_on_disk": files}  # fmt: skip


WORK = {
    "batch": batch,
    "sustained": sustained,
    "webhook": webhook,
    "isolation": isolation,
    "restart": restart,
    "many": many,
}


def main() -> None:
    for name in sys.argv[1:] or list(WORK):
        load = round(os.getloadavg()[0], 1)
        document = json.loads(RESULT.read_text()) if RESULT.exists() else {}
        document[name] = {**WORK[name](), "load": load}
        RESULT.write_text(json.dumps(document, indent=1) + "\n")
        print(name, json.dumps(document[name]))


if __name__ == "__main__":
    main()
