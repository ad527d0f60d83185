"""Orders with their customers and products inlined, and sales by group: definitions without SQL.

python -m examples.declarative [folder]
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grebe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = Path(".cache") / "declarative"

SETTINGS = """
[defaults]
schema = "shop"

[relations.Order.customer]
to = "Customer"
column = "customer"
key = "id"

[relations.Customer.address]
to = "Address"
column = "address"
key = "id"

[relations."Order.items".product]
to = "Product"
column = "product"
key = "id"
"""

TABLES = [
    "CREATE NAMESPACE IF NOT EXISTS lake.shop",
    "CREATE TABLE lake.shop.Order (id BIGINT, customer BIGINT, status STRING, total DECIMAL(10, 2),"
    " createdAt TIMESTAMP, items ARRAY<STRUCT<product: BIGINT, price: DECIMAL(10, 2)>>) USING iceberg",
    "CREATE TABLE lake.shop.Customer (id BIGINT, name STRING, tier STRING, address BIGINT) USING iceberg",
    "CREATE TABLE lake.shop.Address (id BIGINT, city STRING) USING iceberg",
    "CREATE TABLE lake.shop.Product (id BIGINT, title STRING) USING iceberg",
    "INSERT INTO lake.shop.Address VALUES (1, 'Oslo'), (2, 'Bergen')",
    "INSERT INTO lake.shop.Customer VALUES (1, 'Ada', 'gold', 1), (2, 'Bo', 'basic', 2), (3, 'Cy', 'gold', NULL)",
    "INSERT INTO lake.shop.Product VALUES (1, 'cup'), (2, 'pot')",
    "INSERT INTO lake.shop.Order SELECT id, id % 4, IF(id % 3 = 0, 'open', 'completed'),"
    " CAST(id * 1.5 AS DECIMAL(10, 2)), TIMESTAMP'2026-01-01 10:00:00' + make_interval(0, 0, 0, CAST(id % 4 AS INT)),"
    " CASE WHEN id % 5 = 0 THEN NULL WHEN id % 5 = 1 THEN array() ELSE array("
    "named_struct('product', id % 3, 'price', CAST(id AS DECIMAL(10, 2))),"
    " named_struct('product', 1L, 'price', CAST(NULL AS DECIMAL(10, 2)))) END FROM range(1, 41)",
]

MORNING = [
    "INSERT INTO lake.shop.Order VALUES (100, 1, 'completed', 9.50, TIMESTAMP'2026-01-02 11:00:00',"
    " array(named_struct('product', 2L, 'price', CAST(9.50 AS DECIMAL(10, 2)))))",
    "UPDATE lake.shop.Order SET status = 'completed' WHERE id = 6",
    "DELETE FROM lake.shop.Order WHERE id IN (7, 8)",
    "UPDATE lake.shop.Customer SET tier = 'basic' WHERE id = 3",
    "UPDATE lake.shop.Product SET title = 'kettle' WHERE id = 2",
    "INSERT INTO lake.shop.Customer VALUES (0, 'Zed', NULL, 2)",
]

VIEWS: dict[str, tuple[dict[str, Any], str]] = {
    "OrderAnalyticsView": (
        {
            "$type": "OrderAnalyticsView",
            "$projection": "olap",
            "$from": "Order",
            "$expand": ["customer", "customer.address", "items.product"],
            "$flatten": {
                "customer": "buyer",
                "customer.address": "shipping",
                "items.product": "lineItem",
            },
            "$refresh": {"mode": "streaming"},
            "$compute": {
                "totalItems": {"$count": "items"},
                "orderValue": {"$sum": "items.price"},
            },
        },
        """
        SELECT o.id, o.customer, o.status, o.total, o.createdAt, o.items,
               c.id AS buyer_id, c.name AS buyer_name, c.tier AS buyer_tier, c.address AS buyer_address,
               a.id AS shipping_id, a.city AS shipping_city,
               p.id AS lineItem_id, p.title AS lineItem_title,
               CASE WHEN o.items IS NULL THEN 0 ELSE size(o.items) END AS totalItems,
               coalesce(v.value, 0) AS orderValue
        FROM (SELECT *, explode_outer(items) AS item FROM lake.shop.Order) AS o
        LEFT JOIN lake.shop.Customer AS c ON o.customer = c.id
        LEFT JOIN lake.shop.Address AS a ON c.address = a.id
        LEFT JOIN lake.shop.Product AS p ON o.item.product = p.id
        LEFT JOIN (
            SELECT id, sum(item.price) AS value
            FROM (SELECT id, explode(items) AS item FROM lake.shop.Order) GROUP BY id
        ) AS v ON o.id = v.id""",
    ),
    "OrderMetricsView": (
        {
            "$type": "OrderMetricsView",
            "$projection": "olap",
            "$from": "Order",
            "$groupBy": ["status", "customer.tier", {"day": "$createdAt"}],
            "$compute": {
                "orderCount": {"$count": "*"},
                "totalRevenue": {"$sum": "total"},
                "avgOrderValue": {"$avg": "total"},
                "minOrder": {"$min": "total"},
                "maxOrder": {"$max": "total"},
            },
        },
        """
        SELECT o.status, c.tier AS customer_tier, date_trunc('DAY', o.createdAt) AS day,
               count(*) AS orderCount, sum(o.total) AS totalRevenue, avg(o.total) AS avgOrderValue,
               min(o.total) AS minOrder, max(o.total) AS maxOrder
        FROM lake.shop.Order AS o LEFT JOIN lake.shop.Customer AS c ON o.customer = c.id
        GROUP BY o.status, c.tier, date_trunc('DAY', o.createdAt)""",
    ),
    "SpreadView": (
        {
            "$type": "SpreadView",
            "$from": "Order",
            "$filter": {"status": "completed", "total": {"$gte": 3, "$lt": 100}},
            "$groupBy": ["customer.name"],
            "$compute": {
                "first": {"$first": "total", "$by": "id"},
                "last": {"$last": "total", "$by": "id"},
                "spread": {"$stddev": "total"},
                "variance": {"$variance": "total"},
            },
        },
        """
        SELECT c.name AS customer_name, min_by(o.total, o.id) AS first, max_by(o.total, o.id) AS last,
               stddev_samp(o.total) AS spread, var_samp(o.total) AS variance
        FROM lake.shop.Order AS o LEFT JOIN lake.shop.Customer AS c ON o.customer = c.id
        WHERE o.status = 'completed' AND o.total >= 3 AND o.total < 100 GROUP BY c.name""",
    ),
}


def main(folder: Path, spark: SparkSession | None = None) -> dict[str, list[str]]:
    """Defines, changes, refreshes and compares; the outcomes of every view."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "grebe.toml").write_text(SETTINGS, encoding="utf-8")
    with grebe.open(folder, spark=spark) as project:
        for statement in TABLES:
            project.sql(statement).collect()
        for definition, _ in VIEWS.values():
            project.define_view(definition)
        outcomes: dict[str, list[str]] = {name: [] for name in VIEWS}
        for changes in ([], MORNING):
            for statement in changes:
                project.sql(statement).collect()
            results = project.refresh()
            print(results)
            for result in results:
                outcomes[result.view.name].append(str(result.outcome))
            for name, (_, sql) in VIEWS.items():
                compare(project, name, sql)
                project.view(name).verify()
                print(f"{name} equals its SQL")
        return outcomes


def compare(project: grebe.Project, name: str, sql: str) -> None:
    """Both ways, as bags, floats rounded; raises with the rows that differ."""
    found, wanted = _rounded(project.view(name).read()), _rounded(project.sql(sql))
    missing, surplus = wanted.exceptAll(found).collect(), found.exceptAll(wanted).collect()
    assert not missing, (name, missing)
    assert not surplus, (name, surplus)
    assert found.count() == wanted.count()


def _rounded(frame: DataFrame) -> DataFrame:
    kinds: Mapping[str, str] = dict(frame.dtypes)
    items = [
        f"round(`{c}`, 9) AS `{c}`" if kinds[c] == "double" else f"`{c}`" for c in frame.columns
    ]
    return frame.selectExpr(*items)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
