-- title: LEFT
-- query
SELECT r.a, r.x, s.c FROM r LEFT JOIN s ON r.a = s.a
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
SELECT "a", "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM __grebe_c2
    LEFT JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_new
      ) AS __grebe_q6
      SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q8 ON "a" = "__grebe__a_2"
  ) AS __grebe_q9
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
    LEFT JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_old
      ) AS __grebe_q10
      SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q11 ON "a" = "__grebe__a_2"
  ) AS __grebe_q12
) AS __grebe_q13

-- title: RIGHT
-- query
SELECT r.x, s.a, s.c FROM r RIGHT JOIN s ON r.a = s.a
-- delta
WITH __grebe_c1 AS (
SELECT "a_2", "c", 1 AS "__grebe_weight" FROM (
  SELECT "a" AS "a_2", "c" FROM s_old
) AS __grebe_q2
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "a" AS "__grebe_key_tie_0" FROM r_delta
  ) AS __grebe_q3
) AS __grebe_q4 ON "a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c2 AS (
SELECT "a_2", "c", "__grebe_weight" FROM (
  SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
) AS __grebe_q1
UNION ALL
SELECT "a_2", "c", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a_2" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q6
)
SELECT "x", "a_2", "c", "__grebe_weight" FROM (
  SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM (
    SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM __grebe_c2
    LEFT JOIN (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q5
      SEMI JOIN __grebe_c3 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q7 ON "a" = "a_2"
  ) AS __grebe_q8
  UNION ALL
  SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM (
    SELECT "a_2", "c", "a", "x", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
    LEFT JOIN (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_old
      ) AS __grebe_q9
      SEMI JOIN __grebe_c3 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q10 ON "a" = "a_2"
  ) AS __grebe_q11
) AS __grebe_q12

-- title: FULL
-- query
SELECT r.x, s.c FROM r FULL JOIN s ON r.a = s.a
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q10
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q11
  ) AS __grebe_q12
) AS __grebe_q13 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c2 AS (
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q9
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q15
),
__grebe_c4 AS (
SELECT "__grebe__a_2", "c", 1 AS "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "c" FROM s_old
) AS __grebe_q26
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "a" AS "__grebe_key_tie_0" FROM r_delta
  ) AS __grebe_q27
) AS __grebe_q28 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c5 AS (
SELECT "__grebe__a_2", "c", "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
) AS __grebe_q25
UNION ALL
SELECT "__grebe__a_2", "c", "__grebe_weight" FROM __grebe_c4
),
__grebe_c6 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM __grebe_c5
) AS __grebe_q30
)
SELECT "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
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
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM __grebe_c2
        ANTI JOIN (
          SELECT "__grebe__a_2", "c" FROM (
            SELECT "a" AS "__grebe__a_2", "c" FROM s_new
          ) AS __grebe_q14
          SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q16 ON "a" = "__grebe__a_2"
      ) AS __grebe_q17
      UNION ALL
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
        ANTI JOIN (
          SELECT "__grebe__a_2", "c" FROM (
            SELECT "a" AS "__grebe__a_2", "c" FROM s_old
          ) AS __grebe_q18
          SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q19 ON "a" = "__grebe__a_2"
      ) AS __grebe_q20
    ) AS __grebe_q21
    LEFT JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_new
      ) AS __grebe_q22 WHERE FALSE
    ) AS __grebe_q23 ON FALSE
  ) AS __grebe_q24
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "__grebe__a_2", "c", "__grebe_weight" FROM (
        SELECT "__grebe__a_2", "c", "__grebe_weight" FROM __grebe_c5
        ANTI JOIN (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_new
          ) AS __grebe_q29
          SEMI JOIN __grebe_c6 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q31 ON "a" = "__grebe__a_2"
      ) AS __grebe_q32
      UNION ALL
      SELECT "__grebe__a_2", "c", "__grebe_weight" FROM (
        SELECT "__grebe__a_2", "c", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c4
        ANTI JOIN (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_old
          ) AS __grebe_q33
          SEMI JOIN __grebe_c6 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q34 ON "a" = "__grebe__a_2"
      ) AS __grebe_q35
    ) AS __grebe_q36
    LEFT JOIN (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q37 WHERE FALSE
    ) AS __grebe_q38 ON FALSE
  ) AS __grebe_q39
) AS __grebe_q40

