-- title: UNION ALL
-- query
SELECT a, x FROM r UNION ALL SELECT a, c FROM s
-- delta
SELECT "a" AS "a_3", "x" AS "x_2", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q1
UNION ALL
SELECT "__grebe__a_2" AS "a_3", "c" AS "x_2", "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
) AS __grebe_q2

-- title: UNION
-- query
SELECT a, x FROM r UNION SELECT a, c FROM s
-- delta
WITH __grebe_c1 AS (
SELECT "a" AS "a_3", "x" AS "x_2", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q2
),
__grebe_c2 AS (
SELECT "__grebe__a_2" AS "a_3", "c" AS "x_2", "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
) AS __grebe_q6
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_a_3", "__grebe_key_x_2" FROM (
  SELECT "__grebe_key_a_3", "__grebe_key_x_2" FROM (
    SELECT DISTINCT "__grebe_key_a_3", "__grebe_key_x_2" FROM (
      SELECT "a_3" AS "__grebe_key_a_3", "x_2" AS "__grebe_key_x_2" FROM (
        SELECT "a_3", "x_2", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
        GROUP BY "a_3", "x_2"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "__grebe_key_a_3", "__grebe_key_x_2" FROM (
    SELECT DISTINCT "__grebe_key_a_3", "__grebe_key_x_2" FROM (
      SELECT "a_3" AS "__grebe_key_a_3", "x_2" AS "__grebe_key_x_2" FROM (
        SELECT "a_3", "x_2", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c2
        GROUP BY "a_3", "x_2"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
)
SELECT "a_3", "x_2", "__grebe_weight" FROM (
  SELECT "a_3", "x_2", CAST(CASE WHEN "__grebe_left_new" + "__grebe_right_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" + "__grebe_right_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a_3", "x_2", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "a_3", "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", "x_2", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "a" AS "a_3", "x" AS "x_2" FROM (
            SELECT "a", "x" FROM (
              SELECT "a", "x" FROM r_new
            ) AS __grebe_q1
            SEMI JOIN __grebe_c3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a_3" AND "x" IS NOT DISTINCT FROM "__grebe_key_x_2"
          ) AS __grebe_q11
        ) AS __grebe_q12
      ) AS __grebe_q13
      UNION ALL
      SELECT "a_3", "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", "x_2", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 1 AS "__grebe_right_new", 1 AS "__grebe_right_old" FROM (
          SELECT "__grebe__a_2" AS "a_3", "c" AS "x_2" FROM (
            SELECT "__grebe__a_2", "c" FROM (
              SELECT "a" AS "__grebe__a_2", "c" FROM s_new
            ) AS __grebe_q14
            SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_a_3" AND "c" IS NOT DISTINCT FROM "__grebe_key_x_2"
          ) AS __grebe_q15
        ) AS __grebe_q16
      ) AS __grebe_q17
      UNION ALL
      SELECT "a_3", "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", "x_2", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c1
      ) AS __grebe_q18
      UNION ALL
      SELECT "a_3", "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", "x_2", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 0 AS "__grebe_right_new", -"__grebe_weight" AS "__grebe_right_old" FROM __grebe_c2
      ) AS __grebe_q19
    ) AS __grebe_q20
    GROUP BY "a_3", "x_2"
  ) AS __grebe_q21
) AS __grebe_q22
WHERE "__grebe_weight" <> 0

