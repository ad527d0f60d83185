"""What a lowered query looks like: names, features, notes, and the form of joins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.databases import lowered
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    Scan,
    SemiJoin,
    TopK,
    UnionAll,
    Windowed,
    walk,
)
from grebe.compiler.lower import Relation, lower
from grebe.compiler.lower.scope import Names

FEATURES = [
    ("SELECT k FROM r", {"select"}),
    ("SELECT k FROM r WHERE x > 1", {"select", "where"}),
    ("SELECT r.k FROM r JOIN t ON r.k = t.k", {"select", "join"}),
    ("SELECT r.k FROM r LEFT JOIN t ON r.k = t.k", {"select", "left_join"}),
    ("SELECT k, SUM(x) AS a FROM r GROUP BY k", {"select", "group_by", "sum"}),
    (
        "SELECT k, COUNT(DISTINCT x) AS a FROM r GROUP BY k HAVING COUNT(*) > 1",
        {"select", "group_by", "count", "count_distinct", "having"},
    ),
    ("SELECT DISTINCT k FROM r", {"select", "distinct"}),
    ("SELECT k FROM r UNION ALL SELECT k FROM t", {"select", "union_all"}),
    ("SELECT k FROM r EXCEPT SELECT k FROM t", {"select", "except"}),
    ("SELECT k FROM r ORDER BY k LIMIT 1", {"select", "order_by", "limit"}),
    ("WITH c AS (SELECT k FROM r) SELECT k FROM c", {"select", "cte"}),
    ("SELECT k FROM r WHERE k IN (SELECT k FROM t)", {"select", "where", "subquery"}),
]


@pytest.mark.parametrize(("sql", "features"), FEATURES)
def test_features_are_exact(sql: str, features: set[str]) -> None:
    assert lowered(sql).features == features


def nodes(sql: str, kind: type[Node], dialect: str = "duckdb") -> list[Node]:
    root = lowered(sql, dialect).root
    assert root is not None
    return [node for node in walk(root) if isinstance(node, kind)]


def test_scans_hold_only_the_columns_that_are_used() -> None:
    scan = nodes("SELECT x FROM r WHERE s = 'a'", Scan)[0]
    assert isinstance(scan, Scan)
    assert scan.pairs == (("x", "x"), ("s", "s"))


def test_a_count_reads_one_column() -> None:
    scan = nodes("SELECT COUNT(*) AS n FROM r", Scan)[0]
    assert isinstance(scan, Scan)
    assert scan.pairs == (("k", "k"),)


def test_inner_joins_are_one_join_whatever_way_they_are_written() -> None:
    for sql in (
        "SELECT r.k FROM r JOIN t ON r.k = t.k JOIN u ON t.y = u.y WHERE r.x < u.z AND r.s = 'a'",
        "SELECT r.k FROM r, t, u WHERE r.k = t.k AND t.y = u.y AND r.x < u.z AND r.s = 'a'",
        "SELECT q.k FROM (SELECT r.k, x, y FROM r JOIN t ON r.k = t.k AND r.s = 'a') q"
        " JOIN u ON q.y = u.y AND q.x < u.z",
    ):
        joins = nodes(sql, InnerJoin)
        assert len(joins) == 1
        assert isinstance(joins[0], InnerJoin)
        assert len(joins[0].parts) == 3
        assert len(joins[0].on) == 3
        assert isinstance(joins[0].parts[0], Filter)


def test_common_conjuncts_of_an_or_become_join_conditions() -> None:
    sql = "SELECT r.k FROM r, t WHERE (r.k = t.k AND x = 1) OR (r.k = t.k AND y = 2)"
    join = nodes(sql, InnerJoin)[0]
    assert isinstance(join, InnerJoin)
    assert '"k" = "__grebe__k_2"' in {item.text for item in join.on}


def test_filters_go_below_outer_joins_on_the_kept_side_only() -> None:
    sql = "SELECT r.k FROM r LEFT JOIN t ON r.k = t.k WHERE r.x = 1 AND t.y IS NULL"
    join = nodes(sql, OuterJoin)[0]
    assert isinstance(join, OuterJoin)
    assert isinstance(join.left, Filter)
    assert isinstance(join.right, Scan)


def test_tests_of_subqueries_become_semi_joins_or_marks() -> None:
    assert len(nodes("SELECT k FROM r WHERE k IN (SELECT k FROM t)", SemiJoin)) == 1
    anti = nodes("SELECT k FROM r WHERE k NOT IN (SELECT k FROM t)", SemiJoin)[0]
    assert isinstance(anti, SemiJoin)
    assert anti.anti
    assert "COALESCE" in anti.on.text
    assert len(nodes("SELECT k FROM r WHERE x = 1 OR k IN (SELECT k FROM t)", MarkJoin)) == 1


def test_a_mark_that_nobody_reads_is_not_computed() -> None:
    sql = "SELECT k FROM (SELECT k, x IN (SELECT y FROM t) AS m FROM r) q"
    assert not nodes(sql, MarkJoin)


def test_union_all_is_flat() -> None:
    sql = "SELECT k FROM r UNION ALL SELECT k FROM t UNION ALL SELECT y FROM u"
    union = nodes(sql, UnionAll)[0]
    assert isinstance(union, UnionAll)
    assert len(union.branches) == 3


def test_equal_calls_are_made_once() -> None:
    sql = "SELECT k, SUM(x) AS a, SUM(x) + 1 AS b FROM r GROUP BY k HAVING SUM(x) > 0"
    aggregate = nodes(sql, Aggregate)[0]
    assert isinstance(aggregate, Aggregate)
    assert len(aggregate.calls) == 1


def test_windows_with_equal_partitions_share_a_node() -> None:
    sql = (
        "SELECT k, SUM(x) OVER (PARTITION BY k, s) AS a, MAX(x) OVER (PARTITION BY s, k) AS b,"
        " MIN(x) OVER (PARTITION BY s) AS c FROM r"
    )
    assert len(nodes(sql, Windowed)) == 2


def test_nulls_are_ordered_as_the_dialect_has_it() -> None:
    for dialect, expected in (("spark", (True, False)), ("duckdb", (False, False))):
        for direction, first in zip(("ASC", "DESC"), expected, strict=True):
            cut = nodes(f"SELECT k FROM r ORDER BY k {direction} LIMIT 1", TopK, dialect)[0]
            assert isinstance(cut, TopK)
            assert cut.order[0].nulls_first is first


def test_ties_of_a_cut_are_broken_by_the_other_columns() -> None:
    found = lowered("SELECT k, x, s FROM r ORDER BY x LIMIT 2")
    cut = next(node for node in walk(found.root) if isinstance(node, TopK)) if found.root else None
    assert cut is not None
    assert [item.column for item in cut.order] == ["x", "k", "s"]
    assert any("ties" in note for note in found.notes)


def test_order_without_limit_is_dropped_with_a_note() -> None:
    found = lowered("SELECT k FROM r ORDER BY k")
    assert isinstance(found.root, Scan)
    assert any("dropped" in note for note in found.notes)


def test_limit_of_one_row_relations_is_nothing() -> None:
    found = lowered("SELECT COUNT(*) AS n FROM r LIMIT 10")
    assert not found.reasons
    assert not [node for node in walk(found.root or Scan("r", ())) if isinstance(node, TopK)]


def test_a_cte_hides_the_table_of_its_name() -> None:
    found = lowered("WITH r AS (SELECT y AS k FROM t) SELECT k FROM r")
    assert found.tables == ("t",)


def test_names_are_found_by_any_spelling_that_is_known() -> None:
    orders = Relation("lake.sales.orders", (("Id", "INT"), ("day", "DATE")))
    sources = {"orders": orders, "sales.orders": orders, "lake.sales.orders": orders}
    for name in ("orders", "ORDERS", "sales.orders", "`Lake`.Sales.orders"):
        found = lower(f"SELECT orders.ID, day FROM {name}", sources=sources)
        assert found.tables == ("lake.sales.orders",)
        assert [public for _, public in found.outputs] == ["ID", "day"]


def test_outputs_keep_their_names_and_order() -> None:
    found = lowered("SELECT x AS b, k AS a, x AS c FROM r")
    assert [public for _, public in found.outputs] == ["b", "a", "c"]
    assert found.root is not None
    assert found.root.columns == tuple(own for own, _ in found.outputs)
    assert len(set(found.root.columns)) == 3


def test_normalised_text_ignores_space_case_and_comments() -> None:
    one = lowered("select K, sum(X) as total from R group by k -- by key")
    other = lowered("SELECT k,\n  SUM(x) AS total\nFROM r /* rows */ GROUP BY k;")
    assert one.sql == other.sql
    assert one.root == other.root


def test_fresh_names_never_collide() -> None:
    names = Names()
    given = [names.fresh(base) for base in ("a", "A", "a_2", "a", "", "b")]
    assert len({name.lower() for name in given}) == len(given)


def test_equal_text_gives_an_equal_tree_in_any_process() -> None:
    script = (
        "from compiler.databases import lowered;"
        "print(lowered('SELECT s, k IN (SELECT y FROM t) AS m, COUNT(*) AS n, SUM(x) AS a FROM r"
        " WHERE EXISTS (SELECT 1 FROM u WHERE u.y < r.k) GROUP BY ROLLUP (s), k').root.digest)"
    )
    digests = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        folder = Path(__file__).parents[1]
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1


def test_a_select_of_all_columns_is_the_scan_itself() -> None:
    assert isinstance(lowered("SELECT * FROM r").root, Scan)
    assert isinstance(lowered("SELECT x, k FROM r").root, Projection)
