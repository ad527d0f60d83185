"""Every code that the package says is listed, every listed one is said, and some test provokes it."""

from __future__ import annotations

import re

from api.pages import PAGES
from codes.walk import classes, said, strings_of_tests
from grebe.codes import CODES, DECLARATIONS, FEATURES, QUERY_REASONS
from grebe.compiler.lower.relations import _REFUSED_TABLE_PARTS
from grebe.compiler.reasons import DESCRIPTIONS, ReasonCode

LISTED = {
    "code": {*CODES, *QUERY_REASONS},
    "feature": {*FEATURES},
    "declaration": {*DECLARATIONS},
}
PASSED_ON = re.compile(
    r"(\w+\.)*code(\.value)?|feature|feature_of\(.*\)|own|item\['code'\]|self\._name"
)
"""What stands where a code is handed on that another place said; `refuse(self._name, reason)` is of formats."""
FROM_TABLES = {
    *(feature for feature, _ in _REFUSED_TABLE_PARTS.values()),
    *(item.feature for item in QUERY_REASONS.values()),
}
"""Features that are said through a table."""
NOT_PROVOKED = {
    "engine-version-changed",
}
"""What no test provokes yet; it may only shrink."""


def said_of(kind: str) -> set[str]:
    found = {item.code for item in said() if item.kind == kind and item.code is not None}
    return found | FROM_TABLES if kind == "feature" else found


def test_every_code_that_is_said_is_listed() -> None:
    for kind, listed in LISTED.items():
        assert said_of(kind) - listed - {""} == set(), kind


def test_every_listed_code_is_said() -> None:
    for kind, listed in LISTED.items():
        assert listed - said_of(kind) == set(), kind


def test_a_code_that_only_a_run_can_tell_is_one_that_is_handed_on() -> None:
    open_ = [item for item in said() if item.code is None]
    assert [item for item in open_ if not PASSED_ON.fullmatch(item.text)] == []


def test_no_code_is_listed_twice_and_each_one_is_named_in_the_enumeration() -> None:
    assert CODES.keys() & QUERY_REASONS.keys() == set()
    assert set(ReasonCode) == set(QUERY_REASONS) == {code.value for code in DESCRIPTIONS}
    assert {item.feature for item in QUERY_REASONS.values()} <= set(FEATURES)


def test_every_code_is_provoked_by_some_test() -> None:
    assert {code for code in set().union(*LISTED.values()) if not provoked(code)} == NOT_PROVOKED


def provoked(code: str) -> bool:
    """Whether a test names the code, in a text of its own or with others, or its class."""
    whole, longer = strings_of_tests()
    names = {f"ReasonCode.{code.upper().replace('-', '_')}", *classes().get(code, ())}
    if code in whole or names & whole:
        return True
    word = rf"(?<![\w-]){re.escape(code)}(?![\w-])" if "-" in code else rf"\[{re.escape(code)}[\]:]"
    return re.search(word, longer) is not None


def test_every_code_of_the_page_of_outcomes_is_listed() -> None:
    text = (PAGES / "outcomes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]* \| ([^|]*) \|", text, re.MULTILINE)
    codes = {code for row in rows for code in re.findall(r"`([a-z-]+)`", row)}
    assert len(codes) > 20
    assert codes - LISTED["code"] == set()
