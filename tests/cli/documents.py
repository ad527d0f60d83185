"""Pages as a reader follows them: commands and Python in order, and what the page shows as their answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

PROMPT = "$ "
ANY = "…"
"""At the end of a line: the rest of it; alone: any number of lines."""
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CHANGING = (
    (re.compile(r"\b[0-9a-f]{12}_\d+\b"), "RUN"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?(\+00:00)?"), "TIME"),
    (re.compile(r"\b(\d+\.\d+ s|\d+ (s|min|h)) ago\b|\bjust now\b"), "AGO"),
    (re.compile(r"\b\d+(\.\d+)? (s|min)\b"), "SECONDS"),
    (re.compile(r"\b\d{15,20}\b"), "VERSION"),
    (re.compile(r"(?<![0-9a-z])([0-9a-f]{16}|[0-9a-f]{8})(?![0-9a-z])"), "DIGEST"),
    (re.compile(r"-{3,}"), "-"),
    (re.compile(r"[ \t]+"), " "),
    (re.compile(r" $", re.MULTILINE), ""),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a reader does, and the answer that the page shows; None: it shows none."""

    kind: str
    text: str
    shown: str | None


def sessions(page: str) -> list[list[Step]]:
    """The steps of each session; one begins where the page says "in an empty folder"."""
    first, *others = re.split(r"in an empty folder", page, flags=re.IGNORECASE)
    assert not _steps(first), "a page says where a reader begins"
    return [_steps(part) for part in others]


def _steps(part: str) -> list[Step]:
    steps: list[Step] = []
    for language, body in _FENCE.findall(part):
        if language == "console":
            steps += _commands(body)
        elif language == "python":
            steps.append(Step("python", body, None))
        elif language == "text" and steps and steps[-1].kind == "python":
            steps[-1] = Step("python", steps[-1].text, body)
    return steps


def _commands(body: str) -> list[Step]:
    assert body.startswith(PROMPT), f"a console block begins with a command: {body[:40]}"
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    split = [part.partition("\n") for part in parts]
    return [Step("command", command, shown) for command, _, shown in split]


def differs(shown: str, said: str) -> bool:
    """True when an answer is not the one that the page shows, whatever times, ids and versions are."""
    pattern = re.escape(plain(shown)).replace(ANY, ".*")
    return re.fullmatch(pattern, plain(said), re.DOTALL) is None


def plain(text: str) -> str:
    """A text without what every run has of its own: times, ids, versions, and the width of columns."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text


def corrected(page: str, steps: Sequence[Step], answers: Sequence[str]) -> str:
    """The page with today's answers where they differ."""
    at = 0
    for step, said in zip(steps, answers, strict=True):
        at = page.index(step.text, at) + len(step.text)
        if step.shown is None:
            continue
        between = "\n" if step.kind == "command" else "```\n\n```text\n"
        at = page.index(between + step.shown, at) + len(between)
        answer = said if differs(step.shown, said) else step.shown
        page = page[:at] + answer + page[at + len(step.shown) :]
        at += len(answer)
    return page
