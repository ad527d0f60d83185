-- title: two tables
-- query
SELECT r.a, r.x, s.c FROM r JOIN s ON r.a = s.a
-- delta
SELECT "a", "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM r_delta
    ) AS __grebe_q1
    JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_old
      ) AS __grebe_q2
    ) AS __grebe_q3 ON "a" = "__grebe__a_2"
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q5
    JOIN (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q6 ON "a" = "__grebe__a_2"
  ) AS __grebe_q7
) AS __grebe_q8

-- title: three tables
-- query
SELECT r.x, s.y, t.z FROM r JOIN s ON r.a = s.a JOIN t ON s.c = t.c
-- delta
SELECT "x", "y", "z", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "y", "__grebe__c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "y", "__grebe__c_2", "z", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM r_delta
    ) AS __grebe_q1
    JOIN (
      SELECT "__grebe__a_2", "c", "y" FROM (
        SELECT "a" AS "__grebe__a_2", "c", "y" FROM s_old
      ) AS __grebe_q2
    ) AS __grebe_q3 ON "a" = "__grebe__a_2"
    JOIN (
      SELECT "c" AS "__grebe__c_2", "z" FROM t_old
    ) AS __grebe_q4 ON "c" = "__grebe__c_2"
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "y", "__grebe__c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "y", "__grebe__c_2", "z", "__grebe_weight" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "y", "__grebe_weight" FROM s_delta
    ) AS __grebe_q6
    JOIN (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q7 ON "a" = "__grebe__a_2"
    JOIN (
      SELECT "__grebe__c_2", "z" FROM (
        SELECT "c" AS "__grebe__c_2", "z" FROM t_old
      ) AS __grebe_q8
    ) AS __grebe_q9 ON "c" = "__grebe__c_2"
  ) AS __grebe_q10
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "y", "__grebe__c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "y", "__grebe__c_2", "z", "__grebe_weight" FROM (
      SELECT "c" AS "__grebe__c_2", "z", "__grebe_weight" FROM t_delta
    ) AS __grebe_q11
    JOIN (
      SELECT "__grebe__a_2", "c", "y" FROM (
        SELECT "a" AS "__grebe__a_2", "c", "y" FROM s_new
      ) AS __grebe_q12
    ) AS __grebe_q13 ON "c" = "__grebe__c_2"
    JOIN (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q14 ON "a" = "__grebe__a_2"
  ) AS __grebe_q15
) AS __grebe_q16

-- title: self join
-- query
SELECT p.x, q.b FROM r AS p JOIN r AS q ON p.a = q.b
-- delta
SELECT "x", "b_2", "__grebe_weight" FROM (
  SELECT "a", "x", "b_2", "__grebe_weight" FROM (
    SELECT "a", "x", "b_2", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM r_delta
    ) AS __grebe_q1
    JOIN (
      SELECT "b_2" FROM (
        SELECT "b" AS "b_2" FROM r_old
      ) AS __grebe_q2
    ) AS __grebe_q3 ON "a" = "b_2"
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "x", "b_2", "__grebe_weight" FROM (
    SELECT "a", "x", "b_2", "__grebe_weight" FROM (
      SELECT "b" AS "b_2", "__grebe_weight" FROM r_delta
    ) AS __grebe_q5
    JOIN (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q6 ON "a" = "b_2"
  ) AS __grebe_q7
) AS __grebe_q8

-- title: non-equi
-- query
SELECT r.x, s.c FROM r JOIN s ON r.x < s.c
-- delta
SELECT "x", "c", "__grebe_weight" FROM (
  SELECT "x", "c", "__grebe_weight" FROM (
    SELECT "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q1
  JOIN (
    SELECT "c" FROM s_old
  ) AS __grebe_q2 ON "x" < "c"
) AS __grebe_q3
UNION ALL
SELECT "x", "c", "__grebe_weight" FROM (
  SELECT "x", "c", "__grebe_weight" FROM (
    SELECT "c", "__grebe_weight" FROM s_delta
  ) AS __grebe_q4
  JOIN (
    SELECT "x" FROM r_new
  ) AS __grebe_q5 ON "x" < "c"
) AS __grebe_q6

-- title: USING
-- query
SELECT a, x, c FROM r JOIN s USING (a)
-- delta
SELECT "a", "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM r_delta
    ) AS __grebe_q1
    JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_old
      ) AS __grebe_q2
    ) AS __grebe_q3 ON "a" = "__grebe__a_2"
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q5
    JOIN (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q6 ON "a" = "__grebe__a_2"
  ) AS __grebe_q7
) AS __grebe_q8

-- title: NATURAL
-- query
SELECT a, x, c FROM r NATURAL JOIN s
-- delta
SELECT "a", "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM r_delta
    ) AS __grebe_q1
    JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_old
      ) AS __grebe_q2
    ) AS __grebe_q3 ON "a" = "__grebe__a_2"
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q5
    JOIN (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q6 ON "a" = "__grebe__a_2"
  ) AS __grebe_q7
) AS __grebe_q8

-- title: comma
-- query
SELECT r.x, s.c FROM r, s WHERE r.a = s.a AND r.x > 0
-- delta
SELECT "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM r_delta
      WHERE "x" > 0
    ) AS __grebe_q1
    JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_old
      ) AS __grebe_q2
    ) AS __grebe_q3 ON "a" = "__grebe__a_2"
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q5
    JOIN (
      SELECT "a", "x" FROM r_new
      WHERE "x" > 0
    ) AS __grebe_q6 ON "a" = "__grebe__a_2"
  ) AS __grebe_q7
) AS __grebe_q8

-- title: cross
-- query
SELECT r.x, s.c FROM r CROSS JOIN s
-- delta
SELECT "x", "c", "__grebe_weight" FROM (
  SELECT "x", "c", "__grebe_weight" FROM (
    SELECT "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q1
  CROSS JOIN (
    SELECT "c" FROM s_old
  ) AS __grebe_q2
) AS __grebe_q3
UNION ALL
SELECT "x", "c", "__grebe_weight" FROM (
  SELECT "x", "c", "__grebe_weight" FROM (
    SELECT "c", "__grebe_weight" FROM s_delta
  ) AS __grebe_q4
  CROSS JOIN (
    SELECT "x" FROM r_new
  ) AS __grebe_q5
) AS __grebe_q6

-- title: an expression that can raise
-- query
SELECT CAST(CAST(r.x * s.c AS VARCHAR) AS INTEGER) AS q FROM r JOIN s ON r.a = s.a
-- delta
SELECT CAST(CAST("x" * "c" AS TEXT) AS INT) AS "q", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "__grebe__a_2", "c" FROM (
          SELECT "a" AS "__grebe__a_2", "c" FROM s_old
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" = "__grebe__a_2"
    ) AS __grebe_q4
    UNION ALL
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
        SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
      ) AS __grebe_q5
      JOIN (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q6 ON "a" = "__grebe__a_2"
    ) AS __grebe_q7
  ) AS __grebe_q8
  GROUP BY "a", "x", "__grebe__a_2", "c"
  HAVING SUM("__grebe_weight") <> 0
) AS __grebe_q9