-- title: EXCEPT
-- query
SELECT a FROM r EXCEPT SELECT a FROM s
-- delta
WITH __grebe_c1 AS (
SELECT "a" AS "a_3", "__grebe_weight" FROM (
  SELECT "a", "__grebe_weight" FROM r_delta
) AS __grebe_q2
),
__grebe_c2 AS (
SELECT "__grebe__a_2" AS "a_3", "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
) AS __grebe_q6
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_a_3" FROM (
  SELECT "__grebe_key_a_3" FROM (
    SELECT DISTINCT "__grebe_key_a_3" FROM (
      SELECT "a_3" AS "__grebe_key_a_3" FROM (
        SELECT "a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
        GROUP BY "a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "__grebe_key_a_3" FROM (
    SELECT DISTINCT "__grebe_key_a_3" FROM (
      SELECT "a_3" AS "__grebe_key_a_3" FROM (
        SELECT "a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c2
        GROUP BY "a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
)
SELECT "a_3", "__grebe_weight" FROM (
  SELECT "a_3", CAST(CASE WHEN "__grebe_left_new" > 0 AND "__grebe_right_new" = 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" > 0 AND "__grebe_right_old" = 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a_3", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "a" AS "a_3" FROM (
            SELECT "a" FROM (
              SELECT "a" FROM r_new
            ) AS __grebe_q1
            SEMI JOIN __grebe_c3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a_3"
          ) AS __grebe_q11
        ) AS __grebe_q12
      ) AS __grebe_q13
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 1 AS "__grebe_right_new", 1 AS "__grebe_right_old" FROM (
          SELECT "__grebe__a_2" AS "a_3" FROM (
            SELECT "__grebe__a_2" FROM (
              SELECT "a" AS "__grebe__a_2" FROM s_new
            ) AS __grebe_q14
            SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_a_3"
          ) AS __grebe_q15
        ) AS __grebe_q16
      ) AS __grebe_q17
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c1
      ) AS __grebe_q18
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 0 AS "__grebe_right_new", -"__grebe_weight" AS "__grebe_right_old" FROM __grebe_c2
      ) AS __grebe_q19
    ) AS __grebe_q20
    GROUP BY "a_3"
  ) AS __grebe_q21
) AS __grebe_q22
WHERE "__grebe_weight" <> 0

-- title: EXCEPT ALL
-- query
SELECT a FROM r EXCEPT ALL SELECT a FROM s
-- delta
WITH __grebe_c1 AS (
SELECT "a" AS "a_3", "__grebe_weight" FROM (
  SELECT "a", "__grebe_weight" FROM r_delta
) AS __grebe_q2
),
__grebe_c2 AS (
SELECT "__grebe__a_2" AS "a_3", "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
) AS __grebe_q6
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_a_3" FROM (
  SELECT "__grebe_key_a_3" FROM (
    SELECT DISTINCT "__grebe_key_a_3" FROM (
      SELECT "a_3" AS "__grebe_key_a_3" FROM (
        SELECT "a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
        GROUP BY "a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "__grebe_key_a_3" FROM (
    SELECT DISTINCT "__grebe_key_a_3" FROM (
      SELECT "a_3" AS "__grebe_key_a_3" FROM (
        SELECT "a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c2
        GROUP BY "a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
)
SELECT "a_3", "__grebe_weight" FROM (
  SELECT "a_3", CAST(CASE WHEN "__grebe_left_new" > "__grebe_right_new" THEN "__grebe_left_new" - "__grebe_right_new" ELSE 0 END - CASE WHEN "__grebe_left_old" > "__grebe_right_old" THEN "__grebe_left_old" - "__grebe_right_old" ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a_3", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "a" AS "a_3" FROM (
            SELECT "a" FROM (
              SELECT "a" FROM r_new
            ) AS __grebe_q1
            SEMI JOIN __grebe_c3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a_3"
          ) AS __grebe_q11
        ) AS __grebe_q12
      ) AS __grebe_q13
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 1 AS "__grebe_right_new", 1 AS "__grebe_right_old" FROM (
          SELECT "__grebe__a_2" AS "a_3" FROM (
            SELECT "__grebe__a_2" FROM (
              SELECT "a" AS "__grebe__a_2" FROM s_new
            ) AS __grebe_q14
            SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_a_3"
          ) AS __grebe_q15
        ) AS __grebe_q16
      ) AS __grebe_q17
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c1
      ) AS __grebe_q18
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 0 AS "__grebe_right_new", -"__grebe_weight" AS "__grebe_right_old" FROM __grebe_c2
      ) AS __grebe_q19
    ) AS __grebe_q20
    GROUP BY "a_3"
  ) AS __grebe_q21
) AS __grebe_q22
WHERE "__grebe_weight" <> 0

