"""Fingerprints of functions: equal in all processes, others when what is done changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grebe.errors import DefinitionError
from grebe.udf import udf

TEXT = '''
import re
import numpy as np
import grebe
FACTOR = 3
WORDS = {{"a", "b", "c"}}
PATTERN = re.compile("x+")

def helper(x):
    return x * FACTOR

def outer(bonus):
    def inner(x: int, more: int = {default}) -> {returns}:
        """{docstring}"""
        # {comment}
        if PATTERN.search(str(x)) or str(x) in WORDS:
            return 0
        return {body} + bonus + more + int(np.sign(x))
    return inner

made = grebe.udf(outer({bonus}))
'''
PLAIN = {
    "default": "1", "returns": "int", "docstring": "A.", "comment": "one",
    "body": "helper(x)", "bonus": "5",
}  # fmt: skip


def fingerprint(folder: Path, seed: str = "0", text: str = TEXT, **changed: str) -> str:
    """As another process finds it."""
    (folder / "mine.py").write_text(text.format(**{**PLAIN, **changed}))
    return subprocess.run(
        [sys.executable, "-c", "import mine; print(mine.made.fingerprint)"],
        cwd=folder, env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{folder}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


def test_equal_in_two_processes_and_another_one_for_each_edit(tmp_path: Path) -> None:
    first = fingerprint(tmp_path)
    assert len(first) == 64
    assert fingerprint(tmp_path, seed="77") == first
    assert fingerprint(tmp_path, docstring="Another.", comment="two") == first
    spaced = TEXT.replace("x * FACTOR", "(x   *   FACTOR)  # the same")
    assert fingerprint(tmp_path, text=spaced) == first
    edits = [
        fingerprint(tmp_path, body="helper(x + 1)"),
        fingerprint(tmp_path, default="2"),
        fingerprint(tmp_path, bonus="6"),
        fingerprint(tmp_path, returns="float"),
        fingerprint(tmp_path, text=TEXT.replace("x * FACTOR", "x + FACTOR")),
        fingerprint(tmp_path, text=TEXT.replace("FACTOR = 3", "FACTOR = 4")),
        fingerprint(tmp_path, text=TEXT.replace('"c"', '"d"')),
        fingerprint(tmp_path, text=TEXT.replace('"x+"', '"y+"')),
    ]
    assert len({first, *edits}) == len(edits) + 1


def test_a_version_stands_for_the_text() -> None:
    one = udf(lambda x: x, returns="int", name="f", version="1")
    two = udf(lambda x: x + 1, returns="int", name="f", version="1")
    three = udf(lambda x: x, returns="int", name="f", version="2")
    assert one.fingerprint == two.fingerprint != three.fingerprint


def test_what_cannot_be_told_asks_for_a_version() -> None:
    thing = object()

    def one(x: int) -> str:
        return f"{thing}{x}"

    with pytest.raises(DefinitionError) as raised:
        _ = udf(one).fingerprint
    assert raised.value.code == "function-without-version"
    assert raised.value.hint is not None
    assert 'version="1"' in raised.value.hint
    assert udf(one, version="1").fingerprint


def test_members_of_our_own_modules_count_and_installed_ones_do_not(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "prices.py").write_text("RATE = 2\nOTHER = 1\ndef price(x):\n    return x * RATE\n")
    text = "import grebe\nfrom shop import prices\n@grebe.udf\ndef one(x: int) -> int:\n    return prices.price(x)\nmade = one\n"
    first = fingerprint(tmp_path, text=text)
    (package / "prices.py").write_text("RATE = 2\nOTHER = 9\ndef price(x):\n    return x * RATE\n")
    assert fingerprint(tmp_path, text=text) == first
    (package / "prices.py").write_text("RATE = 3\nOTHER = 1\ndef price(x):\n    return x * RATE\n")
    assert fingerprint(tmp_path, text=text) != first
