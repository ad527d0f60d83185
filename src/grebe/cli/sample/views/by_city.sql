-- A bare SELECT is a view too; its name is the file's.
SELECT c.city, SUM(o.amount) AS total, COUNT(*) AS orders
FROM shop.orders AS o
LEFT JOIN shop.customers AS c ON o.customer = c.customer
GROUP BY c.city