-- title: INTERSECT
-- query
SELECT a FROM r INTERSECT SELECT a FROM s
-- delta
WITH __grebe_c1 AS (
SELECT "a" AS "a_3", "__grebe_weight" FROM (
  SELECT "a", "__grebe_weight" FROM r_delta
) AS __grebe_q2
),
__grebe_c2 AS (
SELECT "__grebe__a_2" AS "a_3", "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
) AS __grebe_q6
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_a_3" FROM (
  SELECT "__grebe_key_a_3" FROM (
    SELECT DISTINCT "__grebe_key_a_3" FROM (
      SELECT "a_3" AS "__grebe_key_a_3" FROM (
        SELECT "a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
        GROUP BY "a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "__grebe_key_a_3" FROM (
    SELECT DISTINCT "__grebe_key_a_3" FROM (
      SELECT "a_3" AS "__grebe_key_a_3" FROM (
        SELECT "a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c2
        GROUP BY "a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
)
SELECT "a_3", "__grebe_weight" FROM (
  SELECT "a_3", CAST(CASE WHEN "__grebe_left_new" > 0 AND "__grebe_right_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" > 0 AND "__grebe_right_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a_3", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "a" AS "a_3" FROM (
            SELECT "a" FROM (
              SELECT "a" FROM r_new
            ) AS __grebe_q1
            SEMI JOIN __grebe_c3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a_3"
          ) AS __grebe_q11
        ) AS __grebe_q12
      ) AS __grebe_q13
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 1 AS "__grebe_right_new", 1 AS "__grebe_right_old" FROM (
          SELECT "__grebe__a_2" AS "a_3" FROM (
            SELECT "__grebe__a_2" FROM (
              SELECT "a" AS "__grebe__a_2" FROM s_new
            ) AS __grebe_q14
            SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_a_3"
          ) AS __grebe_q15
        ) AS __grebe_q16
      ) AS __grebe_q17
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c1
      ) AS __grebe_q18
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 0 AS "__grebe_right_new", -"__grebe_weight" AS "__grebe_right_old" FROM __grebe_c2
      ) AS __grebe_q19
    ) AS __grebe_q20
    GROUP BY "a_3"
  ) AS __grebe_q21
) AS __grebe_q22
WHERE "__grebe_weight" <> 0

-- title: INTERSECT ALL
-- query
SELECT a FROM r INTERSECT ALL SELECT a FROM s
-- delta
WITH __grebe_c1 AS (
SELECT "a" AS "a_3", "__grebe_weight" FROM (
  SELECT "a", "__grebe_weight" FROM r_delta
) AS __grebe_q2
),
__grebe_c2 AS (
SELECT "__grebe__a_2" AS "a_3", "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
) AS __grebe_q6
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_a_3" FROM (
  SELECT "__grebe_key_a_3" FROM (
    SELECT DISTINCT "__grebe_key_a_3" FROM (
      SELECT "a_3" AS "__grebe_key_a_3" FROM (
        SELECT "a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
        GROUP BY "a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "__grebe_key_a_3" FROM (
    SELECT DISTINCT "__grebe_key_a_3" FROM (
      SELECT "a_3" AS "__grebe_key_a_3" FROM (
        SELECT "a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c2
        GROUP BY "a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
)
SELECT "a_3", "__grebe_weight" FROM (
  SELECT "a_3", CAST(CASE WHEN "__grebe_left_new" < "__grebe_right_new" THEN "__grebe_left_new" ELSE "__grebe_right_new" END - CASE WHEN "__grebe_left_old" < "__grebe_right_old" THEN "__grebe_left_old" ELSE "__grebe_right_old" END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a_3", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "a" AS "a_3" FROM (
            SELECT "a" FROM (
              SELECT "a" FROM r_new
            ) AS __grebe_q1
            SEMI JOIN __grebe_c3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a_3"
          ) AS __grebe_q11
        ) AS __grebe_q12
      ) AS __grebe_q13
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 1 AS "__grebe_right_new", 1 AS "__grebe_right_old" FROM (
          SELECT "__grebe__a_2" AS "a_3" FROM (
            SELECT "__grebe__a_2" FROM (
              SELECT "a" AS "__grebe__a_2" FROM s_new
            ) AS __grebe_q14
            SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_a_3"
          ) AS __grebe_q15
        ) AS __grebe_q16
      ) AS __grebe_q17
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c1
      ) AS __grebe_q18
      UNION ALL
      SELECT "a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 0 AS "__grebe_right_new", -"__grebe_weight" AS "__grebe_right_old" FROM __grebe_c2
      ) AS __grebe_q19
    ) AS __grebe_q20
    GROUP BY "a_3"
  ) AS __grebe_q21
) AS __grebe_q22
WHERE "__grebe_weight" <> 0

