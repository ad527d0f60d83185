-- title: without correlation
-- query
SELECT a, x FROM r WHERE x >= (SELECT MIN(c) FROM s)
-- delta
WITH __grebe_c1 AS (
SELECT MIN("c") AS "min_c" FROM (
  SELECT "c" FROM s_old
) AS __grebe_q2
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "value", "__grebe_weight" FROM (
    SELECT "a", "x", "value", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM r_delta
    ) AS __grebe_q1
    JOIN (
      SELECT "min_c" AS "value" FROM __grebe_c1
    ) AS __grebe_q3 ON "x" >= "value"
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "x", "value", "__grebe_weight" FROM (
    SELECT "a", "x", "value", "__grebe_weight" FROM (
      SELECT "min_c" AS "value", "__grebe_weight" FROM (
        SELECT "min_c", "__grebe_weight" FROM (
          SELECT "min_c", 1 AS "__grebe_weight" FROM (
            SELECT MIN("c") AS "min_c" FROM (
              SELECT "c" FROM s_new
            ) AS __grebe_q5
          ) AS __grebe_q6
        ) AS __grebe_q7
        UNION ALL
        SELECT "min_c", "__grebe_weight" FROM (
          SELECT "min_c", -1 AS "__grebe_weight" FROM __grebe_c1
        ) AS __grebe_q8
      ) AS __grebe_q9
    ) AS __grebe_q10
    JOIN (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q11 ON "x" >= "value"
  ) AS __grebe_q12
) AS __grebe_q13

-- title: by equality
-- query
SELECT a, (SELECT COUNT(*) FROM s WHERE s.a = r.a) AS n FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM r_delta
) AS __grebe_q3
),
__grebe_c2 AS (
SELECT "a_2", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "a_2", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a_2", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a_2", 1 AS "__grebe_weight" FROM (
        SELECT "a" AS "a_2" FROM s_new
      ) AS __grebe_q8
      SEMI JOIN (
        SELECT DISTINCT "a_2__key" FROM (
          SELECT "a_2" AS "a_2__key" FROM (
            SELECT "a" AS "a_2", "__grebe_weight" FROM s_delta
          ) AS __grebe_q9
        ) AS __grebe_q10
      ) AS __grebe_q11 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
    ) AS __grebe_q12
  ) AS __grebe_q13
  UNION ALL
  SELECT "a_2", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a_2", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a_2", "__grebe_weight" FROM (
        SELECT "a_2", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a" AS "a_2", "__grebe_weight" FROM s_delta
        ) AS __grebe_q14
      ) AS __grebe_q15
    ) AS __grebe_q16
  ) AS __grebe_q17
) AS __grebe_q18
GROUP BY "a_2"
),
__grebe_c3 AS (
SELECT "a_2", "count" AS "value_2", TRUE AS "found", "__grebe_weight" FROM (
  SELECT "a_2", "count", "__grebe_weight" FROM (
    SELECT "a_2", "__grebe_f6fc42039fba3776_n_new" AS "count", 1 AS "__grebe_weight" FROM __grebe_c2
    WHERE "__grebe_count_new" > 0
  ) AS __grebe_q19
  UNION ALL
  SELECT "a_2", "count", "__grebe_weight" FROM (
    SELECT "a_2", "__grebe_f6fc42039fba3776_n_old" AS "count", -1 AS "__grebe_weight" FROM __grebe_c2
    WHERE "__grebe_count_old" > 0
  ) AS __grebe_q20
) AS __grebe_q21
),
__grebe_c4 AS (
SELECT "a_2", "value_2", "found", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c3
GROUP BY "a_2", "value_2", "found"
HAVING SUM("__grebe_weight") <> 0
),
__grebe_c5 AS (
SELECT "a", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a" FROM (
    SELECT "a" FROM (
      SELECT "a" FROM r_old
    ) AS __grebe_q32
    SEMI JOIN (
      SELECT DISTINCT "a__key" FROM (
        SELECT "a_2" AS "a__key" FROM __grebe_c4
      ) AS __grebe_q33
    ) AS __grebe_q34 ON "a" IS NOT DISTINCT FROM "a__key"
  ) AS __grebe_q35
  SEMI JOIN __grebe_c4 ON "a_2" = "a"
) AS __grebe_q36
GROUP BY "a"
),
__grebe_c6 AS (
SELECT DISTINCT "a_2__key" FROM (
  SELECT "a" AS "a_2__key" FROM __grebe_c5
) AS __grebe_q37
),
__grebe_c7 AS (
SELECT "a_2", "count" AS "value_2", TRUE AS "found" FROM (
  SELECT "a_2", COUNT(*) AS "count" FROM (
    SELECT "a_2" FROM (
      SELECT "a" AS "a_2" FROM s_new
    ) AS __grebe_q31
    SEMI JOIN __grebe_c6 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
  ) AS __grebe_q38
  GROUP BY "a_2"
) AS __grebe_q39
),
__grebe_c8 AS (
SELECT "a_2", "count" AS "value_2", TRUE AS "found" FROM (
  SELECT "a_2", COUNT(*) AS "count" FROM (
    SELECT "a_2" FROM (
      SELECT "a" AS "a_2" FROM s_old
    ) AS __grebe_q40
    SEMI JOIN __grebe_c6 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
  ) AS __grebe_q41
  GROUP BY "a_2"
) AS __grebe_q42
)
SELECT "a", CASE WHEN "found" THEN "value_2" ELSE 0 END AS "value", "__grebe_weight" FROM (
  SELECT "a", "a_2", "value_2", "found", "__grebe_weight" FROM (
    SELECT "a", "a_2", "value_2", "found", "__grebe_weight" FROM (
      SELECT "a", "a_2", "value_2", "found", "__grebe_weight" FROM (
        SELECT "a", "__grebe_weight" FROM r_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "a_2", "count" AS "value_2", TRUE AS "found" FROM (
          SELECT "a_2", COUNT(*) AS "count" FROM (
            SELECT "a_2" FROM (
              SELECT "a" AS "a_2" FROM s_old
            ) AS __grebe_q2
            SEMI JOIN __grebe_c1 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
          ) AS __grebe_q4
          GROUP BY "a_2"
        ) AS __grebe_q5
      ) AS __grebe_q6 ON "a_2" = "a"
    ) AS __grebe_q7
    UNION ALL
    SELECT "a", "a_2", "value_2", "found", "__grebe_weight" FROM (
      SELECT "a", "a_2", "value_2", "found", "__grebe_weight" FROM __grebe_c3
      JOIN (
        SELECT "a" FROM r_new
      ) AS __grebe_q22 ON "a_2" = "a"
    ) AS __grebe_q23
  ) AS __grebe_q24
  UNION ALL
  SELECT "a", "a_2", "value_2", "found", "__grebe_weight" FROM (
    SELECT "a", "a_2", "value_2", "found", "__grebe_weight" FROM (
      SELECT "a", "__grebe_weight" FROM (
        SELECT "a", "__grebe_weight" FROM (
          SELECT "a", "__grebe_weight" FROM r_delta
        ) AS __grebe_q25
        ANTI JOIN (
          SELECT "a_2", "count" AS "value_2", TRUE AS "found" FROM (
            SELECT "a_2", COUNT(*) AS "count" FROM (
              SELECT "a_2" FROM (
                SELECT "a" AS "a_2" FROM s_new
              ) AS __grebe_q26
              SEMI JOIN __grebe_c1 ON "a_2" IS NOT DISTINCT FROM "a_2__key"
            ) AS __grebe_q27
            GROUP BY "a_2"
          ) AS __grebe_q28
        ) AS __grebe_q29 ON "a_2" = "a"
      ) AS __grebe_q30
      UNION ALL
      SELECT "a", "__grebe_weight" FROM (
        SELECT "a", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c7 WHERE "a_2" = "a") AS "__grebe_after" FROM (
            SELECT "a", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c8 WHERE "a_2" = "a") AS "__grebe_before" FROM __grebe_c5
          ) AS __grebe_q43
        ) AS __grebe_q44
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q45
    ) AS __grebe_q46
    LEFT JOIN (
      SELECT "a_2", "value_2", "found" FROM (
        SELECT "a_2", "count" AS "value_2", TRUE AS "found" FROM (
          SELECT "a_2", COUNT(*) AS "count" FROM (
            SELECT "a" AS "a_2" FROM s_new
          ) AS __grebe_q47
          GROUP BY "a_2"
        ) AS __grebe_q48
      ) AS __grebe_q49 WHERE FALSE
    ) AS __grebe_q50 ON FALSE
  ) AS __grebe_q51
) AS __grebe_q52

