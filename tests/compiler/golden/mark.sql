-- title: IN under OR
-- query
SELECT a, x FROM r WHERE a IN (SELECT a FROM s) OR x = 1
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", "__grebe_copies", "__grebe_before", "__grebe_after" FROM (
  SELECT "a", "x", "__grebe_copies", "__grebe_before", CASE WHEN EXISTS (SELECT 1 FROM (
    SELECT "a" AS "__grebe__a_2" FROM s_new
  ) AS __grebe_q5 WHERE "a" = "__grebe__a_2") THEN TRUE WHEN EXISTS (SELECT 1 FROM (
    SELECT "a" AS "__grebe__a_2" FROM s_new
  ) AS __grebe_q5 WHERE ("a" = "__grebe__a_2") IS NULL) THEN NULL ELSE FALSE END AS "__grebe_after" FROM (
    SELECT "a", "x", "__grebe_copies", CASE WHEN EXISTS (SELECT 1 FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_old
    ) AS __grebe_q6 WHERE "a" = "__grebe__a_2") THEN TRUE WHEN EXISTS (SELECT 1 FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_old
    ) AS __grebe_q6 WHERE ("a" = "__grebe__a_2") IS NULL) THEN NULL ELSE FALSE END AS "__grebe_before" FROM (
      SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_old
        ) AS __grebe_q7
        SEMI JOIN (
          SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
        ) AS __grebe_q8 ON COALESCE(("a" = "__grebe__a_2"), TRUE)
      ) AS __grebe_q9
      GROUP BY "a", "x"
    ) AS __grebe_q10
  ) AS __grebe_q11
) AS __grebe_q12
WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__matches", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__matches", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight", CASE WHEN EXISTS (SELECT 1 FROM (
        SELECT "a" AS "__grebe__a_2" FROM s_new
      ) AS __grebe_q1 WHERE "a" = "__grebe__a_2") THEN TRUE WHEN EXISTS (SELECT 1 FROM (
        SELECT "a" AS "__grebe__a_2" FROM s_new
      ) AS __grebe_q1 WHERE ("a" = "__grebe__a_2") IS NULL) THEN NULL ELSE FALSE END AS "__grebe__matches" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q2
    ) AS __grebe_q3
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "x", "__grebe__matches", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_before" AS "__grebe__matches", CAST(-"__grebe_copies" AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
  ) AS __grebe_q13
  UNION ALL
  SELECT "a", "x", "__grebe__matches", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_after" AS "__grebe__matches", CAST("__grebe_copies" AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
  ) AS __grebe_q14
) AS __grebe_q15
WHERE "__grebe__matches" OR "x" = 1

