-- title: LEFT
-- query
SELECT r.a, r.x, s.c FROM r LEFT JOIN s ON r.a = s.a
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a", "x" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_old
    ) AS __grebe_q16
    SEMI JOIN (
      SELECT DISTINCT "a__key" FROM (
        SELECT "a_2" AS "a__key" FROM (
          SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
        ) AS __grebe_q17
      ) AS __grebe_q18
    ) AS __grebe_q19 ON "a" IS NOT DISTINCT FROM "a__key"
  ) AS __grebe_q20
  SEMI JOIN (
    SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
  ) AS __grebe_q21 ON "a" = "a_2"
) AS __grebe_q22
GROUP BY "a", "x"
),
__grebe_c2 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM __grebe_c1
) AS __grebe_q23
),
__grebe_c3 AS (
SELECT "a_2", "c" FROM (
  SELECT "a" AS "a_2", "c" FROM s_new
) AS __grebe_q15
SEMI JOIN __grebe_c2 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
),
__grebe_c4 AS (
SELECT "a_2", "c" FROM (
  SELECT "a" AS "a_2", "c" FROM s_old
) AS __grebe_q24
SEMI JOIN __grebe_c2 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
)
SELECT "a", "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "a_2", "c" FROM (
          SELECT "a" AS "a_2", "c" FROM s_old
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" = "a_2"
    ) AS __grebe_q4
    UNION ALL
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
        SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
      ) AS __grebe_q5
      JOIN (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q6 ON "a" = "a_2"
    ) AS __grebe_q7
  ) AS __grebe_q8
  UNION ALL
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_weight" FROM r_delta
        ) AS __grebe_q9
        ANTI JOIN (
          SELECT "a_2", "c" FROM (
            SELECT "a" AS "a_2", "c" FROM s_new
          ) AS __grebe_q10
          SEMI JOIN (
            SELECT DISTINCT "a_2__key" FROM (
              SELECT "a" AS "a_2__key" FROM r_delta
            ) AS __grebe_q11
          ) AS __grebe_q12 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
        ) AS __grebe_q13 ON "a" = "a_2"
      ) AS __grebe_q14
      UNION ALL
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c3 WHERE "a" = "a_2") AS "__grebe_after" FROM (
            SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c4 WHERE "a" = "a_2") AS "__grebe_before" FROM __grebe_c1
          ) AS __grebe_q25
        ) AS __grebe_q26
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q27
    ) AS __grebe_q28
    LEFT JOIN (
      SELECT "a_2", "c" FROM (
        SELECT "a" AS "a_2", "c" FROM s_new
      ) AS __grebe_q29 WHERE FALSE
    ) AS __grebe_q30 ON FALSE
  ) AS __grebe_q31
) AS __grebe_q32

