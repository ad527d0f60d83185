"""Streams need no JVM: a test that starts one without the mark `spark` fails."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _no_jvm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but what says so starts Java."""
    if request.node.get_closest_marker("spark") or request.node.get_closest_marker("cluster"):
        return
    popen = subprocess.Popen.__init__

    def checked(self: Any, args: Any, *rest: Any, **more: Any) -> None:
        text = args if isinstance(args, str) else " ".join(map(str, args))
        assert not any(word in text for word in ("java", "spark-")), f"a JVM is started: {text}"
        popen(self, args, *rest, **more)

    monkeypatch.setattr(subprocess.Popen, "__init__", checked)
