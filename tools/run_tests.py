"""Runs the checks and the suites by their shares and prints what each took (`make test`).

A suite is a folder of `tests/`, or of `tests/formats/`: one process with one Spark; folders that start none share a process. Three run side by
side, the longest first, so that the two cores are never without work.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".cache" / "reports"
SHARES = {
    "check": 0.5,
    "engine": 7.0,
    "cli": 6.0,
    "formats": 5.0,
    "programs": 4.0,
    "compiler": 3.5,
    "meaning": 3.5,
    "ducklake": 3.0,
    "rows": 2.0,
    "streams": 2.0,
    "repository": 1.0,
    "scheduler": 1.0,
    "small": 1.0,
}
"""Processor minutes, in the order in which the suites begin: the longest first."""
SMALL = ("api", "codes", "config", "definitions", "registry", "web")
"""Folders whose tests start no Spark: one process for all of them."""
AIM_MINUTES = 15
SLOWEST = 30
APART = ("ducklake",)
"""Folders of `tests/formats/` that are suites of their own: it needs no Spark for most of what it does."""
GUESTS = {"meaning": ("compiler/test_laws_spark.py", "compiler/test_lower_spark.py")}
"""Tests that run in the Spark of another suite: one that is started costs ten seconds, and more until it is warm."""
PAGE = ROOT / "docs" / "slow-tests.md"
SIDE_BY_SIDE = 3
LIMIT_MINUTES = 90
"""A suite that takes longer hangs, on however busy a machine."""
LONG_MINUTES = 50
NOTHING_COLLECTED = 5
CHECKS = (
    ("ruff", "format", "--check", "--quiet", "."),
    ("ruff", "check", "--quiet", "."),
    ("mypy",),
    ("lint-imports", "--no-logo", "--cache-dir", ".cache/imports"),
)


@dataclass(frozen=True, slots=True)
class Result:
    """What one suite did, and how long it took."""

    name: str
    passed: int
    failed: int
    skipped: int
    minutes: float
    processor: float = 0.0
    """Minutes of a core, without the end of a session: the wall's depend on who else is at the machine."""


def main(arguments: Sequence[str]) -> int:
    """Runs what is asked for; 0 when nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="one suite instead of all")
    parser.add_argument("--long", help="the long tests with this marker instead")
    parser.add_argument(
        "--slowest", action="store_true", help="only write the slowest of the last run to the docs"
    )
    options = parser.parse_args(arguments)
    REPORTS.mkdir(parents=True, exist_ok=True)
    if options.slowest:
        PAGE.write_text(page(slowest()), encoding="utf-8")
        return 0
    begun = time.monotonic()
    if options.long:
        results = [run_long(options.long)]
    elif options.only:
        results = [run(options.only)]
    else:
        results = run_all()
        show_slowest()
    report(results, (time.monotonic() - begun) / 60)
    return 1 if any(result.failed for result in results) else 0


def run_all() -> list[Result]:
    """Checks first, then the suites, the longest first, so that none ends alone."""
    first = run("check")
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return [first, *pool.map(run, suites())]


def suites() -> list[str]:
    """The rooms of `tests/` that have something in them, and the examples in docstrings."""
    tests = ROOT / "tests"
    folders = {file.relative_to(tests).parts[0] for file in tests.glob("*/**/test_*.py")}
    rooms = {"small" if folder in SMALL else folder for folder in folders}
    loose = {"repository"} if any(tests.glob("test_*.py")) else set()
    order = list(SHARES)
    return sorted(
        {"docstrings", *loose, *rooms, *APART},
        key=lambda name: (order.index(name) if name in order else len(order), name),
    )


def run(name: str) -> Result:
    """One suite, start to end; its output is shown when it is over."""
    if name == "check":
        return run_checks()
    if name == "docstrings":
        # Alembic runs its migrations itself: they cannot be imported.
        return run_pytest(name, ["--doctest-modules", "--ignore-glob=*/migrations/*", "src"])
    if name == "repository":
        return run_pytest(name, [str(file) for file in sorted((ROOT / "tests").glob("test_*.py"))])
    if name == "small":
        found = [ROOT / "tests" / folder for folder in SMALL if (ROOT / "tests" / folder).is_dir()]
        return run_pytest(name, [str(folder) for folder in found])
    if name in APART:
        return run_pytest(name, [str(ROOT / "tests" / "formats" / name)])
    tests = ROOT / "tests"
    apart = [tests / name / part for part in APART if name == "formats"]
    elsewhere = [tests / file for files in GUESTS.values() for file in files]
    left_out = [*apart, *(file for file in elsewhere if file.is_relative_to(tests / name))]
    here = [tests / name, *(tests / file for file in GUESTS.get(name, ()))]
    return run_pytest(name, [*map(str, here), *(f"--ignore={path}" for path in left_out)])


def run_long(marker: str) -> Result:
    """The long tests of one marker; they stop by themselves before the limit."""
    limit = str(LONG_MINUTES * 60)
    return run_pytest(marker, ["-m", marker, f"--timeout={limit}", "tests"], shown=True)


def run_checks() -> Result:
    """Format, lint, types and imports, each counted as one."""
    begun = time.monotonic()
    programs = Path(sys.executable).parent
    codes = [
        subprocess.run([programs / program, *options], cwd=ROOT, check=False).returncode
        for program, *options in CHECKS
    ]
    failed = sum(1 for code in codes if code)
    return Result("check", len(codes) - failed, failed, 0, (time.monotonic() - begun) / 60)


def run_pytest(name: str, arguments: Sequence[str], *, shown: bool = False) -> Result:
    """One pytest process, counted from its report."""
    file = REPORTS / f"{name}.xml"
    file.unlink(missing_ok=True)
    print(f"{name}: started", flush=True)
    begun = time.monotonic()
    running = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", f"--junit-xml={file}", *arguments],
        cwd=ROOT,
        stdout=None if shown else subprocess.PIPE,
        stderr=None if shown else subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = running.communicate(timeout=None if shown else LIMIT_MINUTES * 60)
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGABRT)  # it says where it stands, and dies
        output, _ = running.communicate()
    minutes = (time.monotonic() - begun) / 60
    print(f"{output or ''}{name}: {minutes:.1f} minutes", flush=True)
    return counted(name, file, running.returncode, minutes)


def counted(name: str, file: Path, code: int, minutes: float) -> Result:
    """The result in pytest's report; a run without a report is one failure."""
    if code == NOTHING_COLLECTED:
        return Result(name, 0, 0, 0, minutes)
    if not file.is_file():
        return Result(name, 0, 1, 0, minutes)
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in ElementTree.parse(file).getroot().iter("testsuite"):
        for key in totals:
            totals[key] += int(suite.get(key, "0"))
    failed = totals["failures"] + totals["errors"]
    passed = totals["tests"] - failed - totals["skipped"]
    # A pytest that dies after its last test has still failed.
    used = sum(seconds for seconds, _ in costs(file)) / 60
    return Result(name, passed, failed or int(code != 0), totals["skipped"], minutes, used)


