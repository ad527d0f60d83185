"""Content keys: different tuples of values have different keys, equal ones equal keys wherever they are made."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from itertools import combinations

import pytest
from pyspark.sql import SparkSession

from grebe.compiler.rows.row_keys import checksum_of, key_of

VALUES: dict[str, list[str]] = {
    "string": ["NULL", "''", "'1'", "'N'", "'1:1'", "'a'", "'A'", "'a '", "'ä'", "'\\u0000'", "'2:ab'"],
    "binary": ["NULL", "X''", "X'31'", "X'00'", "X'4E'"],
    "bigint": ["NULL", "0", "1", "-1", "9223372036854775807"],
    "double": ["NULL", "0D", "-0D", "1D", "double('NaN')", "double('inf')", "-double('inf')", "1e-300D", "0.1D"],
    "decimal(20,4)": ["NULL", "0", "1", "1.0001"],
    "boolean": ["NULL", "true", "false"],
    "date": ["NULL", "date'1970-01-01'", "date'0001-01-01'"],
    "timestamp": ["NULL", "timestamp'1970-01-01 00:00:00Z'", "timestamp'1970-01-01 00:00:00.000001Z'"],
    "array<int>": ["NULL", "array()", "array(1)", "array(1, NULL)", "array(NULL, 1)", "array(NULL)"],
    "array<string>": ["NULL", "array('a', 'b')", "array('a,b')", "array('a\",\"b')", "array('null')", "array(NULL)"],
    "struct<a:int,b:string>": [
        "NULL", "named_struct('a', 1, 'b', NULL)", "named_struct('a', NULL, 'b', '1')",
        "named_struct('a', NULL, 'b', NULL)",
    ],
    "map<string,int>": ["NULL", "map()", "map('a', 1)", "map('a', NULL)", "map('a', 1, 'b', 2)"],
    "array<timestamp>": [
        "NULL", "array(timestamp'2020-01-01 00:00:00.000001Z')", "array(timestamp'2020-01-01 00:00:00.000002Z')",
    ],
    "array<double>": ["NULL", "array(0D)", "array(-0D)", "array(double('NaN'))", "array(NULL)"],
}  # fmt: skip


def keys(spark: SparkSession, rows: list[tuple[str, str, str]]) -> list[bytes]:
    """The keys of pairs of literals: (type, one, other)."""
    found: list[bytes] = []
    kinds = sorted({kind for kind, _, _ in rows})
    for kind in kinds:
        one, two = kind.split(" & ")
        pairs = [(a, b) for own, a, b in rows if own == kind]
        values = ", ".join(f"(CAST({a} AS {one}), CAST({b} AS {two}))" for a, b in pairs)
        text = key_of("f", [("a", one), ("b", two)])
        frame = spark.sql(f"SELECT {text} AS k FROM VALUES {values} AS t (a, b)")
        found += [bytes(row["k"]) for row in frame.collect()]
    return found


def test_different_tuples_have_different_keys(spark: SparkSession) -> None:
    """All pairs of these values, of one type and of two, against each other: tens of thousands of pairs of tuples."""
    rows = []
    draw = random.Random(7)
    for one in VALUES:
        for two in draw.sample(sorted(VALUES), 4):
            rows += [(f"{one} & {two}", a, b) for a in VALUES[one] for b in VALUES[two]]
    distinct = list(dict.fromkeys(rows))
    # A NULL is the same whatever its type's values are, but for the class of the type itself.
    found = keys(spark, distinct)
    assert len(found) == len(distinct)
    assert len(distinct) * (len(distinct) - 1) // 2 > 100_000
    same = [key for key in set(found) if found.count(key) > 1]
    order = [
        item
        for kind in sorted({row[0] for row in distinct})
        for item in distinct
        if item[0] == kind
    ]
    twice = [[row for row, own in zip(order, found, strict=True) if own == key] for key in same]
    assert [group for group in twice if not _alike(group)] == []


def _alike(group: list[tuple[str, str, str]]) -> bool:
    """Nested values are tagged as one class: NULLs and empty ones of them are equal on purpose."""
    nested = {
        ("j" if "<" in kind.split(" & ")[side] else kind.split(" & ")[side], text)
        for kind, *texts in group
        for side, text in enumerate(texts)
    }
    return len({text for _, text in nested}) <= 2


@pytest.mark.parametrize("parts", [1, 4, 7])
def test_equal_values_have_equal_keys_everywhere(spark: SparkSession, parts: int) -> None:
    rows = [
        (n, f"w{n}", float(n), Decimal(n), date(2020, 1, 1 + n), datetime(2020, 1, 1, n))  # noqa: DTZ001
        for n in range(20)
    ]
    schema = "a int, b string, c double, d decimal(10,2), e date, f timestamp"
    zone = spark.conf.get("spark.sql.session.timeZone")
    columns = [("a", "int"), ("b", "string"), ("c", "double"), ("d", "decimal(10,2)"), ("e", "date"), ("f", "timestamp")]  # fmt: skip
    frame = spark.createDataFrame(rows, schema)
    wide = [(name, "bigint" if name == "a" else kind) for name, kind in columns]
    meant = {row["a"]: bytes(row["k"]) for row in frame.selectExpr("a", f"{key_of('f', columns)} AS k").collect()}  # fmt: skip
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        again = frame.repartition(parts).withColumn("a", frame["a"].cast("bigint"))
        found = again.selectExpr("a", f"{key_of('f', wide)} AS k").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
    assert {row["a"]: bytes(row["k"]) for row in found} == meant
    assert {len(key) for key in meant.values()} == {20}


def test_fingerprints_and_types_are_part_of_the_key(spark: SparkSession) -> None:
    texts = [
        key_of("f", [("a", "int")]), key_of("g", [("a", "int")]), key_of("f", [("s", "string")]),
        key_of("f", []), key_of("f", [("a", "int"), ("a", "int")]),
    ]  # fmt: skip
    items = ", ".join(f"hex({text}) AS k{n}" for n, text in enumerate(texts))
    (row,) = spark.sql(f"SELECT {items} FROM VALUES (1, '1') AS t (a, s)").collect()
    assert len(set(row)) == len(texts)


def test_a_checksum_changes_with_any_column(spark: SparkSession) -> None:
    columns = [("a", "int"), ("v", "array<float>"), ("m", "map<string,int>"), ("s", "string")]
    rows = [
        "(1, array(1.0F), map('a', 1), 'x')", "(2, array(1.0F), map('a', 1), 'x')",
        "(1, array(2.0F), map('a', 1), 'x')", "(1, array(1.0F), map('a', 2), 'x')",
        "(1, array(1.0F), map('a', 1), NULL)", "(NULL, array(1.0F), map('a', 1), 'x')",
        "(1, NULL, map('a', 1), 'x')", "(1, array(1.0F, 1.0F), map('a', 1), 'x')",
    ]  # fmt: skip
    text = f"SELECT {checksum_of(columns)} AS c FROM VALUES {', '.join(rows)} AS t (a, v, m, s)"
    found = [row["c"] for row in spark.sql(text).collect()]
    assert len(set(found)) == len(rows)
    assert not any(one == other for one, other in combinations(found, 2))
