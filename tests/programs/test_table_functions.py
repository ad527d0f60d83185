"""Functions in FROM, and joins by position: kept where DuckDB's rows are known, refused otherwise."""

from __future__ import annotations

import pytest

from grebe import UnsupportedSQLError, compile_ivm
from programs.lake import Lake, check, maintain, set_up

SCHEMAS = {"t": {"a": "INTEGER"}, "u": {"a": "INTEGER", "b": "INTEGER"}}
KEPT = (
    "SELECT a FROM t WHERE a IN (SELECT * FROM GENERATE_SERIES(1, 5))",
    "SELECT a FROM t WHERE a IN (SELECT * FROM range(5))",
    "SELECT a FROM t WHERE a NOT IN (FROM range(2, 9, 3))",
    "SELECT a FROM t WHERE a IN (SELECT range FROM range(3))",
    "SELECT a FROM t WHERE a = ANY (SELECT * FROM range(3))",
    "SELECT a FROM t WHERE a > ALL (SELECT * FROM range(2))",
    "SELECT a FROM t WHERE EXISTS (SELECT * FROM range(3) AS r(i) WHERE i = a)",
    "SELECT a, (SELECT MAX(x) FROM range(3) AS r(x)) AS m FROM t",
    "SELECT a, i FROM t, range(5) AS r(i)",
    "SELECT a, generate_series AS i FROM t, generate_series(a, 3)",
    "SELECT a, r.range AS i FROM t LEFT JOIN range(2, 4) AS r ON TRUE",
    "SELECT r.range AS i, COUNT(a) AS n FROM range(7) AS r LEFT JOIN t ON t.a = r.range GROUP BY 1",
    "SELECT i, t.a FROM t CROSS JOIN generate_series(DATE '2024-01-01', DATE '2024-03-01',"
    " INTERVAL 1 MONTH) AS g(i)",
    "SELECT a FROM t UNION ALL SELECT * FROM range(3)",
    "SELECT * FROM t, generate_series(3)",
)
REFUSED = {
    "SELECT a FROM t WHERE a IN (SELECT * FROM read_csv('x.csv'))": "table_function",
    "SELECT a FROM t WHERE a IN (SELECT * FROM repeat(1, 3))": "table_function",
    "SELECT t.*, p.* FROM t, read_parquet('x') AS p": "table_function",
    "SELECT p.* FROM t, read_parquet('x') AS p": "table_function",
    "SELECT t.a, u.b FROM t POSITIONAL JOIN u": "non_deterministic",
    "SELECT x FROM t JOIN (SELECT u.b AS x FROM t POSITIONAL JOIN u) AS q ON TRUE":
    "non_deterministic",
}  # fmt: skip


@pytest.mark.parametrize("sql", KEPT)
def test_F045_a_series_in_from(lake: Lake, sql: str) -> None:
    lake.run("CREATE TABLE dl.t (a INTEGER)", "INSERT INTO dl.t VALUES (1), (1), (4), (9), (NULL)")
    view = compile_ivm(sql, schemas=SCHEMAS)
    set_up(lake, view)
    for change in ("INSERT INTO dl.t VALUES (0), (2)", "DELETE FROM dl.t WHERE a IS NULL OR a = 1"):
        lake.run(change)
        maintain(lake.con, view)
        check(lake, view, sql)


@pytest.mark.parametrize("policy", ["strict", "auto", "full"])
@pytest.mark.parametrize("sql", REFUSED)
def test_F045_what_has_no_known_columns_or_order_is_refused(sql: str, policy: str) -> None:
    with pytest.raises(UnsupportedSQLError) as caught:
        compile_ivm(sql, schemas=SCHEMAS, policy=policy)
    assert caught.value.feature == REFUSED[sql]
