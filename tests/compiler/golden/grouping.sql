-- title: HAVING on an aggregate that is not selected
-- query
SELECT a FROM r GROUP BY a HAVING COUNT(*) > 1 AND SUM(x) < 5
-- delta
WITH __grebe_c1 AS (
SELECT "a", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" END) AS "__grebe_6d6f773a11561dcc_s_new", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" WHEN "__grebe_weight" > 0 THEN -"x" ELSE "x" END) AS "__grebe_6d6f773a11561dcc_s_old" FROM (
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
)
SELECT "a", "__grebe_weight" FROM (
  SELECT "a", "__grebe__count", "__grebe__sum_x", "__grebe_weight" FROM (
    SELECT "a", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count", CASE WHEN "__grebe_6d6f773a11561dcc_n_new" > 0 THEN "__grebe_6d6f773a11561dcc_s_new" END AS "__grebe__sum_x", 1 AS "__grebe_weight" FROM __grebe_c1
    WHERE "__grebe_count_new" > 0
  ) AS __grebe_q11
  UNION ALL
  SELECT "a", "__grebe__count", "__grebe__sum_x", "__grebe_weight" FROM (
    SELECT "a", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count", CASE WHEN "__grebe_6d6f773a11561dcc_n_old" > 0 THEN "__grebe_6d6f773a11561dcc_s_old" END AS "__grebe__sum_x", -1 AS "__grebe_weight" FROM __grebe_c1
    WHERE "__grebe_count_old" > 0
  ) AS __grebe_q12
) AS __grebe_q13
WHERE "__grebe__count" > 1 AND "__grebe__sum_x" < 5

-- title: by expression
-- query
SELECT x % 2 AS k, COUNT(*) AS n FROM r GROUP BY x % 2
-- delta
WITH __grebe_c1 AS (
SELECT "x" % 2 AS "key", "__grebe_weight" FROM r_delta
),
__grebe_c2 AS (
SELECT "key", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "key", "__grebe_weight", "__grebe_side" FROM (
    SELECT "key", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "key", 1 AS "__grebe_weight" FROM (
        SELECT "x" % 2 AS "key" FROM (
          SELECT "x" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN (
          SELECT DISTINCT "__grebe_key_key" FROM (
            SELECT "key" AS "__grebe_key_key" FROM (
              SELECT "key", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
              GROUP BY "key"
              HAVING SUM("__grebe_weight") <> 0
            ) AS __grebe_q2
          ) AS __grebe_q3
        ) AS __grebe_q4 ON ("x" % 2) IS NOT DISTINCT FROM "__grebe_key_key"
      ) AS __grebe_q5
    ) AS __grebe_q6
  ) AS __grebe_q7
  UNION ALL
  SELECT "key", "__grebe_weight", "__grebe_side" FROM (
    SELECT "key", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "key", "__grebe_weight" FROM (
        SELECT "key", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c1
      ) AS __grebe_q8
    ) AS __grebe_q9
  ) AS __grebe_q10
) AS __grebe_q11
GROUP BY "key"
)
SELECT "key", "__grebe__count", "__grebe_weight" FROM (
  SELECT "key", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count", 1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_new" > 0
) AS __grebe_q12
UNION ALL
SELECT "key", "__grebe__count", "__grebe_weight" FROM (
  SELECT "key", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count", -1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_old" > 0
) AS __grebe_q13

-- title: by ordinal
-- query
SELECT a, COUNT(*) AS n FROM r GROUP BY 1
-- delta
WITH __grebe_c1 AS (
SELECT "a", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "a", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", 1 AS "__grebe_weight" FROM (
        SELECT "a" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_a" FROM (
          SELECT "a" AS "__grebe_key_a" FROM r_delta
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "__grebe_weight" FROM (
        SELECT "a", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a", "__grebe_weight" FROM r_delta
        ) AS __grebe_q6
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
GROUP BY "a"
)
SELECT "a", "__grebe__count", "__grebe_weight" FROM (
  SELECT "a", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count", 1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_new" > 0
) AS __grebe_q11
UNION ALL
SELECT "a", "__grebe__count", "__grebe_weight" FROM (
  SELECT "a", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count", -1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_old" > 0
) AS __grebe_q12

