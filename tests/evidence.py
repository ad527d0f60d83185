"""What the long suites have checked so far, in docs/evidence/<suite>.json; it only grows.

A long test asks for seeds and gets those that no commit has seen yet, until its time is up, so that
what the commits checked adds up to different cases:

    for seed in long_run.seeds():
        pairs = check(seed)
        long_run.add(histories=1, pairs=pairs)

A seed counts when the test asks for the next one: a seed that fails is not recorded, and comes
first in the next run.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from filelock import FileLock

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "evidence"


class Tally(TypedDict):
    """What one commit has checked: how many seeds, the last before `upto`, the sums of their counts."""

    seeds: int
    upto: int
    counts: dict[str, int]
    minutes: float


Evidence = dict[str, dict[str, Tally]]
"""check -> commit -> tally."""


@dataclass
class LongRun:
    """One long test: the seeds it still has to do, and what they counted."""

    suite: str
    check: str
    minutes: float
    commit: str
    first: int
    folder: Path = FOLDER
    _counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def resume(
        cls, suite: str, check: str, minutes: float, *, folder: Path = FOLDER, commit: str = ""
    ) -> LongRun:
        """The run that begins at the first seed that is not checked yet, or at a chosen one."""
        known = read(folder, suite).get(check, {})
        first = int(os.environ.get("GREBE_TEST_SEED", _next_seed(known)))
        return cls(suite, check, minutes, commit or current_commit(), first, folder)

    def seeds(self) -> Iterator[int]:
        """Seeds until the time is up; at least one."""
        begun = last = time.monotonic()
        seed = self.first
        while seed == self.first or last - begun < self.minutes * 60:
            self._counts.clear()
            yield seed
            now = time.monotonic()
            self._record(seed, (now - last) / 60)
            seed, last = seed + 1, now

    def add(self, **counts: int) -> None:
        """Adds to what the present seed has checked."""
        self._counts.update(counts)

    def _record(self, seed: int, minutes: float) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{self.suite}.json"
        with FileLock(self.folder / f".{self.suite}.lock"):
            evidence = read(self.folder, self.suite)
            known = evidence.setdefault(self.check, {})
            if seed != _next_seed(known):
                return  # repeated, or chosen by hand: it may fail, but it does not count again
            empty = Tally(seeds=0, upto=0, counts={}, minutes=0.0)
            tally = known.setdefault(self.commit, empty)
            tally["seeds"] += 1
            tally["upto"] = seed + 1
            tally["minutes"] = round(tally["minutes"] + minutes, 3)
            tally["counts"] = dict(sorted((Counter(tally["counts"]) + self._counts).items()))
            draft = file.with_suffix(".draft")
            draft.write_text(json.dumps(evidence, indent=1, sort_keys=True) + "\n")
            draft.replace(file)


def _next_seed(known: Mapping[str, Tally]) -> int:
    return max((tally.get("upto", tally["seeds"]) for tally in known.values()), default=0)


def read(folder: Path, suite: str) -> Evidence:
    """The evidence of a suite so far."""
    file = folder / f"{suite}.json"
    evidence: Evidence = json.loads(file.read_text()) if file.is_file() else {}
    return evidence


def current_commit() -> str:
    """The commit that is being checked; marked when the package differs from it."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return f"{head}+changes" if _git("status", "--porcelain", "--", "src") else head


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or ("unknown" if done.returncode else "")
