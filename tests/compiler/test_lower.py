"""Lowering changes nothing: the original text and the emitted tree give equal bags."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.databases import bag, connect, emitted, lowered

QUERIES = [
    line.strip()
    for line in (Path(__file__).parent / "queries.sql").read_text().split(";\n")
    if line.strip()
]


@pytest.fixture(scope="module")
def databases() -> list:
    return [connect(seed) for seed in range(8)]


@pytest.mark.parametrize("sql", QUERIES)
def test_emitted_tree_equals_the_original(sql: str, databases: list) -> None:
    text = emitted(lowered(sql))
    for connection in databases:
        expected = connection.execute(sql).fetchall()
        assert bag(connection.execute(text).fetchall()) == bag(expected), text