-- title: EXISTS in SELECT
-- query
SELECT a, EXISTS (SELECT 1 FROM s WHERE s.a = r.a) AS found FROM r
-- delta
WITH __grebe_c1 AS (
SELECT "a", 1 AS "__grebe_weight" FROM (
  SELECT "a" FROM r_old
) AS __grebe_q3
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
      SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
    ) AS __grebe_q4
  ) AS __grebe_q5
) AS __grebe_q6 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c2 AS (
SELECT "a", "__grebe_weight" FROM (
  SELECT "a", "__grebe_weight" FROM r_delta
) AS __grebe_q2
UNION ALL
SELECT "a", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q7
),
__grebe_c4 AS (
SELECT "__grebe__a_2" FROM (
  SELECT "a" AS "__grebe__a_2" FROM s_new
) AS __grebe_q1
SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c5 AS (
SELECT "__grebe__a_2" FROM (
  SELECT "a" AS "__grebe__a_2" FROM s_old
) AS __grebe_q10
SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
)
SELECT "a", "matches", "__grebe_weight" FROM (
  SELECT "a", "matches", "__grebe_weight" FROM (
    SELECT "a", "__grebe_weight", EXISTS (SELECT 1 FROM __grebe_c4 WHERE "__grebe__a_2" = "a") AS "matches" FROM __grebe_c2
  ) AS __grebe_q8
) AS __grebe_q9
UNION ALL
SELECT "a", "matches", "__grebe_weight" FROM (
  SELECT "a", "matches", -"__grebe_weight" AS "__grebe_weight" FROM (
    SELECT "a", "__grebe_weight", EXISTS (SELECT 1 FROM __grebe_c5 WHERE "__grebe__a_2" = "a") AS "matches" FROM __grebe_c1
  ) AS __grebe_q11
) AS __grebe_q12

-- title: NOT IN in CASE
-- query
SELECT a, CASE WHEN a NOT IN (SELECT a FROM s) THEN 'out' ELSE 'in' END AS side FROM r
-- delta
WITH __grebe_c1 AS (
SELECT "a", "__grebe_copies", "__grebe_before", "__grebe_after" FROM (
  SELECT "a", "__grebe_copies", "__grebe_before", CASE WHEN EXISTS (SELECT 1 FROM (
    SELECT "a" AS "__grebe__a_2" FROM s_new
  ) AS __grebe_q5 WHERE "a" = "__grebe__a_2") THEN TRUE WHEN EXISTS (SELECT 1 FROM (
    SELECT "a" AS "__grebe__a_2" FROM s_new
  ) AS __grebe_q5 WHERE ("a" = "__grebe__a_2") IS NULL) THEN NULL ELSE FALSE END AS "__grebe_after" FROM (
    SELECT "a", "__grebe_copies", CASE WHEN EXISTS (SELECT 1 FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_old
    ) AS __grebe_q6 WHERE "a" = "__grebe__a_2") THEN TRUE WHEN EXISTS (SELECT 1 FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_old
    ) AS __grebe_q6 WHERE ("a" = "__grebe__a_2") IS NULL) THEN NULL ELSE FALSE END AS "__grebe_before" FROM (
      SELECT "a", COUNT(*) AS "__grebe_copies" FROM (
        SELECT "a" FROM (
          SELECT "a" FROM r_old
        ) AS __grebe_q7
        SEMI JOIN (
          SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
        ) AS __grebe_q8 ON COALESCE(("a" = "__grebe__a_2"), TRUE)
      ) AS __grebe_q9
      GROUP BY "a"
    ) AS __grebe_q10
  ) AS __grebe_q11
) AS __grebe_q12
WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
)
SELECT "a", CASE WHEN NOT "__grebe__matches" THEN 'out' ELSE 'in' END AS "side", "__grebe_weight" FROM (
  SELECT "a", "__grebe__matches", "__grebe_weight" FROM (
    SELECT "a", "__grebe__matches", "__grebe_weight" FROM (
      SELECT "a", "__grebe_weight", CASE WHEN EXISTS (SELECT 1 FROM (
        SELECT "a" AS "__grebe__a_2" FROM s_new
      ) AS __grebe_q1 WHERE "a" = "__grebe__a_2") THEN TRUE WHEN EXISTS (SELECT 1 FROM (
        SELECT "a" AS "__grebe__a_2" FROM s_new
      ) AS __grebe_q1 WHERE ("a" = "__grebe__a_2") IS NULL) THEN NULL ELSE FALSE END AS "__grebe__matches" FROM (
        SELECT "a", "__grebe_weight" FROM r_delta
      ) AS __grebe_q2
    ) AS __grebe_q3
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "__grebe__matches", "__grebe_weight" FROM (
    SELECT "a", "__grebe_before" AS "__grebe__matches", CAST(-"__grebe_copies" AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
  ) AS __grebe_q13
  UNION ALL
  SELECT "a", "__grebe__matches", "__grebe_weight" FROM (
    SELECT "a", "__grebe_after" AS "__grebe__matches", CAST("__grebe_copies" AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
  ) AS __grebe_q14
) AS __grebe_q15