def costs(file: Path) -> Iterator[tuple[float, str]]:
    """The processor seconds of each test in a report (`tests/conftest.py` puts them there)."""
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        said = {item.get("name"): item.get("value") for item in case.iter("property")}
        yield float(said.get("processor") or "0"), f"{case.get('classname')}::{case.get('name')}"


def slowest() -> list[tuple[float, str]]:
    """The slowest tests of the last run, with their processor seconds."""
    files = (REPORTS / f"{name}.xml" for name in suites())
    cases = (case for file in files if file.is_file() for case in costs(file))
    return sorted(cases, reverse=True)[:SLOWEST]


def page(tests: Sequence[tuple[float, str]]) -> str:
    """The page of the docs with the slowest tests."""
    rows = (f"| {seconds:.0f} | `{name.removeprefix('tests.')}` |" for seconds, name in tests)
    return "\n".join(
        [
            f"# The slowest {len(tests)} tests of `make test`",
            "",
            "Processor seconds, as the reports of the last run say them; the first test of a suite pays for Spark's start.",
            "Written by `tools/run_tests.py --slowest`.",
            "",
            "| seconds | test |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def show_slowest() -> None:
    """Prints where the time goes: what is added to this list needs a reason."""
    print(f"\nslowest {SLOWEST}, in processor seconds:")
    for seconds, name in slowest():
        print(f"{seconds:7.1f}  {name}")


def report(results: Sequence[Result], minutes: float) -> None:
    """Prints the table of shares and, last, the totals."""
    print(
        f"\n{'suite':<12} {'passed':>7} {'failed':>7} {'skipped':>8} {'minutes':>8} {'of a core':>10} {'share':>6}"
    )
    for result in results:
        share = SHARES.get(result.name)
        over = "  over its share" if share and result.processor > share else ""
        print(
            f"{result.name:<12} {result.passed:>7} {result.failed:>7} {result.skipped:>8}"
            f" {result.minutes:>8.1f} {result.processor:>10.1f} {share or '':>6}{over}"
        )
    processor = sum(result.processor for result in results)
    print(f"{'all':<12} {'':>24} {minutes:>8.1f} {processor:>10.1f} {AIM_MINUTES:>6}\n")
    passed, failed, skipped = (
        sum(getattr(result, field) for result in results)
        for field in ("passed", "failed", "skipped")
    )
    print(f"{passed} passed, {failed} failed, {skipped} skipped")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