-- title: RIGHT
-- query
SELECT r.x, s.a, s.c FROM r RIGHT JOIN s ON r.a = s.a
-- delta
WITH __grebe_c1 AS (
SELECT "a_2", "c", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a_2", "c" FROM (
    SELECT "a_2", "c" FROM (
      SELECT "a" AS "a_2", "c" FROM s_old
    ) AS __grebe_q17
    SEMI JOIN (
      SELECT DISTINCT "a_2__key" FROM (
        SELECT "a" AS "a_2__key" FROM r_delta
      ) AS __grebe_q18
    ) AS __grebe_q19 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
  ) AS __grebe_q20
  SEMI JOIN (
    SELECT "a", "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q21 ON "a" = "a_2"
) AS __grebe_q22
GROUP BY "a_2", "c"
),
__grebe_c2 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a_2" AS "a__key" FROM __grebe_c1
) AS __grebe_q23
),
__grebe_c3 AS (
SELECT "a", "x" FROM (
  SELECT "a", "x" FROM r_new
) AS __grebe_q16
SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
),
__grebe_c4 AS (
SELECT "a", "x" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q24
SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
)
SELECT "x", "a_2", "c", "__grebe_weight" FROM (
  SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM (
    SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM (
      SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM (
        SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "a", "x" FROM r_old
      ) AS __grebe_q2 ON "a" = "a_2"
    ) AS __grebe_q3
    UNION ALL
    SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM (
      SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q4
      JOIN (
        SELECT "a_2", "c" FROM (
          SELECT "a" AS "a_2", "c" FROM s_new
        ) AS __grebe_q5
      ) AS __grebe_q6 ON "a" = "a_2"
    ) AS __grebe_q7
  ) AS __grebe_q8
  UNION ALL
  SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM (
    SELECT "a_2", "c", "a", "x", "__grebe_weight" FROM (
      SELECT "a_2", "c", "__grebe_weight" FROM (
        SELECT "a_2", "c", "__grebe_weight" FROM (
          SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
        ) AS __grebe_q9
        ANTI JOIN (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_new
          ) AS __grebe_q10
          SEMI JOIN (
            SELECT DISTINCT "a__key" FROM (
              SELECT "a_2" AS "a__key" FROM (
                SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
              ) AS __grebe_q11
            ) AS __grebe_q12
          ) AS __grebe_q13 ON "a" IS NOT DISTINCT FROM "a__key"
        ) AS __grebe_q14 ON "a" = "a_2"
      ) AS __grebe_q15
      UNION ALL
      SELECT "a_2", "c", "__grebe_weight" FROM (
        SELECT "a_2", "c", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a_2", "c", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c3 WHERE "a" = "a_2") AS "__grebe_after" FROM (
            SELECT "a_2", "c", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c4 WHERE "a" = "a_2") AS "__grebe_before" FROM __grebe_c1
          ) AS __grebe_q25
        ) AS __grebe_q26
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q27
    ) AS __grebe_q28
    LEFT JOIN (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q29 WHERE FALSE
    ) AS __grebe_q30 ON FALSE
  ) AS __grebe_q31
) AS __grebe_q32

-- title: FULL
-- query
SELECT r.x, s.c FROM r FULL JOIN s ON r.a = s.a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM r_delta
) AS __grebe_q11
),
__grebe_c2 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a_2" AS "a__key" FROM (
    SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
  ) AS __grebe_q16
) AS __grebe_q17
),
__grebe_c3 AS (
SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a", "x" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_old
    ) AS __grebe_q15
    SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
  ) AS __grebe_q18
  SEMI JOIN (
    SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
  ) AS __grebe_q19 ON "a" = "a_2"
) AS __grebe_q20
GROUP BY "a", "x"
),
__grebe_c4 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM __grebe_c3
) AS __grebe_q21
),
__grebe_c5 AS (
SELECT "a_2", "c" FROM (
  SELECT "a" AS "a_2", "c" FROM s_new
) AS __grebe_q14
SEMI JOIN __grebe_c4 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
),
__grebe_c6 AS (
SELECT "a_2", "c" FROM (
  SELECT "a" AS "a_2", "c" FROM s_old
) AS __grebe_q22
SEMI JOIN __grebe_c4 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
),
__grebe_c7 AS (
SELECT "a_2", "c", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a_2", "c" FROM (
    SELECT "a_2", "c" FROM (
      SELECT "a" AS "a_2", "c" FROM s_old
    ) AS __grebe_q35
    SEMI JOIN __grebe_c1 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
  ) AS __grebe_q36
  SEMI JOIN (
    SELECT "a", "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q37 ON "a" = "a_2"
) AS __grebe_q38
GROUP BY "a_2", "c"
),
__grebe_c8 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a_2" AS "a__key" FROM __grebe_c7
) AS __grebe_q39
),
__grebe_c9 AS (
SELECT "a", "x" FROM (
  SELECT "a", "x" FROM r_new
) AS __grebe_q34
SEMI JOIN __grebe_c8 ON "a" IS NOT DISTINCT FROM "a__key"
),
__grebe_c10 AS (
SELECT "a", "x" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q40
SEMI JOIN __grebe_c8 ON "a" IS NOT DISTINCT FROM "a__key"
)
SELECT "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "a_2", "c" FROM (
          SELECT "a" AS "a_2", "c" FROM s_old
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" = "a_2"
    ) AS __grebe_q4
    UNION ALL
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
        SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
      ) AS __grebe_q5
      JOIN (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q6 ON "a" = "a_2"
    ) AS __grebe_q7
  ) AS __grebe_q8
  UNION ALL
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_weight" FROM r_delta
        ) AS __grebe_q9
        ANTI JOIN (
          SELECT "a_2", "c" FROM (
            SELECT "a" AS "a_2", "c" FROM s_new
          ) AS __grebe_q10
          SEMI JOIN __grebe_c1 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
        ) AS __grebe_q12 ON "a" = "a_2"
      ) AS __grebe_q13
      UNION ALL
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c5 WHERE "a" = "a_2") AS "__grebe_after" FROM (
            SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c6 WHERE "a" = "a_2") AS "__grebe_before" FROM __grebe_c3
          ) AS __grebe_q23
        ) AS __grebe_q24
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q25
    ) AS __grebe_q26
    LEFT JOIN (
      SELECT "a_2", "c" FROM (
        SELECT "a" AS "a_2", "c" FROM s_new
      ) AS __grebe_q27 WHERE FALSE
    ) AS __grebe_q28 ON FALSE
  ) AS __grebe_q29
  UNION ALL
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a_2", "c", "__grebe_weight" FROM (
        SELECT "a_2", "c", "__grebe_weight" FROM (
          SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
        ) AS __grebe_q30
        ANTI JOIN (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_new
          ) AS __grebe_q31
          SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
        ) AS __grebe_q32 ON "a" = "a_2"
      ) AS __grebe_q33
      UNION ALL
      SELECT "a_2", "c", "__grebe_weight" FROM (
        SELECT "a_2", "c", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a_2", "c", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c9 WHERE "a" = "a_2") AS "__grebe_after" FROM (
            SELECT "a_2", "c", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c10 WHERE "a" = "a_2") AS "__grebe_before" FROM __grebe_c7
          ) AS __grebe_q41
        ) AS __grebe_q42
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q43
    ) AS __grebe_q44
    LEFT JOIN (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q45 WHERE FALSE
    ) AS __grebe_q46 ON FALSE
  ) AS __grebe_q47
) AS __grebe_q48

