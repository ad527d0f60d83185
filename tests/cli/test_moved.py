"""A project's folder that was copied or moved: the original keeps every byte, the copy says so."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe
from cli.moved import SETTINGS, VIEWS, change, digests, make, unpacked
from cli.test_no_permission import as_nobody
from grebe.api import Project
from grebe.config import load
from grebe.engine.adopt import PLACES
from grebe.errors import ConfigError, LeaseHeldError, ProjectMovedError
from grebe.formats.ducklake import connections
from grebe.formats.ducklake.catalog import address_of
from grebe.registry import Registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMANDS = (
    "status",
    "plan",
    "explain lake.shop.sums",
    "refresh",
    "refresh --full-refresh",
    "verify",
    "history",
    "dag",
    "retention",
    "recover",
    "alter lake.shop.sums --lag '1 hour'",
    "drop lake.shop.sums --cascade -y",
    "vacuum lake.shop.sums --force",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A project of every format, whose bytes no test may change."""
    folder = tmp_path_factory.mktemp("made") / "original"
    make(folder, spark)
    with Project.open(folder, spark=spark) as project:
        assert stale(project) == []
    return folder


@pytest.fixture
def original(made: Path) -> Iterator[Path]:
    """The project, unchanged afterwards: every test here works beside it."""
    before = digests(made)
    yield made
    assert digests(made) == before


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    folder = tmp_path / "copy"
    shutil.copytree(original, folder)
    return folder


@pytest.mark.spark
@pytest.mark.usefixtures("no_spark")
def test_every_command_in_a_copy_says_that_it_is_one_and_touches_nothing(
    original: Path, copy: Path, grebe: Grebe
) -> None:
    before = digests(copy)
    for command in COMMANDS:
        words = [word.strip("'") for word in command.replace("'1 hour'", "'1_hour'").split()]
        for form in ([], ["-o", "json"]):
            said = grebe(*words, *form, folder=copy)
            assert said.code == 2, (command, said)
            assert "error [project-moved]" in said.err, (command, said)
            if form:
                error = said.json["error"]
                assert error["code"] == "project-moved"
                assert str(copy) in error["message"]
                assert str(original) in error["detail"]
                assert "still lies there" in error["detail"]
                assert "grebe adopt" in error["hint"]
    with pytest.raises(ProjectMovedError):
        Project.open(copy)
    said = grebe("doctor", "-o", "json", folder=copy)
    place = next(item for item in said.json if item["what"] == "place")
    assert not place["ok"]
    assert digests(copy) == before


@pytest.mark.spark
def test_an_adopted_copy_lives_on_its_own_files(
    original: Path, copy: Path, grebe: Grebe, spark: SparkSession
) -> None:
    said = grebe("adopt", "-o", "json", folder=copy)
    assert said.code == 0, said
    assert said.json["from"] == [str(original)]
    assert said.json["problems"] == []
    again = grebe("adopt", "-o", "json", folder=copy)
    assert (again.code, again.json["from"], again.json["files"]) == (0, [], 0)
    assert str(original) not in live_text(copy)
    with Project.open(copy, spark=spark) as project:
        assert stale(project) == []
        change(project, 5)
        results = project.refresh()
        outcomes = {str(item.view): str(item.outcome) for item in results}
        assert set(outcomes) == set(VIEWS)
        assert set(outcomes.values()) == {"incremental"}, [
            (item.view, item.outcome, item.reasons) for item in results
        ]
        project.verify()
        for view, text in (("lake.shop.sums", VIEWS["lake.shop.sums"]),):
            assert same(project.read(view), project.sql(text))
        assert project.read("delta.shop.joined").count() == 7
        project.sql("UPDATE lake.shop.t SET k = 'z' WHERE id = 2").collect()
        project.refresh("lake.shop.sums", full=True)
        project.verify("lake.shop.sums")


@pytest.mark.spark
def test_what_is_removed_in_an_adopted_copy_is_gone_from_its_own_files_only(
    original: Path, copy: Path, grebe: Grebe, spark: SparkSession
) -> None:
    assert grebe("adopt", folder=copy).code == 0
    with Project.open(copy, spark=spark) as project:
        change(project, 4)
        assert not project.refresh().failed
        project.vacuum("lake.shop.rows", retention="0 days", force=True)
        project.recover()
    for view in ("lake.shop.rows", "delta.shop.joined", "duck.shop.sums", "single.shop.sums"):
        assert grebe("drop", view, "-y", folder=copy).code == 0
    for command in ("recover", "status", "refresh", "verify", "retention"):
        assert grebe(command, folder=copy).code == 0


@pytest.mark.spark
def test_a_copy_may_begin_with_nothing_but_its_sources(
    original: Path, copy: Path, grebe: Grebe, spark: SparkSession
) -> None:
    done = Project.adopt(copy, fresh=True, spark=spark)
    assert set(done.emptied) == set(VIEWS)
    with Project.open(copy, spark=spark) as project:
        assert {str(item.state) for item in project.status()} == {"never refreshed"}
        assert not project.refresh().failed
        project.verify()


