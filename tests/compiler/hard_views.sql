-- branches of different types: keys and dropped branches lost the coercion
SELECT x, COUNT(*) AS n FROM (SELECT a AS x FROM r UNION ALL SELECT s AS x FROM r) AS u GROUP BY x;
SELECT x, MIN(w) AS m FROM (SELECT a AS x, f AS w FROM r UNION ALL SELECT CAST(c AS VARCHAR) AS x, c AS w FROM s) AS u GROUP BY x;
SELECT x FROM (SELECT a AS x FROM r UNION ALL SELECT CAST(c AS VARCHAR) || '0' AS x FROM s) AS u WHERE x >= '1';
SELECT x, x || 'q' AS z FROM (SELECT a AS x FROM s UNION ALL SELECT s AS x FROM r) AS u;
SELECT a AS x FROM s EXCEPT SELECT s AS x FROM r;
SELECT a AS x FROM s UNION SELECT y AS x FROM s UNION SELECT f AS x FROM r;
SELECT x + INTERVAL 1 DAY AS y FROM (SELECT NULL AS x, a AS g FROM r UNION ALL SELECT d AS x, c AS g FROM t) AS u;
SELECT x, SUM(g) AS m FROM (SELECT NULL AS x, a AS g FROM r UNION ALL SELECT d AS x, c AS g FROM t) AS u GROUP BY x;
SELECT g, MAX(x + INTERVAL 1 DAY) AS m FROM (SELECT NULL AS x, a AS g FROM r UNION ALL SELECT d AS x, c AS g FROM t) AS u GROUP BY g;
SELECT g, RANK() OVER (PARTITION BY x ORDER BY g) AS m FROM (SELECT a AS x, b AS g FROM r UNION ALL SELECT y AS x, c AS g FROM s) AS u
;
-- a condition over float sums of several parts of a join: TPC-DS 4 was full for it
WITH v AS (SELECT a, b, SUM(f / 3) AS t FROM r GROUP BY a, b)
SELECT one.a, one.t FROM v AS one, v AS two WHERE one.a = two.a AND one.b = 1 AND two.b = 2 AND one.t > two.t;
WITH v AS (SELECT a, SUM(f / 3) AS t FROM r GROUP BY a UNION ALL SELECT c, SUM(z / 3) FROM t GROUP BY c)
SELECT one.a FROM v AS one JOIN v AS two ON one.a = two.a AND one.t / 2 < two.t JOIN s ON s.a = two.a
;
-- DuckDB 1.5 loses matches of an EXISTS with an equality and two comparisons
SELECT q.n, MAX(q.v) AS m FROM (SELECT n, v, s FROM r UNPIVOT INCLUDE NULLS (v FOR n IN (x, b))) AS q
WHERE q.s >= ANY (SELECT s FROM r AS i WHERE i.s <> q.n) GROUP BY q.n;
SELECT r.a, EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND s.c <> r.b AND COALESCE(s.c <= r.x, FALSE)) AS e FROM r
