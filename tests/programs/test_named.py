"""F067: the tests that the first plan names, with its two readers of a view's own columns."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from grebe import MaterializedView, compile_ivm
from programs.lake import Lake, Named, check, maintain, set_up

SCHEMAS = {
    "t": {"g": "INTEGER", "x": "INTEGER", "s": "VARCHAR"},
    "u": {"g": "INTEGER", "y": "INTEGER"},
    "w": {"y": "INTEGER", "z": "INTEGER"},
}


def get_non_aux_columns(lake: Lake, name: str = "mv") -> list[str]:
    """The columns of the view's table that are not hidden."""
    names = [str(row[0]) for row in lake.rows(f"DESCRIBE dl.{name}")]
    return [column for column in names if not column.startswith("_ivm_")]


def read_mv_cols(lake: Lake, columns: list[str], name: str = "mv") -> list[tuple[object, ...]]:
    """The rows of the view's table, hidden columns left out."""
    listed = ", ".join(f'"{column}"' for column in columns)
    return sorted(lake.rows(f"SELECT {listed} FROM dl.{name}"), key=str)


@pytest.fixture
def filled(lake: Lake) -> Lake:
    for table, columns in SCHEMAS.items():
        fields = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        lake.run(f"CREATE TABLE dl.{table} ({fields})")
    lake.run(
        "INSERT INTO dl.t VALUES (1, 10, 'a'), (1, 20, 'b'), (2, 5, NULL), (NULL, 7, 'a')",
        "INSERT INTO dl.u VALUES (1, 100), (2, 200), (1, 100)",
        "INSERT INTO dl.w VALUES (100, 1), (200, 2)",
    )
    return lake


def follow(lake: Lake, sql: str, *changes: str) -> MaterializedView:
    """A view created, kept through the changes, and compared by its table's own columns too."""
    view = compile_ivm(sql, schemas=SCHEMAS)
    set_up(lake, view)
    lake.run(*changes)
    maintain(lake.con, view)
    check(lake, view, sql)
    columns = get_non_aux_columns(lake)
    shown = lake.rows(view.query_mv)
    assert columns == [item[0] for item in lake.con.description or []]
    assert read_mv_cols(lake, columns) == sorted(shown, key=str)
    return view


def test_simple_select_all(filled: Lake) -> None:
    follow(
        filled,
        "SELECT * FROM t",
        "INSERT INTO dl.t VALUES (3, 3, 'c')",
        "DELETE FROM dl.t WHERE g = 1",
    )


def test_select_with_filter(filled: Lake) -> None:
    follow(filled, "SELECT g, x FROM t WHERE x > 6", "UPDATE dl.t SET x = x + 2")


def test_count_aggregate(filled: Lake) -> None:
    follow(
        filled,
        "SELECT g, COUNT(*) AS n FROM t GROUP BY g",
        "INSERT INTO dl.t VALUES (1, 1, 'x'), (5, 5, 'y')",
        "DELETE FROM dl.t WHERE g = 2",
    )


def test_sum_aggregate(filled: Lake) -> None:
    follow(
        filled,
        "SELECT g, SUM(x) AS s FROM t GROUP BY g",
        "INSERT INTO dl.t VALUES (1, NULL, 'x'), (5, NULL, 'y')",
        "UPDATE dl.t SET g = 2 WHERE x = 20",
    )


JOIN = "SELECT t.g, t.x, u.y FROM t JOIN u ON t.g = u.g"


def test_join_insert_left(filled: Lake) -> None:
    follow(filled, JOIN, "INSERT INTO dl.t VALUES (1, 1, 'x'), (9, 9, 'y')")


def test_join_insert_right(filled: Lake) -> None:
    follow(filled, JOIN, "INSERT INTO dl.u VALUES (2, 1), (9, 9)")


def test_join_insert_both(filled: Lake) -> None:
    follow(
        filled,
        JOIN,
        "INSERT INTO dl.t VALUES (9, 9, 'x')",
        "INSERT INTO dl.u VALUES (9, 9), (1, 1)",
    )


def test_join_delete_participating_row(filled: Lake) -> None:
    follow(filled, JOIN, "DELETE FROM dl.u WHERE y = 100", "DELETE FROM dl.t WHERE x = 5")


def test_join_delete_non_participating_row(filled: Lake) -> None:
    head = "SELECT COUNT(*) FROM dl.mv"
    follow(filled, JOIN, "DELETE FROM dl.t WHERE g IS NULL")
    assert filled.value(head) == 5


ROUNDS = 2
VIEWS = 7
"""Of a family; more views and longer histories are those of `test_pairs.py`."""