-- title: FULL by USING
-- query
SELECT a, x, c FROM r FULL JOIN s USING (a)
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q10
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q11
  ) AS __grebe_q12
) AS __grebe_q13 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c2 AS (
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q9
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q15
),
__grebe_c4 AS (
SELECT "__grebe__a_2", "c", 1 AS "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "c" FROM s_old
) AS __grebe_q26
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "a" AS "__grebe_key_tie_0" FROM r_delta
  ) AS __grebe_q27
) AS __grebe_q28 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c5 AS (
SELECT "__grebe__a_2", "c", "__grebe_weight" FROM (
  SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
) AS __grebe_q25
UNION ALL
SELECT "__grebe__a_2", "c", "__grebe_weight" FROM __grebe_c4
),
__grebe_c6 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM __grebe_c5
) AS __grebe_q30
)
SELECT COALESCE("a", "__grebe__a_2") AS "a_3", "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
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
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM __grebe_c2
        ANTI JOIN (
          SELECT "__grebe__a_2", "c" FROM (
            SELECT "a" AS "__grebe__a_2", "c" FROM s_new
          ) AS __grebe_q14
          SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q16 ON "a" = "__grebe__a_2"
      ) AS __grebe_q17
      UNION ALL
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
        ANTI JOIN (
          SELECT "__grebe__a_2", "c" FROM (
            SELECT "a" AS "__grebe__a_2", "c" FROM s_old
          ) AS __grebe_q18
          SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q19 ON "a" = "__grebe__a_2"
      ) AS __grebe_q20
    ) AS __grebe_q21
    LEFT JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_new
      ) AS __grebe_q22 WHERE FALSE
    ) AS __grebe_q23 ON FALSE
  ) AS __grebe_q24
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "__grebe__a_2", "c", "__grebe_weight" FROM (
        SELECT "__grebe__a_2", "c", "__grebe_weight" FROM __grebe_c5
        ANTI JOIN (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_new
          ) AS __grebe_q29
          SEMI JOIN __grebe_c6 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q31 ON "a" = "__grebe__a_2"
      ) AS __grebe_q32
      UNION ALL
      SELECT "__grebe__a_2", "c", "__grebe_weight" FROM (
        SELECT "__grebe__a_2", "c", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c4
        ANTI JOIN (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_old
          ) AS __grebe_q33
          SEMI JOIN __grebe_c6 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q34 ON "a" = "__grebe__a_2"
      ) AS __grebe_q35
    ) AS __grebe_q36
    LEFT JOIN (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q37 WHERE FALSE
    ) AS __grebe_q38 ON FALSE
  ) AS __grebe_q39
) AS __grebe_q40

