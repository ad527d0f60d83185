"""The table of supported SQL in the documentation is what the golden pairs and laws show.

`GREBE_GOLDEN=write` writes it anew.
"""

from __future__ import annotations

import os
from pathlib import Path

from compiler.laws.databases import draw
from compiler.laws.engine import Database
from compiler.laws.plans import lowered, planned
from compiler.test_golden import FILES, pairs_of

PAGE = Path(__file__).parents[2] / "docs" / "sql-support.md"

HEAD = """# SQL support

Every line is a test: its query is compiled, its change is compared with a golden text and run, and
a view of it is built and refreshed over hundreds of random databases (`tests/compiler/golden`,
`tests/compiler/test_golden.py`). The last column says how the stored rows are written; how each
operator's change is computed is on the pages of [operators](operators/README.md). Random
compositions of all of them are in `tests/compiler/test_laws_generated.py`.

This page is written by `GREBE_GOLDEN=write pytest tests/compiler/test_sql_support.py`.
"""


def page() -> str:
    database = Database.of(draw(1, cases=1))
    # The sources as a person sees them: without the column that tells the test databases apart.
    lines = [HEAD]
    for file in FILES:
        lines += [f"## {file.stem.replace('_', ' ')}", ""]
        lines += ["| what | query | incremental | written by |", "|---|---|---|---|"]
        for pair in pairs_of(file):
            plan = planned(lowered(pair.query, database), database)
            query = pair.query.replace("|", "\\|")
            answer = "yes" if plan.is_incremental else ", ".join(r.code for r in plan.reasons)
            lines.append(f"| {pair.title} | `{query}` | {answer} | {plan.strategy} |")
        lines.append("")
    return "\n".join(lines)


def test_the_page_is_up_to_date() -> None:
    text = page()
    if os.environ.get("GREBE_GOLDEN") == "write":
        PAGE.write_text(text)
    assert PAGE.read_text() == text