-- title: by alias
-- query
SELECT a + 1 AS k, COUNT(*) AS n FROM r GROUP BY k
-- delta
WITH __grebe_c1 AS (
SELECT "a" + 1 AS "key", "__grebe_weight" FROM r_delta
),
__grebe_c2 AS (
SELECT "key", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "key", "__grebe_weight", "__grebe_side" FROM (
    SELECT "key", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "key", 1 AS "__grebe_weight" FROM (
        SELECT "a" + 1 AS "key" FROM (
          SELECT "a" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN (
          SELECT DISTINCT "__grebe_key_key" FROM (
            SELECT "key" AS "__grebe_key_key" FROM (
              SELECT "key", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
              GROUP BY "key"
              HAVING SUM("__grebe_weight") <> 0
            ) AS __grebe_q2
          ) AS __grebe_q3
        ) AS __grebe_q4 ON TRY("a" + 1) IS NOT DISTINCT FROM "__grebe_key_key"
      ) AS __grebe_q5
    ) AS __grebe_q6
  ) AS __grebe_q7
  UNION ALL
  SELECT "key", "__grebe_weight", "__grebe_side" FROM (
    SELECT "key", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "key", "__grebe_weight" FROM (
        SELECT "key", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c1
      ) AS __grebe_q8
    ) AS __grebe_q9
  ) AS __grebe_q10
) AS __grebe_q11
GROUP BY "key"
)
SELECT "key", "__grebe__count", "__grebe_weight" FROM (
  SELECT "key", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count", 1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_new" > 0
) AS __grebe_q12
UNION ALL
SELECT "key", "__grebe__count", "__grebe_weight" FROM (
  SELECT "key", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count", -1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_old" > 0
) AS __grebe_q13

-- title: ALL
-- query
SELECT a, b, COUNT(*) AS n FROM r GROUP BY ALL
-- delta
WITH __grebe_c1 AS (
SELECT "a", "b", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "a", "b", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "b", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", "b", 1 AS "__grebe_weight" FROM (
        SELECT "a", "b" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_a", "__grebe_key_b" FROM (
          SELECT "a" AS "__grebe_key_a", "b" AS "__grebe_key_b" FROM r_delta
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a" AND "b" IS NOT DISTINCT FROM "__grebe_key_b"
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "b", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "b", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "b", "__grebe_weight" FROM (
        SELECT "a", "b", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a", "b", "__grebe_weight" FROM r_delta
        ) AS __grebe_q6
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
GROUP BY "a", "b"
)
SELECT "a", "b", "__grebe__count", "__grebe_weight" FROM (
  SELECT "a", "b", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count", 1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_new" > 0
) AS __grebe_q11
UNION ALL
SELECT "a", "b", "__grebe__count", "__grebe_weight" FROM (
  SELECT "a", "b", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count", -1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_old" > 0
) AS __grebe_q12

