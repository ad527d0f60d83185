"""Reference pages that are written from the code, so that they cannot be out of date."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import grebe.errors
from api.python_page import python_page
from grebe.codes import CODES, DECLARATIONS, FEATURES, QUERY_REASONS, Code, Place
from grebe.errors import GrebeError

TESTS = Path(__file__).resolve().parents[1]
PAGES = TESTS.parent / "docs" / "reference"
_NUMBER = re.compile(r"F(\d{3})(?:_to_F(\d{3}))?")

WANTED = (
    "F051", "F071", *(f"F{n}" for n in range(105, 111)), *(f"F{n}" for n in range(191, 201)),
    "F202", *(f"F{n}" for n in range(208, 223)), "F236", "F251", *(f"F{n}" for n in range(261, 276)),
)  # fmt: skip
ELSEWHERE = {
    "F071": ["cli/test_transcript.py::test_explain_answers_for_sql_that_is_nowhere_yet"],
    "F106": [
        "engine/test_races.py::test_a_reader_sees_the_old_or_the_new_rows",
        "formats/commit/test_commit.py::test_a_failing_query_leaves_nothing_visible",
    ],
    "F108": ["compiler/test_cost.py::test_F108_a_share_that_was_set_decides_whatever_was_measured"],
    "F109": ["engine/test_refresh.py::test_a_window_without_net_change_moves_the_frontier_alone"],
    "F110": ["definitions/test_statement.py::test_every_clause_is_read"],
    "F211": ["engine/test_refresh.py::test_a_graph_of_views_follows_mixed_changes"],
    "F212": ["engine/test_refresh.py::test_compaction_changes_nothing"],
    "F213": ["engine/test_refresh.py::test_a_source_created_anew_is_not_taken_for_the_old_one"],
    "F214": ["formats/commit/test_crash.py::test_a_kill_between_two_steps", "formats/commit/test_commit.py::test_an_overwrite_replaces_everything"],
    "F215": [
        "formats/commit/test_commit.py::test_a_first_build_moves_rows_and_frontier_together",
        "formats/commit/test_crash.py::test_a_kill_between_two_steps",
    ],
    "F251": [
        "engine/test_refresh.py::test_a_failed_view_holds_back_its_children_only",
        "engine/test_refresh.py::test_views_in_a_circle_are_refused",
    ],
    "F261": ["engine/test_refresh.py::test_a_graph_of_views_follows_mixed_changes"],
    "F262": [
        "formats/commit/test_crash.py::test_a_lost_reply_is_resolved_by_reading",
        "formats/commit/test_commit.py::test_a_run_that_landed_is_answered_again_and_not_applied_again",
    ],
    "F263": ["formats/commit/test_crash.py::test_kills_between_any_two_steps", "formats/commit/test_crash.py::test_kills_of_the_whole_spark"],
    "F264": ["formats/commit/test_races.py::test_exactly_one_of_two_writers_wins_many_times"],
    "F265": ["engine/test_refresh.py::test_compaction_changes_nothing"],
    "F266": ["engine/test_graph.py::test_columns_that_change_below_a_view"],
    "F267": ["cli/test_transcript.py::test_from_an_empty_folder_to_a_broken_view_and_back"],
    "F269": ["cli/test_project.py::test_F051_four_policies_on_what_can_and_what_cannot_be_incremental"],
    "F271": [
        "compiler/test_laws_generated.py::test_generated_queries_keep_every_law",
        "compiler/test_laws_generated.py::test_generated_queries_go_on",
    ],
    "F272": [
        "formats/test_identity.py::test_values_cancel_exactly_when_they_are_the_same",
        "formats/test_identity.py::test_spark_gives_the_same_deltas_for_every_type",
    ],
    "F274": ["compiler/test_cost.py::test_what_decides"],
}  # fmt: skip
"""Features that tests without their number show."""


def shown() -> dict[str, list[str]]:
    """Tests by the number of the feature that they show."""
    found: dict[str, list[str]] = {number: [] for number in WANTED}
    folders = ("api", "cli", "definitions", "registry")
    files = [file for folder in folders for file in sorted((TESTS / folder).glob("test_*.py"))]
    for file in files:
        for name in _tests_in(file):
            for number in _numbers(name):
                found.setdefault(number, []).append(f"{file.parent.name}/{file.name}::{name}")
    for number, tests in ELSEWHERE.items():
        found[number] += [test for test in tests if test not in found[number]]
    return dict(sorted(found.items()))


def _tests_in(file: Path) -> list[str]:
    nodes = ast.parse(file.read_text(encoding="utf-8")).body
    functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    return [name for name in functions if name.startswith("test_")]


def _numbers(name: str) -> list[str]:
    found = []
    for first, last in _NUMBER.findall(name):
        found += [f"F{n:03}" for n in range(int(first), int(last or first) + 1)]
    return found


def commands_page() -> str:
    """Every command with its arguments."""
    from typer.main import get_command

    from grebe.cli.commands import app

    lines = [
        "# Commands",
        "",
        "`grebe [-C folder] [-q] [-v] command …`. With `-o json` the result is one document on stdout; everything",
        "else goes to stderr. Exit codes: 0 done; 1 a view failed, differs, or cannot be reached; 2 the command, the",
        "settings or a definition make no sense. A *selection* is any number of names (`sales.daily`), globs",
        "(`'sales.*'`), tags (`tag:hourly`); `+x` adds what x reads, `x+` what reads x. Nothing means all. A name with",
        "spaces, commas or such signs in it stands in backquotes, or is an argument of its own. `-v` (`--wide`) adds reasons in",
        "full, versions, ids, full names and laws. The project is the nearest folder with a grebe.toml, here or above. Tables are",
        "as wide as the terminal, or as `COLUMNS` says; `NO_COLOR`, `FORCE_COLOR` and `TERM=dumb` decide about colours.",
        "",
        "Written by `GREBE_GOLDEN=write pytest tests/api/test_pages.py`.",
        "",
    ]
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        lines += [f"## grebe {name}", "", str(command.help), ""]
        for item in command.params:
            spelled = ", ".join(f"`{part}`" for part in item.opts)
            text = getattr(item, "help", None) or ""
            lines.append(f"- {spelled}: {text}".rstrip().rstrip(":"))
        lines += ["", f"`{str(command.epilog).removeprefix('Example: ')}`", ""]
    return "\n".join(lines)


def errors_page() -> str:
    """Every exception, in its tree."""
    lines = [
        "# Errors",
        "",
        "Every exception of grebe, in one tree. Each carries `message`, `detail`, `hint`, `code` and, where a text is",
        "the problem, `where`. Codes narrower than the class's own are in [codes](codes.md); why a query is not",
        "maintained is a [reason](reasons.md).",
        "",
        "Written by `GREBE_GOLDEN=write pytest tests/api/test_pages.py`.",
        "",
        "| class | code | means |",
        "|---|---|---|",
    ]
    for depth, kind in _tree(GrebeError, 0):
        first = inspect.getdoc(kind) or ""
        lines.append(
            f"| {'· ' * depth}`{kind.__name__}` | `{kind.code}` | {first.splitlines()[0]} |"
        )
    return "\n".join(lines) + "\n"


def _tree(kind: type[GrebeError], depth: int) -> list[tuple[int, type[GrebeError]]]:
    found = [(depth, kind)]
    for child in sorted(kind.__subclasses__(), key=lambda item: item.__name__):
        if child.__module__ == grebe.errors.__name__:
            found += _tree(child, depth + 1)
    return found


def codes_page() -> str:
    """Every code that is not one of the query itself."""
    lines = [
        "# Codes",
        "",
        "What `code` of an error or of a reason says. Codes are stable, messages are not. *Where*: what somebody does",
        "when the code is met. Why a query is not maintained has codes of its own: [reasons](reasons.md).",
        "",
        "Written by `GREBE_GOLDEN=write pytest tests/api/test_pages.py` from `grebe/codes.py`.",
        "",
        *_table("code", CODES),
        "",
        "## Features",
        "",
        "`UnsupportedSQLError.feature`: what of a text can be no view, or none under the policy.",
        "",
        *_table("feature", FEATURES),
        "",
        "## Declarations",
        "",
        "`DeclarationError.feature`; `code` is the same word in kebab-case, such as `invalid-from`.",
        "",
        *_table("feature", DECLARATIONS),
    ]
    return "\n".join(lines) + "\n"


def _table(title: str, codes: Mapping[str, Code]) -> list[str]:
    rows = [f"| {title} | means | what to do | where |", "|---|---|---|---|"]
    for code, item in sorted(codes.items()):
        places = "anywhere" if item.places == tuple(Place) else ", ".join(item.places)
        rows.append(f"| `{code}` | {item.text} | {item.hint} | {places} |")
    return rows


def reasons_page() -> str:
    """Why a query is not maintained, with a place to link to for each."""
    lines = [
        "# Reasons",
        "",
        "Why a view's query is not maintained incrementally. Every reason is reported with its place",
        "in the query; all reasons of one query are reported, not only the first. Under the policy",
        "`auto` such a view is recomputed in full, under `strict` and `incremental` it is refused.",
        "The reasons marked *always refused* stop every policy: not even a recomputation would give",
        "a result that can be relied on.",
        "",
        "`feature` is the code of `UnsupportedSQLError.feature`; `aggregate:<name>` carries the name",
        "of the aggregate. Why a refresh was in full or failed is in [codes](codes.md).",
        "",
        "| code | feature | always refused |",
        "|---|---|---|",
    ]
    for code, item in QUERY_REASONS.items():
        feature = "aggregate:<name>" if item.feature == "aggregate" else item.feature
        refused = "yes" if item.always_refused else ""
        lines.append(f"| [`{code}`](#{code}) | `{feature}` | {refused} |")
    for code, item in QUERY_REASONS.items():
        lines += ["", f"## {code}", "", item.text, "", f"Instead: {item.instead}."]
    return "\n".join(lines) + "\n"


PAGES_WRITTEN = {
    "codes.md": codes_page,
    "reasons.md": reasons_page,
    "commands.md": commands_page,
    "errors.md": errors_page,
    "python.md": python_page,
}