-- title: by a non-equality
-- query
SELECT a, (SELECT MAX(c) FROM s WHERE s.c < r.x) AS m FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "x_3__key" FROM (
  SELECT "x" AS "x_3__key" FROM r_delta
) AS __grebe_q3
),
__grebe_c2 AS (
SELECT "x" FROM (
  SELECT "x" FROM r_old
) AS __grebe_q2
SEMI JOIN __grebe_c1 ON "x" IS NOT DISTINCT FROM "x_3__key"
),
__grebe_c3 AS (
SELECT "x" AS "x_3", "__grebe_weight" FROM r_delta
),
__grebe_c4 AS (
SELECT "x_3", "__grebe_weight" FROM (
  SELECT "x_3", CAST(CASE WHEN "__grebe_left_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "x_3", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "x_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "x_3", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "x" AS "x_3" FROM (
            SELECT "x" FROM r_new
          ) AS __grebe_q13
          SEMI JOIN (
            SELECT DISTINCT "x_3__key" FROM (
              SELECT "x_3" AS "x_3__key" FROM __grebe_c3
            ) AS __grebe_q14
          ) AS __grebe_q15 ON "x" IS NOT DISTINCT FROM "x_3__key"
        ) AS __grebe_q16
      ) AS __grebe_q17
      UNION ALL
      SELECT "x_3", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "x_3", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c3
      ) AS __grebe_q18
    ) AS __grebe_q19
    GROUP BY "x_3"
  ) AS __grebe_q20
) AS __grebe_q21
WHERE "__grebe_weight" <> 0
),
__grebe_c5 AS (
SELECT DISTINCT "x_2__key" FROM (
  SELECT "x_3" AS "x_2__key" FROM __grebe_c4
) AS __grebe_q23
),
__grebe_c6 AS (
SELECT "x" AS "x_2", "__grebe_weight" FROM r_delta
),
__grebe_c7 AS (
SELECT DISTINCT "x_2" FROM (
  SELECT "x" AS "x_2" FROM r_new
) AS __grebe_q44
),
__grebe_c8 AS (
SELECT DISTINCT "x_2__key" FROM (
  SELECT "x_2" AS "x_2__key" FROM (
    SELECT "x_2", "c", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
      SELECT "x_2", "c", "__grebe_weight" FROM (
        SELECT "x_2", "c", "__grebe_weight" FROM (
          SELECT "x_2", "__grebe_weight" FROM (
            SELECT "x_2", CAST(CASE WHEN "__grebe_left_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
              SELECT "x_2", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
                SELECT "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
                  SELECT "x_2", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
                    SELECT "x" AS "x_2" FROM (
                      SELECT "x" FROM r_new
                    ) AS __grebe_q31
                    SEMI JOIN (
                      SELECT DISTINCT "x_2__key" FROM (
                        SELECT "x_2" AS "x_2__key" FROM __grebe_c6
                      ) AS __grebe_q32
                    ) AS __grebe_q33 ON "x" IS NOT DISTINCT FROM "x_2__key"
                  ) AS __grebe_q34
                ) AS __grebe_q35
                UNION ALL
                SELECT "x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
                  SELECT "x_2", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c6
                ) AS __grebe_q36
              ) AS __grebe_q37
              GROUP BY "x_2"
            ) AS __grebe_q38
          ) AS __grebe_q39
          WHERE "__grebe_weight" <> 0
        ) AS __grebe_q40
        JOIN (
          SELECT "c" FROM s_old
        ) AS __grebe_q41 ON "c" < "x_2"
      ) AS __grebe_q42
      UNION ALL
      SELECT "x_2", "c", "__grebe_weight" FROM (
        SELECT "x_2", "c", "__grebe_weight" FROM (
          SELECT "c", "__grebe_weight" FROM s_delta
        ) AS __grebe_q43
        JOIN __grebe_c7 ON "c" < "x_2"
      ) AS __grebe_q45
    ) AS __grebe_q46
    GROUP BY "x_2", "c"
    HAVING SUM("__grebe_weight") <> 0
  ) AS __grebe_q47
) AS __grebe_q48
),
__grebe_c9 AS (
SELECT "x_2", "max_c", "__grebe_weight" FROM (
  SELECT "x_2", "max_c", 1 AS "__grebe_weight" FROM (
    SELECT "x_2", MAX("c") AS "max_c" FROM (
      SELECT "x_2", "c" FROM (
        SELECT DISTINCT "x_2" FROM (
          SELECT "x" AS "x_2" FROM (
            SELECT "x" FROM r_new
          ) AS __grebe_q30
          SEMI JOIN __grebe_c8 ON "x" IS NOT DISTINCT FROM "x_2__key"
        ) AS __grebe_q49
      ) AS __grebe_q50
      JOIN (
        SELECT "c" FROM s_new
      ) AS __grebe_q51 ON "c" < "x_2"
    ) AS __grebe_q52
    GROUP BY "x_2"
  ) AS __grebe_q53
) AS __grebe_q54
UNION ALL
SELECT "x_2", "max_c", "__grebe_weight" FROM (
  SELECT "x_2", "max_c", -1 AS "__grebe_weight" FROM (
    SELECT "x_2", MAX("c") AS "max_c" FROM (
      SELECT "x_2", "c" FROM (
        SELECT DISTINCT "x_2" FROM (
          SELECT "x" AS "x_2" FROM (
            SELECT "x" FROM r_old
          ) AS __grebe_q55
          SEMI JOIN __grebe_c8 ON "x" IS NOT DISTINCT FROM "x_2__key"
        ) AS __grebe_q56
      ) AS __grebe_q57
      JOIN (
        SELECT "c" FROM s_old
      ) AS __grebe_q58 ON "c" < "x_2"
    ) AS __grebe_q59
    GROUP BY "x_2"
  ) AS __grebe_q60
) AS __grebe_q61
),
__grebe_c10 AS (
SELECT "x_2", "max_c", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c9
GROUP BY "x_2", "max_c"
HAVING SUM("__grebe_weight") <> 0
),
__grebe_c11 AS (
SELECT "x_3", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "x_3" FROM (
    SELECT DISTINCT "x_3" FROM (
      SELECT "x" AS "x_3" FROM (
        SELECT "x" FROM r_old
      ) AS __grebe_q77
      SEMI JOIN (
        SELECT DISTINCT "x_3__key" FROM (
          SELECT "x_2" AS "x_3__key" FROM __grebe_c10
        ) AS __grebe_q78
      ) AS __grebe_q79 ON "x" IS NOT DISTINCT FROM "x_3__key"
    ) AS __grebe_q80
  ) AS __grebe_q81
  SEMI JOIN __grebe_c10 ON "x_3" IS NOT DISTINCT FROM "x_2"
) AS __grebe_q82
GROUP BY "x_3"
),
__grebe_c12 AS (
SELECT DISTINCT "x_2__key" FROM (
  SELECT "x_3" AS "x_2__key" FROM __grebe_c11
) AS __grebe_q83
),
__grebe_c13 AS (
SELECT "x_2", MAX("c") AS "max_c" FROM (
  SELECT "x_2", "c" FROM (
    SELECT DISTINCT "x_2" FROM (
      SELECT "x" AS "x_2" FROM (
        SELECT "x" FROM r_new
      ) AS __grebe_q76
      SEMI JOIN __grebe_c12 ON "x" IS NOT DISTINCT FROM "x_2__key"
    ) AS __grebe_q84
  ) AS __grebe_q85
  JOIN (
    SELECT "c" FROM s_new
  ) AS __grebe_q86 ON "c" < "x_2"
) AS __grebe_q87
GROUP BY "x_2"
),
__grebe_c14 AS (
SELECT "x_2", MAX("c") AS "max_c" FROM (
  SELECT "x_2", "c" FROM (
    SELECT DISTINCT "x_2" FROM (
      SELECT "x" AS "x_2" FROM (
        SELECT "x" FROM r_old
      ) AS __grebe_q88
      SEMI JOIN __grebe_c12 ON "x" IS NOT DISTINCT FROM "x_2__key"
    ) AS __grebe_q89
  ) AS __grebe_q90
  JOIN (
    SELECT "c" FROM s_old
  ) AS __grebe_q91 ON "c" < "x_2"
) AS __grebe_q92
GROUP BY "x_2"
),
__grebe_c15 AS (
SELECT "x_2", MAX("c") AS "max_c" FROM (
  SELECT "x_2", "c" FROM __grebe_c7
  JOIN (
    SELECT "c" FROM s_new
  ) AS __grebe_q97 ON "c" < "x_2"
) AS __grebe_q98
GROUP BY "x_2"
),
__grebe_c16 AS (
SELECT "x_3", "max_c" AS "value", "__grebe_weight" FROM (
  SELECT "x_3", "x_2", "max_c", "__grebe_weight" FROM (
    SELECT "x_3", "x_2", "max_c", "__grebe_weight" FROM (
      SELECT "x_3", "x_2", "max_c", "__grebe_weight" FROM __grebe_c4
      JOIN (
        SELECT "x_2", MAX("c") AS "max_c" FROM (
          SELECT "x_2", "c" FROM (
            SELECT DISTINCT "x_2" FROM (
              SELECT "x" AS "x_2" FROM (
                SELECT "x" FROM r_old
              ) AS __grebe_q22
              SEMI JOIN __grebe_c5 ON "x" IS NOT DISTINCT FROM "x_2__key"
            ) AS __grebe_q24
          ) AS __grebe_q25
          JOIN (
            SELECT "c" FROM s_old
          ) AS __grebe_q26 ON "c" < "x_2"
        ) AS __grebe_q27
        GROUP BY "x_2"
      ) AS __grebe_q28 ON "x_3" IS NOT DISTINCT FROM "x_2"
    ) AS __grebe_q29
    UNION ALL
    SELECT "x_3", "x_2", "max_c", "__grebe_weight" FROM (
      SELECT "x_3", "x_2", "max_c", "__grebe_weight" FROM __grebe_c9
      JOIN (
        SELECT DISTINCT "x_3" FROM (
          SELECT "x" AS "x_3" FROM (
            SELECT "x" FROM r_new
          ) AS __grebe_q62
          SEMI JOIN (
            SELECT DISTINCT "x_3__key" FROM (
              SELECT "x_2" AS "x_3__key" FROM __grebe_c9
            ) AS __grebe_q63
          ) AS __grebe_q64 ON "x" IS NOT DISTINCT FROM "x_3__key"
        ) AS __grebe_q65
      ) AS __grebe_q66 ON "x_3" IS NOT DISTINCT FROM "x_2"
    ) AS __grebe_q67
  ) AS __grebe_q68
  UNION ALL
  SELECT "x_3", "x_2", "max_c", "__grebe_weight" FROM (
    SELECT "x_3", "x_2", "max_c", "__grebe_weight" FROM (
      SELECT "x_3", "__grebe_weight" FROM (
        SELECT "x_3", "__grebe_weight" FROM __grebe_c4
        ANTI JOIN (
          SELECT "x_2", MAX("c") AS "max_c" FROM (
            SELECT "x_2", "c" FROM (
              SELECT DISTINCT "x_2" FROM (
                SELECT "x" AS "x_2" FROM (
                  SELECT "x" FROM r_new
                ) AS __grebe_q69
                SEMI JOIN __grebe_c5 ON "x" IS NOT DISTINCT FROM "x_2__key"
              ) AS __grebe_q70
            ) AS __grebe_q71
            JOIN (
              SELECT "c" FROM s_new
            ) AS __grebe_q72 ON "c" < "x_2"
          ) AS __grebe_q73
          GROUP BY "x_2"
        ) AS __grebe_q74 ON "x_3" IS NOT DISTINCT FROM "x_2"
      ) AS __grebe_q75
      UNION ALL
      SELECT "x_3", "__grebe_weight" FROM (
        SELECT "x_3", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "x_3", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c13 WHERE "x_3" IS NOT DISTINCT FROM "x_2") AS "__grebe_after" FROM (
            SELECT "x_3", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c14 WHERE "x_3" IS NOT DISTINCT FROM "x_2") AS "__grebe_before" FROM __grebe_c11
          ) AS __grebe_q93
        ) AS __grebe_q94
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q95
    ) AS __grebe_q96
    LEFT JOIN (
      SELECT "x_2", "max_c" FROM __grebe_c15 WHERE FALSE
    ) AS __grebe_q99 ON FALSE
  ) AS __grebe_q100
) AS __grebe_q101
),
__grebe_c17 AS (
SELECT "x" FROM (
  SELECT "x" FROM r_new
) AS __grebe_q106
SEMI JOIN __grebe_c1 ON "x" IS NOT DISTINCT FROM "x_3__key"
),
__grebe_c18 AS (
SELECT "x_3", "value", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c16
GROUP BY "x_3", "value"
HAVING SUM("__grebe_weight") <> 0
),
__grebe_c19 AS (
SELECT "a", "x", COUNT(*) AS "__grebe_copies" FROM (
  SELECT "a", "x" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_old
    ) AS __grebe_q117
    SEMI JOIN (
      SELECT DISTINCT "x__key" FROM (
        SELECT "x_3" AS "x__key" FROM __grebe_c18
      ) AS __grebe_q118
    ) AS __grebe_q119 ON "x" IS NOT DISTINCT FROM "x__key"
  ) AS __grebe_q120
  SEMI JOIN __grebe_c18 ON "x" IS NOT DISTINCT FROM "x_3"
) AS __grebe_q121
GROUP BY "a", "x"
),
__grebe_c20 AS (
SELECT DISTINCT "x_3__key" FROM (
  SELECT "x" AS "x_3__key" FROM __grebe_c19
) AS __grebe_q122
),
__grebe_c21 AS (
SELECT "x" FROM (
  SELECT "x" FROM r_new
) AS __grebe_q116
SEMI JOIN __grebe_c20 ON "x" IS NOT DISTINCT FROM "x_3__key"
),
__grebe_c22 AS (
SELECT "x_3", "max_c" AS "value" FROM (
  SELECT DISTINCT "x_3" FROM (
    SELECT "x" AS "x_3" FROM __grebe_c21
  ) AS __grebe_q123
) AS __grebe_q124
LEFT JOIN (
  SELECT "x_2", MAX("c") AS "max_c" FROM (
    SELECT "x_2", "c" FROM (
      SELECT DISTINCT "x_2" FROM (
        SELECT "x" AS "x_2" FROM __grebe_c21
      ) AS __grebe_q125
    ) AS __grebe_q126
    JOIN (
      SELECT "c" FROM s_new
    ) AS __grebe_q127 ON "c" < "x_2"
  ) AS __grebe_q128
  GROUP BY "x_2"
) AS __grebe_q129 ON "x_3" IS NOT DISTINCT FROM "x_2"
),
__grebe_c23 AS (
SELECT "x" FROM (
  SELECT "x" FROM r_old
) AS __grebe_q130
SEMI JOIN __grebe_c20 ON "x" IS NOT DISTINCT FROM "x_3__key"
),
__grebe_c24 AS (
SELECT "x_3", "max_c" AS "value" FROM (
  SELECT DISTINCT "x_3" FROM (
    SELECT "x" AS "x_3" FROM __grebe_c23
  ) AS __grebe_q131
) AS __grebe_q132
LEFT JOIN (
  SELECT "x_2", MAX("c") AS "max_c" FROM (
    SELECT "x_2", "c" FROM (
      SELECT DISTINCT "x_2" FROM (
        SELECT "x" AS "x_2" FROM __grebe_c23
      ) AS __grebe_q133
    ) AS __grebe_q134
    JOIN (
      SELECT "c" FROM s_old
    ) AS __grebe_q135 ON "c" < "x_2"
  ) AS __grebe_q136
  GROUP BY "x_2"
) AS __grebe_q137 ON "x_3" IS NOT DISTINCT FROM "x_2"
)
SELECT "a", "value", "__grebe_weight" FROM (
  SELECT "a", "x", "x_3", "value", "__grebe_weight" FROM (
    SELECT "a", "x", "x_3", "value", "__grebe_weight" FROM (
      SELECT "a", "x", "x_3", "value", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM r_delta
      ) AS __grebe_q1
      JOIN (
        SELECT "x_3", "max_c" AS "value" FROM (
          SELECT DISTINCT "x_3" FROM (
            SELECT "x" AS "x_3" FROM __grebe_c2
          ) AS __grebe_q4
        ) AS __grebe_q5
        LEFT JOIN (
          SELECT "x_2", MAX("c") AS "max_c" FROM (
            SELECT "x_2", "c" FROM (
              SELECT DISTINCT "x_2" FROM (
                SELECT "x" AS "x_2" FROM __grebe_c2
              ) AS __grebe_q6
            ) AS __grebe_q7
            JOIN (
              SELECT "c" FROM s_old
            ) AS __grebe_q8 ON "c" < "x_2"
          ) AS __grebe_q9
          GROUP BY "x_2"
        ) AS __grebe_q10 ON "x_3" IS NOT DISTINCT FROM "x_2"
      ) AS __grebe_q11 ON "x" IS NOT DISTINCT FROM "x_3"
    ) AS __grebe_q12
    UNION ALL
    SELECT "a", "x", "x_3", "value", "__grebe_weight" FROM (
      SELECT "a", "x", "x_3", "value", "__grebe_weight" FROM __grebe_c16
      JOIN (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q102 ON "x" IS NOT DISTINCT FROM "x_3"
    ) AS __grebe_q103
  ) AS __grebe_q104
  UNION ALL
  SELECT "a", "x", "x_3", "value", "__grebe_weight" FROM (
    SELECT "a", "x", "x_3", "value", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_weight" FROM r_delta
        ) AS __grebe_q105
        ANTI JOIN (
          SELECT "x_3", "max_c" AS "value" FROM (
            SELECT DISTINCT "x_3" FROM (
              SELECT "x" AS "x_3" FROM __grebe_c17
            ) AS __grebe_q107
          ) AS __grebe_q108
          LEFT JOIN (
            SELECT "x_2", MAX("c") AS "max_c" FROM (
              SELECT "x_2", "c" FROM (
                SELECT DISTINCT "x_2" FROM (
                  SELECT "x" AS "x_2" FROM __grebe_c17
                ) AS __grebe_q109
              ) AS __grebe_q110
              JOIN (
                SELECT "c" FROM s_new
              ) AS __grebe_q111 ON "c" < "x_2"
            ) AS __grebe_q112
            GROUP BY "x_2"
          ) AS __grebe_q113 ON "x_3" IS NOT DISTINCT FROM "x_2"
        ) AS __grebe_q114 ON "x" IS NOT DISTINCT FROM "x_3"
      ) AS __grebe_q115
      UNION ALL
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", CAST(CASE WHEN "__grebe_after" THEN -"__grebe_copies" ELSE "__grebe_copies" END AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "a", "x", "__grebe_copies", "__grebe_before", EXISTS (SELECT 1 FROM __grebe_c22 WHERE "x" IS NOT DISTINCT FROM "x_3") AS "__grebe_after" FROM (
            SELECT "a", "x", "__grebe_copies", EXISTS (SELECT 1 FROM __grebe_c24 WHERE "x" IS NOT DISTINCT FROM "x_3") AS "__grebe_before" FROM __grebe_c19
          ) AS __grebe_q138
        ) AS __grebe_q139
        WHERE NOT ("__grebe_before" IS NOT DISTINCT FROM "__grebe_after")
      ) AS __grebe_q140
    ) AS __grebe_q141
    LEFT JOIN (
      SELECT "x_3", "value" FROM (
        SELECT "x_3", "max_c" AS "value" FROM (
          SELECT DISTINCT "x_3" FROM (
            SELECT "x" AS "x_3" FROM r_new
          ) AS __grebe_q142
        ) AS __grebe_q143
        LEFT JOIN __grebe_c15 ON "x_3" IS NOT DISTINCT FROM "x_2"
      ) AS __grebe_q144 WHERE FALSE
    ) AS __grebe_q145 ON FALSE
  ) AS __grebe_q146
) AS __grebe_q147