@pytest.mark.spark
def test_a_moved_folder_is_adopted_and_goes_on(
    original: Path, copy: Path, tmp_path: Path, spark: SparkSession
) -> None:
    Project.adopt(copy)
    moved = tmp_path / "away" / "moved `here`"
    moved.parent.mkdir()
    copy.rename(moved)
    with pytest.raises(ProjectMovedError) as caught:
        Project.open(moved)
    assert "is gone from there" in str(caught.value.detail)
    Project.adopt(moved)
    with Project.open(moved, spark=spark) as project:
        change(project, 6)
        assert {str(item.outcome) for item in project.refresh()} == {"incremental"}
        project.verify()
    assert not copy.exists()


@pytest.mark.spark
def test_a_copy_inside_of_the_original_and_the_original_inside_of_what_was_a_copy(
    original: Path, copy: Path, spark: SparkSession
) -> None:
    Project.adopt(copy)
    inner = copy / "inner"
    shutil.copytree(copy, inner, ignore=shutil.ignore_patterns("inner"))
    before = {name: value for name, value in digests(copy).items() if not name.startswith("inner")}
    Project.adopt(inner)
    with Project.open(inner, spark=spark) as project:
        change(project, 7)
        assert not project.refresh().failed
    after = {name: value for name, value in digests(copy).items() if not name.startswith("inner")}
    assert after == before
    let_go(inner)
    shutil.rmtree(copy / "lake")
    for item in [*inner.iterdir()]:
        target = copy / item.name
        if target.is_dir():
            shutil.rmtree(target)
        item.replace(target)
    inner.rmdir()
    Project.adopt(copy)
    with Project.open(copy, spark=spark) as project:
        change(project, 8)
        assert not project.refresh().failed
        project.verify()


@pytest.mark.spark
@pytest.mark.usefixtures("no_spark")
def test_the_same_folder_by_another_path_is_no_move(original: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(original)
    assert Project.open(link).settings.folder == original
    mount = tmp_path / "mount"
    mount.mkdir()
    if subprocess.run(["mount", "--bind", original, mount], check=False).returncode:
        return  # this machine lets nobody mount
    try:
        assert Project.open(mount).settings.folder == original
    finally:
        subprocess.run(["umount", mount], check=True)


@pytest.mark.spark
@pytest.mark.parametrize("place", PLACES)
def test_killed_while_it_is_adopted_it_is_adopted_by_the_next(
    original: Path, copy: Path, spark: SparkSession, place: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "grebe", "-C", copy, "adopt"],
        env={**os.environ, "GREBE_FAILPOINTS": f"{place}=kill"},
        check=False,
    )
    assert ended.returncode == -9
    if place != PLACES[-1]:
        with pytest.raises(ProjectMovedError):
            Project.open(copy)
    Project.adopt(copy)
    with Project.open(copy, spark=spark) as project:
        assert stale(project) == []
        if place == "adopt.pointed":
            change(project, 9)
            assert {str(item.outcome) for item in project.refresh()} == {"incremental"}
            project.verify()
        project.verify("lake.shop.sums")


@pytest.mark.spark
@pytest.mark.usefixtures("no_spark")
def test_leases_of_the_original_do_not_hold_its_copy_but_those_of_a_moved_run_do(
    original: Path, copy: Path, tmp_path: Path
) -> None:
    with Registry.open(load(copy).registry_url) as registry:
        registry.acquire("lake.shop.sums", "host/1/abc", 60)
    Project.adopt(copy)
    with Registry.open(load(copy).registry_url) as registry:
        assert registry.held() == []
        registry.acquire("lake.shop.sums", "host/1/abc", 60)
    moved = tmp_path / "moved"
    copy.rename(moved)
    with pytest.raises(LeaseHeldError, match="host/1/abc"):
        Project.adopt(moved)
    with pytest.raises(ProjectMovedError):
        Project.open(moved)
    with Registry.open(load(moved).registry_url) as registry:
        registry.free_all()
    assert Project.adopt(moved).problems == ()


