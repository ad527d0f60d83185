-- title: columns and arithmetic
-- query
SELECT a + x AS k, s FROM r
-- delta
SELECT "a" + "x" AS "k", "s", "__grebe_weight" FROM r_delta

-- title: CASE and casts
-- query
SELECT CASE WHEN x > 1 THEN s ELSE 'none' END AS k, CAST(x AS VARCHAR) AS t FROM r
-- delta
SELECT CASE WHEN "x" > 1 THEN "s" ELSE 'none' END AS "k", CAST("x" AS TEXT) AS "t", "__grebe_weight" FROM r_delta

-- title: array access
-- query
SELECT c, l[1] AS first, LEN(l) AS n FROM t
-- delta
SELECT "c", "l"[1] AS "first", LENGTH("l") AS "n", "__grebe_weight" FROM t_delta

-- title: every column
-- query
SELECT * FROM s
-- delta
SELECT "a", "c", "y", "k", "__grebe_weight" FROM s_delta
