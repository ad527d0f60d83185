"""Sources in two catalogs, views in a third, and the runner that keeps them in order.

python -m examples.ducklake.three_catalogs
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

from grebe import SnapshotSafety, safe_to_expire_sql
from grebe.program import Views, load_extensions

CATALOGS = ("sales_dl", "crm_dl", "analytics")


def main(folder: Path) -> list[tuple[object, ...]]:
    con = duckdb.connect()
    load_extensions(con)
    for name in CATALOGS:
        file, data = folder / f"{name}.duckdb", folder / name
        con.execute(f"ATTACH 'ducklake:{file}' AS {name} (DATA_PATH '{data}/')")
    con.execute(
        "CREATE TABLE sales_dl.orders (id INTEGER, customer_id INTEGER, amount DECIMAL(10,2))"
    )
    con.execute("CREATE TABLE crm_dl.customers (id INTEGER, name VARCHAR, region VARCHAR)")

    views = Views(con, catalog="analytics")
    views.add(
        "by_region",
        "SELECT c.region, SUM(o.amount) AS total FROM orders o"
        " JOIN customers c ON o.customer_id = c.id GROUP BY c.region",
        sources={"orders": {"catalog": "sales_dl"}, "customers": {"catalog": "crm_dl"}},
    )
    views.add("large_regions", "SELECT region, total FROM by_region WHERE total > 50")
    print(views.tree())
    views.initialize()

    con.execute("INSERT INTO sales_dl.orders VALUES (1, 1, 100.00), (2, 2, 20.00)")
    con.execute("INSERT INTO crm_dl.customers VALUES (1, 'Alice', 'West'), (2, 'Bob', 'East')")
    for item in views.pending():
        print(f"{item.mv_name}: {item.pending_changes} changes from {item.source_table}")
    views.maintain()
    rows = sorted(views.read("by_region"), key=str)
    print("by_region:", rows)
    print("large_regions:", views.read("large_regions"))
    expire(con)
    con.close()
    return rows


def expire(con: duckdb.DuckDBPyConnection) -> None:
    """What no view needs any more may go."""
    report = con.execute(safe_to_expire_sql(["analytics"], CATALOGS)).fetchall()
    for safety in map(SnapshotSafety.of, report):
        catalog, bound = safety.source_catalog, safety.safe_to_expire_before
        found = con.execute(
            f"SELECT snapshot_id FROM ducklake_snapshots('{catalog}') WHERE snapshot_id < {bound}"
        )
        versions = [row[0] for row in found.fetchall()]
        if versions:
            con.execute(f"CALL ducklake_expire_snapshots('{catalog}', versions => {versions})")
        print(f"{catalog}: {len(versions)} snapshots expired")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
