"""What a refresh stands on gives way in the middle: disks, files, catalogs, the view itself."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.test_full_disk import fill, small_disk
from engine.shop import At, Shop
from grebe import config
from grebe.config import Settings
from grebe.engine.engine import Engine
from grebe.errors import GrebeError
from grebe.formats.iceberg import commit
from grebe.model import Outcome, Policy, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_numbers = count()

DAYS = "SELECT cust, COUNT(*) AS n FROM {s}.orders GROUP BY cust"


@pytest.fixture(scope="module")
def shop(spark: SparkSession, project: Settings) -> Shop:
    """One for all: each test ends with a view that follows its sources."""
    shop = Shop.opened(spark, project, f"below{next(_numbers)}", orders=40)
    shop.view("days", DAYS, Policy.AUTO)
    shop.refreshed()
    return shop


def change(shop: Shop) -> None:
    shop.sql(f"INSERT INTO {{s}}.orders VALUES ({1000 + next(_numbers)}, 3, 1, NULL, 0)")


def converges(shop: Shop) -> None:
    """The next run needs no recovery, and leaves out nothing of what failed."""
    assert shop.refreshed()["days"].outcome is Outcome.INCREMENTAL
    shop.equals("days", DAYS)


# --- disks and files ----------------------------------------------------------------------------


@contextmanager
def full(folder: Path, _: str) -> Iterator[None]:
    fill(folder)
    try:
        yield
    finally:
        (folder / "filler").unlink()


@contextmanager
def read_only(folder: Path, part: str) -> Iterator[None]:
    """Nothing more can be written into a folder of the storage table."""
    (target,) = folder.glob(f"s/__grebe_days_*/{part}")
    subprocess.run(["mount", "--bind", str(target), str(target)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(target)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(target)], check=True)


def test_a_disk_that_gives_out_in_the_middle_of_a_commit(
    shop: Shop, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the rows are written, and before they are published."""
    monkeypatch.setattr(commit, "PAUSES", (0.0, 0.0))
    with small_disk(tmp_path / "small", "8m") as small:
        (tmp_path / "grebe.toml").write_text(
            '[defaults]\ncatalog = "lake"\n[catalogs.lake]\nformat = "iceberg"\n'
            f'spark_catalog = "lake"\n[catalogs.small]\nformat = "iceberg"\nroot = "{small}"\n'
        )
        engine = Engine(config.load(tmp_path), shop.spark)
        engine.spark.sql("CREATE NAMESPACE small.s").collect()
        engine.define("small.s.days", DAYS.format(s=f"lake.{shop.schema}"))
        assert engine.refresh()[0].outcome is Outcome.FULL
        before = engine.spark.table("small.s.days").collect()
        change(shop)
        for place, part in (("iceberg.branched", "data"), ("iceberg.proved", "metadata")):
            for trouble in (full, read_only):
                with ExitStack() as troubles:
                    begin = trouble(small, part)
                    at(place, lambda it=begin, on=troubles: on.enter_context(it))  # type: ignore[misc]
                    (result,) = engine.refresh()
                assert result.error is not None, (place, trouble)
                assert result.error.code in ("step-failed", "unknown-outcome")
                assert "the disk is" in result.error.explain()
                assert engine.spark.table("small.s.days").collect() == before
        assert engine.refresh()[0].outcome is Outcome.INCREMENTAL
        engine.verify("small.s.days")
    converges(shop)


@contextmanager
def no_more_files() -> Iterator[None]:
    """This process can open nothing more."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    try:
        used = len([*Path("/proc/self/fd").iterdir()])
        resource.setrlimit(resource.RLIMIT_NOFILE, (used, limits[1]))
        with suppress(OSError):
            while True:
                held.append(os.dup(0))
        yield
    finally:
        for number in held:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def catalog_file(settings: Settings) -> str:
    """Where the embedded catalog keeps its tables."""
    uri = settings.catalog("lake").uri or ""
    return uri.removeprefix("jdbc:sqlite:").split("?")[0]


@contextmanager
def catalog_down(settings: Settings) -> Iterator[None]:
    """Every question to the catalog fails, Spark's and our own."""
    path = catalog_file(settings)
    with closing(sqlite3.connect(path, timeout=30, check_same_thread=False)) as catalog:
        catalog.execute("ALTER TABLE iceberg_tables RENAME TO away")
        try:
            yield
        finally:
            catalog.execute("ALTER TABLE away RENAME TO iceberg_tables")


