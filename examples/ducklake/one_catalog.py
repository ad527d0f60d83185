"""A view in the catalog of its source: compile, set up once, write, maintain.

python -m examples.ducklake.one_catalog
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

from grebe import compile_ivm, pending_maintenance_sql
from grebe.program import load_extensions


def main(folder: Path) -> list[tuple[object, ...]]:
    con = duckdb.connect()
    load_extensions(con)
    con.execute(f"ATTACH 'ducklake:{folder / 'lake.duckdb'}' AS dl (DATA_PATH '{folder}/data/')")
    con.execute("CREATE TABLE dl.orders (id INTEGER, customer_id INTEGER, amount DECIMAL(10,2))")
    con.execute("INSERT INTO dl.orders VALUES (1, 7, 49.99), (2, 3, 120.00)")

    view = compile_ivm(
        "SELECT customer_id, SUM(amount) AS total, COUNT(*) AS num_orders"
        " FROM orders GROUP BY customer_id",
        schemas={"orders": {"id": "INTEGER", "customer_id": "INTEGER", "amount": "DECIMAL(10,2)"}},
    )
    con.execute(view.create_cursors_table)
    con.execute(view.create_mv)
    for statement in view.initialize_cursors:
        con.execute(statement)

    con.execute("INSERT INTO dl.orders VALUES (3, 7, 25.00)")
    con.execute("DELETE FROM dl.orders WHERE id = 2")
    print("waiting:", con.execute(pending_maintenance_sql(["dl"])).fetchall())

    for statement in view.maintain:
        con.execute(statement)
    rows = con.execute(f"{view.query_mv} ORDER BY customer_id").fetchall()
    print("view:   ", rows)
    con.close()
    return rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
