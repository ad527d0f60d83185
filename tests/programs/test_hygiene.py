"""Names that programs make carry the reserved prefix, so that no name of a user can be one of them."""

from __future__ import annotations

import pytest

from grebe import compile_ivm
from programs.lake import Lake, check, maintain, set_up

_W = (
    "CREATE TABLE dl.w (id INTEGER, name VARCHAR)",
    "INSERT INTO dl.w VALUES (4, 'a'), (1, 'b'), (3, 'c')",
)
_T = (
    "CREATE TABLE dl.t (id INTEGER, val INTEGER)",
    "INSERT INTO dl.t VALUES (4, 7), (1, 1), (3, 2)",
)


@pytest.mark.parametrize("policy", ["strict", "auto"])
@pytest.mark.parametrize(
    ("tables", "sql", "change"),
    [
        (_W, "SELECT id, name FROM w", "DELETE FROM dl.w WHERE id = 4"),
        (_T, "SELECT id, SUM(val) AS total FROM t GROUP BY id", "DELETE FROM dl.t WHERE id = 4"),
        (_T, "SELECT id, SUM(val) AS total FROM t GROUP BY id", "UPDATE dl.t SET val = 9"),
    ],
)
def test_F273_a_column_called_id(
    lake: Lake, tables: tuple[str, ...], sql: str, change: str, policy: str
) -> None:
    lake.run(*tables)
    view = compile_ivm(sql, policy=policy)
    set_up(lake, view)
    lake.run(change)
    maintain(lake.con, view)
    check(lake, view, sql)
