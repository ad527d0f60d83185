-- Run once, when there is no table shop.orders; its name is this file's. One statement makes and
-- fills it: whatever happens meanwhile, nobody finds it empty.
CREATE TABLE lake.shop.orders USING iceberg AS
SELECT
  id,
  id % 50 AS customer,
  CAST(10 + id % 90 AS DECIMAL(10, 2)) AS amount,
  DATE'2026-01-01' + CAST(id % 30 AS INT) AS day
FROM range(1000)