-- title: ROLLUP
-- query
SELECT a, b, SUM(x) AS t FROM r GROUP BY ROLLUP (a, b)
-- delta
WITH __grebe_c1 AS (
SELECT "__grebe__grouping_set_4" AS "__grebe__grouping_set_3", "__grebe__a_3" AS "__grebe__a_2_3", "__grebe__b_3" AS "__grebe__b_2_3", "x" AS "__grebe__x_2", "__grebe_weight" FROM (
  SELECT 0 AS "__grebe__grouping_set_4", "a" AS "__grebe__a_3", "b" AS "__grebe__b_3", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q2
UNION ALL
SELECT "__grebe__grouping_set_5" AS "__grebe__grouping_set_3", "__grebe__a_4" AS "__grebe__a_2_3", "__grebe__b_4" AS "__grebe__b_2_3", "x" AS "__grebe__x_2", "__grebe_weight" FROM (
  SELECT 1 AS "__grebe__grouping_set_5", "a" AS "__grebe__a_4", CASE WHEN FALSE THEN "b" END AS "__grebe__b_4", "x", "__grebe_weight" FROM r_delta
) AS __grebe_q3
),
__grebe_c2 AS (
SELECT DISTINCT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM (
  SELECT "__grebe__grouping_set_3" AS "__grebe_key___grebe__grouping_set_3", "__grebe__a_2_3" AS "__grebe_key___grebe__a_2_3", "__grebe__b_2_3" AS "__grebe_key___grebe__b_2_3" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__x_2", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
    GROUP BY "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__x_2"
    HAVING SUM("__grebe_weight") <> 0
  ) AS __grebe_q4
) AS __grebe_q5
),
__grebe_c3 AS (
SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT "__grebe__x_2" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_d2d39261eddd4273_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN "__grebe__x_2" END) AS "__grebe_d2d39261eddd4273_s_new", CAST(SUM(CASE WHEN NOT ((NOT "__grebe__x_2" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_d2d39261eddd4273_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN "__grebe__x_2" WHEN "__grebe_weight" > 0 THEN -"__grebe__x_2" ELSE "__grebe__x_2" END) AS "__grebe_d2d39261eddd4273_s_old" FROM (
  SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__x_2", "__grebe_weight", "__grebe_side" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__x_2", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__x_2", 1 AS "__grebe_weight" FROM (
        SELECT "__grebe__grouping_set_4" AS "__grebe__grouping_set_3", "__grebe__a_3" AS "__grebe__a_2_3", "__grebe__b_3" AS "__grebe__b_2_3", "x" AS "__grebe__x_2" FROM (
          SELECT 0 AS "__grebe__grouping_set_4", "a" AS "__grebe__a_3", "b" AS "__grebe__b_3", "x" FROM (
            SELECT "a", "b", "x" FROM r_new
          ) AS __grebe_q1
          SEMI JOIN (
            SELECT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM __grebe_c2
            WHERE "__grebe_key___grebe__grouping_set_3" IS NOT DISTINCT FROM 0
          ) AS __grebe_q6 ON "a" IS NOT DISTINCT FROM "__grebe_key___grebe__a_2_3" AND "b" IS NOT DISTINCT FROM "__grebe_key___grebe__b_2_3"
        ) AS __grebe_q7
        UNION ALL
        SELECT "__grebe__grouping_set_5" AS "__grebe__grouping_set_3", "__grebe__a_4" AS "__grebe__a_2_3", "__grebe__b_4" AS "__grebe__b_2_3", "x" AS "__grebe__x_2" FROM (
          SELECT 1 AS "__grebe__grouping_set_5", "a" AS "__grebe__a_4", CASE WHEN FALSE THEN "b" END AS "__grebe__b_4", "x" FROM (
            SELECT "a", "b", "x" FROM r_new
          ) AS __grebe_q8
          SEMI JOIN (
            SELECT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM __grebe_c2
            WHERE "__grebe_key___grebe__grouping_set_3" IS NOT DISTINCT FROM 1
          ) AS __grebe_q9 ON "a" IS NOT DISTINCT FROM "__grebe_key___grebe__a_2_3" AND CASE WHEN FALSE THEN "b" END IS NOT DISTINCT FROM "__grebe_key___grebe__b_2_3"
        ) AS __grebe_q10
      ) AS __grebe_q11
    ) AS __grebe_q12
  ) AS __grebe_q13
  UNION ALL
  SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__x_2", "__grebe_weight", "__grebe_side" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__x_2", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__x_2", "__grebe_weight" FROM (
        SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__x_2", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c1
      ) AS __grebe_q14
    ) AS __grebe_q15
  ) AS __grebe_q16
) AS __grebe_q17
GROUP BY "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3"
),
__grebe_c4 AS (
SELECT "__grebe_count_new", "__grebe_count_old", "__grebe_6d6f773a11561dcc_n_new", "__grebe_6d6f773a11561dcc_s_new", "__grebe_6d6f773a11561dcc_n_old", "__grebe_6d6f773a11561dcc_s_old" FROM (
  SELECT CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" END) AS "__grebe_6d6f773a11561dcc_s_new", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" WHEN "__grebe_weight" > 0 THEN -"x" ELSE "x" END) AS "__grebe_6d6f773a11561dcc_s_old" FROM (
    SELECT "x", "__grebe_weight", "__grebe_side" FROM (
      SELECT "x", "__grebe_weight", 0 AS "__grebe_side" FROM (
        SELECT "x", 1 AS "__grebe_weight" FROM r_new
      ) AS __grebe_q22
    ) AS __grebe_q23
    UNION ALL
    SELECT "x", "__grebe_weight", "__grebe_side" FROM (
      SELECT "x", "__grebe_weight", 1 AS "__grebe_side" FROM (
        SELECT "x", "__grebe_weight" FROM (
          SELECT "x", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
            SELECT "x", "__grebe_weight" FROM r_delta
          ) AS __grebe_q24
        ) AS __grebe_q25
      ) AS __grebe_q26
    ) AS __grebe_q27
  ) AS __grebe_q28
) AS __grebe_q29
CROSS JOIN (
  SELECT DISTINCT "__grebe_one" FROM (
    SELECT 1 AS "__grebe_one" FROM r_delta
  ) AS __grebe_q30
) AS __grebe_q31
)
SELECT "__grebe__a_2_3" AS "a_2", "__grebe__b_2_3" AS "b_2", "__grebe__sum_x_3" AS "sum_x", "__grebe_weight" FROM (
  SELECT "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__sum_x_3", "__grebe_weight" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__sum_x_3", "__grebe_weight" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", CASE WHEN "__grebe_d2d39261eddd4273_n_new" > 0 THEN "__grebe_d2d39261eddd4273_s_new" END AS "__grebe__sum_x_3", 1 AS "__grebe_weight" FROM __grebe_c3
      WHERE "__grebe_count_new" > 0
    ) AS __grebe_q18
    UNION ALL
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__sum_x_3", "__grebe_weight" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", CASE WHEN "__grebe_d2d39261eddd4273_n_old" > 0 THEN "__grebe_d2d39261eddd4273_s_old" END AS "__grebe__sum_x_3", -1 AS "__grebe_weight" FROM __grebe_c3
      WHERE "__grebe_count_old" > 0
    ) AS __grebe_q19
  ) AS __grebe_q20
) AS __grebe_q21
UNION ALL
SELECT "__grebe__a_2_2" AS "a_2", "__grebe__b_2_2" AS "b_2", "__grebe__sum_x_2_2" AS "sum_x", "__grebe_weight" FROM (
  SELECT CAST(NULL AS INT) AS "__grebe__a_2_2", CAST(NULL AS INT) AS "__grebe__b_2_2", "__grebe__sum_x_2" AS "__grebe__sum_x_2_2", "__grebe_weight" FROM (
    SELECT "__grebe__sum_x_2", "__grebe_weight" FROM (
      SELECT CASE WHEN "__grebe_6d6f773a11561dcc_n_new" > 0 THEN "__grebe_6d6f773a11561dcc_s_new" END AS "__grebe__sum_x_2", 1 AS "__grebe_weight" FROM __grebe_c4
    ) AS __grebe_q32
    UNION ALL
    SELECT "__grebe__sum_x_2", "__grebe_weight" FROM (
      SELECT CASE WHEN "__grebe_6d6f773a11561dcc_n_old" > 0 THEN "__grebe_6d6f773a11561dcc_s_old" END AS "__grebe__sum_x_2", -1 AS "__grebe_weight" FROM __grebe_c4
    ) AS __grebe_q33
  ) AS __grebe_q34
) AS __grebe_q35

