"""A real cluster of two workers, started from the pip package: a run outlives an executor."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from evidence import LongRun
from grebe.spark.java import find_java

TESTS = Path(__file__).resolve().parent.parent
WORKERS = 2

pytestmark = pytest.mark.cluster


def environment() -> dict[str, str]:
    import pyspark

    return {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "JAVA_HOME": str(find_java("auto").home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": f"{TESTS}:{TESTS.parent}:{TESTS.parent / 'src'}",
    }


@contextmanager
def daemon(name: str, *arguments: str, ready: str) -> Iterator[None]:
    """A master or a worker, from the moment it says that it is ready until the end."""
    env = environment() | {"SPARK_LOCAL_IP": arguments[1]}
    program = Path(env["SPARK_HOME"]) / "bin" / "spark-class"
    with subprocess.Popen(
        [program, f"org.apache.spark.deploy.{name}", *arguments],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            assert any(ready in line for line in process.stderr), f"{name} said nothing"
            # What it says later must go somewhere, or it would wait for a reader.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield
        finally:
            process.kill()


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        host, web = ("--host", "127.0.0.1"), ("--webui-port", "0")
        stack.enter_context(
            daemon("master.Master", *host, *web, "--port", str(port), ready="New state: ALIVE")
        )
        for number in range(WORKERS):
            work = str(folder / f"worker{number}")
            # Two machines, as far as Spark can see: it starts no task twice on one.
            host = ("--host", f"127.0.0.{number + 1}")
            limits = (*web, "--cores", "1", "--memory", "1g", "--work-dir", work)
            stack.enter_context(
                daemon("worker.Worker", *host, *limits, master, ready="Successfully registered")
            )
        yield master


def on_cluster(folder: Path, fault: str) -> list[str]:
    """What the program says that runs on a cluster while something happens to it."""
    folder.mkdir()
    with cluster(folder) as master:
        done = subprocess.run(
            [sys.executable, "-m", "engine.on_cluster", str(folder), master, fault],
            cwd=TESTS,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_graph_of_views_outlives_an_executor(tmp_path: Path, long_run: LongRun) -> None:
    for seed in long_run.seeds():
        lines = on_cluster(tmp_path / str(seed), "killed")
        assert lines == ["False full", "False incremental", "killed 1", "False incremental"]
        long_run.add(refreshes=15, executors_killed=1)


def test_tasks_that_are_started_twice_write_their_rows_once(
    tmp_path: Path, long_run: LongRun
) -> None:
    for seed in long_run.seeds():
        *lines, twice = on_cluster(tmp_path / str(seed), "twice")
        assert lines == ["False full", "False incremental", "False incremental"]
        word, tasks = twice.split()
        assert word == "twice"
        assert int(tasks) > 0
        long_run.add(refreshes=15, tasks_started_twice=int(tasks))