-- title: in HAVING
-- query
SELECT a, SUM(x) AS t FROM r GROUP BY a HAVING SUM(x) > (SELECT MIN(c) FROM s)
-- delta
WITH __grebe_c1 AS (
SELECT "a", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" END) AS "__grebe_6d6f773a11561dcc_s_new", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" WHEN "__grebe_weight" > 0 THEN -"x" ELSE "x" END) AS "__grebe_6d6f773a11561dcc_s_old" FROM (
  SELECT "a", "x", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "x", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", "x", 1 AS "__grebe_weight" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN (
        SELECT DISTINCT "a__key" FROM (
          SELECT "a" AS "a__key" FROM r_delta
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" IS NOT DISTINCT FROM "a__key"
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "x", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "x", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a", "x", "__grebe_weight" FROM r_delta
        ) AS __grebe_q6
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
GROUP BY "a"
),
__grebe_c2 AS (
SELECT MIN("c") AS "min_c" FROM (
  SELECT "c" FROM s_old
) AS __grebe_q14
)
SELECT "a", "sum_x", "__grebe_weight" FROM (
  SELECT "a", "sum_x", "value", "__grebe_weight" FROM (
    SELECT "a", "sum_x", "value", "__grebe_weight" FROM (
      SELECT "a", "sum_x", "__grebe_weight" FROM (
        SELECT "a", CASE WHEN "__grebe_6d6f773a11561dcc_n_new" > 0 THEN "__grebe_6d6f773a11561dcc_s_new" END AS "sum_x", 1 AS "__grebe_weight" FROM __grebe_c1
        WHERE "__grebe_count_new" > 0
      ) AS __grebe_q11
      UNION ALL
      SELECT "a", "sum_x", "__grebe_weight" FROM (
        SELECT "a", CASE WHEN "__grebe_6d6f773a11561dcc_n_old" > 0 THEN "__grebe_6d6f773a11561dcc_s_old" END AS "sum_x", -1 AS "__grebe_weight" FROM __grebe_c1
        WHERE "__grebe_count_old" > 0
      ) AS __grebe_q12
    ) AS __grebe_q13
    JOIN (
      SELECT "min_c" AS "value" FROM __grebe_c2
    ) AS __grebe_q15 ON "sum_x" > "value"
  ) AS __grebe_q16
  UNION ALL
  SELECT "a", "sum_x", "value", "__grebe_weight" FROM (
    SELECT "a", "sum_x", "value", "__grebe_weight" FROM (
      SELECT "min_c" AS "value", "__grebe_weight" FROM (
        SELECT "min_c", "__grebe_weight" FROM (
          SELECT "min_c", 1 AS "__grebe_weight" FROM (
            SELECT MIN("c") AS "min_c" FROM (
              SELECT "c" FROM s_new
            ) AS __grebe_q17
          ) AS __grebe_q18
        ) AS __grebe_q19
        UNION ALL
        SELECT "min_c", "__grebe_weight" FROM (
          SELECT "min_c", -1 AS "__grebe_weight" FROM __grebe_c2
        ) AS __grebe_q20
      ) AS __grebe_q21
    ) AS __grebe_q22
    JOIN (
      SELECT "a", SUM("x") AS "sum_x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q23
      GROUP BY "a"
    ) AS __grebe_q24 ON "sum_x" > "value"
  ) AS __grebe_q25
) AS __grebe_q26
