CREATE TABLE lake.shop.customers (customer BIGINT, city STRING) USING iceberg;
INSERT INTO lake.shop.customers
SELECT id, element_at(array('Oslo', 'Bergen', 'Tromsø'), CAST(id % 3 + 1 AS INT)) FROM range(45)
