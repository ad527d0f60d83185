"""F009: every code is stable, and stands in the docs."""

from __future__ import annotations

import pytest

from codes.walk import said
from grebe import UnsupportedSQLError, compile_ivm
from grebe.codes import FEATURES
from programs.features import DOCUMENT

REFUSED = {
    "select_star": "SELECT * FROM t",
    "distinct_on": "SELECT DISTINCT ON (g) g, x FROM t ORDER BY g, x",
    "unnamed_column": "SELECT g, x + 1 FROM t",
    "duplicate_column": "SELECT g, x AS g FROM t",
    "tablesample": "SELECT g FROM t TABLESAMPLE 10%",
    "time_travel": "SELECT g FROM t AT (VERSION => 3)",
    "no_table": "SELECT 1 AS one",
    "reserved_name": "SELECT g AS rowid FROM t",
    "several_statements": "SELECT g FROM t; SELECT g FROM t",
    "not_a_query": "DELETE FROM t",
    "limit": "SELECT g FROM t LIMIT 2",
    "window_function": "SELECT g, SUM(x) OVER () AS s FROM t",
    "recursive_cte": "WITH RECURSIVE n AS (SELECT g FROM t UNION SELECT g + 1 FROM n) SELECT g FROM n",
    "non_deterministic": "SELECT g, random() AS r FROM t",
    "collation": "SELECT g COLLATE NOCASE AS g FROM t",
    "aggregate:approx_count_distinct": "SELECT g, APPROX_COUNT_DISTINCT(x) AS n FROM t GROUP BY g",
}


@pytest.mark.parametrize("code", REFUSED)
def test_F009_F031_a_query_is_refused_with_a_listed_code(code: str) -> None:
    with pytest.raises(UnsupportedSQLError) as caught:
        compile_ivm(REFUSED[code])
    assert caught.value.feature == code
    assert code.partition(":")[0] in FEATURES


def test_F009_every_code_of_a_statement_is_in_the_docs() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    raised = {
        item.code for item in said() if item.kind == "code" and f"[{item.code}] " in item.text
    }
    assert len(raised) > 8
    assert [code for code in sorted(raised, key=str) if f"`{code}`" not in text] == []
