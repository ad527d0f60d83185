"""Whoever types what the pages say gets what the pages show. `GREBE_TEST_GOLDEN=write` writes today's answers."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.documents import Step, corrected, differs, sessions
from grebe.cli import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/one-change.md")


@dataclass(slots=True)
class Reader:
    """Somebody at a prompt, in a folder."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def do(self, step: Step) -> str:
        """What is written to stdout."""
        self.monkeypatch.chdir(self.folder)
        self.capsys.readouterr()
        if step.kind == "python":
            exec(compile(step.text, "<page>", "exec"), {"__name__": "__main__"})
        else:
            self.type_command(*shlex.split(step.text))
        return self.capsys.readouterr().out

    def type_command(self, program: str, *arguments: str) -> None:
        """A command of the page; one that is none of these is not shown on one."""
        if program == "cd":
            self.folder /= arguments[0]
        elif program == "cat":
            sys.stdout.write((self.folder / arguments[0]).read_text(encoding="utf-8"))
        else:
            assert program == "grebe", f"{program} is no command that a page may show"
            assert main(arguments) == 0, self.capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.parametrize("name", PAGES)
def test_commands_answer_as_the_page_shows(
    spark: SparkSession,
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del spark  # started once for all
    monkeypatch.delenv("GREBE_VIEWS__CHECK", raising=False)  # as a new user has it
    monkeypatch.delenv("GREBE_REFRESH__SMALL_STEPS", raising=False)
    page = (ROOT / name).read_text(encoding="utf-8")
    steps: list[Step] = []
    answers: list[str] = []
    for number, session in enumerate(sessions(page)):
        reader = Reader(tmp_path / str(number), capsys, monkeypatch)
        reader.folder.mkdir()
        answers += [reader.do(step) for step in session]
        steps += session
    assert any(step.shown for step in steps)
    if os.environ.get("GREBE_TEST_GOLDEN") == "write":
        (ROOT / name).write_text(corrected(page, steps, answers), encoding="utf-8")
        return
    for step, said in zip(steps, answers, strict=True):
        if step.shown is not None:
            assert not differs(step.shown, said), f"{step.text}\n{said}"


def test_times_and_versions_may_differ_and_nothing_else() -> None:
    shown = "view   took\n-----  -----\ndaily  1.3 s  4 rows  @569159592053173034\n"
    assert not differs(shown, shown.replace("1.3", "12.75").replace("569159592053173034", "7" * 19))
    assert differs(shown, shown.replace("4 rows", "5 rows"))
    assert differs(shown, shown + "more\n")
    assert not differs("one …\n", "one and two\nand three\n")
    assert differs("one …\n", "two\n")


def test_a_page_gets_todays_answers() -> None:
    page = "In an empty folder:\n\n```console\n$ cd x\n$ grebe status\nold 1.0 s\n```\n\n```python\nprint(1)\n```\n\n```text\n2\n```\n"
    steps = sessions(page)[0]
    assert [(step.kind, step.shown) for step in steps] == [
        ("command", ""),
        ("command", "old 1.0 s\n"),
        ("python", "2\n"),
    ]
    answered = corrected(page, steps, ["", "old 2.0 s\n", "1\n"])
    assert answered == page.replace("2\n", "1\n")
    assert "new\n```" in corrected(page, steps, ["", "new\n", "2\n"])