-- title: LEFT by a non-equality
-- query
SELECT r.x, s.c FROM r LEFT JOIN s ON r.x < s.c AND r.b = 1
-- delta
SELECT "x", "c", "__grebe_weight" FROM (
  SELECT "b", "x", "c", "__grebe_weight" FROM (
    SELECT "b", "x", "c", "__grebe_weight" FROM (
      SELECT "b", "x", "c", "__grebe_weight" FROM (
        SELECT "b", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "c" FROM s_old
      ) AS __grebe_q2 ON "x" < "c"
      WHERE "b" = 1
    ) AS __grebe_q3
    UNION ALL
    SELECT "b", "x", "c", "__grebe_weight" FROM (
      SELECT "b", "x", "c", "__grebe_weight" FROM (
        SELECT "c", "__grebe_weight" FROM s_delta
      ) AS __grebe_q4
      JOIN (
        SELECT "b", "x" FROM r_new
      ) AS __grebe_q5 ON ("x" < "c") AND ("b" = 1)
    ) AS __grebe_q6
  ) AS __grebe_q7
  UNION ALL
  SELECT "b", "x", "c", "__grebe_weight" FROM (
    SELECT "b", "x", "c", "__grebe_weight" FROM (
      SELECT "b", "x", "__grebe_weight" FROM (
        SELECT "b", "x", "__grebe_weight" FROM (
          SELECT "b", "x", "__grebe_weight" FROM r_delta
        ) AS __grebe_q8
        ANTI JOIN (
          SELECT "c" FROM s_new
        ) AS __grebe_q9 ON "x" < "c" AND "b" = 1
      ) AS __grebe_q10
      UNION ALL
      SELECT "b", "x", "__grebe_weight" FROM (
        SELECT "b", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "b", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM (
            SELECT "c" FROM s_new
          ) AS __grebe_q11 WHERE "x" < "c" AND "b" = 1) AS "__grebe_after" FROM (
            SELECT "b", "x", "__grebe_copies", EXISTS (SELECT 1 FROM (
              SELECT "c" FROM s_old
            ) AS __grebe_q12 WHERE "x" < "c" AND "b" = 1) AS "__grebe_before" FROM (
              SELECT "b", "x", COUNT(*) AS "__grebe_copies" FROM (
                SELECT "b", "x" FROM (
                  SELECT "b", "x" FROM r_old
                ) AS __grebe_q13
                SEMI JOIN (
                  SELECT "c", "__grebe_weight" FROM s_delta
                ) AS __grebe_q14 ON "x" < "c" AND "b" = 1
              ) AS __grebe_q15
              GROUP BY "b", "x"
            ) AS __grebe_q16
          ) AS __grebe_q17
        ) AS __grebe_q18
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q19
    ) AS __grebe_q20
    LEFT JOIN (
      SELECT "c" FROM (
        SELECT "c" FROM s_new
      ) AS __grebe_q21 WHERE FALSE
    ) AS __grebe_q22 ON FALSE
  ) AS __grebe_q23
) AS __grebe_q24

-- title: chain
-- query
SELECT r.x, s.c, t.z FROM r LEFT JOIN s ON r.a = s.a LEFT JOIN t ON s.c = t.c
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
),
__grebe_c4 AS (
SELECT "a", "x", "__grebe__a_2", "c", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c" FROM (
    SELECT "a", "x" FROM r_old
  ) AS __grebe_q14
  LEFT JOIN (
    SELECT "a" AS "__grebe__a_2", "c" FROM s_old
  ) AS __grebe_q15 ON "a" = "__grebe__a_2"
) AS __grebe_q16
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe__c_2" AS "__grebe_key_tie_0" FROM (
      SELECT "c" AS "__grebe__c_2", "z", "__grebe_weight" FROM t_delta
    ) AS __grebe_q17
  ) AS __grebe_q18
) AS __grebe_q19 ON "c" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c5 AS (
SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM __grebe_c2
    LEFT JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_new
      ) AS __grebe_q6
      SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q8 ON "a" = "__grebe__a_2"
  ) AS __grebe_q9
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
    LEFT JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_old
      ) AS __grebe_q10
      SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q11 ON "a" = "__grebe__a_2"
  ) AS __grebe_q12
) AS __grebe_q13
UNION ALL
SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM __grebe_c4
),
__grebe_c6 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "c" AS "__grebe_key_tie_0" FROM __grebe_c5
) AS __grebe_q21
)
SELECT "x", "c", "z", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe__c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe__c_2", "z", "__grebe_weight" FROM __grebe_c5
    LEFT JOIN (
      SELECT "__grebe__c_2", "z" FROM (
        SELECT "c" AS "__grebe__c_2", "z" FROM t_new
      ) AS __grebe_q20
      SEMI JOIN __grebe_c6 ON "__grebe__c_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q22 ON "c" = "__grebe__c_2"
  ) AS __grebe_q23
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe__c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe__c_2", "z", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c4
    LEFT JOIN (
      SELECT "__grebe__c_2", "z" FROM (
        SELECT "c" AS "__grebe__c_2", "z" FROM t_old
      ) AS __grebe_q24
      SEMI JOIN __grebe_c6 ON "__grebe__c_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q25 ON "c" = "__grebe__c_2"
  ) AS __grebe_q26
) AS __grebe_q27

