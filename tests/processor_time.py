"""Processor time of this process and of all that it started: what a test costs, whoever else is at the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """What has been used up to now, by processes that live, and by those that were waited for."""
    return sum(map(_ticks, _below(os.getpid()))) / TICKS


def _below(process: int) -> Iterator[int]:
    """A process and all below it; of a Java only itself, whose hundred threads start nobody who lives."""
    yield process
    with suppress(OSError):
        if Path(f"/proc/{process}/comm").read_text().strip() == "java":
            return
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _below(int(child))


def _ticks(process: int) -> int:
    """User's and system's, its own and of its children that ended."""
    with suppress(OSError, ValueError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))
    return 0
