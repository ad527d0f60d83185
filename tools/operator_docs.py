"""Writes docs/operators/: one page per rule, from the rule's own text and its compiled example.

A page cannot drift from the code: the law is the module's docstring, and the SQL is what the
compiler makes of the example today. A test compares the pages with what this would write.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from grebe.compiler.algebra.known_types import Types, scan_types
from grebe.compiler.delta import change
from grebe.compiler.emit import emit
from grebe.compiler.explain import explain, leaf_name
from grebe.compiler.lower import Relation, lower
from grebe.compiler.plan.strategy import make_plan

FOLDER = Path(__file__).parent.parent / "docs" / "operators"
TABLES = {
    "r": {"a": "BIGINT", "b": "BIGINT", "x": "DECIMAL(10,2)", "items": "ARRAY<BIGINT>"},
    "s": {"a": "BIGINT", "c": "BIGINT", "y": "DOUBLE"},
}


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title, the module that states the law, and an example."""

    file: str
    title: str
    module: str
    example: str
    steps: bool = False


PAGES = (
    Page("scan", "Scan", "delta.scan", "SELECT a, b FROM r"),
    Page("filter", "WHERE, HAVING, QUALIFY", "delta.filter", "SELECT a FROM r WHERE b > 1"),
    Page("projection", "SELECT list", "delta.projection", "SELECT a, b + 1 AS c FROM r"),
    Page("join", "Inner joins", "delta.join", "SELECT r.b, s.c FROM r JOIN s ON r.a = s.a"),
    Page(
        "outer",
        "LEFT, RIGHT and FULL joins",
        "delta.outer",
        "SELECT r.b, s.c FROM r LEFT JOIN s ON r.a = s.a",
    ),
    Page(
        "semi",
        "EXISTS, IN, NOT EXISTS, NOT IN, ALL",
        "delta.semi",
        "SELECT b FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
    ),
    Page(
        "mark",
        "IN and EXISTS as values",
        "delta.mark",
        "SELECT b, a IN (SELECT a FROM s) AS known FROM r",
    ),
    Page(
        "keyed_joins",
        "Joins that keep the rows of one side",
        "delta.keyed_joins",
        "SELECT r.b, q.n FROM r"
        " LEFT JOIN (SELECT a, COUNT(*) AS n FROM s GROUP BY a) AS q ON r.a = q.a",
    ),
    Page("union", "UNION ALL", "delta.union", "SELECT a FROM r UNION ALL SELECT a FROM s"),
    Page(
        "setops",
        "DISTINCT, UNION, EXCEPT, INTERSECT",
        "delta.setops",
        "SELECT a FROM r EXCEPT SELECT a FROM s",
    ),
    Page(
        "aggregate",
        "GROUP BY below the root",
        "delta.aggregate",
        "SELECT a, SUM(x) AS total, COUNT(*) AS n FROM r GROUP BY a",
    ),
    Page(
        "recompute",
        "Window functions and top-k",
        "delta.recompute",
        "SELECT a, b, RANK() OVER (PARTITION BY a ORDER BY b) AS place FROM r",
    ),
    Page(
        "unnest",
        "LATERAL VIEW, UNNEST, explode",
        "delta.unnest",
        "SELECT a, item FROM r LATERAL VIEW explode(items) v AS item",
    ),
    Page(
        "write-bag",
        "Writing by value",
        "write.bag",
        "SELECT a, b FROM r WHERE b > 1",
        steps=True,
    ),
    Page(
        "write-groups",
        "Writing groups",
        "write.groups",
        "SELECT a, SUM(x) AS total, MIN(b) AS least FROM r GROUP BY a",
        steps=True,
    ),
    Page(
        "write-replace",
        "Writing by key",
        "write.replace",
        "SELECT a, b, RANK() OVER (PARTITION BY a ORDER BY b) AS place FROM r",
        steps=True,
    ),
)


def text_of(page: Page) -> str:
    """The Markdown of a page."""
    law = (importlib.import_module(f"grebe.compiler.{page.module}").__doc__ or "").strip()
    sources = {name: Relation(name, tuple(columns.items())) for name, columns in TABLES.items()}
    lowered = lower(page.example, dialect="spark", sources=sources)
    assert lowered.root is not None
    types = Types("spark", scan_types(lowered.root, TABLES))
    plan = make_plan(lowered, types)
    parts = [
        f"# {page.title}",
        law,
        f"Code: `src/grebe/compiler/{page.module.replace('.', '/')}.py`",
    ]
    parts += ["## Example", f"```sql\n{page.example}\n```"]
    if page.steps:
        for step in explain(plan).steps:
            parts.append(f"{step.kind} {step.name}:".replace(" :", ":"))
            parts.append(f"```sql\n{step.sql}\n```")
    else:
        parts.append("Its change, in Spark's SQL (`r@delta` holds the changes with their weights):")
        parts.append(f"```sql\n{emit(change(lowered.root, types), 'spark', leaf_name)}\n```")
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """The Markdown of the list of pages."""
    lines = ["# Operators", "", "One operator, one rule, one page.", ""]
    lines += [f"- [{page.title}]({page.file}.md)" for page in PAGES]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write all pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        (FOLDER / f"{page.file}.md").write_text(text_of(page))
    (FOLDER / "README.md").write_text(index())


if __name__ == "__main__":
    main()