-- title: FULL by USING
-- query
SELECT a, x, c FROM r FULL JOIN s USING (a)
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM r_delta
) AS __grebe_q11
),
__grebe_c2 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a_2" AS "a__key" FROM (
    SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
  ) AS __grebe_q16
) AS __grebe_q17
),
__grebe_c3 AS (
SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a", "x" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_old
    ) AS __grebe_q15
    SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
  ) AS __grebe_q18
  SEMI JOIN (
    SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
  ) AS __grebe_q19 ON "a" = "a_2"
) AS __grebe_q20
GROUP BY "a", "x"
),
__grebe_c4 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM __grebe_c3
) AS __grebe_q21
),
__grebe_c5 AS (
SELECT "a_2", "c" FROM (
  SELECT "a" AS "a_2", "c" FROM s_new
) AS __grebe_q14
SEMI JOIN __grebe_c4 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
),
__grebe_c6 AS (
SELECT "a_2", "c" FROM (
  SELECT "a" AS "a_2", "c" FROM s_old
) AS __grebe_q22
SEMI JOIN __grebe_c4 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
),
__grebe_c7 AS (
SELECT "a_2", "c", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a_2", "c" FROM (
    SELECT "a_2", "c" FROM (
      SELECT "a" AS "a_2", "c" FROM s_old
    ) AS __grebe_q35
    SEMI JOIN __grebe_c1 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
  ) AS __grebe_q36
  SEMI JOIN (
    SELECT "a", "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q37 ON "a" = "a_2"
) AS __grebe_q38
GROUP BY "a_2", "c"
),
__grebe_c8 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a_2" AS "a__key" FROM __grebe_c7
) AS __grebe_q39
),
__grebe_c9 AS (
SELECT "a", "x" FROM (
  SELECT "a", "x" FROM r_new
) AS __grebe_q34
SEMI JOIN __grebe_c8 ON "a" IS NOT DISTINCT FROM "a__key"
),
__grebe_c10 AS (
SELECT "a", "x" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q40
SEMI JOIN __grebe_c8 ON "a" IS NOT DISTINCT FROM "a__key"
)
SELECT COALESCE("a", "a_2") AS "a_3", "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "a_2", "c" FROM (
          SELECT "a" AS "a_2", "c" FROM s_old
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" = "a_2"
    ) AS __grebe_q4
    UNION ALL
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
        SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
      ) AS __grebe_q5
      JOIN (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q6 ON "a" = "a_2"
    ) AS __grebe_q7
  ) AS __grebe_q8
  UNION ALL
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_weight" FROM r_delta
        ) AS __grebe_q9
        ANTI JOIN (
          SELECT "a_2", "c" FROM (
            SELECT "a" AS "a_2", "c" FROM s_new
          ) AS __grebe_q10
          SEMI JOIN __grebe_c1 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
        ) AS __grebe_q12 ON "a" = "a_2"
      ) AS __grebe_q13
      UNION ALL
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c5 WHERE "a" = "a_2") AS "__grebe_after" FROM (
            SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c6 WHERE "a" = "a_2") AS "__grebe_before" FROM __grebe_c3
          ) AS __grebe_q23
        ) AS __grebe_q24
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q25
    ) AS __grebe_q26
    LEFT JOIN (
      SELECT "a_2", "c" FROM (
        SELECT "a" AS "a_2", "c" FROM s_new
      ) AS __grebe_q27 WHERE FALSE
    ) AS __grebe_q28 ON FALSE
  ) AS __grebe_q29
  UNION ALL
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a_2", "c", "__grebe_weight" FROM (
        SELECT "a_2", "c", "__grebe_weight" FROM (
          SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
        ) AS __grebe_q30
        ANTI JOIN (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_new
          ) AS __grebe_q31
          SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
        ) AS __grebe_q32 ON "a" = "a_2"
      ) AS __grebe_q33
      UNION ALL
      SELECT "a_2", "c", "__grebe_weight" FROM (
        SELECT "a_2", "c", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a_2", "c", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c9 WHERE "a" = "a_2") AS "__grebe_after" FROM (
            SELECT "a_2", "c", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c10 WHERE "a" = "a_2") AS "__grebe_before" FROM __grebe_c7
          ) AS __grebe_q41
        ) AS __grebe_q42
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q43
    ) AS __grebe_q44
    LEFT JOIN (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q45 WHERE FALSE
    ) AS __grebe_q46 ON FALSE
  ) AS __grebe_q47
) AS __grebe_q48

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
SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a", "x" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_old
    ) AS __grebe_q16
    SEMI JOIN (
      SELECT DISTINCT "a__key" FROM (
        SELECT "a_2" AS "a__key" FROM (
          SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
        ) AS __grebe_q17
      ) AS __grebe_q18
    ) AS __grebe_q19 ON "a" IS NOT DISTINCT FROM "a__key"
  ) AS __grebe_q20
  SEMI JOIN (
    SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
  ) AS __grebe_q21 ON "a" = "a_2"
) AS __grebe_q22
GROUP BY "a", "x"
),
__grebe_c2 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM __grebe_c1
) AS __grebe_q23
),
__grebe_c3 AS (
SELECT "a_2", "c" FROM (
  SELECT "a" AS "a_2", "c" FROM s_new
) AS __grebe_q15
SEMI JOIN __grebe_c2 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
),
__grebe_c4 AS (
SELECT "a_2", "c" FROM (
  SELECT "a" AS "a_2", "c" FROM s_old
) AS __grebe_q24
SEMI JOIN __grebe_c2 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
),
__grebe_c5 AS (
SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM r_delta
    ) AS __grebe_q1
    JOIN (
      SELECT "a_2", "c" FROM (
        SELECT "a" AS "a_2", "c" FROM s_old
      ) AS __grebe_q2
    ) AS __grebe_q3 ON "a" = "a_2"
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
      SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q5
    JOIN (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q6 ON "a" = "a_2"
  ) AS __grebe_q7
) AS __grebe_q8
UNION ALL
SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q9
      ANTI JOIN (
        SELECT "a_2", "c" FROM (
          SELECT "a" AS "a_2", "c" FROM s_new
        ) AS __grebe_q10
        SEMI JOIN (
          SELECT DISTINCT "a_2__key" FROM (
            SELECT "a" AS "a_2__key" FROM r_delta
          ) AS __grebe_q11
        ) AS __grebe_q12 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
      ) AS __grebe_q13 ON "a" = "a_2"
    ) AS __grebe_q14
    UNION ALL
    SELECT "a", "x", "__grebe_weight" FROM (
      SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c3 WHERE "a" = "a_2") AS "__grebe_after" FROM (
          SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c4 WHERE "a" = "a_2") AS "__grebe_before" FROM __grebe_c1
        ) AS __grebe_q25
      ) AS __grebe_q26
      WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
    ) AS __grebe_q27
  ) AS __grebe_q28
  LEFT JOIN (
    SELECT "a_2", "c" FROM (
      SELECT "a" AS "a_2", "c" FROM s_new
    ) AS __grebe_q29 WHERE FALSE
  ) AS __grebe_q30 ON FALSE
) AS __grebe_q31
),
__grebe_c6 AS (
SELECT DISTINCT "c__key" FROM (
  SELECT "c_2" AS "c__key" FROM (
    SELECT "c" AS "c_2", "z", "__grebe_weight" FROM t_delta
  ) AS __grebe_q38
) AS __grebe_q39
),
__grebe_c7 AS (
SELECT "a", "x", "a_2", "c", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a", "x", "a_2", "c" FROM (
    SELECT "a", "x", "a_2", "c" FROM (
      SELECT "a", "x", "a_2", "c" FROM (
        SELECT "a", "x" FROM r_old
      ) AS __grebe_q49
      LEFT JOIN (
        SELECT "a" AS "a_2", "c" FROM s_old
      ) AS __grebe_q50 ON "a" = "a_2"
    ) AS __grebe_q51
    SEMI JOIN __grebe_c6 ON "c" IS NOT DISTINCT FROM "c__key"
  ) AS __grebe_q52
  SEMI JOIN (
    SELECT "c" AS "c_2", "z", "__grebe_weight" FROM t_delta
  ) AS __grebe_q53 ON "c" = "c_2"
) AS __grebe_q54
GROUP BY "a", "x", "a_2", "c"
),
__grebe_c8 AS (
SELECT DISTINCT "c_2__key" FROM (
  SELECT "c" AS "c_2__key" FROM __grebe_c7
) AS __grebe_q55
),
__grebe_c9 AS (
SELECT "c_2", "z" FROM (
  SELECT "c" AS "c_2", "z" FROM t_new
) AS __grebe_q48
SEMI JOIN __grebe_c8 ON "c_2" IS NOT DISTINCT FROM "c_2__key"
),
__grebe_c10 AS (
SELECT "c_2", "z" FROM (
  SELECT "c" AS "c_2", "z" FROM t_old
) AS __grebe_q56
SEMI JOIN __grebe_c8 ON "c_2" IS NOT DISTINCT FROM "c_2__key"
)
SELECT "x", "c", "z", "__grebe_weight" FROM (
  SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM __grebe_c5
      JOIN (
        SELECT "c" AS "c_2", "z" FROM t_old
      ) AS __grebe_q32 ON "c" = "c_2"
    ) AS __grebe_q33
    UNION ALL
    SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
        SELECT "c" AS "c_2", "z", "__grebe_weight" FROM t_delta
      ) AS __grebe_q34
      JOIN (
        SELECT "a", "x", "a_2", "c" FROM (
          SELECT "a", "x", "a_2", "c" FROM (
            SELECT "a", "x" FROM r_new
          ) AS __grebe_q35
          LEFT JOIN (
            SELECT "a" AS "a_2", "c" FROM s_new
          ) AS __grebe_q36 ON "a" = "a_2"
        ) AS __grebe_q37
        SEMI JOIN __grebe_c6 ON "c" IS NOT DISTINCT FROM "c__key"
      ) AS __grebe_q40 ON "c" = "c_2"
    ) AS __grebe_q41
  ) AS __grebe_q42
  UNION ALL
  SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
        SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM __grebe_c5
        ANTI JOIN (
          SELECT "c_2", "z" FROM (
            SELECT "c" AS "c_2", "z" FROM t_new
          ) AS __grebe_q43
          SEMI JOIN (
            SELECT DISTINCT "c_2__key" FROM (
              SELECT "c" AS "c_2__key" FROM __grebe_c5
            ) AS __grebe_q44
          ) AS __grebe_q45 ON "c_2" IS NOT DISTINCT FROM "c_2__key"
        ) AS __grebe_q46 ON "c" = "c_2"
      ) AS __grebe_q47
      UNION ALL
      SELECT "a", "x", "a_2", "c", "__grebe_weight" FROM (
        SELECT "a", "x", "a_2", "c", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a", "x", "a_2", "c", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c9 WHERE "c" = "c_2") AS "__grebe_after" FROM (
            SELECT "a", "x", "a_2", "c", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c10 WHERE "c" = "c_2") AS "__grebe_before" FROM __grebe_c7
          ) AS __grebe_q57
        ) AS __grebe_q58
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q59
    ) AS __grebe_q60
    LEFT JOIN (
      SELECT "c_2", "z" FROM (
        SELECT "c" AS "c_2", "z" FROM t_new
      ) AS __grebe_q61 WHERE FALSE
    ) AS __grebe_q62 ON FALSE
  ) AS __grebe_q63
) AS __grebe_q64