-- title: CUBE
-- query
SELECT a, b, COUNT(*) AS n FROM r GROUP BY CUBE (a, b)
-- delta
WITH __grebe_c1 AS (
SELECT "__grebe__grouping_set_4" AS "__grebe__grouping_set_3", "__grebe__a_3" AS "__grebe__a_2_3", "__grebe__b_3" AS "__grebe__b_2_3", "__grebe_weight" FROM (
  SELECT 0 AS "__grebe__grouping_set_4", "a" AS "__grebe__a_3", "b" AS "__grebe__b_3", "__grebe_weight" FROM r_delta
) AS __grebe_q2
UNION ALL
SELECT "__grebe__grouping_set_5" AS "__grebe__grouping_set_3", "__grebe__a_4" AS "__grebe__a_2_3", "__grebe__b_4" AS "__grebe__b_2_3", "__grebe_weight" FROM (
  SELECT 1 AS "__grebe__grouping_set_5", "a" AS "__grebe__a_4", CASE WHEN FALSE THEN "b" END AS "__grebe__b_4", "__grebe_weight" FROM r_delta
) AS __grebe_q3
UNION ALL
SELECT "__grebe__grouping_set_6" AS "__grebe__grouping_set_3", "__grebe__a_5" AS "__grebe__a_2_3", "__grebe__b_5" AS "__grebe__b_2_3", "__grebe_weight" FROM (
  SELECT 2 AS "__grebe__grouping_set_6", CASE WHEN FALSE THEN "a" END AS "__grebe__a_5", "b" AS "__grebe__b_5", "__grebe_weight" FROM r_delta
) AS __grebe_q4
),
__grebe_c2 AS (
SELECT DISTINCT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM (
  SELECT "__grebe__grouping_set_3" AS "__grebe_key___grebe__grouping_set_3", "__grebe__a_2_3" AS "__grebe_key___grebe__a_2_3", "__grebe__b_2_3" AS "__grebe_key___grebe__b_2_3" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
    GROUP BY "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3"
    HAVING SUM("__grebe_weight") <> 0
  ) AS __grebe_q5
) AS __grebe_q6
),
__grebe_c3 AS (
SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight", "__grebe_side" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", 1 AS "__grebe_weight" FROM (
        SELECT "__grebe__grouping_set_4" AS "__grebe__grouping_set_3", "__grebe__a_3" AS "__grebe__a_2_3", "__grebe__b_3" AS "__grebe__b_2_3" FROM (
          SELECT 0 AS "__grebe__grouping_set_4", "a" AS "__grebe__a_3", "b" AS "__grebe__b_3" FROM (
            SELECT "a", "b" FROM r_new
          ) AS __grebe_q1
          SEMI JOIN (
            SELECT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM __grebe_c2
            WHERE "__grebe_key___grebe__grouping_set_3" IS NOT DISTINCT FROM 0
          ) AS __grebe_q7 ON "a" IS NOT DISTINCT FROM "__grebe_key___grebe__a_2_3" AND "b" IS NOT DISTINCT FROM "__grebe_key___grebe__b_2_3"
        ) AS __grebe_q8
        UNION ALL
        SELECT "__grebe__grouping_set_5" AS "__grebe__grouping_set_3", "__grebe__a_4" AS "__grebe__a_2_3", "__grebe__b_4" AS "__grebe__b_2_3" FROM (
          SELECT 1 AS "__grebe__grouping_set_5", "a" AS "__grebe__a_4", CASE WHEN FALSE THEN "b" END AS "__grebe__b_4" FROM (
            SELECT "a", "b" FROM r_new
          ) AS __grebe_q9
          SEMI JOIN (
            SELECT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM __grebe_c2
            WHERE "__grebe_key___grebe__grouping_set_3" IS NOT DISTINCT FROM 1
          ) AS __grebe_q10 ON "a" IS NOT DISTINCT FROM "__grebe_key___grebe__a_2_3" AND CASE WHEN FALSE THEN "b" END IS NOT DISTINCT FROM "__grebe_key___grebe__b_2_3"
        ) AS __grebe_q11
        UNION ALL
        SELECT "__grebe__grouping_set_6" AS "__grebe__grouping_set_3", "__grebe__a_5" AS "__grebe__a_2_3", "__grebe__b_5" AS "__grebe__b_2_3" FROM (
          SELECT 2 AS "__grebe__grouping_set_6", CASE WHEN FALSE THEN "a" END AS "__grebe__a_5", "b" AS "__grebe__b_5" FROM (
            SELECT "a", "b" FROM r_new
          ) AS __grebe_q12
          SEMI JOIN (
            SELECT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM __grebe_c2
            WHERE "__grebe_key___grebe__grouping_set_3" IS NOT DISTINCT FROM 2
          ) AS __grebe_q13 ON CASE WHEN FALSE THEN "a" END IS NOT DISTINCT FROM "__grebe_key___grebe__a_2_3" AND "b" IS NOT DISTINCT FROM "__grebe_key___grebe__b_2_3"
        ) AS __grebe_q14
      ) AS __grebe_q15
    ) AS __grebe_q16
  ) AS __grebe_q17
  UNION ALL
  SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight", "__grebe_side" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight" FROM (
        SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c1
      ) AS __grebe_q18
    ) AS __grebe_q19
  ) AS __grebe_q20
) AS __grebe_q21
GROUP BY "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3"
),
__grebe_c4 AS (
SELECT "__grebe_count_new", "__grebe_count_old", "__grebe_f6fc42039fba3776_n_new", "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
    SELECT "a", "__grebe_weight", "__grebe_side" FROM (
      SELECT "a", "__grebe_weight", 0 AS "__grebe_side" FROM (
        SELECT "a", 1 AS "__grebe_weight" FROM r_new
      ) AS __grebe_q26
    ) AS __grebe_q27
    UNION ALL
    SELECT "a", "__grebe_weight", "__grebe_side" FROM (
      SELECT "a", "__grebe_weight", 1 AS "__grebe_side" FROM (
        SELECT "a", "__grebe_weight" FROM (
          SELECT "a", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
            SELECT "a", "__grebe_weight" FROM r_delta
          ) AS __grebe_q28
        ) AS __grebe_q29
      ) AS __grebe_q30
    ) AS __grebe_q31
  ) AS __grebe_q32
) AS __grebe_q33
CROSS JOIN (
  SELECT DISTINCT "__grebe_one" FROM (
    SELECT 1 AS "__grebe_one" FROM r_delta
  ) AS __grebe_q34
) AS __grebe_q35
)
SELECT "__grebe__a_2_3" AS "a_2", "__grebe__b_2_3" AS "b_2", "__grebe__count_3" AS "count", "__grebe_weight" FROM (
  SELECT "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__count_3", "__grebe_weight" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__count_3", "__grebe_weight" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count_3", 1 AS "__grebe_weight" FROM __grebe_c3
      WHERE "__grebe_count_new" > 0
    ) AS __grebe_q22
    UNION ALL
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__count_3", "__grebe_weight" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count_3", -1 AS "__grebe_weight" FROM __grebe_c3
      WHERE "__grebe_count_old" > 0
    ) AS __grebe_q23
  ) AS __grebe_q24
) AS __grebe_q25
UNION ALL
SELECT "__grebe__a_2_2" AS "a_2", "__grebe__b_2_2" AS "b_2", "__grebe__count_2_2" AS "count", "__grebe_weight" FROM (
  SELECT CAST(NULL AS INT) AS "__grebe__a_2_2", CAST(NULL AS INT) AS "__grebe__b_2_2", "__grebe__count_2" AS "__grebe__count_2_2", "__grebe_weight" FROM (
    SELECT "__grebe__count_2", "__grebe_weight" FROM (
      SELECT "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count_2", 1 AS "__grebe_weight" FROM __grebe_c4
    ) AS __grebe_q36
    UNION ALL
    SELECT "__grebe__count_2", "__grebe_weight" FROM (
      SELECT "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count_2", -1 AS "__grebe_weight" FROM __grebe_c4
    ) AS __grebe_q37
  ) AS __grebe_q38
) AS __grebe_q39

