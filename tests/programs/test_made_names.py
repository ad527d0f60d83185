"""Every name in a program is the user's, DuckLake's own, or has the reserved prefix."""

from __future__ import annotations

from collections.abc import Iterator
from re import DOTALL
from re import compile as pattern

import pytest
from sqlglot import exp, parse_one
from sqlglot.errors import ParseError

from grebe import MaterializedView, compile_ivm
from grebe.sql_text import is_made
from programs.lake import Lake, check, maintain, set_up

SCHEMAS = {
    "zt": {"zg": "INTEGER", "zx": "INTEGER", "zd": "DECIMAL(8,2)", "zl": "INTEGER[]"},
    "zu": {"zg": "INTEGER", "zy": "DOUBLE"},
}
VIEWS = (
    "SELECT zg, zx FROM zt WHERE zx > 1",
    "SELECT zg, COUNT(*) AS zo, SUM(zx) AS zp, MIN(zd) AS zq, AVG(zd) AS zr FROM zt GROUP BY zg",
    "SELECT zg, MEDIAN(zx) AS zo FROM zt GROUP BY zg HAVING COUNT(*) > 1",
    "SELECT zt.zx, zu.zy FROM zt JOIN zu ON zt.zg = zu.zg",
    "SELECT zt.zx, zu.zy FROM zt LEFT JOIN zu ON zt.zg = zu.zg",
    "SELECT zx FROM zt WHERE zg IN (SELECT zg FROM zu)",
    "SELECT zx FROM zt WHERE zg NOT IN (SELECT zg FROM zu)",
    "SELECT DISTINCT zg FROM zt",
    "SELECT zg FROM zt EXCEPT SELECT zg FROM zu",
    "SELECT zg, ROW_NUMBER() OVER (PARTITION BY zg ORDER BY zx, zd) AS zo FROM zt",
    "SELECT zg, zx FROM zt ORDER BY zx LIMIT 3",
    "SELECT zg, UNNEST(zl) AS zo FROM zt",
    "SELECT SUM(zx) AS zo FROM zt",
)
USERS = {"zt", "zu", "zg", "zx", "zd", "zl", "zy", "zo", "zp", "zq", "zr"}
CURSORS = {
    *("mv_name", "source_catalog", "source_schema", "source_table", "last_snapshot", "source_rows"),
    *("source_identity", "source_ids", "source_columns", "mv_identity", "mv_ids", "mv_snapshot"),
    *("run", "settings", "engine", "definition"),
}
LAKE = {
    *("snapshot_id", "snapshot_time", "changes", "commit_extra_info", "table_name", "schema_id"),
    *("table_id", "table_uuid", "option_name", "value", "column_name", "column_type", "rowid"),
    *("scope", "scope_entry", "dl", "main", "temp", "mv"),
}
_PARTS = pattern(
    r"(?:SET VARIABLE (\w+) = \(|CREATE (?:OR REPLACE TEMP )?TABLE \S+ AS\n)(.*)", DOTALL
)
_ALLOWED = USERS | CURSORS | LAKE
_ALGEBRA = pattern(r"(?:[a-z]+_)?z[a-z](?:_\d+)?|row_number")
"""Columns of the algebra: one namespace with the user's, in which no name is given twice."""


def _queries(statement: str) -> Iterator[str]:
    """The queries of a statement, also those that it holds as texts."""
    found = _PARTS.match(statement)
    if found is None:
        yield from [statement] if statement.startswith(("DELETE", "INSERT", "UPDATE")) else []
        return
    if found.group(1) is not None:
        assert is_made(found.group(1)), statement
    yield found.group(2).rstrip().removesuffix(")") if found.group(1) else found.group(2)


def _strange(tree: exp.Expr) -> Iterator[str]:
    """Names that are nobody's; what stands behind a dot of ours is a field of our own."""
    for item in tree.find_all(exp.Identifier):
        name, parent = item.name, item.parent
        if isinstance(parent, (exp.Dot, exp.PropertyEQ, exp.DataType)):
            continue
        if isinstance(parent, exp.Column) and any(is_made(part.name) for part in parent.parts[:-1]):
            continue
        known = name.lower() in _ALLOWED or name.startswith("_ivm_") or _ALGEBRA.fullmatch(name)
        if not is_made(name) and not known:
            yield name


def _texts(view: MaterializedView) -> list[str]:
    made = view.create_mv.split(";\n")
    return [*made, *view.initialize_cursors, *view.maintain, *view.rehash]


@pytest.mark.parametrize("policy", ["strict", "auto"])
@pytest.mark.parametrize("sql", VIEWS)
def test_F273_no_name_is_made_up_without_the_prefix(sql: str, policy: str) -> None:
    view = compile_ivm(sql, schemas=SCHEMAS, policy=policy)
    read, strange = 0, set()
    waiting = [query for text in _texts(view) for query in _queries(text)] + [view.query_mv]
    while waiting:
        text = waiting.pop()
        try:
            tree = parse_one(text, dialect="duckdb")
        except ParseError:
            continue
        read += 1
        strange |= {f"{name} in {text[:80]}" for name in _strange(tree)}
        waiting += [
            item.this
            for item in tree.find_all(exp.Literal)
            if item.is_string and item.this.startswith(("SELECT ", "WITH "))
        ]
    assert read > 10
    assert strange == set()


TAKEN = {
    "SELECT g, min_x, MIN(x) AS m, MAX(g_2) AS k FROM t GROUP BY g, min_x",
    "SELECT g, row_number, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x, min_x) AS n FROM t",
    "SELECT a.g, b.g_2, b.g AS h FROM t AS a LEFT JOIN t AS b ON a.g = b.g_2",
    "SELECT g AS min_x, MIN(x) AS row_number FROM t GROUP BY g",
}


@pytest.mark.parametrize("sql", sorted(TAKEN))
def test_F273_columns_called_like_those_of_the_algebra(lake: Lake, sql: str) -> None:
    columns = ("g", "x", "min_x", "row_number", "g_2")
    listed = ", ".join(f"{name} INTEGER" for name in columns)
    lake.run(
        f"CREATE TABLE dl.t ({listed})", "INSERT INTO dl.t VALUES (1, 2, 3, 4, 1), (2, 1, 1, 1, 1)"
    )
    view = compile_ivm(sql, schemas={"t": dict.fromkeys(columns, "INTEGER")})
    set_up(lake, view)
    for change in ("INSERT INTO dl.t VALUES (1, 0, 3, 9, 2)", "DELETE FROM dl.t WHERE g = 2"):
        lake.run(change)
        maintain(lake.con, view)
        check(lake, view, sql)