-- title: three branches
-- query
(SELECT a FROM r UNION SELECT a FROM s) EXCEPT SELECT c FROM t
-- delta
WITH __grebe_c1 AS (
SELECT "a" AS "__grebe__a_3", "__grebe_weight" FROM (
  SELECT "a", "__grebe_weight" FROM r_delta
) AS __grebe_q3
),
__grebe_c2 AS (
SELECT "__grebe__a_2" AS "__grebe__a_3", "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "__grebe_weight" FROM s_delta
) AS __grebe_q7
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key___grebe__a_3" FROM (
  SELECT "__grebe_key___grebe__a_3" FROM (
    SELECT DISTINCT "__grebe_key___grebe__a_3" FROM (
      SELECT "__grebe__a_3" AS "__grebe_key___grebe__a_3" FROM (
        SELECT "__grebe__a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
        GROUP BY "__grebe__a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q4
    ) AS __grebe_q5
  ) AS __grebe_q6
  UNION ALL
  SELECT "__grebe_key___grebe__a_3" FROM (
    SELECT DISTINCT "__grebe_key___grebe__a_3" FROM (
      SELECT "__grebe__a_3" AS "__grebe_key___grebe__a_3" FROM (
        SELECT "__grebe__a_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c2
        GROUP BY "__grebe__a_3"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q8
    ) AS __grebe_q9
  ) AS __grebe_q10
) AS __grebe_q11
),
__grebe_c4 AS (
SELECT "__grebe__a_3" AS "a_4", "__grebe_weight" FROM (
  SELECT "__grebe__a_3", "__grebe_weight" FROM (
    SELECT "__grebe__a_3", CAST(CASE WHEN "__grebe_left_new" + "__grebe_right_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" + "__grebe_right_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
      SELECT "__grebe__a_3", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
        SELECT "__grebe__a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
          SELECT "__grebe__a_3", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
            SELECT "a" AS "__grebe__a_3" FROM (
              SELECT "a" FROM (
                SELECT "a" FROM r_new
              ) AS __grebe_q2
              SEMI JOIN __grebe_c3 ON "a" IS NOT DISTINCT FROM "__grebe_key___grebe__a_3"
            ) AS __grebe_q12
          ) AS __grebe_q13
        ) AS __grebe_q14
        UNION ALL
        SELECT "__grebe__a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
          SELECT "__grebe__a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 1 AS "__grebe_right_new", 1 AS "__grebe_right_old" FROM (
            SELECT "__grebe__a_2" AS "__grebe__a_3" FROM (
              SELECT "__grebe__a_2" FROM (
                SELECT "a" AS "__grebe__a_2" FROM s_new
              ) AS __grebe_q15
              SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key___grebe__a_3"
            ) AS __grebe_q16
          ) AS __grebe_q17
        ) AS __grebe_q18
        UNION ALL
        SELECT "__grebe__a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
          SELECT "__grebe__a_3", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c1
        ) AS __grebe_q19
        UNION ALL
        SELECT "__grebe__a_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
          SELECT "__grebe__a_3", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 0 AS "__grebe_right_new", -"__grebe_weight" AS "__grebe_right_old" FROM __grebe_c2
        ) AS __grebe_q20
      ) AS __grebe_q21
      GROUP BY "__grebe__a_3"
    ) AS __grebe_q22
  ) AS __grebe_q23
  WHERE "__grebe_weight" <> 0
) AS __grebe_q24
),
__grebe_c5 AS (
SELECT "__grebe__c_2" AS "a_4", "__grebe_weight" FROM (
  SELECT "c" AS "__grebe__c_2", "__grebe_weight" FROM t_delta
) AS __grebe_q28
),
__grebe_c6 AS (
SELECT DISTINCT "__grebe_key_a_4" FROM (
  SELECT "__grebe_key_a_4" FROM (
    SELECT DISTINCT "__grebe_key_a_4" FROM (
      SELECT "a_4" AS "__grebe_key_a_4" FROM (
        SELECT "a_4", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c4
        GROUP BY "a_4"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q25
    ) AS __grebe_q26
  ) AS __grebe_q27
  UNION ALL
  SELECT "__grebe_key_a_4" FROM (
    SELECT DISTINCT "__grebe_key_a_4" FROM (
      SELECT "a_4" AS "__grebe_key_a_4" FROM (
        SELECT "a_4", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c5
        GROUP BY "a_4"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q29
    ) AS __grebe_q30
  ) AS __grebe_q31
) AS __grebe_q32
)
SELECT "a_4", "__grebe_weight" FROM (
  SELECT "a_4", CAST(CASE WHEN "__grebe_left_new" > 0 AND "__grebe_right_new" = 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" > 0 AND "__grebe_right_old" = 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a_4", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "a_4", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_4", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "__grebe__a_3" AS "a_4" FROM (
            SELECT "a" AS "__grebe__a_3" FROM (
              SELECT "a" FROM (
                SELECT "a" FROM r_new
              ) AS __grebe_q1
              SEMI JOIN __grebe_c6 ON "a" IS NOT DISTINCT FROM "__grebe_key_a_4"
            ) AS __grebe_q33
            UNION
            SELECT "__grebe__a_2" AS "__grebe__a_3" FROM (
              SELECT "__grebe__a_2" FROM (
                SELECT "a" AS "__grebe__a_2" FROM s_new
              ) AS __grebe_q34
              SEMI JOIN __grebe_c6 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_a_4"
            ) AS __grebe_q35
          ) AS __grebe_q36
        ) AS __grebe_q37
      ) AS __grebe_q38
      UNION ALL
      SELECT "a_4", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_4", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 1 AS "__grebe_right_new", 1 AS "__grebe_right_old" FROM (
          SELECT "__grebe__c_2" AS "a_4" FROM (
            SELECT "__grebe__c_2" FROM (
              SELECT "c" AS "__grebe__c_2" FROM t_new
            ) AS __grebe_q39
            SEMI JOIN __grebe_c6 ON "__grebe__c_2" IS NOT DISTINCT FROM "__grebe_key_a_4"
          ) AS __grebe_q40
        ) AS __grebe_q41
      ) AS __grebe_q42
      UNION ALL
      SELECT "a_4", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_4", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c4
      ) AS __grebe_q43
      UNION ALL
      SELECT "a_4", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a_4", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 0 AS "__grebe_right_new", -"__grebe_weight" AS "__grebe_right_old" FROM __grebe_c5
      ) AS __grebe_q44
    ) AS __grebe_q45
    GROUP BY "a_4"
  ) AS __grebe_q46
) AS __grebe_q47
WHERE "__grebe_weight" <> 0