-- title: GROUPING SETS and grouping()
-- query
SELECT a, b, GROUPING(a) AS ga, COUNT(*) AS n FROM r GROUP BY GROUPING SETS ((a), (b), ())
-- delta
WITH __grebe_c1 AS (
SELECT "__grebe__grouping_set_4" AS "__grebe__grouping_set_3", "__grebe__a_3" AS "__grebe__a_2_3", "__grebe__b_3" AS "__grebe__b_2_3", "__grebe_weight" FROM (
  SELECT 0 AS "__grebe__grouping_set_4", "a" AS "__grebe__a_3", CASE WHEN FALSE THEN "b" END AS "__grebe__b_3", "__grebe_weight" FROM r_delta
) AS __grebe_q2
UNION ALL
SELECT "__grebe__grouping_set_5" AS "__grebe__grouping_set_3", "__grebe__a_4" AS "__grebe__a_2_3", "__grebe__b_4" AS "__grebe__b_2_3", "__grebe_weight" FROM (
  SELECT 1 AS "__grebe__grouping_set_5", CASE WHEN FALSE THEN "a" END AS "__grebe__a_4", "b" AS "__grebe__b_4", "__grebe_weight" FROM r_delta
) AS __grebe_q3
),
__grebe_c2 AS (
SELECT DISTINCT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM (
  SELECT "__grebe__grouping_set_3" AS "__grebe_key___grebe__grouping_set_3", "__grebe__a_2_3" AS "__grebe_key___grebe__a_2_3", "__grebe__b_2_3" AS "__grebe_key___grebe__b_2_3" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
    GROUP BY "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3"
    HAVING SUM("__grebe_weight") <> 0
  ) AS __grebe_q4
) AS __grebe_q5
),
__grebe_c3 AS (
SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight", "__grebe_side" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", 1 AS "__grebe_weight" FROM (
        SELECT "__grebe__grouping_set_4" AS "__grebe__grouping_set_3", "__grebe__a_3" AS "__grebe__a_2_3", "__grebe__b_3" AS "__grebe__b_2_3" FROM (
          SELECT 0 AS "__grebe__grouping_set_4", "a" AS "__grebe__a_3", CASE WHEN FALSE THEN "b" END AS "__grebe__b_3" FROM (
            SELECT "a", "b" FROM r_new
          ) AS __grebe_q1
          SEMI JOIN (
            SELECT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM __grebe_c2
            WHERE "__grebe_key___grebe__grouping_set_3" IS NOT DISTINCT FROM 0
          ) AS __grebe_q6 ON "a" IS NOT DISTINCT FROM "__grebe_key___grebe__a_2_3" AND CASE WHEN FALSE THEN "b" END IS NOT DISTINCT FROM "__grebe_key___grebe__b_2_3"
        ) AS __grebe_q7
        UNION ALL
        SELECT "__grebe__grouping_set_5" AS "__grebe__grouping_set_3", "__grebe__a_4" AS "__grebe__a_2_3", "__grebe__b_4" AS "__grebe__b_2_3" FROM (
          SELECT 1 AS "__grebe__grouping_set_5", CASE WHEN FALSE THEN "a" END AS "__grebe__a_4", "b" AS "__grebe__b_4" FROM (
            SELECT "a", "b" FROM r_new
          ) AS __grebe_q8
          SEMI JOIN (
            SELECT "__grebe_key___grebe__grouping_set_3", "__grebe_key___grebe__a_2_3", "__grebe_key___grebe__b_2_3" FROM __grebe_c2
            WHERE "__grebe_key___grebe__grouping_set_3" IS NOT DISTINCT FROM 1
          ) AS __grebe_q9 ON CASE WHEN FALSE THEN "a" END IS NOT DISTINCT FROM "__grebe_key___grebe__a_2_3" AND "b" IS NOT DISTINCT FROM "__grebe_key___grebe__b_2_3"
        ) AS __grebe_q10
      ) AS __grebe_q11
    ) AS __grebe_q12
  ) AS __grebe_q13
  UNION ALL
  SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight", "__grebe_side" FROM (
    SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_weight" FROM (
        SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c1
      ) AS __grebe_q14
    ) AS __grebe_q15
  ) AS __grebe_q16
) AS __grebe_q17
GROUP BY "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3"
),
__grebe_c4 AS (
SELECT "__grebe_count_new", "__grebe_count_old", "__grebe_f6fc42039fba3776_n_new", "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
    SELECT "a", "__grebe_weight", "__grebe_side" FROM (
      SELECT "a", "__grebe_weight", 0 AS "__grebe_side" FROM (
        SELECT "a", 1 AS "__grebe_weight" FROM r_new
      ) AS __grebe_q21
    ) AS __grebe_q22
    UNION ALL
    SELECT "a", "__grebe_weight", "__grebe_side" FROM (
      SELECT "a", "__grebe_weight", 1 AS "__grebe_side" FROM (
        SELECT "a", "__grebe_weight" FROM (
          SELECT "a", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
            SELECT "a", "__grebe_weight" FROM r_delta
          ) AS __grebe_q23
        ) AS __grebe_q24
      ) AS __grebe_q25
    ) AS __grebe_q26
  ) AS __grebe_q27
) AS __grebe_q28
CROSS JOIN (
  SELECT DISTINCT "__grebe_one" FROM (
    SELECT 1 AS "__grebe_one" FROM r_delta
  ) AS __grebe_q29
) AS __grebe_q30
)
SELECT "a_2", "b_2", CAST(CASE WHEN "__grebe__grouping_set" = 0 THEN 0 WHEN "__grebe__grouping_set" = 1 THEN 1 WHEN "__grebe__grouping_set" = 2 THEN 1 END AS BIGINT) AS "ga", "count", "__grebe_weight" FROM (
  SELECT "__grebe__grouping_set", "a_2", "b_2", "count", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "__grebe__grouping_set_3" AS "__grebe__grouping_set", "__grebe__a_2_3" AS "a_2", "__grebe__b_2_3" AS "b_2", "__grebe__count_3" AS "count", "__grebe_weight" FROM (
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__count_3", "__grebe_weight" FROM (
        SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count_3", 1 AS "__grebe_weight" FROM __grebe_c3
        WHERE "__grebe_count_new" > 0
      ) AS __grebe_q18
      UNION ALL
      SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe__count_3", "__grebe_weight" FROM (
        SELECT "__grebe__grouping_set_3", "__grebe__a_2_3", "__grebe__b_2_3", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count_3", -1 AS "__grebe_weight" FROM __grebe_c3
        WHERE "__grebe_count_old" > 0
      ) AS __grebe_q19
    ) AS __grebe_q20
    UNION ALL
    SELECT "__grebe__grouping_set_2" AS "__grebe__grouping_set", "__grebe__a_2_2" AS "a_2", "__grebe__b_2_2" AS "b_2", "__grebe__count_2_2" AS "count", "__grebe_weight" FROM (
      SELECT 2 AS "__grebe__grouping_set_2", CAST(NULL AS INT) AS "__grebe__a_2_2", CAST(NULL AS INT) AS "__grebe__b_2_2", "__grebe__count_2" AS "__grebe__count_2_2", "__grebe_weight" FROM (
        SELECT "__grebe__count_2", "__grebe_weight" FROM (
          SELECT "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count_2", 1 AS "__grebe_weight" FROM __grebe_c4
        ) AS __grebe_q31
        UNION ALL
        SELECT "__grebe__count_2", "__grebe_weight" FROM (
          SELECT "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count_2", -1 AS "__grebe_weight" FROM __grebe_c4
        ) AS __grebe_q32
      ) AS __grebe_q33
    ) AS __grebe_q34
  ) AS __grebe_q35
  GROUP BY "__grebe__grouping_set", "a_2", "b_2", "count"
  HAVING SUM("__grebe_weight") <> 0
) AS __grebe_q36
