"""What a person sees in a terminal, and what a pipe behind it gets: one document, nothing else."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from cli.conftest import Grebe
from grebe.api import Project
from grebe.cli import main
from grebe.cli.commands import app

WORK = """
import sys
from grebe.cli.confirm import confirm
from grebe.cli.output import CommandSession, Format, show
with CommandSession(sys.argv[1]).project() as project:
    project.workspace.say("working on [red] lake")
    show({"done": True}, "done", Format.JSON)
    project.workspace.say("working again")
    print("direct", flush=True)
"""


def in_a_terminal(*command: str) -> tuple[int, str, str]:
    """The exit code, what a pipe behind stdout gets, and what the terminal shows."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        text=True,
    ) as process:
        os.close(theirs)
        assert process.stdout is not None
        out = process.stdout.read()
        code = process.wait()
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return code, out, shown.decode()


def test_a_pipe_gets_the_result_while_the_terminal_shows_progress(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    code, out, shown = in_a_terminal("-c", WORK, str(tmp_path))
    assert code == 0, shown
    document, direct = out.rsplit("\n", 2)[0], out.splitlines()[-1]
    assert json.loads(document) == {"done": True}
    assert direct == "direct"
    assert "working on [red] lake" in shown
    assert "done" not in shown


def test_a_command_in_a_terminal_writes_its_document_to_the_pipe(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text("SELECT 1 AS one")
    code, out, shown = in_a_terminal("-m", "grebe", "-C", str(tmp_path), "status", "-o", "json")
    assert code == 0, shown
    assert json.loads(out)[0]["state"] == "never refreshed"


def test_ctrl_c_is_told_and_is_a_failure(
    grebe: Grebe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "views").mkdir()

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Project, "status", stop)
    said = grebe("status")
    assert (said.code, said.out) == (130, "")
    assert "stopped; nothing of an unfinished refresh is visible" in said.err


@pytest.mark.usefixtures("no_spark")
class TestNoSpark:
    """Answers that need none."""

    def test_grebe_alone_is_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([]) == 0
        shown = capsys.readouterr().out
        assert [line for line in shown.splitlines() if line.startswith(("Start", "Look", "Keep"))]
        assert "…" not in shown
        assert "..." not in shown.partition("Options")[2]

    def test_every_command_has_an_example_and_a_group(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        commands = get_command(app).commands  # type: ignore[attr-defined]
        for name in commands:
            assert main([name, "--help"]) == 0
            assert f"Example: grebe {name}" in capsys.readouterr().out or name == "adopt"

    def test_a_project_is_found_from_the_folders_below_it(
        self, grebe: Grebe, tmp_path: Path
    ) -> None:
        (tmp_path / "grebe.toml").write_text("")
        (tmp_path / "views" / "deep").mkdir(parents=True)
        (tmp_path / "views" / "v.sql").write_text("SELECT 1 AS one")
        said = grebe("status", "-o", "json", folder=tmp_path / "views" / "deep")
        assert [item["view"] for item in said.json] == ["lake.main.v"]

    @pytest.mark.parametrize("command", ["status", "refresh", "plan", "dag", "history", "recover"])
    def test_outside_of_a_project_nothing_is_made(
        self, grebe: Grebe, tmp_path: Path, command: str
    ) -> None:
        (tmp_path / "empty").mkdir()
        said = grebe(command, folder=tmp_path / "empty")
        assert said.code == 2
        assert "no grebe.toml here or above" in said.err
        assert said.out == ""
        assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]
        said = grebe(command, folder=tmp_path / "nowhere")
        assert (said.code, "[no-project]" in said.err) == (2, True)

    def test_what_every_command_shares_may_stand_behind_it(
        self, grebe: Grebe, tmp_path: Path
    ) -> None:
        (tmp_path / "views").mkdir()
        (tmp_path / "views" / "v.sql").write_text("SELECT 1 AS one")
        assert "lake.main.v" in grebe("status", "-v").out
        assert "lake.main.v" not in grebe("status").out

    def test_a_pipe_that_is_closed_is_no_failure(self, tmp_path: Path) -> None:
        (tmp_path / "views").mkdir()
        for number in range(400):
            (tmp_path / "views" / f"v{number}.sql").write_text("SELECT 1 AS one")
        done = subprocess.run(
            [
                "bash",
                "-o",
                "pipefail",
                "-c",
                f"{sys.executable} -m grebe -C {tmp_path} status | head -1",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("view")

    def test_a_terminal_without_utf8_shows_what_it_can(self, tmp_path: Path) -> None:
        (tmp_path / "views").mkdir()
        (tmp_path / "views" / "größe.sql").write_text("SELECT 1 AS one")
        done = subprocess.run(
            [sys.executable, "-m", "grebe", "-C", str(tmp_path), "status"],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"gr\\xf6\\xdfe" in done.stdout

    def test_a_misused_command_is_a_document_for_a_program(self, grebe: Grebe) -> None:
        for arguments in (["refrehs"], ["status", "--fast"], ["refresh", "--jobs", "many"]):
            said = grebe(*arguments, "-o", "json")
            assert said.code == 2
            assert said.json["error"]["code"] == "usage"
            assert said.json["error"]["hint"]

    def test_init_is_a_document_too(self, grebe: Grebe, tmp_path: Path) -> None:
        said = grebe("init", "shop", "-o", "json")
        assert said.code == 0
        assert all((tmp_path / "shop" / file).is_file() for file in said.json["files"])

    def test_dropping_with_what_reads_a_view_names_all_of_it(
        self, grebe: Grebe, tmp_path: Path
    ) -> None:
        (tmp_path / "views").mkdir()
        for name, source in (("a", "t"), ("b", "a"), ("c", "b"), ("d", "t")):
            (tmp_path / "views" / f"{name}.sql").write_text(f"SELECT id FROM {source}")
        said = grebe("drop", "a", "--cascade")
        assert said.code == 2
        assert 'drop 3 views and their rows: "c", "b", "a"?' in said.err
        said = grebe("drop", "d")
        assert 'drop view "d" and its rows?' in said.err
        said = grebe("drop", "a")
        assert "[has-dependents]" in said.err
        assert "--cascade" in said.err

    def test_names_that_hold_spaces_and_commas_can_be_chosen(
        self, grebe: Grebe, tmp_path: Path
    ) -> None:
        (tmp_path / "views").mkdir()
        for name in ("my view", "a,b", "c"):
            (tmp_path / "views" / f"{name}.sql").write_text("SELECT 1 AS one")
        for arguments, wanted in (
            (["my view"], ["my view"]),
            (["a,b", "c"], ["a,b", "c"]),
            (["`my view`,c"], ["c", "my view"]),
        ):
            said = grebe("status", *arguments, "-o", "json")
            assert [item["view"] for item in said.json] == [f"lake.main.{name}" for name in wanted]
        said = grebe("drop", "my view")
        assert 'drop view "my view" and its rows?' in said.err

    def test_explain_of_a_name_that_is_none_says_so(self, grebe: Grebe, tmp_path: Path) -> None:
        (tmp_path / "views").mkdir()
        (tmp_path / "views" / "daily.sql").write_text("SELECT 1 AS one")
        said = grebe("explain", "dayly")
        assert said.code == 2
        assert "error [unknown-view]" in said.err
        assert 'did you mean "lake.main.daily"?' in said.err
