"""The same promises on catalogs that are services of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from evidence import LongRun
from formats.commit.catalogs import postgres_catalog, rest_catalog
from formats.commit.client import Client
from formats.commit.lake import CATALOG, NAMESPACE, Barrier, Lake, Server
from formats.commit.test_crash import KINDS, PLACES, killed_at
from formats.commit.test_position import append, compact, expire, unchanged
from formats.commit.test_races import PLACES as PAUSES
from formats.commit.test_races import Arena, after, compacted_commit
from grebe.formats.iceberg.history import SparkReader
from grebe.formats.iceberg.storage import IcebergStorage

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

CATALOGS: dict[str, Callable[[Path], AbstractContextManager[str]]] = {
    "rest": rest_catalog,
    "postgres": postgres_catalog,
}


@pytest.fixture(scope="module", params=CATALOGS)
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Lake]]:
    folder = tmp_path_factory.mktemp(request.param)
    with CATALOGS[request.param](folder) as settings:
        (folder / "grebe.toml").write_text(
            f'[catalogs.{CATALOG}]\nformat = "iceberg"\n{settings}', encoding="utf-8"
        )
        server = Server(folder)
        server.start()
        session = server.connect()
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{NAMESPACE}").collect()
        yield server, Lake(folder, session)
        session.stop()
        server.kill()


@pytest.fixture(scope="module")
def writers(site: tuple[Server, Lake]) -> Iterator[tuple[Client, Client]]:
    server, _ = site
    started = (
        Client.start(server.folder, server.url),
        Client.start(server.folder, server.url),
    )
    yield started
    for writer in started:
        writer.kill()


@pytest.mark.parametrize("place", PAUSES.values(), ids=PAUSES)
def test_exactly_one_of_two_writers_wins(
    site: tuple[Server, Lake],
    writers: tuple[Client, Client],
    barrier: Barrier,
    place: str,
    long_run: LongRun,
) -> None:
    lake = site[1]
    arena = Arena(lake, writers, barrier, lake.create())
    for seed in long_run.seeds():
        for number in range(6):
            arena.race(place, seed * 6 + number)
            long_run.add(races=1)


def test_kills_between_any_two_steps(site: tuple[Server, Lake], long_run: LongRun) -> None:
    server, lake = site
    for seed in long_run.seeds():
        for place in PLACES:
            writer = Client.start(server.folder, server.url)
            killed_at(lake.create(), writer, place, KINDS[seed % len(KINDS)])
            long_run.add(kills=1)


def test_maintenance_leaves_the_position_intact(site: tuple[Server, Lake]) -> None:
    table = site[1].create()
    append(table, "r1", [1, "a", 1])
    before = append(table, "r2", [2, "b", 2])
    compact(table)
    table.call("rewrite_manifests")
    expire(table)
    assert unchanged(table, before)
    by_spark = IcebergStorage(
        table.lake.session, table.name, SparkReader(table.lake.session, table.name)
    )
    assert by_spark.position() == table.storage.position()
    assert append(table, "r3", [3, "c", 3]).foreign == ()


def test_a_run_applies_itself_again_on_top_of_compaction(
    site: tuple[Server, Lake], writers: tuple[Client, Client], barrier: Barrier
) -> None:
    table = site[1].create()
    compacted_commit(table, writers[0], barrier, ["iceberg.proved"], "large")
    assert table.rows() == after("large")
