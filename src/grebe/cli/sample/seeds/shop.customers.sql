CREATE TABLE lake.shop.customers USING iceberg AS
SELECT id AS customer, element_at(array('Oslo', 'Bergen', 'Tromsø'), CAST(id % 3 + 1 AS INT)) AS city
FROM range(45)
