CREATE MATERIALIZED VIEW shop.daily
COMMENT 'what was sold each day'
TBLPROPERTIES ('grebe.lag' = '10 minutes', 'grebe.tags' = 'hourly')
AS SELECT day, COUNT(*) AS orders, SUM(amount) AS total
FROM shop.orders
GROUP BY day