-- title: nest
-- query
SELECT r.x, q.z FROM r LEFT JOIN (SELECT s.a, t.z FROM s LEFT JOIN t ON s.c = t.c) AS q ON r.a = q.a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM r_delta
) AS __grebe_q3
),
__grebe_c2 AS (
SELECT "a_2", "c", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a_2", "c" FROM (
    SELECT "a_2", "c" FROM (
      SELECT "a" AS "a_2", "c" FROM s_old
    ) AS __grebe_q25
    SEMI JOIN (
      SELECT DISTINCT "c__key" FROM (
        SELECT "c_2" AS "c__key" FROM (
          SELECT "c" AS "c_2", "z", "__grebe_weight" FROM t_delta
        ) AS __grebe_q26
      ) AS __grebe_q27
    ) AS __grebe_q28 ON "c" IS NOT DISTINCT FROM "c__key"
  ) AS __grebe_q29
  SEMI JOIN (
    SELECT "c" AS "c_2", "z", "__grebe_weight" FROM t_delta
  ) AS __grebe_q30 ON "c" = "c_2"
) AS __grebe_q31
GROUP BY "a_2", "c"
),
__grebe_c3 AS (
SELECT DISTINCT "c_2__key" FROM (
  SELECT "c" AS "c_2__key" FROM __grebe_c2
) AS __grebe_q32
),
__grebe_c4 AS (
SELECT "c_2", "z" FROM (
  SELECT "c" AS "c_2", "z" FROM t_new
) AS __grebe_q24
SEMI JOIN __grebe_c3 ON "c_2" IS NOT DISTINCT FROM "c_2__key"
),
__grebe_c5 AS (
SELECT "c_2", "z" FROM (
  SELECT "c" AS "c_2", "z" FROM t_old
) AS __grebe_q33
SEMI JOIN __grebe_c3 ON "c_2" IS NOT DISTINCT FROM "c_2__key"
),
__grebe_c6 AS (
SELECT "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
  SELECT "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
    SELECT "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
      SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q8
    JOIN (
      SELECT "c_2", "z" FROM (
        SELECT "c" AS "c_2", "z" FROM t_old
      ) AS __grebe_q9
    ) AS __grebe_q10 ON "c" = "c_2"
  ) AS __grebe_q11
  UNION ALL
  SELECT "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
    SELECT "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
      SELECT "c" AS "c_2", "z", "__grebe_weight" FROM t_delta
    ) AS __grebe_q12
    JOIN (
      SELECT "a_2", "c" FROM (
        SELECT "a" AS "a_2", "c" FROM s_new
      ) AS __grebe_q13
    ) AS __grebe_q14 ON "c" = "c_2"
  ) AS __grebe_q15
) AS __grebe_q16
UNION ALL
SELECT "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
  SELECT "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
    SELECT "a_2", "c", "__grebe_weight" FROM (
      SELECT "a_2", "c", "__grebe_weight" FROM (
        SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
      ) AS __grebe_q17
      ANTI JOIN (
        SELECT "c_2", "z" FROM (
          SELECT "c" AS "c_2", "z" FROM t_new
        ) AS __grebe_q18
        SEMI JOIN (
          SELECT DISTINCT "c_2__key" FROM (
            SELECT "c" AS "c_2__key" FROM (
              SELECT "a" AS "a_2", "c", "__grebe_weight" FROM s_delta
            ) AS __grebe_q19
          ) AS __grebe_q20
        ) AS __grebe_q21 ON "c_2" IS NOT DISTINCT FROM "c_2__key"
      ) AS __grebe_q22 ON "c" = "c_2"
    ) AS __grebe_q23
    UNION ALL
    SELECT "a_2", "c", "__grebe_weight" FROM (
      SELECT "a_2", "c", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
        SELECT "a_2", "c", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c4 WHERE "c" = "c_2") AS "__grebe_after" FROM (
          SELECT "a_2", "c", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c5 WHERE "c" = "c_2") AS "__grebe_before" FROM __grebe_c2
        ) AS __grebe_q34
      ) AS __grebe_q35
      WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
    ) AS __grebe_q36
  ) AS __grebe_q37
  LEFT JOIN (
    SELECT "c_2", "z" FROM (
      SELECT "c" AS "c_2", "z" FROM t_new
    ) AS __grebe_q38 WHERE FALSE
  ) AS __grebe_q39 ON FALSE
) AS __grebe_q40
),
__grebe_c7 AS (
SELECT "a_2", "c", "c_2", "z", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c6
GROUP BY "a_2", "c", "c_2", "z"
HAVING SUM("__grebe_weight") <> 0
),
__grebe_c8 AS (
SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a", "x" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_old
    ) AS __grebe_q51
    SEMI JOIN (
      SELECT DISTINCT "a__key" FROM (
        SELECT "a_2" AS "a__key" FROM __grebe_c7
      ) AS __grebe_q52
    ) AS __grebe_q53 ON "a" IS NOT DISTINCT FROM "a__key"
  ) AS __grebe_q54
  SEMI JOIN __grebe_c7 ON "a" = "a_2"
) AS __grebe_q55
GROUP BY "a", "x"
),
__grebe_c9 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM __grebe_c8
) AS __grebe_q56
),
__grebe_c10 AS (
SELECT "a_2", "c", "c_2", "z" FROM (
  SELECT "a_2", "c" FROM (
    SELECT "a" AS "a_2", "c" FROM s_new
  ) AS __grebe_q50
  SEMI JOIN __grebe_c9 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
) AS __grebe_q57
LEFT JOIN (
  SELECT "c" AS "c_2", "z" FROM t_new
) AS __grebe_q58 ON "c" = "c_2"
),
__grebe_c11 AS (
SELECT "a_2", "c", "c_2", "z" FROM (
  SELECT "a_2", "c" FROM (
    SELECT "a" AS "a_2", "c" FROM s_old
  ) AS __grebe_q59
  SEMI JOIN __grebe_c9 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
) AS __grebe_q60
LEFT JOIN (
  SELECT "c" AS "c_2", "z" FROM t_old
) AS __grebe_q61 ON "c" = "c_2"
)
SELECT "x", "z", "__grebe_weight" FROM (
  SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "a_2", "c", "c_2", "z" FROM (
          SELECT "a_2", "c" FROM (
            SELECT "a" AS "a_2", "c" FROM s_old
          ) AS __grebe_q2
          SEMI JOIN __grebe_c1 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
        ) AS __grebe_q4
        LEFT JOIN (
          SELECT "c" AS "c_2", "z" FROM t_old
        ) AS __grebe_q5 ON "c" = "c_2"
      ) AS __grebe_q6 ON "a" = "a_2"
    ) AS __grebe_q7
    UNION ALL
    SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM __grebe_c6
      JOIN (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q41 ON "a" = "a_2"
    ) AS __grebe_q42
  ) AS __grebe_q43
  UNION ALL
  SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "c", "c_2", "z", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_weight" FROM r_delta
        ) AS __grebe_q44
        ANTI JOIN (
          SELECT "a_2", "c", "c_2", "z" FROM (
            SELECT "a_2", "c" FROM (
              SELECT "a" AS "a_2", "c" FROM s_new
            ) AS __grebe_q45
            SEMI JOIN __grebe_c1 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
          ) AS __grebe_q46
          LEFT JOIN (
            SELECT "c" AS "c_2", "z" FROM t_new
          ) AS __grebe_q47 ON "c" = "c_2"
        ) AS __grebe_q48 ON "a" = "a_2"
      ) AS __grebe_q49
      UNION ALL
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c10 WHERE "a" = "a_2") AS "__grebe_after" FROM (
            SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c11 WHERE "a" = "a_2") AS "__grebe_before" FROM __grebe_c8
          ) AS __grebe_q62
        ) AS __grebe_q63
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q64
    ) AS __grebe_q65
    LEFT JOIN (
      SELECT "a_2", "c", "c_2", "z" FROM (
        SELECT "a_2", "c", "c_2", "z" FROM (
          SELECT "a" AS "a_2", "c" FROM s_new
        ) AS __grebe_q66
        LEFT JOIN (
          SELECT "c" AS "c_2", "z" FROM t_new
        ) AS __grebe_q67 ON "c" = "c_2"
      ) AS __grebe_q68 WHERE FALSE
    ) AS __grebe_q69 ON FALSE
  ) AS __grebe_q70
) AS __grebe_q71

