"""A small shop on the lake: three tables, five views, and a busy morning of mixed commits."""

from __future__ import annotations

TABLES = ("shop.customers", "shop.orders", "shop.order_lines")

_MERGE_ON_READ = """
USING iceberg TBLPROPERTIES (
  'format-version' = '3', 'write.delete.mode' = 'merge-on-read',
  'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')
"""

OPENING = (
    "CREATE NAMESPACE lake.shop",
    f"CREATE TABLE lake.shop.customers (customer_id BIGINT, name STRING, city STRING) {_MERGE_ON_READ}",
    f"""CREATE TABLE lake.shop.orders (order_id BIGINT, customer_id BIGINT, ordered_on DATE,
        status STRING) {_MERGE_ON_READ}""",
    f"""CREATE TABLE lake.shop.order_lines (order_id BIGINT, line INT, product STRING,
        quantity INT, price DECIMAL(10, 2)) {_MERGE_ON_READ}""",
    """INSERT INTO lake.shop.customers
       SELECT id, concat('customer ', id), element_at(array('Oslo', 'Bergen', 'Tromsø'), CAST(1 + id % 3 AS INT))
       FROM range(1, 301)""",
    """INSERT INTO lake.shop.orders
       SELECT id, 1 + id % 300, date_add(DATE '2026-01-01', CAST(id % 90 AS INT)),
              if(id % 5 = 0, 'open', 'paid')
       FROM range(1, 20001)""",
    """INSERT INTO lake.shop.order_lines
       SELECT id DIV 3 + 1, CAST(id % 3 AS INT), concat('product ', id % 40), CAST(1 + id % 4 AS INT),
              CAST(5 + id % 17 AS DECIMAL(10, 2))
       FROM range(0, 60000)""",
)

MORNING = (
    ("a new customer", "INSERT INTO lake.shop.customers VALUES (301, 'Ada', 'Bodø')"),
    ("one moves away …", "UPDATE lake.shop.customers SET city = 'Oslo' WHERE customer_id = 7"),
    ("… and back again", "UPDATE lake.shop.customers SET city = 'Bergen' WHERE customer_id = 7"),
    ("two new orders", "INSERT INTO lake.shop.orders VALUES "
     "(20001, 301, DATE '2026-04-01', 'open'), (20002, 7, DATE '2026-04-01', 'open')"),
    ("their lines", "INSERT INTO lake.shop.order_lines VALUES "
     "(20001, 0, 'product 3', 2, 9.50), (20001, 1, 'product 9', 1, 20.00), "
     "(20002, 0, 'product 3', 2, 9.50)"),
    ("payments", "UPDATE lake.shop.orders SET status = 'paid' WHERE order_id IN (5, 10, 15)"),
    ("a cancelled order", "DELETE FROM lake.shop.orders WHERE order_id = 20002"),
    ("and its lines", "DELETE FROM lake.shop.order_lines WHERE order_id = 20002"),
    ("a price correction", """MERGE INTO lake.shop.order_lines AS t
        USING (SELECT 4 AS order_id, 0 AS line, CAST(1.00 AS DECIMAL(10, 2)) AS price) AS s
        ON t.order_id = s.order_id AND t.line = s.line
        WHEN MATCHED THEN UPDATE SET price = s.price"""),
    ("compaction", "CALL lake.system.rewrite_data_files('shop.order_lines')"),
)  # fmt: skip

VIEWS = {
    "shop.sales": """
        SELECT c.city, o.ordered_on, SUM(l.quantity * l.price) AS revenue, COUNT(*) AS lines
        FROM shop.orders AS o
        JOIN shop.customers AS c ON o.customer_id = c.customer_id
        JOIN shop.order_lines AS l ON o.order_id = l.order_id
        GROUP BY c.city, o.ordered_on""",
    "shop.open_orders": """
        SELECT o.order_id, o.ordered_on, c.name
        FROM shop.orders AS o LEFT JOIN shop.customers AS c ON o.customer_id = c.customer_id
        WHERE o.status = 'open'""",
    "shop.largest_lines": """
        SELECT product, order_id, line, quantity * price AS amount,
               RANK() OVER (PARTITION BY product ORDER BY quantity * price DESC) AS place
        FROM shop.order_lines QUALIFY place <= 3""",
    "shop.buyers": """
        SELECT DISTINCT o.customer_id, o.status FROM shop.orders AS o""",
    "shop.best_days": """
        SELECT city, MAX(revenue) AS best, COUNT(*) AS days
        FROM shop.sales GROUP BY city HAVING COUNT(*) > 10""",
}
