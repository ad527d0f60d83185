"""Two refreshes of one project at once: no error but "already running", and no work done twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import postgres
from grebe.api import Project
from grebe.api.results import Results
from grebe.errors import LeaseHeldError
from grebe.model import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from evidence import LongRun


@pytest.fixture(scope="module", name="postgres")
def a_server() -> Iterator[str]:
    """The URL of a server of our own."""
    with postgres.server() as server:
        yield server.get_uri()


def prepared(folder: Path, spark: SparkSession | None, url: str | None) -> None:
    """A project with three views, built."""
    (folder / "views").mkdir(parents=True)
    (folder / "views" / "a.sql").write_text("SELECT k, SUM(x) AS total FROM t GROUP BY k")
    (folder / "views" / "b.sql").write_text("SELECT id, x FROM t WHERE x > 5")
    (folder / "views" / "c.sql").write_text("SELECT total FROM a WHERE total > 1")
    registry = f'[registry]\nurl = "{url}"\n' if url else ""
    (folder / "grebe.toml").write_text(registry)
    with Project.open(folder, spark=spark) as project:
        project.sql("CREATE NAMESPACE lake.main").collect()
        project.sql("CREATE TABLE lake.main.t (id INT, k STRING, x INT) USING iceberg").collect()
        project.sql("INSERT INTO lake.main.t VALUES (1, 'a', 10), (2, 'b', 20)").collect()
        assert not project.refresh().failed


VIEWS = ["lake.main.a", "lake.main.b", "lake.main.c"]


def runs_that_wrote(project: Project) -> Counter[str]:
    """By view, how many runs say that they changed rows of it."""
    return Counter(run.view for run in project.registry.runs(limit=None) if run.counts.rows_out)


def commits_of(project: Project) -> dict[str, int]:
    """By view, how many runs its own table holds: those that changed rows or the frontier."""
    found = {}
    for name, view in project.written().items():
        assert view.facts is not None
        assert view.facts.storage is not None
        found[name] = project.sql(
            "SELECT DISTINCT summary['grebe.run'] AS run"
            f" FROM {view.facts.storage.quoted()}.snapshots WHERE summary['grebe.run'] IS NOT NULL"
        ).count()
    return found


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_of_two_threads_one_works_and_one_is_told(
    kind: str, spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres") if kind == "postgresql" else None
    prepared(tmp_path, spark, url)
    found: list[Results] = []
    barrier = threading.Barrier(2)

    def refresh() -> None:
        with Project.open(tmp_path, spark=spark) as project:
            barrier.wait()
            found.append(project.refresh())

    with Project.open(tmp_path, spark=spark) as project:
        project.sql("INSERT INTO lake.main.t VALUES (3, 'a', 5), (4, 'c', 7)").collect()
        before, commits = runs_that_wrote(project), commits_of(project)
        threads = [threading.Thread(target=refresh) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        work = [item for results in found for item in results if item.rows_out]
        assert sorted(str(item.view) for item in work) == VIEWS
        assert runs_that_wrote(project) - before == Counter(VIEWS)
        assert {
            name: n - commits[name] for name, n in commits_of(project).items()
        } == dict.fromkeys(VIEWS, 1)
        for results in found:
            for item in results.failed:
                codes = {reason.code for reason in item.reasons}
                assert codes <= {LeaseHeldError.code, "upstream-failed"}, item
        for view in project.views():
            view.verify()
        assert {item.outcome for item in project.refresh()} == {Outcome.NO_OP}


@pytest.mark.races
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_processes_at_once(
    kind: str, tmp_path: Path, long_run: LongRun, request: pytest.FixtureRequest
) -> None:
    """The command itself, twice, as two schedulers would call it."""
    url = request.getfixturevalue("postgres") if kind == "postgresql" else None
    command = [sys.executable, "-m", "grebe", "-C", str(tmp_path), "-q"]
    prepared(tmp_path, None, url)
    for seed in long_run.seeds():
        with Project.open(tmp_path) as project:
            project.sql(f"INSERT INTO lake.main.t VALUES ({10 + seed}, 'k{seed % 3}', 9)").collect()
            before, commits = runs_that_wrote(project), commits_of(project)
        both = [
            subprocess.Popen([*command, "refresh", "-o", "json"], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        answers = [json.loads(process.communicate()[0]) for process in both]
        wrote = [item["view"] for answer in answers for item in answer if item["rows_out"]]
        assert sorted(wrote) == VIEWS, answers
        for process, answer in zip(both, answers, strict=True):
            failed = [item for item in answer if item["outcome"] == "failed"]
            assert process.returncode == (1 if failed else 0)
            for item in failed:
                codes = {reason["code"] for reason in item["reasons"]}
                assert codes <= {"lease-held", "upstream-failed"}, item
        with Project.open(tmp_path) as project:  # by the journal, and by the tables themselves
            assert runs_that_wrote(project) - before == Counter(VIEWS)
            assert {
                name: n - commits[name] for name, n in commits_of(project).items()
            } == dict.fromkeys(VIEWS, 1)
        done = subprocess.run([*command, "verify"], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done
        long_run.add(pairs=1)
