"""What a terminal shows: as wide as it is, in colours where it has some, with names as people wrote them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grebe.cli.look import folded_text, has_colours, in_words, short_name, width_of
from grebe.cli.progress import Progress
from grebe.config import load
from grebe.events import CycleStarted, Preparing, RunEnded, RunStarted, StepStarted
from grebe.model import Outcome, Policy, Reason, RunId, TableName
from grebe.spoken_times import datetime as moment
from grebe.tabular import TableStyle, folded, table

AT = moment.fromisoformat("2026-03-01T12:00:00+00:00")
WORDS = st.text("abc.,_ -", max_size=60)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[mK]")


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


@given(
    st.lists(st.tuples(WORDS, st.sampled_from([*Outcome]), WORDS, WORDS), max_size=4),
    st.integers(20, 130),
    st.booleans(),
)
def test_no_line_is_wider_than_the_terminal_and_no_word_is_lost(
    rows: list[tuple[str, ...]], width: int, colours: bool
) -> None:
    shown = table(("view", "outcome", "reason", "took"), rows, TableStyle(width, colours))
    plain = _ESCAPES.sub("", shown)
    assert max(len(line) for line in plain.split("\n")) <= width
    for row in rows:
        for cell in row:
            signs = "".join(str(cell).split())
            assert all(plain.count(sign) >= signs.count(sign) for sign in set(signs))
    assert colours or plain == shown


@given(st.text("ab .,/", max_size=200), st.integers(4, 40))
def test_a_folded_text_fits_and_keeps_its_signs(text: str, width: int) -> None:
    lines = folded(text, width)
    assert all(len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_state_is_said_in_a_word_and_in_a_colour() -> None:
    rows = [("a", Outcome.FULL), ("b", Outcome.FAILED), ("c", "other")]
    shown = table(("view", "outcome"), rows, TableStyle(80, colours=True))
    assert "\x1b[33mfull\x1b[0m" in shown
    assert "\x1b[31mfailed\x1b[0m" in shown
    assert shown.count("\x1b") == 4


@pytest.mark.parametrize(
    ("variables", "in_terminal", "colours"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ({"NO_COLOR": ""}, True, True),
    ],
)
def test_colours(variables: dict[str, str], in_terminal: bool, colours: bool) -> None:
    assert has_colours(Terminal() if in_terminal else io.StringIO(), variables) is colours


def test_a_pipe_has_no_width_unless_one_is_asked_for() -> None:
    assert width_of(io.StringIO(), {}) is None
    assert width_of(io.StringIO(), {"COLUMNS": "40"}) == 40
    assert width_of(io.StringIO(), {"COLUMNS": "x"}) is None


def test_names_are_said_as_people_write_them(tmp_path: Path) -> None:
    settings = load(tmp_path, {})
    assert short_name(TableName("lake", "main", "daily"), settings) == "daily"
    assert short_name(TableName("lake", "shop", "daily"), settings) == "shop.daily"
    assert short_name(TableName("other", "main", "daily"), settings) == "other.main.daily"
    assert short_name(TableName("lake", "main", "a.b"), settings) == "lake.main.a.b"
    for short in ("daily", "shop.daily"):
        assert short_name(settings.resolve(short), settings) == short


def test_names_that_only_grebe_uses_are_not_shown() -> None:
    text = "lake.main.__grebe_my_view_74867556 and __grebe_stage_ab12_0, __grebe_cnt"
    assert in_words(text) == "the table of my_view and a staged table, a table of grebe's own"


def test_lines_that_fit_stay_as_they_are() -> None:
    stream = Terminal()
    assert folded_text("  a b\nc", stream) == "  a b\nc"


def run(view: str, number: int) -> tuple[RunStarted, StepStarted, RunEnded]:
    name, run_id = TableName("lake", "main", view), RunId(f"r_{number}")
    return (
        RunStarted(run_id, "r", name, "manual", Policy.AUTO, AT),
        StepStarted(run_id, name, "merge on (city)", 2, 3, AT),
        RunEnded(
            run_id, name, Outcome.FULL, (Reason("first-refresh", "x"),), 3, 2, 0.9, None, None, None, AT
        ),
    )  # fmt: skip


def test_progress_tells_a_line_for_each_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    stream = io.StringIO()
    progress = Progress(stream, say=lambda name: getattr(name, "name", str(name)))
    names = tuple(TableName("lake", "main", view) for view in "ab")
    progress(Preparing("fetching jars", 10_000_000, 75_000_000))
    progress(Preparing("fetching jars", 20_000_000, 75_000_000))
    progress(CycleStarted("r", names, AT))
    for number, view in enumerate("ab"):
        for event in run(view, number):
            progress(event)
    progress.stop()
    assert stream.getvalue().splitlines() == [
        "... fetching jars, 10 of 75 MB",
        "a  full (first-refresh)  3 in, 2 out  0.9 s",
        "b  full (first-refresh)  3 in, 2 out  0.9 s",
    ]


def test_in_a_terminal_one_line_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    progress = Progress(stream, say=lambda name: getattr(name, "name", str(name)))
    progress(Preparing("fetching jars", 26_000_000, 75_000_000))
    progress(CycleStarted("r", (TableName("lake", "main", "a"),) * 3, AT))
    started, step, ended = run("a" * 300, 0)
    progress(started)
    progress(step)
    progress(ended)
    (started, step, _) = run("by_city", 1)
    progress(started)
    progress(step)
    progress.stop()
    lines = [_ESCAPES.sub("", part) for part in re.split(r"\r|\n", stream.getvalue())]
    assert any(line.startswith("fetching jars, 26 of 75 MB  0 s") for line in lines)
    assert any(line.startswith("2 of 3  by_city  merging  ") for line in lines)
    live = [line for line in lines if "(whole" in line or line.endswith("...")]
    assert live
    assert all(len(line) < 60 for line in live)
    assert stream.getvalue().endswith("\r\x1b[2K")
