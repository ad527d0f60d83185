-- title: without correlation
-- query
SELECT a, x FROM r WHERE x >= (SELECT MIN(c) FROM s)
-- delta
WITH __grebe_c1 AS (
SELECT MIN("c") AS "__grebe__min_c" FROM (
  SELECT "c" FROM s_old
) AS __grebe_q2
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__value", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__value", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM r_delta
    ) AS __grebe_q1
    JOIN (
      SELECT "__grebe__min_c" AS "__grebe__value" FROM __grebe_c1
    ) AS __grebe_q3 ON "x" >= "__grebe__value"
  ) AS __grebe_q4
  UNION ALL
  SELECT "a", "x", "__grebe__value", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__value", "__grebe_weight" FROM (
      SELECT "__grebe__min_c" AS "__grebe__value", "__grebe_weight" FROM (
        SELECT "__grebe__min_c", "__grebe_weight" FROM (
          SELECT "__grebe__min_c", 1 AS "__grebe_weight" FROM (
            SELECT MIN("c") AS "__grebe__min_c" FROM (
              SELECT "c" FROM s_new
            ) AS __grebe_q5
          ) AS __grebe_q6
        ) AS __grebe_q7
        UNION ALL
        SELECT "__grebe__min_c", "__grebe_weight" FROM (
          SELECT "__grebe__min_c", -1 AS "__grebe_weight" FROM __grebe_c1
        ) AS __grebe_q8
      ) AS __grebe_q9
    ) AS __grebe_q10
    JOIN (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q11 ON "x" >= "__grebe__value"
  ) AS __grebe_q12
) AS __grebe_q13

