-- title: NULL logic
-- query
SELECT a, x FROM r WHERE NOT (x > 1 AND a <> 2) OR s IS NULL
-- delta
SELECT "a", "x", "__grebe_weight" FROM r_delta
WHERE NOT ("x" > 1 AND "a" <> 2) OR "s" IS NULL

-- title: IN list and BETWEEN
-- query
SELECT a, x FROM r WHERE a NOT IN (1, 2) AND x BETWEEN 0 AND 2
-- delta
SELECT "a", "x", "__grebe_weight" FROM r_delta
WHERE NOT "a" IN (1, 2) AND "x" BETWEEN 0 AND 2
