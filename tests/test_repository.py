"""The repository keeps its own rules: set-up, locks, what is tracked, how suites are counted."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from evidence import LongRun, read

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "grebe"


def tool(name: str) -> ModuleType:
    """A script of tools/ as a module."""
    specification = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def tracked() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    files = [ROOT / line for line in done.stdout.splitlines()]
    return [file for file in files if file.is_file() and file.suffix != ".lock"]


# --- locks and files ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["all.lock", "java.lock"])
def test_locks_hold_versions_and_hashes_only(name: str) -> None:
    requirement = re.compile(r"[a-z0-9._-]+==[\w.]+( ; [^\\]+)? \\")
    digest = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
    for line in (ROOT / "requirements" / name).read_text().splitlines():
        assert requirement.fullmatch(line) or digest.fullmatch(line), line


def test_tracked_files_name_no_machine_and_no_registry() -> None:
    # Split, so that this file does not name them either.
    words = [
        "/wo" + "rk/",
        "/ro" + "ot/",
        "pypi" + ".org/",
        "python" + "hosted",
        "repo1." + "maven",
    ]
    found = [
        f"{file.relative_to(ROOT)}: {word}"
        for file in tracked()
        for word in words
        if word in file.read_text(encoding="utf-8", errors="ignore")
    ]
    assert not found


def test_ci_runs_make_test_and_nothing_else() -> None:
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "exec make test"


# --- set-up -------------------------------------------------------------------------------------


def test_a_missing_python_is_named() -> None:
    done = subprocess.run(
        ["make", "PYTHON=python-that-is-not-there", "ready"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no python-that-is-not-there" in done.stdout
    assert "hint: install Python 3.11 or newer" in done.stdout


def test_an_old_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = tool("setup")
    monkeypatch.setattr(setup.sys, "version_info", (3, 9, 2))
    with pytest.raises(setup.SetupError, match=r"3\.11 or newer is needed, this is 3\.9\.2"):
        setup.require_python()


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = tool("setup")
    monkeypatch.setattr(setup, "NEEDED_MB", 10**9)
    with pytest.raises(setup.SetupError, match="MB of disk are needed"):
        setup.require_space()


def test_a_python_without_venv_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = tool("setup")
    monkeypatch.setattr(setup, "PYTHON", tmp_path / "bin" / "python")
    monkeypatch.setattr(setup, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(setup.sys, "executable", "/bin/false")
    with pytest.raises(setup.SetupError, match="cannot create a virtual environment"):
        setup.make_venv()


def test_pip_without_network_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = tool("setup")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    with pytest.raises(setup.SetupError, match="check the network"):
        setup.pip(["--target", "/nonexistent", "a-package-that-is-not-there==1"])


def test_a_changed_lock_asks_for_a_new_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = tool("setup")
    lock = tmp_path / "all.lock"
    lock.write_text("a==1")
    monkeypatch.setattr(setup, "LOCK", lock)
    before = setup.fingerprint()
    assert setup.fingerprint() == before
    lock.write_text("a==2")
    assert setup.fingerprint() != before


# --- suites -------------------------------------------------------------------------------------

REPORT = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}"/></testsuites>'


@pytest.mark.parametrize(
    ("numbers", "code", "passed", "failed", "skipped"),
    [
        ((10, 0, 0, 2), 0, 8, 0, 2),
        ((10, 1, 2, 0), 1, 7, 3, 0),
        ((10, 0, 0, 0), 3, 10, 1, 0),
        (None, 4, 0, 1, 0),
        (None, 5, 0, 0, 0),
    ],
)
def test_suites_are_counted_from_their_report(
    tmp_path: Path,
    numbers: tuple[int, ...] | None,
    code: int,
    passed: int,
    failed: int,
    skipped: int,
) -> None:
    file = tmp_path / "report.xml"
    if numbers:
        file.write_text(REPORT.format(*numbers))
    result = tool("run_tests").counted("suite", file, code, 1.0)
    assert (result.passed, result.failed, result.skipped) == (passed, failed, skipped)


def test_the_last_line_is_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    run_tests = tool("run_tests")
    results = [
        run_tests.Result("check", 4, 0, 0, 0.5),
        run_tests.Result("formats", 9, 1, 2, 7.0, 6.0),
    ]
    run_tests.report(results, 7.5)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "13 passed, 1 failed, 2 skipped"
    assert any("formats" in line and "over its share" in line for line in lines)


def test_what_a_test_costs_is_read_from_the_report(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text(
        '<testsuites><testsuite tests="1"><testcase classname="a" name="b" time="9"><properties>'
        '<property name="processor" value="90.0"/></properties></testcase></testsuite></testsuites>'
    )
    run_tests = tool("run_tests")
    assert list(run_tests.costs(file)) == [(90.0, "a::b")]
    assert run_tests.counted("suite", file, 0, 5.0).processor == 1.5


def test_every_file_of_tests_runs_in_exactly_one_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    run_tests = tool("run_tests")
    ran: list[Path] = []

    def collected(_name: str, arguments: list[str], **_: bool) -> None:
        left_out = [Path(item.removeprefix("--ignore=")) for item in arguments if "ignore=" in item]
        for place in (Path(item) for item in arguments if not item.startswith("--")):
            found = place.rglob("test_*.py") if place.is_dir() else [place]
            ran.extend(f for f in found if not any(f.is_relative_to(out) for out in left_out))

    monkeypatch.setattr(run_tests, "run_pytest", collected)
    for suite in run_tests.suites():
        if suite != "docstrings":
            run_tests.run(suite)
    assert sorted(ran) == sorted((ROOT / "tests").rglob("test_*.py"))


# --- evidence -----------------------------------------------------------------------------------


def test_evidence_adds_up_over_runs_and_commits(tmp_path: Path) -> None:
    for commit in ("abc", "abc", "def", "abc"):
        run = LongRun.resume("laws", "join", 0, folder=tmp_path, commit=commit)
        for seed in run.seeds():
            run.add(pairs=10 + seed)
    known = read(tmp_path, "laws")["join"]
    assert {commit: tally["seeds"] for commit, tally in known.items()} == {"abc": 3, "def": 1}
    assert known["abc"]["counts"] == {"pairs": 10 + 11 + 13}  # no seed is checked twice
    assert known["def"]["counts"] == {"pairs": 12}


def test_a_failing_seed_is_not_evidence_and_comes_again(tmp_path: Path) -> None:
    run = LongRun.resume("laws", "join", 1, folder=tmp_path, commit="abc")

    def checks() -> None:
        for seed in run.seeds():
            run.add(pairs=1)
            assert seed < 2

    with pytest.raises(AssertionError):
        checks()
    again = LongRun.resume("laws", "join", 1, folder=tmp_path, commit="abc")
    assert next(again.seeds()) == 2
    assert read(tmp_path, "laws")["join"]["abc"]["counts"] == {"pairs": 2}


def test_every_path_that_contributors_are_told_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    named = {path for row in rows for path in re.findall(r"`([\w./-]+(?:/|\.py|\.md))`", row)}
    assert len(named) > 30
    ours = ("tests/", "docs/", "tools/")
    places = {path: ROOT / path if path.startswith(ours) else SOURCE / path for path in named}
    assert sorted(path for path, place in places.items() if not place.exists()) == []


def test_the_glossary_is_short_and_has_no_word_twice() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Words")[2]
    everywhere, of_one_room = (
        re.findall(r"^\| ([^|]+) \|[^|]+\|[^|]*\|$", part, re.MULTILINE)[1:]
        for part in text.split("### Words of one room")
    )
    each = [word for cell in everywhere + of_one_room for word in cell.split(", ")]
    assert len(everywhere) <= 60
    assert len(each) == len(set(each)) > 50