-- title: WHERE over the nullable side
-- query
SELECT r.a, r.x FROM r LEFT JOIN s ON r.a = s.a WHERE s.a IS NULL
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a", "x" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_old
    ) AS __grebe_q16
    SEMI JOIN (
      SELECT DISTINCT "a__key" FROM (
        SELECT "a_2" AS "a__key" FROM (
          SELECT "a" AS "a_2", "__grebe_weight" FROM s_delta
        ) AS __grebe_q17
      ) AS __grebe_q18
    ) AS __grebe_q19 ON "a" IS NOT DISTINCT FROM "a__key"
  ) AS __grebe_q20
  SEMI JOIN (
    SELECT "a" AS "a_2", "__grebe_weight" FROM s_delta
  ) AS __grebe_q21 ON "a" = "a_2"
) AS __grebe_q22
GROUP BY "a", "x"
),
__grebe_c2 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM __grebe_c1
) AS __grebe_q23
),
__grebe_c3 AS (
SELECT "a_2" FROM (
  SELECT "a" AS "a_2" FROM s_new
) AS __grebe_q15
SEMI JOIN __grebe_c2 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
),
__grebe_c4 AS (
SELECT "a_2" FROM (
  SELECT "a" AS "a_2" FROM s_old
) AS __grebe_q24
SEMI JOIN __grebe_c2 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "a_2", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "a_2" FROM (
          SELECT "a" AS "a_2" FROM s_old
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" = "a_2"
    ) AS __grebe_q4
    UNION ALL
    SELECT "a", "x", "a_2", "__grebe_weight" FROM (
      SELECT "a", "x", "a_2", "__grebe_weight" FROM (
        SELECT "a" AS "a_2", "__grebe_weight" FROM s_delta
      ) AS __grebe_q5
      JOIN (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q6 ON "a" = "a_2"
    ) AS __grebe_q7
  ) AS __grebe_q8
  UNION ALL
  SELECT "a", "x", "a_2", "__grebe_weight" FROM (
    SELECT "a", "x", "a_2", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_weight" FROM r_delta
        ) AS __grebe_q9
        ANTI JOIN (
          SELECT "a_2" FROM (
            SELECT "a" AS "a_2" FROM s_new
          ) AS __grebe_q10
          SEMI JOIN (
            SELECT DISTINCT "a_2__key" FROM (
              SELECT "a" AS "a_2__key" FROM r_delta
            ) AS __grebe_q11
          ) AS __grebe_q12 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
        ) AS __grebe_q13 ON "a" = "a_2"
      ) AS __grebe_q14
      UNION ALL
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c3 WHERE "a" = "a_2") AS "__grebe_after" FROM (
            SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c4 WHERE "a" = "a_2") AS "__grebe_before" FROM __grebe_c1
          ) AS __grebe_q25
        ) AS __grebe_q26
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q27
    ) AS __grebe_q28
    LEFT JOIN (
      SELECT "a_2" FROM (
        SELECT "a" AS "a_2" FROM s_new
      ) AS __grebe_q29 WHERE FALSE
    ) AS __grebe_q30 ON FALSE
  ) AS __grebe_q31
) AS __grebe_q32
WHERE "a_2" IS NULL
