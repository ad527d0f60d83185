-- A view over a view: refreshed after it, on the same versions of the sources.
CREATE MATERIALIZED VIEW shop.best_days
REFRESH POLICY INCREMENTAL
AS SELECT day, total FROM shop.daily WHERE total > 1800
