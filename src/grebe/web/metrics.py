"""What can be measured of views and runs, as text that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from grebe.model import State
from grebe.project.status import Status
from grebe.registry.records import RunRecord

Sample = tuple[Mapping[str, str], float]


def metrics_text(views: Sequence[Status], runs: Iterable[RunRecord]) -> str:
    """Every metric with its samples."""
    ended = [run for run in runs if run.outcome is not None]
    counted = Counter((run.view, str(run.outcome)) for run in ended)
    last = {run.view: run.seconds for run in reversed(ended) if run.seconds is not None}
    lines: list[str] = []
    lines += _metric(
        "grebe_view_state",
        "gauge",
        "1 for the state that a view is in",
        [
            ({"view": str(item.name), "state": str(state)}, float(item.state is state))
            for item in views
            for state in State
        ],
    )
    lines += _metric(
        "grebe_recent_runs",
        "gauge",
        "ended runs among the newest thousand",
        [({"view": view, "outcome": what}, n) for (view, what), n in sorted(counted.items())],
    )
    lines += _metric(
        "grebe_last_run_seconds",
        "gauge",
        "what the last run of a view took",
        [({"view": view}, seconds) for view, seconds in sorted(last.items())],
    )
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, text: str, samples: Iterable[Sample]) -> list[str]:
    return [
        f"# HELP {name} {text}",
        f"# TYPE {name} {kind}",
        *(f"{name}{{{_labels(labels)}}} {value:g}" for labels, value in samples),
    ]


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())


def _escaped(text: str) -> str:
    r"""A text inside of the quotes of a label.

    >>> _escaped('a"b\\c')
    'a\\"b\\\\c'
    """
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