@pytest.mark.spark
@pytest.mark.usefixtures("no_spark")
def test_a_folder_that_cannot_be_written_to_says_what_it_is(
    original: Path, copy: Path, grebe: Grebe
) -> None:
    shutil.move(copy, place := Path(f"/tmp/grebe_moved_{os.getpid()}"))
    try:
        for path in (place, *place.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = digests(place)
        for command in ("status", "adopt"):
            said = as_nobody(grebe, place, command)
            code = "project-moved" if command == "status" else "config"
            assert (said.code, code in said.err) == (2, True), said
        assert digests(place) == before
    finally:
        for path in (place, *place.rglob("*")):
            path.chmod(0o755)
        shutil.rmtree(place)


@pytest.mark.spark
@pytest.mark.usefixtures("no_spark")
def test_settings_that_name_the_former_place_are_told(original: Path, copy: Path) -> None:
    text = SETTINGS.replace('root = "delta"', f'root = "{original}/delta"')
    (copy / "grebe.toml").write_text(text)
    before = digests(copy)
    with pytest.raises(ConfigError, match=r"catalogs\.delta\.root") as caught:
        Project.adopt(copy)
    assert caught.value.hint == 'write root = "delta", which is one of the folder'
    assert {k: v for k, v in digests(copy).items() if "adopt.lock" not in k} == before


@pytest.mark.spark
@pytest.mark.usefixtures("no_spark")
def test_a_catalog_brought_from_elsewhere_is_recognised_too(original: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".grebe").mkdir(parents=True)
    (other / "grebe.toml").write_text(SETTINGS)
    (other / ".grebe" / "place.json").write_text(json.dumps({"folder": str(other)}))
    Project.open(other)
    shutil.copytree(original / "lake", other / "lake")
    with pytest.raises(ProjectMovedError):
        Project.open(other)
    assert Project.adopt(other).former == (str(original),)
    Project.open(other)


@pytest.mark.usefixtures("no_spark")
def test_what_lies_outside_is_shared_on_purpose_but_not_what_its_owner_still_uses(
    tmp_path: Path,
) -> None:
    folder, shared = tmp_path / "p", tmp_path / "shared"
    (folder / ".grebe").mkdir(parents=True)
    (folder / "grebe.toml").write_text(
        f'[catalogs.lake]\nformat = "iceberg"\nuri = "jdbc:sqlite:catalog.db"\nroot = "{shared}"\n'
    )
    with closing(sqlite3.connect(folder / "catalog.db")) as connection, connection:
        connection.execute(
            "CREATE TABLE iceberg_tables (catalog_name, table_namespace, table_name,"
            " metadata_location, previous_metadata_location)"
        )
        row = ("lake", "s", "__grebe_v_01234567", f"{shared}/s/v/metadata/1.metadata.json", None)
        connection.execute("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, ?)", row)
    (folder / ".grebe" / "place.json").write_text(json.dumps({"folder": str(folder)}))
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with pytest.raises(ConfigError, match=r"outside of the folder: s\.__grebe_v_01234567"):
        Project.adopt(copy)
    shutil.rmtree(folder)
    done = Project.adopt(copy)
    assert (done.tables, done.problems) == ((), ())
    with closing(sqlite3.connect(copy / "catalog.db")) as connection:
        assert connection.execute("SELECT * FROM iceberg_tables").fetchall() == [row]


@pytest.mark.spark
def test_a_folder_of_an_older_grebe_is_adopted_refreshed_and_verified(
    tmp_path: Path, grebe: Grebe, spark: SparkSession
) -> None:
    folder = unpacked(tmp_path)
    assert grebe("status", folder=folder).code == 2
    done = grebe("adopt", "-o", "json", folder=folder)
    assert (done.code, done.json["problems"]) == (0, [])
    found = grebe("status", "-o", "json", folder=folder).json
    states = {item["view"]: item["state"] for item in found}
    assert set(states) == {
        f"lake.shop.{name}" for name in ("best_days", "by_city", "daily", "share")
    }
    assert states["lake.shop.daily"] == "stale"
    assert grebe("refresh", folder=folder).code == 0
    assert grebe("verify", folder=folder).code == 0
    with Project.open(folder, spark=spark) as project:
        assert project.read("daily").count() == 3
        for view, query in (
            ("daily", "SELECT day, COUNT(*), SUM(amount) FROM lake.shop.orders GROUP BY day"),
            ("best_days", "SELECT day, total FROM lake.shop.daily WHERE total > 50"),
        ):
            assert same(project.read(view), project.sql(query))


def let_go(folder: Path) -> None:
    """Close what this process has open of the project's DuckLake catalogs, as its end would."""
    settings = load(folder)
    for name in ("duck", "single"):
        connections.release(address_of(settings.address(settings.catalog(name))))


def same(one: object, other: object) -> bool:
    """Equal as bags of rows."""
    return sorted(map(tuple, one.collect())) == sorted(map(tuple, other.collect()))  # type: ignore[attr-defined]


def stale(project: Project) -> list[object]:
    """The views that are not fresh, with the reasons."""
    found = [item for item in project.status() if str(item.state) != "fresh"]
    return [(str(item.name), str(item.state), item.standing.reasons) for item in found]


def live_text(folder: Path) -> str:
    """The pointers of the Iceberg catalog and every metadata file that they name."""
    with closing(sqlite3.connect(folder / "lake" / "catalog.db")) as connection:
        rows = connection.execute("SELECT metadata_location FROM iceberg_tables").fetchall()
    files = [Path(row[0]) for row in rows]
    assert all(file.is_relative_to(folder) for file in files)
    texts = [file.read_text() for file in files if ".gz." not in file.name]
    # A folder of files is known by the name that it had when the project was made.
    known = re.compile(r'\\"identity\\":\\"[^"]*\\"')
    return "\n".join(map(str, rows)) + known.sub("", "\n".join(texts))
