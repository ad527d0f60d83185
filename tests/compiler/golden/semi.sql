-- title: EXISTS
-- query
SELECT a, x FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a)
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q2
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
      SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
    ) AS __grebe_q3
  ) AS __grebe_q4
) AS __grebe_q5 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c2 AS (
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q1
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q7
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM __grebe_c2
  SEMI JOIN (
    SELECT "__grebe__a_2" FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_new
    ) AS __grebe_q6
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q8 ON "__grebe__a_2" = "a"
) AS __grebe_q9
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
  SEMI JOIN (
    SELECT "__grebe__a_2" FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_old
    ) AS __grebe_q10
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q11 ON "__grebe__a_2" = "a"
) AS __grebe_q12

-- title: NOT EXISTS
-- query
SELECT a, x FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a AND s.c > r.x)
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q2
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q3
  ) AS __grebe_q4
) AS __grebe_q5 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c2 AS (
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q1
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q7
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM __grebe_c2
  ANTI JOIN (
    SELECT "__grebe__a_2", "c" FROM (
      SELECT "a" AS "__grebe__a_2", "c" FROM s_new
    ) AS __grebe_q6
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q8 ON "__grebe__a_2" = "a" AND "c" > "x"
) AS __grebe_q9
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
  ANTI JOIN (
    SELECT "__grebe__a_2", "c" FROM (
      SELECT "a" AS "__grebe__a_2", "c" FROM s_old
    ) AS __grebe_q10
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q11 ON "__grebe__a_2" = "a" AND "c" > "x"
) AS __grebe_q12

-- title: IN
-- query
SELECT a, x FROM r WHERE a IN (SELECT a FROM s)
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q2
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
      SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
    ) AS __grebe_q3
  ) AS __grebe_q4
) AS __grebe_q5 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c2 AS (
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q1
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q7
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM __grebe_c2
  SEMI JOIN (
    SELECT "__grebe__a_2" FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_new
    ) AS __grebe_q6
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q8 ON "a" = "__grebe__a_2"
) AS __grebe_q9
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
  SEMI JOIN (
    SELECT "__grebe__a_2" FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_old
    ) AS __grebe_q10
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q11 ON "a" = "__grebe__a_2"
) AS __grebe_q12

-- title: NOT IN with NULLs
-- query
SELECT a, x FROM r WHERE a NOT IN (SELECT a FROM s)
-- delta
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q1
  ANTI JOIN (
    SELECT "a" AS "__grebe__a_2" FROM s_new
  ) AS __grebe_q2 ON COALESCE(("a" = "__grebe__a_2"), TRUE)
) AS __grebe_q3
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_new
    ) AS __grebe_q4 WHERE COALESCE(("a" = "__grebe__a_2"), TRUE)) AS "__grebe_after" FROM (
      SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM (
        SELECT "a" AS "__grebe__a_2" FROM s_old
      ) AS __grebe_q5 WHERE COALESCE(("a" = "__grebe__a_2"), TRUE)) AS "__grebe_before" FROM (
        SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_old
          ) AS __grebe_q6
          SEMI JOIN (
            SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
          ) AS __grebe_q7 ON COALESCE(("a" = "__grebe__a_2"), TRUE)
        ) AS __grebe_q8
        GROUP BY "a", "x"
      ) AS __grebe_q9
    ) AS __grebe_q10
  ) AS __grebe_q11
  WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
) AS __grebe_q12

-- title: ANY
-- query
SELECT a, x FROM r WHERE x > ANY (SELECT c FROM s)
-- delta
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q1
  SEMI JOIN (
    SELECT "c" FROM s_new
  ) AS __grebe_q2 ON "x" > "c"
) AS __grebe_q3
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN "__grebe_copies" ELSE -"__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM (
      SELECT "c" FROM s_new
    ) AS __grebe_q4 WHERE "x" > "c") AS "__grebe_after" FROM (
      SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM (
        SELECT "c" FROM s_old
      ) AS __grebe_q5 WHERE "x" > "c") AS "__grebe_before" FROM (
        SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_old
          ) AS __grebe_q6
          SEMI JOIN (
            SELECT "c", "__grebe_weight" FROM s_delta
          ) AS __grebe_q7 ON "x" > "c"
        ) AS __grebe_q8
        GROUP BY "a", "x"
      ) AS __grebe_q9
    ) AS __grebe_q10
  ) AS __grebe_q11
  WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
) AS __grebe_q12

-- title: ALL
-- query
SELECT a, x FROM r WHERE x >= ALL (SELECT c FROM s)
-- delta
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q1
  ANTI JOIN (
    SELECT "c" FROM s_new
  ) AS __grebe_q2 ON COALESCE((NOT ("x" >= "c")), TRUE)
) AS __grebe_q3
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM (
      SELECT "c" FROM s_new
    ) AS __grebe_q4 WHERE COALESCE((NOT ("x" >= "c")), TRUE)) AS "__grebe_after" FROM (
      SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM (
        SELECT "c" FROM s_old
      ) AS __grebe_q5 WHERE COALESCE((NOT ("x" >= "c")), TRUE)) AS "__grebe_before" FROM (
        SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_old
          ) AS __grebe_q6
          SEMI JOIN (
            SELECT "c", "__grebe_weight" FROM s_delta
          ) AS __grebe_q7 ON COALESCE((NOT ("x" >= "c")), TRUE)
        ) AS __grebe_q8
        GROUP BY "a", "x"
      ) AS __grebe_q9
    ) AS __grebe_q10
  ) AS __grebe_q11
  WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
) AS __grebe_q12

-- title: SEMI JOIN
-- query
SELECT r.a, r.x FROM r SEMI JOIN s ON r.a = s.a
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q2
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
      SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
    ) AS __grebe_q3
  ) AS __grebe_q4
) AS __grebe_q5 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c2 AS (
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q1
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q7
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM __grebe_c2
  SEMI JOIN (
    SELECT "__grebe__a_2" FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_new
    ) AS __grebe_q6
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q8 ON "a" = "__grebe__a_2"
) AS __grebe_q9
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
  SEMI JOIN (
    SELECT "__grebe__a_2" FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_old
    ) AS __grebe_q10
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q11 ON "a" = "__grebe__a_2"
) AS __grebe_q12

-- title: ANTI JOIN
-- query
SELECT r.a, r.x FROM r ANTI JOIN s ON r.a = s.a
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q2
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
      SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
    ) AS __grebe_q3
  ) AS __grebe_q4
) AS __grebe_q5 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c2 AS (
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q1
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q7
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM __grebe_c2
  ANTI JOIN (
    SELECT "__grebe__a_2" FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_new
    ) AS __grebe_q6
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q8 ON "a" = "__grebe__a_2"
) AS __grebe_q9
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
  ANTI JOIN (
    SELECT "__grebe__a_2" FROM (
      SELECT "a" AS "__grebe__a_2" FROM s_old
    ) AS __grebe_q10
    SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q11 ON "a" = "__grebe__a_2"
) AS __grebe_q12