-- title: by equality
-- query
SELECT a, (SELECT COUNT(*) FROM s WHERE s.a = r.a) AS n FROM r
-- delta
WITH __grebe_c1 AS (
SELECT "a", 1 AS "__grebe_weight" FROM (
  SELECT "a" FROM r_old
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
SELECT "a", "__grebe_weight" FROM (
  SELECT "a", "__grebe_weight" FROM r_delta
) AS __grebe_q1
UNION ALL
SELECT "a", "__grebe_weight" FROM __grebe_c1
),
__grebe_c3 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "a" AS "__grebe_key_tie_0" FROM __grebe_c2
) AS __grebe_q7
)
SELECT "a", CASE WHEN "__grebe__found" THEN "__grebe__value_2" ELSE 0 END AS "value", "__grebe_weight" FROM (
  SELECT "a", "__grebe__a_2", "__grebe__value_2", "__grebe__found", "__grebe_weight" FROM (
    SELECT "a", "__grebe__a_2", "__grebe__value_2", "__grebe__found", "__grebe_weight" FROM __grebe_c2
    LEFT JOIN (
      SELECT "__grebe__a_2", "__grebe__count" AS "__grebe__value_2", TRUE AS "__grebe__found" FROM (
        SELECT "__grebe__a_2", COUNT(*) AS "__grebe__count" FROM (
          SELECT "__grebe__a_2" FROM (
            SELECT "a" AS "__grebe__a_2" FROM s_new
          ) AS __grebe_q6
          SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q8
        GROUP BY "__grebe__a_2"
      ) AS __grebe_q9
    ) AS __grebe_q10 ON "__grebe__a_2" = "a"
  ) AS __grebe_q11
  UNION ALL
  SELECT "a", "__grebe__a_2", "__grebe__value_2", "__grebe__found", "__grebe_weight" FROM (
    SELECT "a", "__grebe__a_2", "__grebe__value_2", "__grebe__found", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c1
    LEFT JOIN (
      SELECT "__grebe__a_2", "__grebe__count" AS "__grebe__value_2", TRUE AS "__grebe__found" FROM (
        SELECT "__grebe__a_2", COUNT(*) AS "__grebe__count" FROM (
          SELECT "__grebe__a_2" FROM (
            SELECT "a" AS "__grebe__a_2" FROM s_old
          ) AS __grebe_q12
          SEMI JOIN __grebe_c3 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
        ) AS __grebe_q13
        GROUP BY "__grebe__a_2"
      ) AS __grebe_q14
    ) AS __grebe_q15 ON "__grebe__a_2" = "a"
  ) AS __grebe_q16
) AS __grebe_q17

-- title: by a non-equality
-- query
SELECT a, (SELECT MAX(c) FROM s WHERE s.c < r.x) AS m FROM r
-- delta
WITH __grebe_c1 AS (
SELECT "x" AS "__grebe__x_2", "__grebe_weight" FROM r_delta
),
__grebe_c2 AS (
SELECT "a", "x", 1 AS "__grebe_weight" FROM (
  SELECT "a", "x" FROM r_old
) AS __grebe_q2
SEMI JOIN (
  SELECT DISTINCT "__grebe_key_tie_0" FROM (
    SELECT "__grebe_key_tie_0" FROM (
      SELECT "__grebe__x_3" AS "__grebe_key_tie_0" FROM (
        SELECT "x" AS "__grebe__x_3", "__grebe_weight" FROM r_delta
      ) AS __grebe_q3
    ) AS __grebe_q4
    UNION ALL
    SELECT "__grebe_key_tie_0" FROM (
      SELECT "__grebe__x_2" AS "__grebe_key_tie_0" FROM (
        SELECT "__grebe__x_2", "c", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
          SELECT "__grebe__x_2", "c", "__grebe_weight" FROM (
            SELECT "__grebe__x_2", "c", "__grebe_weight" FROM (
              SELECT "__grebe__x_2", "__grebe_weight" FROM (
                SELECT "__grebe__x_2", CAST(CASE WHEN "__grebe_left_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
                  SELECT "__grebe__x_2", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
                    SELECT "__grebe__x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
                      SELECT "__grebe__x_2", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
                        SELECT "x" AS "__grebe__x_2" FROM (
                          SELECT "x" FROM r_new
                        ) AS __grebe_q5
                        SEMI JOIN (
                          SELECT DISTINCT "__grebe_key___grebe__x_2" FROM (
                            SELECT "__grebe__x_2" AS "__grebe_key___grebe__x_2" FROM __grebe_c1
                          ) AS __grebe_q6
                        ) AS __grebe_q7 ON "x" IS NOT DISTINCT FROM "__grebe_key___grebe__x_2"
                      ) AS __grebe_q8
                    ) AS __grebe_q9
                    UNION ALL
                    SELECT "__grebe__x_2", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
                      SELECT "__grebe__x_2", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c1
                    ) AS __grebe_q10
                  ) AS __grebe_q11
                  GROUP BY "__grebe__x_2"
                ) AS __grebe_q12
              ) AS __grebe_q13
              WHERE "__grebe_weight" <> 0
            ) AS __grebe_q14
            JOIN (
              SELECT "c" FROM s_old
            ) AS __grebe_q15 ON "c" < "__grebe__x_2"
          ) AS __grebe_q16
          UNION ALL
          SELECT "__grebe__x_2", "c", "__grebe_weight" FROM (
            SELECT "__grebe__x_2", "c", "__grebe_weight" FROM (
              SELECT "c", "__grebe_weight" FROM s_delta
            ) AS __grebe_q17
            JOIN (
              SELECT DISTINCT "__grebe__x_2" FROM (
                SELECT "x" AS "__grebe__x_2" FROM r_new
              ) AS __grebe_q18
            ) AS __grebe_q19 ON "c" < "__grebe__x_2"
          ) AS __grebe_q20
        ) AS __grebe_q21
        GROUP BY "__grebe__x_2", "c"
        HAVING SUM("__grebe_weight") <> 0
      ) AS __grebe_q22
    ) AS __grebe_q23
  ) AS __grebe_q24
) AS __grebe_q25 ON "x" IS NOT DISTINCT FROM "__grebe_key_tie_0"
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
  SELECT "x" AS "__grebe_key_tie_0" FROM __grebe_c3
) AS __grebe_q27
),
__grebe_c5 AS (
SELECT "x" FROM (
  SELECT "x" FROM r_new
) AS __grebe_q26
SEMI JOIN __grebe_c4 ON "x" IS NOT DISTINCT FROM "__grebe_key_tie_0"
),
__grebe_c6 AS (
SELECT "x" FROM (
  SELECT "x" FROM r_old
) AS __grebe_q37
SEMI JOIN __grebe_c4 ON "x" IS NOT DISTINCT FROM "__grebe_key_tie_0"
)
SELECT "a", "value", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__x_3", "value", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__x_3", "value", "__grebe_weight" FROM __grebe_c3
    LEFT JOIN (
      SELECT "__grebe__x_3", "__grebe__max_c" AS "value" FROM (
        SELECT DISTINCT "__grebe__x_3" FROM (
          SELECT "x" AS "__grebe__x_3" FROM __grebe_c5
        ) AS __grebe_q28
      ) AS __grebe_q29
      LEFT JOIN (
        SELECT "__grebe__x_2", MAX("c") AS "__grebe__max_c" FROM (
          SELECT "__grebe__x_2", "c" FROM (
            SELECT DISTINCT "__grebe__x_2" FROM (
              SELECT "x" AS "__grebe__x_2" FROM __grebe_c5
            ) AS __grebe_q30
          ) AS __grebe_q31
          JOIN (
            SELECT "c" FROM s_new
          ) AS __grebe_q32 ON "c" < "__grebe__x_2"
        ) AS __grebe_q33
        GROUP BY "__grebe__x_2"
      ) AS __grebe_q34 ON "__grebe__x_3" IS NOT DISTINCT FROM "__grebe__x_2"
    ) AS __grebe_q35 ON "x" IS NOT DISTINCT FROM "__grebe__x_3"
  ) AS __grebe_q36
  UNION ALL
  SELECT "a", "x", "__grebe__x_3", "value", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__x_3", "value", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c2
    LEFT JOIN (
      SELECT "__grebe__x_3", "__grebe__max_c" AS "value" FROM (
        SELECT DISTINCT "__grebe__x_3" FROM (
          SELECT "x" AS "__grebe__x_3" FROM __grebe_c6
        ) AS __grebe_q38
      ) AS __grebe_q39
      LEFT JOIN (
        SELECT "__grebe__x_2", MAX("c") AS "__grebe__max_c" FROM (
          SELECT "__grebe__x_2", "c" FROM (
            SELECT DISTINCT "__grebe__x_2" FROM (
              SELECT "x" AS "__grebe__x_2" FROM __grebe_c6
            ) AS __grebe_q40
          ) AS __grebe_q41
          JOIN (
            SELECT "c" FROM s_old
          ) AS __grebe_q42 ON "c" < "__grebe__x_2"
        ) AS __grebe_q43
        GROUP BY "__grebe__x_2"
      ) AS __grebe_q44 ON "__grebe__x_3" IS NOT DISTINCT FROM "__grebe__x_2"
    ) AS __grebe_q45 ON "x" IS NOT DISTINCT FROM "__grebe__x_3"
  ) AS __grebe_q46
) AS __grebe_q47

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
        SELECT DISTINCT "__grebe_key_a" FROM (
          SELECT "a" AS "__grebe_key_a" FROM r_delta
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
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
SELECT MIN("c") AS "__grebe__min_c" FROM (
  SELECT "c" FROM s_old
) AS __grebe_q14
)
SELECT "a", "sum_x", "__grebe_weight" FROM (
  SELECT "a", "sum_x", "__grebe__value", "__grebe_weight" FROM (
    SELECT "a", "sum_x", "__grebe__value", "__grebe_weight" FROM (
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
      SELECT "__grebe__min_c" AS "__grebe__value" FROM __grebe_c2
    ) AS __grebe_q15 ON "sum_x" > "__grebe__value"
  ) AS __grebe_q16
  UNION ALL
  SELECT "a", "sum_x", "__grebe__value", "__grebe_weight" FROM (
    SELECT "a", "sum_x", "__grebe__value", "__grebe_weight" FROM (
      SELECT "__grebe__min_c" AS "__grebe__value", "__grebe_weight" FROM (
        SELECT "__grebe__min_c", "__grebe_weight" FROM (
          SELECT "__grebe__min_c", 1 AS "__grebe_weight" FROM (
            SELECT MIN("c") AS "__grebe__min_c" FROM (
              SELECT "c" FROM s_new
            ) AS __grebe_q17
          ) AS __grebe_q18
        ) AS __grebe_q19
        UNION ALL
        SELECT "__grebe__min_c", "__grebe_weight" FROM (
          SELECT "__grebe__min_c", -1 AS "__grebe_weight" FROM __grebe_c2
        ) AS __grebe_q20
      ) AS __grebe_q21
    ) AS __grebe_q22
    JOIN (
      SELECT "a", SUM("x") AS "sum_x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q23
      GROUP BY "a"
    ) AS __grebe_q24 ON "sum_x" > "__grebe__value"
  ) AS __grebe_q25
) AS __grebe_q26
