"""A stream view as the sink of Structured Streaming, and queries over stream views: with Spark."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import grebe
from grebe.api.project import Project
from grebe.config import load
from grebe.errors import RefreshError
from grebe.formats.failpoints import FailpointError
from grebe.project.stream_views import writer_of
from grebe.spark.session import open_session
from streams.test_stream_views import TOML

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
VIEW: dict[str, Any] = {
    "$type": "V",
    "$stream": "tail",
    "$schema": {"id": "string!", "n": "int!", "at": "timestamp"},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sink")
    (folder / "grebe.toml").write_text(TOML)
    return folder


@pytest.fixture(scope="module")
def session(home: Path) -> Iterator[SparkSession]:
    opened = open_session(load(home))
    yield opened
    opened.stop()


@pytest.fixture
def project(home: Path, session: SparkSession) -> Iterator[Project]:
    with grebe.open(home, spark=session) as opened:
        yield opened
        for view in reversed(opened.views()):
            if str(view.name) in opened.written():
                opened.drop(view.name, cascade=True)


def write(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"id": f"{number}-{n}", "n": n}) for n in range(10)]
    (folder / f"{number}.json").write_text("\n".join(lines))


def run(session: SparkSession, sink: Any, source: Path, checkpoint: Path) -> None:
    """One pass over what is there."""
    query = (
        session.readStream.schema("value STRING")
        .option("maxFilesPerTrigger", 1)
        .text(str(source))
        .writeStream.foreachBatch(sink)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def ids(project: Project) -> Counter[str]:
    rows = writer_of(project.workspace, project.workspace.named("V")).table.rows(["id"]).to_pylist()
    return Counter(row["id"] for row in rows)


def test_rows_are_exact_where_a_plain_append_doubles(
    project: Project, session: SparkSession, tmp_path: Path
) -> None:
    view = project.define_stream_view(VIEW)
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    for number in range(4):
        write(source, number)
    sink, plain = view.sink(str(checkpoint)), []
    stops = {1, 3}

    def both(rows: Any, number: int) -> None:
        plain.extend(row[0] for row in rows.collect())  # what an append without identity does
        sink(rows, number)
        if number in stops:  # between the commit and the checkpoint
            stops.remove(number)
            raise FailpointError("killed")

    for _ in range(3):
        try:
            run(session, both, source, checkpoint)
        except Exception as error:
            assert "killed" in str(error)
    assert len(plain) == 60
    assert ids(project) == Counter(f"{number}-{n}" for number in range(4) for n in range(10))
    shutil.rmtree(checkpoint)
    with pytest.raises(Exception, match="was fed by another checkpoint"):
        run(session, sink, source, checkpoint)
    assert sum(ids(project).values()) == 40
    write(source, 9)
    shutil.rmtree(checkpoint)
    for number in range(4):
        (source / f"{number}.json").unlink()
    run(session, view.sink(str(checkpoint), adopt=True), source, checkpoint)
    assert sum(ids(project).values()) == 50


def test_another_checkpoint_is_told_with_its_code(project: Project, session: SparkSession, tmp_path: Path) -> None:  # fmt: skip
    view = project.define_stream_view(VIEW)
    for identity in ("one", "two"):
        (tmp_path / identity).mkdir()
        (tmp_path / identity / "metadata").write_text(json.dumps({"id": identity}))
    rows = session.createDataFrame([('{"id": "a", "n": 1}',), ("no json",)], "value STRING")
    view.sink(str(tmp_path / "one"))(rows, 0)
    view.sink(str(tmp_path / "one"))(rows, 0)
    assert len(view.dead_letters()) == 1
    with pytest.raises(RefreshError) as raised:
        view.sink(str(tmp_path / "two"))(rows, 0)
    assert raised.value.code == "checkpoint-lost"


def test_a_view_over_a_stream_stays_incremental(project: Project) -> None:
    """Late events and redrives are changes like any other: under `strict`, and equal to the text."""
    stream = project.define_stream_view(VIEW)
    events = [{"id": f"a{n}", "n": n % 3, "at": 1763600000000 + n * 20_000} for n in range(9)]
    project.ingest_stream(stream, [*events, {"id": 7, "n": 1}], batch="a")
    text = (
        "SELECT n, date_trunc('minute', at) AS minute, count(*) AS events, max(id) AS last"
        " FROM V GROUP BY n, date_trunc('minute', at)"
    )
    view = project.create_view("per_minute", text, policy="strict")

    def equal() -> None:
        assert view.verify().rows == view.read().count()
        storage = project.workspace.tables.relation(stream.status().standing.position and project.workspace.named("V").facts.storage)  # type: ignore[arg-type, union-attr]  # fmt: skip
        project.spark.sql(
            f"SELECT id, n, at FROM {storage} WHERE __grebe_dead IS NULL"
        ).createOrReplaceTempView("plain_v")
        plain = project.spark.sql(text.replace("FROM V", "FROM plain_v"))
        assert view.read().exceptAll(plain).count() == plain.exceptAll(view.read()).count() == 0

    equal()
    late = [{"id": "late", "n": 1, "at": 1763500000000}, {"id": "new", "n": 2, "at": 1763700000000}]
    project.ingest_stream(stream, late, batch="b")
    done = view.refresh()
    assert (done.outcome, done.rows_in) == ("incremental", 2)
    equal()
    mapping = {"id": {"$text": "id"}, "n": "n", "at": "at"}
    project.define_stream_view({**VIEW, "$transform": mapping}, replace=True)
    assert stream.redrive().rows == 1
    done = view.refresh()
    assert (done.outcome, done.rows_in) == ("incremental", 2)  # the letter goes, the row comes
    equal()
    assert stream.read().count() == 12