def fails_at(shop: Shop, at: At, place: str, trouble: AbstractContextManager[None]) -> GrebeError:
    """The error of a refresh that meets trouble at a place; readers still see the old rows."""
    before = shop.rows("days")
    with ExitStack() as troubles:
        at(place, lambda: troubles.enter_context(trouble))
        (result,) = shop.engine.refresh()
    assert result.error is not None, place
    assert result.error.code != "internal", result.error.explain()
    assert shop.rows("days") == before
    return result.error


def test_a_process_that_can_open_no_more_files(shop: Shop, at: At) -> None:
    change(shop)
    for place in ("run.leased", "iceberg.branched"):
        fails_at(shop, at, place, no_more_files())
    converges(shop)


# --- catalogs -----------------------------------------------------------------------------------


def test_a_catalog_that_goes_away_during_a_refresh(
    shop: Shop, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again with growing pauses, though not for ever; a short absence does no harm."""
    change(shop)
    pauses: list[float] = []
    assert sorted(commit.PAUSES) == list(commit.PAUSES)
    monkeypatch.setattr(commit, "PAUSES", commit.PAUSES[:3])
    monkeypatch.setattr(commit, "sleep", pauses.append)
    for place in ("run.pinned", "iceberg.branched", "iceberg.proved"):
        error = fails_at(shop, at, place, catalog_down(shop.engine.settings))
        assert error.code in ("source", "step-failed", "unknown-outcome")
    assert set(commit.PAUSES) <= set(pauses)
    assert len(pauses) < 10 * len(commit.PAUSES)
    with ExitStack() as down:
        at("iceberg.proved", lambda: down.enter_context(catalog_down(shop.engine.settings)))
        monkeypatch.setattr(commit, "sleep", lambda pause: down.close() if pause else None)
        converges(shop)


@contextmanager
def catalog_slow(settings: Settings, seconds: float) -> Iterator[threading.Timer]:
    """Every question to the catalog waits for somebody who writes into it."""
    held = sqlite3.connect(catalog_file(settings), timeout=30, check_same_thread=False)
    held.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(seconds, held.close)
    timer.start()
    try:
        yield timer
    finally:
        timer.join()


def test_a_catalog_that_is_slow_to_answer_costs_time_alone(shop: Shop, at: At) -> None:
    held: list[threading.Timer] = []
    for place in ("run.pinned", "iceberg.branched", "iceberg.proved"):
        change(shop)
        with ExitStack() as slow:
            wait = catalog_slow(shop.engine.settings, 1.5)
            at(place, lambda it=wait, on=slow: held.append(on.enter_context(it)))  # type: ignore[misc]
            converges(shop)
            assert held.pop().finished.is_set(), place


# --- the view itself ----------------------------------------------------------------------------


def test_a_view_renamed_or_dropped_during_its_refresh_is_not_raised_from_the_dead(
    shop: Shop, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "PAUSES", (0.0, 0.0))
    storage = shop.storage("days")
    away = TableName(storage.catalog, storage.schema, "away")
    rename = f"ALTER TABLE {storage.quoted()} RENAME TO {away.schema}.{away.name}"
    drop = f"DROP TABLE {storage.quoted()} PURGE"
    for place, action, policy in (
        ("refresh.computed", drop, None),
        ("iceberg.branched", rename, None),
        ("iceberg.proved", rename, Policy.FULL),
    ):
        change(shop)
        rows = "SELECT * FROM {} ORDER BY ALL"
        before = shop.spark.sql(rows.format(storage.quoted())).collect()
        at(place, lambda text=action: shop.sql(text))  # type: ignore[misc]
        (result,) = shop.engine.refresh(policy=policy)
        assert result.error is not None
        assert result.error.code in ("unknown-table", "step-failed", "unknown-outcome")
        assert shop.engine.tables.position(storage, lambda: shop.spark) is None
        if action == rename:
            assert shop.spark.sql(rows.format(away.quoted())).collect() == before
            shop.sql(f"DROP TABLE {away.quoted()} PURGE")
        assert shop.refreshed()["days"].outcome is Outcome.FULL
        shop.equals("days", DAYS)
