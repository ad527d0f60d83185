"""What may not be read or written: told with what to do, by somebody who is not root."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Grebe, Said
from grebe.registry import Registry

pytestmark = pytest.mark.usefixtures("no_spark")
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A project that everybody can see: pytest's own folders are for their owner alone."""
    place = Path(tempfile.mkdtemp(prefix="grebe_rights_"))
    place.chmod(0o755)
    (place / "views").mkdir()
    (place / "views" / "v.sql").write_text("SELECT id FROM shop.orders")
    (place / "views" / "w.sql").write_text("SELECT id FROM shop.orders")
    yield place
    for item in (place, *place.rglob("*")):
        item.chmod(0o700)
    shutil.rmtree(place)


def as_nobody(grebe: Grebe, folder: Path, *arguments: str) -> Said:
    """A command as somebody without rights; who is not root has few enough himself."""
    if os.geteuid() != 0:
        return grebe(*arguments, folder=folder)
    warm_up(grebe, arguments)
    os.seteuid(NOBODY)
    try:
        return grebe(*arguments, folder=folder)
    finally:
        os.seteuid(0)


def warm_up(grebe: Grebe, arguments: tuple[str, ...]) -> None:
    """Load what the command loads: Python itself may lie where nobody else can read."""
    with tempfile.TemporaryDirectory() as other:
        (Path(other) / "views").mkdir()
        (Path(other) / "views" / "v.sql").write_text("no SQL")
        Registry.open(f"sqlite:///{other}/.grebe/registry.db").close()
        grebe(*arguments, folder=Path(other))


def told(said: Said, code: int, error: str) -> None:
    assert said.code == code, said
    assert f"error [{error}]" in said.err
    assert "hint:" in said.err
    assert "Traceback" not in said.err


def test_settings_that_may_not_be_read(grebe: Grebe, folder: Path) -> None:
    (folder / "grebe.toml").write_text("")
    (folder / "grebe.toml").chmod(0)
    told(as_nobody(grebe, folder, "status"), 2, "config")


def test_a_view_that_may_not_be_read_hides_no_other(grebe: Grebe, folder: Path) -> None:
    (folder / "views" / "v.sql").chmod(0)
    said = as_nobody(grebe, folder, "status", "-o", "json")
    assert said.code == 0, said
    errors = {item["view"]: item["error"] for item in said.json}
    assert errors["lake.main.w"] is None
    assert errors["lake.main.v"]["code"] == "definition"
    assert "permissions" in errors["lake.main.v"]["hint"]


def test_a_registry_that_may_not_be_read(grebe: Grebe, folder: Path) -> None:
    (folder / ".grebe").mkdir()
    (folder / ".grebe" / "registry.db").write_bytes(b"")
    (folder / ".grebe" / "registry.db").chmod(0)
    told(as_nobody(grebe, folder, "status"), 1, "registry")


def test_a_project_that_may_not_be_written_to(grebe: Grebe, folder: Path) -> None:
    folder.chmod(0o555)
    told(as_nobody(grebe, folder, "refresh"), 1, "registry")
    assert sorted(item.name for item in folder.iterdir()) == ["views"]
    told(as_nobody(grebe, folder, "init", "new"), 2, "config")
    assert sorted(item.name for item in folder.iterdir()) == ["views"]


def test_a_folder_that_may_not_be_entered(grebe: Grebe, folder: Path) -> None:
    folder.chmod(0)
    said = as_nobody(grebe, folder, "status")
    assert said.code in (1, 2), said
    assert "hint:" in said.err
    assert "permissions" in said.err
    assert "Traceback" not in said.err