-- title: nest
-- query
SELECT r.x, q.z FROM r LEFT JOIN (SELECT s.a, t.z FROM s LEFT JOIN t ON s.c = t.c) AS q ON r.a = q.a
-- delta
WITH __grebe_c1 AS (
SELECT "__grebe__c_2" FROM (
  SELECT "c" AS "__grebe__c_2", "z", "__grebe_weight" FROM t_delta
) AS __grebe_q5
),
__grebe_c2 AS (
SELECT "a", "x", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q2
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe_key_tie_0" FROM (
      SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
        SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
      ) AS __grebe_q3
    ) AS __grebe_q4
    UNION ALL
    SELECT "__grebe_key_tie_0" FROM (
      SELECT "__grebe_key_tie_0" FROM (
        SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM __grebe_c1
        JOIN (
          SELECT "a" AS "__grebe__a_2", "c" FROM s_new
        ) AS __grebe_q6 ON "c" = "__grebe__c_2"
      ) AS __grebe_q7
      UNION ALL
      SELECT "__grebe_key_tie_0" FROM (
        SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM __grebe_c1
        JOIN (
          SELECT "a" AS "__grebe__a_2", "c" FROM s_old
        ) AS __grebe_q8 ON "c" = "__grebe__c_2"
      ) AS __grebe_q9
    ) AS __grebe_q10
  ) AS __grebe_q11
) AS __grebe_q12 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c3 AS (
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q1
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM __grebe_c2
),
__grebe_c4 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c3
) AS __grebe_q14
)
SELECT "x", "z", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe__c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe__c_2", "z", "__grebe_weight" FROM __grebe_c3
    LEFT JOIN (
      SELECT "__grebe__a_2", "c", "__grebe__c_2", "z" FROM (
        SELECT "__grebe__a_2", "c" FROM (
          SELECT "a" AS "__grebe__a_2", "c" FROM s_new
        ) AS __grebe_q13
        SEMI JOIN __grebe_c4 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
      ) AS __grebe_q15
      LEFT JOIN (
        SELECT "c" AS "__grebe__c_2", "z" FROM t_new
      ) AS __grebe_q16 ON "c" = "__grebe__c_2"
    ) AS __grebe_q17 ON "a" = "__grebe__a_2"
  ) AS __grebe_q18
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe__c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe__c_2", "z", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c2
    LEFT JOIN (
      SELECT "__grebe__a_2", "c", "__grebe__c_2", "z" FROM (
        SELECT "__grebe__a_2", "c" FROM (
          SELECT "a" AS "__grebe__a_2", "c" FROM s_old
        ) AS __grebe_q19
        SEMI JOIN __grebe_c4 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
      ) AS __grebe_q20
      LEFT JOIN (
        SELECT "c" AS "__grebe__c_2", "z" FROM t_old
      ) AS __grebe_q21 ON "c" = "__grebe__c_2"
    ) AS __grebe_q22 ON "a" = "__grebe__a_2"
  ) AS __grebe_q23
) AS __grebe_q24

-- title: WHERE over the nullable side
-- query
SELECT r.a, r.x FROM r LEFT JOIN s ON r.a = s.a WHERE s.a IS NULL
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
  SELECT "a", "x", "__grebe__a_2", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "__grebe_weight" FROM __grebe_c2
    LEFT JOIN (
      SELECT "__grebe__a_2" FROM (
        SELECT "a" AS "__grebe__a_2" FROM s_new
      ) AS __grebe_q6
      SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q8 ON "a" = "__grebe__a_2"
  ) AS __grebe_q9
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
    LEFT JOIN (
      SELECT "__grebe__a_2" FROM (
        SELECT "a" AS "__grebe__a_2" FROM s_old
      ) AS __grebe_q10
      SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
    ) AS __grebe_q11 ON "a" = "__grebe__a_2"
  ) AS __grebe_q12
) AS __grebe_q13
WHERE "__grebe__a_2" IS NULL