def randomly(folder: Path, seed: int, texts: list[str]) -> int:
    """The views of a family over random changes, all in one lake; gives the examples."""
    rng = Random(seed)
    lake = Lake(folder)
    for table, columns in SCHEMAS.items():
        fields = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        lake.run(f"CREATE TABLE dl.{table} ({fields})")
        lake.run(f"INSERT INTO dl.{table} VALUES {_values(rng, columns, 6)}")
    views = []
    for number, sql in enumerate(texts):
        view = compile_ivm(sql, naming=Named(f"v{number}"), schemas=SCHEMAS)
        set_up(lake, view)
        views.append((view, sql))
    examples = 0
    for _ in range(ROUNDS):
        for table, columns in SCHEMAS.items():
            lake.run(*_changes(rng, table, columns))
        for view, sql in views:
            maintain(lake.con, view)
            check(lake, view, sql)
            examples += 1
    lake.close()
    return examples


def _values(rng: Random, columns: dict[str, str], rows: int) -> str:
    def cell(kind: str) -> str:
        if rng.random() < 0.3:
            return "NULL"
        return f"'{rng.choice('abc')}'" if kind == "VARCHAR" else str(rng.randint(0, 3))

    return ", ".join(f"({', '.join(cell(kind) for kind in columns.values())})" for _ in range(rows))


def _changes(rng: Random, table: str, columns: dict[str, str]) -> list[str]:
    key, value = [name for name, kind in columns.items() if kind == "INTEGER"][:2]
    made = [
        f"INSERT INTO dl.{table} VALUES {_values(rng, columns, rng.randint(1, 3))}",
        f"DELETE FROM dl.{table} WHERE {key} = {rng.randint(0, 3)} AND {value} > 0",
        f"UPDATE dl.{table} SET {value} = {value} + 1 WHERE {key} = {rng.randint(0, 3)}",
        f"UPDATE dl.{table} SET {key} = NULL WHERE {value} = {rng.randint(0, 3)}",
    ]
    return rng.sample(made, rng.randint(1, 3))


def _filter(rng: Random, column: str) -> str:
    return rng.choice([
        f"{column} > {rng.randint(0, 2)}", f"{column} IS NULL", f"{column} <> 1", f"NOT {column} < 2",
    ])  # fmt: skip


def test_select_project_filter(tmp_path: Path) -> None:
    rng = Random(1)
    lists = ["g, x", "g", "x + g AS z", "g, COALESCE(s, 'n') AS s", "s, x * 2 AS d, g"]
    texts = [f"SELECT {rng.choice(lists)} FROM t WHERE {_filter(rng, 'x')}" for _ in range(VIEWS)]
    assert randomly(tmp_path, 1, texts) == VIEWS * ROUNDS


def test_single_table_aggregate(tmp_path: Path) -> None:
    rng = Random(2)
    calls = ["COUNT(*)", "SUM(x)", "AVG(x)", "MIN(x)", "MAX(x)", "COUNT(x)", "COUNT(DISTINCT x)"]
    texts = [
        f"SELECT g, {', '.join(f'{c} AS a{n}' for n, c in enumerate(rng.sample(calls, 2)))} FROM t"
        f" WHERE {_filter(rng, 'x')} GROUP BY g"
        for _ in range(VIEWS)
    ]
    assert randomly(tmp_path, 2, texts) == VIEWS * ROUNDS


def test_two_table_join(tmp_path: Path) -> None:
    rng = Random(3)
    words = ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
    texts = [
        f"SELECT t.x, u.y, t.g FROM t {rng.choice(words)} u ON t.g = u.g"
        f" WHERE {rng.choice([_filter(rng, 't.x'), _filter(rng, 'u.y'), 'TRUE'])}"
        for _ in range(5)
    ]
    assert randomly(tmp_path, 3, texts) == 5 * ROUNDS


def test_three_table_join(tmp_path: Path) -> None:
    rng = Random(4)
    texts = [
        "SELECT t.x, u.y, w.z FROM t JOIN u ON t.g = u.g JOIN w ON u.y = w.y"
        f" WHERE {_filter(rng, 't.x')}"
        for _ in range(4)
    ]
    assert randomly(tmp_path, 4, texts) == 4 * ROUNDS


def test_join_then_aggregate(tmp_path: Path) -> None:
    rng = Random(5)
    calls = ["COUNT(*)", "SUM(u.y)", "AVG(t.x)", "MIN(t.x)", "MAX(u.y)"]
    texts = [
        f"SELECT t.g, {', '.join(f'{c} AS a{n}' for n, c in enumerate(rng.sample(calls, 2)))}"
        f" FROM t {rng.choice(['JOIN', 'LEFT JOIN'])} u ON t.g = u.g"
        f" WHERE {_filter(rng, 't.x')} GROUP BY t.g"
        for _ in range(5)
    ]
    assert randomly(tmp_path, 5, texts) == 5 * ROUNDS
