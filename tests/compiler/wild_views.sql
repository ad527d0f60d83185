-- keys and values that are NaN, infinite or minus zero
SELECT f, COUNT(*) AS n, MIN(x) AS m FROM r GROUP BY f;
SELECT DISTINCT f FROM r;
SELECT a, MIN(f) AS lo, MAX(f) AS hi, COUNT(DISTINCT f) AS d FROM r GROUP BY a;
SELECT one.a, one.f, two.b FROM r AS one JOIN r AS two ON one.f = two.f;
SELECT one.a, two.f FROM r AS one LEFT JOIN r AS two ON one.f = two.f AND one.a < two.a;
SELECT one.a, two.f FROM r AS one FULL JOIN r AS two ON one.f = two.f AND one.b = two.a;
SELECT a, f FROM r WHERE f NOT IN (SELECT i.f FROM r AS i WHERE i.b = 1);
SELECT a, f, f IN (SELECT i.f FROM r AS i WHERE i.b = 1) AS m FROM r;
SELECT f FROM r WHERE a = 1 EXCEPT ALL SELECT f FROM r WHERE b = 1;
SELECT f, s FROM r WHERE a = 1 INTERSECT SELECT f, s FROM r WHERE b = 2;
SELECT a, f, RANK() OVER (PARTITION BY f ORDER BY x) AS k FROM r;
SELECT a, f, RANK() OVER (PARTITION BY a ORDER BY f) AS k, MAX(f) OVER (PARTITION BY a) AS m FROM r;
SELECT a, CAST(f AS VARCHAR) AS t FROM r;
SELECT a, f FROM r;
SELECT a, f FROM r ORDER BY f DESC, a LIMIT 2;
SELECT f, SUM(c) AS t FROM (SELECT f, a FROM r) AS q JOIN s ON q.a = s.a GROUP BY f HAVING SUM(c) > 1;
SELECT q.f, COUNT(*) AS n FROM (SELECT f, MAX(x) AS m FROM r GROUP BY f) AS q LEFT JOIN s ON s.c = q.m GROUP BY q.f;
SELECT a, SUM(f) AS t, AVG(f) AS m FROM r GROUP BY a;
SELECT q.a, q.t, s.c FROM (SELECT a, SUM(f) AS t FROM r GROUP BY a) AS q JOIN s ON s.a = q.a