-- title: coerced by position
-- query
SELECT x FROM r UNION SELECT z FROM t
-- delta
WITH __grebe_c1 AS (
SELECT "x" AS "x_2", "__grebe_weight" FROM (
  SELECT CAST("x" AS BIGINT) AS "x", "__grebe_weight" FROM r_delta
) AS __grebe_q2
),
__grebe_c2 AS (
SELECT "z" AS "x_2", "__grebe_weight" FROM (
  SELECT "z", "__grebe_weight" FROM t_delta
) AS __grebe_q6
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_x_2" FROM (
  SELECT "__grebe_key_x_2" FROM (
    SELECT DISTINCT "__grebe_key_x_2" FROM (
      SELECT "x_2" AS "__grebe_key_x_2" FROM (
        SELECT "x_2", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
        GROUP BY "x_2"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "__grebe_key_x_2" FROM (
    SELECT DISTINCT "__grebe_key_x_2" FROM (
      SELECT "x_2" AS "__grebe_key_x_2" FROM (
        SELECT "x_2", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c2
        GROUP BY "x_2"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
)
SELECT "x_2", "__grebe_weight" FROM (
  SELECT "x_2", CAST(CASE WHEN "__grebe_left_new" + "__grebe_right_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" + "__grebe_right_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "x_2", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "x_2", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "x" AS "x_2" FROM (
            SELECT CAST("x" AS BIGINT) AS "x" FROM (
              SELECT "x" FROM r_new
            ) AS __grebe_q1
            SEMI JOIN __grebe_c3 ON TRY(CAST("x" AS BIGINT)) IS NOT DISTINCT FROM "__grebe_key_x_2"
          ) AS __grebe_q11
        ) AS __grebe_q12
      ) AS __grebe_q13
      UNION ALL
      SELECT "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "x_2", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 1 AS "__grebe_right_new", 1 AS "__grebe_right_old" FROM (
          SELECT "z" AS "x_2" FROM (
            SELECT "z" FROM (
              SELECT "z" FROM t_new
            ) AS __grebe_q14
            SEMI JOIN __grebe_c3 ON "z" IS NOT DISTINCT FROM "__grebe_key_x_2"
          ) AS __grebe_q15
        ) AS __grebe_q16
      ) AS __grebe_q17
      UNION ALL
      SELECT "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "x_2", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c1
      ) AS __grebe_q18
      UNION ALL
      SELECT "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "x_2", 0 AS "__grebe_left_new", 0 AS "__grebe_left_old", 0 AS "__grebe_right_new", -"__grebe_weight" AS "__grebe_right_old" FROM __grebe_c2
      ) AS __grebe_q19
    ) AS __grebe_q20
    GROUP BY "x_2"
  ) AS __grebe_q21
) AS __grebe_q22
WHERE "__grebe_weight" <> 0
