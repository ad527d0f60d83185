"""All TPC-H and TPC-DS queries lower, and mean on data what their texts mean."""

from __future__ import annotations

import pytest

from compiler.databases import bag
from compiler.tpc import open_benchmark, sources_of, texts_of
from grebe.compiler.emit import emit
from grebe.compiler.lower import lower

WITHOUT_PARTITION = {44, 49}


@pytest.fixture(scope="module")
def tpch() -> tuple:
    connection = open_benchmark("tpch", 0.01)
    return connection, sources_of(connection), texts_of(connection, "tpch")


@pytest.fixture(scope="module")
def tpcds() -> tuple:
    connection = open_benchmark("tpcds", 0.01)
    return connection, sources_of(connection), texts_of(connection, "tpcds")


def compare(benchmark: tuple, number: int) -> set[str]:
    """Compare the emitted tree with the text; the codes of its reasons."""
    connection, sources, texts = benchmark
    found = lower(texts[number], dialect="duckdb", sources=sources)
    assert found.root is not None
    text = emit(found.root, "duckdb", lambda leaf: leaf.table)
    expected = connection.execute(texts[number]).fetchall()
    assert bag(connection.execute(text).fetchall()) == bag(expected)
    return {reason.code for reason in found.reasons}


@pytest.mark.parametrize("number", range(1, 23))
def test_tpch(tpch: tuple, number: int) -> None:
    assert compare(tpch, number) == set()


@pytest.mark.parametrize("number", range(1, 100))
def test_tpcds(tpcds: tuple, number: int) -> None:
    expected = {"window-without-partition"} if number in WITHOUT_PARTITION else set()
    assert compare(tpcds, number) == expected
