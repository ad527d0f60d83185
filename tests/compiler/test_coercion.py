"""The casts that a union's branches get: only where the types are known to differ, and nameable."""

from __future__ import annotations

import pytest

from grebe.compiler.algebra.coercion import coerced
from grebe.compiler.algebra.known_types import Types, scan_types, wanted
from grebe.compiler.emit import emit
from grebe.compiler.lower import Relation, lower

SOURCES = {
    "r": Relation("r", (("a", "int"), ("st", "struct<Aa:int>"), ("s", "string"))),
    "t": Relation("t", (("b", "bigint"), ("st", "struct<Aa:bigint>"), ("n", "void"))),
}
TABLES = {name: dict(relation.columns) for name, relation in SOURCES.items()}


@pytest.mark.parametrize(
    ("sql", "whole", "expected"),
    [
        ("SELECT a AS x FROM r UNION ALL SELECT b FROM t", "bigint", ["CAST(`a` AS BIGINT)"]),
        ("SELECT a AS x FROM r UNION ALL SELECT a FROM r", "int", []),
        ("SELECT NULL AS x FROM r UNION ALL SELECT a FROM r", "int", ["CAST(NULL AS INT)"]),
        ("SELECT NULL AS x FROM r UNION ALL SELECT NULL FROM t", "void", []),
        ("SELECT 1 AS x FROM r UNION ALL SELECT a FROM r", "int", []),
        ("SELECT 1 AS x FROM r UNION ALL SELECT b FROM t", "bigint", ["CAST(1 AS BIGINT)"]),
        ("SELECT s AS x FROM r UNION ALL SELECT NULL FROM t", "string collate UTF8_LCASE", []),
        (
            "SELECT st AS x FROM r UNION ALL SELECT st FROM t",
            "struct<Aa:bigint>",
            ["AS STRUCT<Aa: BIGINT>)"],
        ),
        ("SELECT a AS x FROM r EXCEPT SELECT b FROM t", "bigint", ["CAST(`a` AS BIGINT)"]),
    ],
)
def test_branches_are_cast_where_they_differ(sql: str, whole: str, expected: list[str]) -> None:
    root = lower(sql, dialect="spark", sources=SOURCES).root
    assert root is not None
    types = scan_types(root, TABLES)
    for relation, items in wanted(root):
        if relation == root:
            types.update({item.text: whole for item in items})
    found = emit(coerced(root, Types("spark", types)), "spark", lambda leaf: leaf.table)
    assert found.count("CAST(") == len(expected)
    assert all(text in found for text in expected), found
