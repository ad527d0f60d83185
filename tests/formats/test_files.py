"""What a folder holds, while others write into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grebe.formats.files import DriverFiles


def test_a_file_that_vanishes_while_its_folder_is_listed_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("00.json", "01.json", "draft.tmp"):
        (tmp_path / name).write_text(name)
    scandir = os.scandir

    @contextmanager
    def listed_late(folder: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scandir(folder) as entries:
            found = list(entries)
        (tmp_path / "draft.tmp").unlink()
        yield iter(found)

    monkeypatch.setattr(os, "scandir", listed_late)
    assert sorted(DriverFiles().listed(str(tmp_path))) == ["00.json", "01.json"]


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert DriverFiles().listed(str(tmp_path / "nowhere")) == {}
