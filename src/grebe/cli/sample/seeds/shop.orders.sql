-- Run once, when there is no table shop.orders; its name is this file's.
CREATE TABLE lake.shop.orders (id BIGINT, customer BIGINT, amount DECIMAL(10, 2), day DATE) USING iceberg;
INSERT INTO lake.shop.orders
SELECT id, id % 50, CAST(10 + id % 90 AS DECIMAL(10, 2)), DATE'2026-01-01' + CAST(id % 30 AS INT)
FROM range(1000)
