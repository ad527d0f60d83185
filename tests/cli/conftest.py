"""Commands run in this process, so that one Spark serves them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import Any

import pytest

from grebe.cli import main


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return loads(self.out)


Grebe = Callable[..., Said]


@pytest.fixture
def grebe(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Grebe:
    """Runs a command in the test's folder."""

    def run(*arguments: str, folder: Path | None = None) -> Said:
        capsys.readouterr()
        code = main(["-C", str(folder or tmp_path), *arguments])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that starts Spark fails."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("grebe.engine.engine.open_session", refuse)
