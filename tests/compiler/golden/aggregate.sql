-- title: COUNT, SUM, AVG
-- query
SELECT a, COUNT(*) AS n, COUNT(x) AS c, SUM(x) AS t, AVG(x) AS m FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT "a", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_new", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" END) AS "__grebe_6d6f773a11561dcc_s_new", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" WHEN "__grebe_weight" > 0 THEN -"x" ELSE "x" END) AS "__grebe_6d6f773a11561dcc_s_old" FROM (
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
SELECT "a", "__grebe__count", "__grebe__count_x", "__grebe__sum_x", "__grebe__avg_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count", "__grebe_6d6f773a11561dcc_n_new" AS "__grebe__count_x", CASE WHEN "__grebe_6d6f773a11561dcc_n_new" > 0 THEN "__grebe_6d6f773a11561dcc_s_new" END AS "__grebe__sum_x", CASE WHEN "__grebe_6d6f773a11561dcc_n_new" > 0 THEN CAST("__grebe_6d6f773a11561dcc_s_new" AS DOUBLE) / "__grebe_6d6f773a11561dcc_n_new" END AS "__grebe__avg_x", 1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_new" > 0
) AS __grebe_q11
UNION ALL
SELECT "a", "__grebe__count", "__grebe__count_x", "__grebe__sum_x", "__grebe__avg_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count", "__grebe_6d6f773a11561dcc_n_old" AS "__grebe__count_x", CASE WHEN "__grebe_6d6f773a11561dcc_n_old" > 0 THEN "__grebe_6d6f773a11561dcc_s_old" END AS "__grebe__sum_x", CASE WHEN "__grebe_6d6f773a11561dcc_n_old" > 0 THEN CAST("__grebe_6d6f773a11561dcc_s_old" AS DOUBLE) / "__grebe_6d6f773a11561dcc_n_old" END AS "__grebe__avg_x", -1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_old" > 0
) AS __grebe_q12

-- title: MIN and MAX
-- query
SELECT a, MIN(x) AS low, MAX(s) AS high FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__min_x", "__grebe__max_s", "__grebe_weight" FROM (
  SELECT "a", "__grebe__min_x", "__grebe__max_s", 1 AS "__grebe_weight" FROM (
    SELECT "a", MIN("x") AS "__grebe__min_x", MAX("s") AS "__grebe__max_s" FROM (
      SELECT "a", "x", "s" FROM (
        SELECT "a", "x", "s" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q3
    GROUP BY "a"
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "__grebe__min_x", "__grebe__max_s", "__grebe_weight" FROM (
  SELECT "a", "__grebe__min_x", "__grebe__max_s", -1 AS "__grebe_weight" FROM (
    SELECT "a", MIN("x") AS "__grebe__min_x", MAX("s") AS "__grebe__max_s" FROM (
      SELECT "a", "x", "s" FROM (
        SELECT "a", "x", "s" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
    GROUP BY "a"
  ) AS __grebe_q8
) AS __grebe_q9

-- title: decimals
-- query
SELECT a, SUM(y) AS t FROM s GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT "a", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT "y" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_a5a9fbe5c69825f1_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN "y" END) AS "__grebe_a5a9fbe5c69825f1_s_new", CAST(SUM(CASE WHEN NOT ((NOT "y" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_a5a9fbe5c69825f1_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN "y" WHEN "__grebe_weight" > 0 THEN -"y" ELSE "y" END) AS "__grebe_a5a9fbe5c69825f1_s_old" FROM (
  SELECT "a", "y", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "y", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", "y", 1 AS "__grebe_weight" FROM (
        SELECT "a", "y" FROM s_new
      ) AS __grebe_q1
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_a" FROM (
          SELECT "a" AS "__grebe_key_a" FROM s_delta
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "y", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "y", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "y", "__grebe_weight" FROM (
        SELECT "a", "y", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a", "y", "__grebe_weight" FROM s_delta
        ) AS __grebe_q6
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
GROUP BY "a"
)
SELECT "a", "__grebe__sum_y", "__grebe_weight" FROM (
  SELECT "a", CASE WHEN "__grebe_a5a9fbe5c69825f1_n_new" > 0 THEN "__grebe_a5a9fbe5c69825f1_s_new" END AS "__grebe__sum_y", 1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_new" > 0
) AS __grebe_q11
UNION ALL
SELECT "a", "__grebe__sum_y", "__grebe_weight" FROM (
  SELECT "a", CASE WHEN "__grebe_a5a9fbe5c69825f1_n_old" > 0 THEN "__grebe_a5a9fbe5c69825f1_s_old" END AS "__grebe__sum_y", -1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_old" > 0
) AS __grebe_q12

-- title: floats
-- query
SELECT a, SUM(f) AS t, AVG(f) AS m FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__sum_f", "__grebe__avg_f", "__grebe_weight" FROM (
  SELECT "a", "__grebe__sum_f", "__grebe__avg_f", 1 AS "__grebe_weight" FROM (
    SELECT "a", SUM("f") AS "__grebe__sum_f", AVG("f") AS "__grebe__avg_f" FROM (
      SELECT "a", "f" FROM (
        SELECT "a", "f" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q3
    GROUP BY "a"
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "__grebe__sum_f", "__grebe__avg_f", "__grebe_weight" FROM (
  SELECT "a", "__grebe__sum_f", "__grebe__avg_f", -1 AS "__grebe_weight" FROM (
    SELECT "a", SUM("f") AS "__grebe__sum_f", AVG("f") AS "__grebe__avg_f" FROM (
      SELECT "a", "f" FROM (
        SELECT "a", "f" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
    GROUP BY "a"
  ) AS __grebe_q8
) AS __grebe_q9

-- title: distinct arguments
-- query
SELECT a, COUNT(DISTINCT x) AS n, SUM(DISTINCT x) AS t FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__count", "__grebe__sum", "__grebe_weight" FROM (
  SELECT "a", "__grebe__count", "__grebe__sum", 1 AS "__grebe_weight" FROM (
    SELECT "a", COUNT(DISTINCT "x") AS "__grebe__count", SUM(DISTINCT "x") AS "__grebe__sum" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q3
    GROUP BY "a"
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "__grebe__count", "__grebe__sum", "__grebe_weight" FROM (
  SELECT "a", "__grebe__count", "__grebe__sum", -1 AS "__grebe_weight" FROM (
    SELECT "a", COUNT(DISTINCT "x") AS "__grebe__count", SUM(DISTINCT "x") AS "__grebe__sum" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
    GROUP BY "a"
  ) AS __grebe_q8
) AS __grebe_q9

-- title: FILTER
-- query
SELECT a, COUNT(*) FILTER (WHERE x > 1) AS n, SUM(x) FILTER (WHERE s = 'a') AS t FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT "a", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT CASE WHEN "x" > 1 THEN 1 END IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_1e8fc637c69b0907_n_new", CAST(SUM(CASE WHEN NOT ((NOT CASE WHEN "x" > 1 THEN 1 END IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_1e8fc637c69b0907_n_old", CAST(SUM(CASE WHEN NOT ((NOT CASE WHEN "s" = 'a' THEN "x" END IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_58f9dad6b2307c4f_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN CASE WHEN "s" = 'a' THEN "x" END END) AS "__grebe_58f9dad6b2307c4f_s_new", CAST(SUM(CASE WHEN NOT ((NOT CASE WHEN "s" = 'a' THEN "x" END IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_58f9dad6b2307c4f_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN CASE WHEN "s" = 'a' THEN "x" END WHEN "__grebe_weight" > 0 THEN -CASE WHEN "s" = 'a' THEN "x" END ELSE CASE WHEN "s" = 'a' THEN "x" END END) AS "__grebe_58f9dad6b2307c4f_s_old" FROM (
  SELECT "a", "x", "s", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "x", "s", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", "x", "s", 1 AS "__grebe_weight" FROM (
        SELECT "a", "x", "s" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_a" FROM (
          SELECT "a" AS "__grebe_key_a" FROM r_delta
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "x", "s", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "x", "s", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "x", "s", "__grebe_weight" FROM (
        SELECT "a", "x", "s", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a", "x", "s", "__grebe_weight" FROM r_delta
        ) AS __grebe_q6
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
GROUP BY "a"
)
SELECT "a", "__grebe__count", "__grebe__sum", "__grebe_weight" FROM (
  SELECT "a", "__grebe_1e8fc637c69b0907_n_new" AS "__grebe__count", CASE WHEN "__grebe_58f9dad6b2307c4f_n_new" > 0 THEN "__grebe_58f9dad6b2307c4f_s_new" END AS "__grebe__sum", 1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_new" > 0
) AS __grebe_q11
UNION ALL
SELECT "a", "__grebe__count", "__grebe__sum", "__grebe_weight" FROM (
  SELECT "a", "__grebe_1e8fc637c69b0907_n_old" AS "__grebe__count", CASE WHEN "__grebe_58f9dad6b2307c4f_n_old" > 0 THEN "__grebe_58f9dad6b2307c4f_s_old" END AS "__grebe__sum", -1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_old" > 0
) AS __grebe_q12

-- title: spread
-- query
SELECT a, VAR_POP(x) AS v, STDDEV_SAMP(x) AS d FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__variance_pop_x", "__grebe__stddev_samp_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe__variance_pop_x", "__grebe__stddev_samp_x", 1 AS "__grebe_weight" FROM (
    SELECT "a", VAR_POP("x") AS "__grebe__variance_pop_x", STDDEV_SAMP("x") AS "__grebe__stddev_samp_x" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q3
    GROUP BY "a"
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "__grebe__variance_pop_x", "__grebe__stddev_samp_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe__variance_pop_x", "__grebe__stddev_samp_x", -1 AS "__grebe_weight" FROM (
    SELECT "a", VAR_POP("x") AS "__grebe__variance_pop_x", STDDEV_SAMP("x") AS "__grebe__stddev_samp_x" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
    GROUP BY "a"
  ) AS __grebe_q8
) AS __grebe_q9

-- title: correlation
-- query
SELECT a, CORR(x, b) AS c, COVAR_POP(x, b) AS v FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__corr_x", "__grebe__covar_pop_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe__corr_x", "__grebe__covar_pop_x", 1 AS "__grebe_weight" FROM (
    SELECT "a", CORR("x", "b") AS "__grebe__corr_x", COVAR_POP("x", "b") AS "__grebe__covar_pop_x" FROM (
      SELECT "a", "b", "x" FROM (
        SELECT "a", "b", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q3
    GROUP BY "a"
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "__grebe__corr_x", "__grebe__covar_pop_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe__corr_x", "__grebe__covar_pop_x", -1 AS "__grebe_weight" FROM (
    SELECT "a", CORR("x", "b") AS "__grebe__corr_x", COVAR_POP("x", "b") AS "__grebe__covar_pop_x" FROM (
      SELECT "a", "b", "x" FROM (
        SELECT "a", "b", "x" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
    GROUP BY "a"
  ) AS __grebe_q8
) AS __grebe_q9

-- title: booleans
-- query
SELECT a, BOOL_AND(k) AS e, BOOL_OR(k) AS o FROM s GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM s_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__logical_and_k", "__grebe__logical_or_k", "__grebe_weight" FROM (
  SELECT "a", "__grebe__logical_and_k", "__grebe__logical_or_k", 1 AS "__grebe_weight" FROM (
    SELECT "a", BOOL_AND(CAST("k" AS BOOLEAN)) AS "__grebe__logical_and_k", BOOL_OR(CAST("k" AS BOOLEAN)) AS "__grebe__logical_or_k" FROM (
      SELECT "a", "k" FROM (
        SELECT "a", "k" FROM s_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q3
    GROUP BY "a"
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "__grebe__logical_and_k", "__grebe__logical_or_k", "__grebe_weight" FROM (
  SELECT "a", "__grebe__logical_and_k", "__grebe__logical_or_k", -1 AS "__grebe_weight" FROM (
    SELECT "a", BOOL_AND(CAST("k" AS BOOLEAN)) AS "__grebe__logical_and_k", BOOL_OR(CAST("k" AS BOOLEAN)) AS "__grebe__logical_or_k" FROM (
      SELECT "a", "k" FROM (
        SELECT "a", "k" FROM s_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
    GROUP BY "a"
  ) AS __grebe_q8
) AS __grebe_q9

-- title: collections
-- query
SELECT a, ARRAY_AGG(x ORDER BY x) AS xs, STRING_AGG(s, ',' ORDER BY s) AS ss FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__array_agg", "__grebe__group_concat", "__grebe_weight" FROM (
  SELECT "a", "__grebe__array_agg", "__grebe__group_concat", 1 AS "__grebe_weight" FROM (
    SELECT "a", ARRAY_AGG("x" ORDER BY "x") AS "__grebe__array_agg", LISTAGG("s", ',' ORDER BY "s") AS "__grebe__group_concat" FROM (
      SELECT "a", "x", "s" FROM (
        SELECT "a", "x", "s" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q3
    GROUP BY "a"
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "__grebe__array_agg", "__grebe__group_concat", "__grebe_weight" FROM (
  SELECT "a", "__grebe__array_agg", "__grebe__group_concat", -1 AS "__grebe_weight" FROM (
    SELECT "a", ARRAY_AGG("x" ORDER BY "x") AS "__grebe__array_agg", LISTAGG("s", ',' ORDER BY "s") AS "__grebe__group_concat" FROM (
      SELECT "a", "x", "s" FROM (
        SELECT "a", "x", "s" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
    GROUP BY "a"
  ) AS __grebe_q8
) AS __grebe_q9

-- title: percentiles
-- query
SELECT a, MEDIAN(x) AS m FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__median_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe__median_x", 1 AS "__grebe_weight" FROM (
    SELECT "a", MEDIAN("x") AS "__grebe__median_x" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q3
    GROUP BY "a"
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "__grebe__median_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe__median_x", -1 AS "__grebe_weight" FROM (
    SELECT "a", MEDIAN("x") AS "__grebe__median_x" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
    GROUP BY "a"
  ) AS __grebe_q8
) AS __grebe_q9

-- title: bits
-- query
SELECT a, BIT_AND(x) AS e, BIT_OR(x) AS o, BIT_XOR(x) AS d FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__bitwise_and_agg_x", "__grebe__bitwise_or_agg_x", "__grebe__bitwise_xor_agg_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe__bitwise_and_agg_x", "__grebe__bitwise_or_agg_x", "__grebe__bitwise_xor_agg_x", 1 AS "__grebe_weight" FROM (
    SELECT "a", BIT_AND("x") AS "__grebe__bitwise_and_agg_x", BIT_OR("x") AS "__grebe__bitwise_or_agg_x", BIT_XOR("x") AS "__grebe__bitwise_xor_agg_x" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q3
    GROUP BY "a"
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "__grebe__bitwise_and_agg_x", "__grebe__bitwise_or_agg_x", "__grebe__bitwise_xor_agg_x", "__grebe_weight" FROM (
  SELECT "a", "__grebe__bitwise_and_agg_x", "__grebe__bitwise_or_agg_x", "__grebe__bitwise_xor_agg_x", -1 AS "__grebe_weight" FROM (
    SELECT "a", BIT_AND("x") AS "__grebe__bitwise_and_agg_x", BIT_OR("x") AS "__grebe__bitwise_or_agg_x", BIT_XOR("x") AS "__grebe__bitwise_xor_agg_x" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
    GROUP BY "a"
  ) AS __grebe_q8
) AS __grebe_q9

-- title: without GROUP BY
-- query
SELECT COUNT(*) AS n, SUM(x) AS t, MAX(s) AS high FROM r
-- delta
SELECT "__grebe__count", "__grebe__sum_x", "__grebe__max_s", "__grebe_weight" FROM (
  SELECT "__grebe__count", "__grebe__sum_x", "__grebe__max_s", 1 AS "__grebe_weight" FROM (
    SELECT COUNT(*) AS "__grebe__count", SUM("x") AS "__grebe__sum_x", MAX("s") AS "__grebe__max_s" FROM (
      SELECT "x", "s" FROM r_new
    ) AS __grebe_q1
  ) AS __grebe_q2
) AS __grebe_q3
UNION ALL
SELECT "__grebe__count", "__grebe__sum_x", "__grebe__max_s", "__grebe_weight" FROM (
  SELECT "__grebe__count", "__grebe__sum_x", "__grebe__max_s", -1 AS "__grebe_weight" FROM (
    SELECT COUNT(*) AS "__grebe__count", SUM("x") AS "__grebe__sum_x", MAX("s") AS "__grebe__max_s" FROM (
      SELECT "x", "s" FROM r_old
    ) AS __grebe_q4
  ) AS __grebe_q5
) AS __grebe_q6

-- title: over a join
-- query
SELECT s.c, SUM(r.x) AS t FROM r JOIN s ON r.a = s.a GROUP BY s.c
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q3
  JOIN (
    SELECT "__grebe__a_2", "c" FROM (
      SELECT "a" AS "__grebe__a_2", "c" FROM s_old
    ) AS __grebe_q4
  ) AS __grebe_q5 ON "a" = "__grebe__a_2"
) AS __grebe_q6
UNION ALL
SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
  ) AS __grebe_q7
  JOIN (
    SELECT "a", "x" FROM r_new
  ) AS __grebe_q8 ON "a" = "__grebe__a_2"
) AS __grebe_q9
),
__grebe_c2 AS (
SELECT "c", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" END) AS "__grebe_6d6f773a11561dcc_s_new", CAST(SUM(CASE WHEN NOT ((NOT "x" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_6d6f773a11561dcc_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN "x" WHEN "__grebe_weight" > 0 THEN -"x" ELSE "x" END) AS "__grebe_6d6f773a11561dcc_s_old" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", "x", "__grebe__a_2", "c", 1 AS "__grebe_weight" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      JOIN (
        SELECT "__grebe__a_2", "c" FROM (
          SELECT "a" AS "__grebe__a_2", "c" FROM s_new
        ) AS __grebe_q2
        SEMI JOIN (
          SELECT DISTINCT "__grebe_key_c" FROM (
            SELECT "c" AS "__grebe_key_c" FROM (
              SELECT "a", "x", "__grebe__a_2", "c", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
              GROUP BY "a", "x", "__grebe__a_2", "c"
              HAVING SUM("__grebe_weight") <> 0
            ) AS __grebe_q10
          ) AS __grebe_q11
        ) AS __grebe_q12 ON "c" IS NOT DISTINCT FROM "__grebe_key_c"
      ) AS __grebe_q13 ON "a" = "__grebe__a_2"
    ) AS __grebe_q14
  ) AS __grebe_q15
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
        SELECT "a", "x", "__grebe__a_2", "c", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c1
      ) AS __grebe_q16
    ) AS __grebe_q17
  ) AS __grebe_q18
) AS __grebe_q19
GROUP BY "c"
)
SELECT "c", "__grebe__sum_x", "__grebe_weight" FROM (
  SELECT "c", CASE WHEN "__grebe_6d6f773a11561dcc_n_new" > 0 THEN "__grebe_6d6f773a11561dcc_s_new" END AS "__grebe__sum_x", 1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_new" > 0
) AS __grebe_q20
UNION ALL
SELECT "c", "__grebe__sum_x", "__grebe_weight" FROM (
  SELECT "c", CASE WHEN "__grebe_6d6f773a11561dcc_n_old" > 0 THEN "__grebe_6d6f773a11561dcc_s_old" END AS "__grebe__sum_x", -1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_old" > 0
) AS __grebe_q21

-- title: expressions over aggregates
-- query
SELECT a, SUM(x) + 1 AS t, COALESCE(MAX(x), 0) - MIN(x) AS w FROM r GROUP BY a
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "__grebe__sum_x" + 1 AS "t", COALESCE("__grebe__max_x", 0) - "__grebe__min_x" AS "w", "__grebe_weight" FROM (
  SELECT "a", "__grebe__sum_x", "__grebe__max_x", "__grebe__min_x", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a", "__grebe__sum_x", "__grebe__max_x", "__grebe__min_x", "__grebe_weight" FROM (
      SELECT "a", "__grebe__sum_x", "__grebe__max_x", "__grebe__min_x", 1 AS "__grebe_weight" FROM (
        SELECT "a", SUM("x") AS "__grebe__sum_x", MAX("x") AS "__grebe__max_x", MIN("x") AS "__grebe__min_x" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_new
          ) AS __grebe_q1
          SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
        ) AS __grebe_q3
        GROUP BY "a"
      ) AS __grebe_q4
    ) AS __grebe_q5
    UNION ALL
    SELECT "a", "__grebe__sum_x", "__grebe__max_x", "__grebe__min_x", "__grebe_weight" FROM (
      SELECT "a", "__grebe__sum_x", "__grebe__max_x", "__grebe__min_x", -1 AS "__grebe_weight" FROM (
        SELECT "a", SUM("x") AS "__grebe__sum_x", MAX("x") AS "__grebe__max_x", MIN("x") AS "__grebe__min_x" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_old
          ) AS __grebe_q6
          SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
        ) AS __grebe_q7
        GROUP BY "a"
      ) AS __grebe_q8
    ) AS __grebe_q9
  ) AS __grebe_q10
  GROUP BY "a", "__grebe__sum_x", "__grebe__max_x", "__grebe__min_x"
  HAVING SUM("__grebe_weight") <> 0
) AS __grebe_q11

-- title: of an aggregate
-- query
SELECT n, COUNT(*) AS groups FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) AS q GROUP BY n
-- delta
WITH __grebe_c1 AS (
SELECT "a", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "a", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", 1 AS "__grebe_weight" FROM (
        SELECT "a" FROM r_new
      ) AS __grebe_q3
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_a" FROM (
          SELECT "a" AS "__grebe_key_a" FROM r_delta
        ) AS __grebe_q4
      ) AS __grebe_q5 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q6
  ) AS __grebe_q7
  UNION ALL
  SELECT "a", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "__grebe_weight" FROM (
        SELECT "a", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a", "__grebe_weight" FROM r_delta
        ) AS __grebe_q8
      ) AS __grebe_q9
    ) AS __grebe_q10
  ) AS __grebe_q11
) AS __grebe_q12
GROUP BY "a"
),
__grebe_c2 AS (
SELECT "a", "count", "__grebe_weight" FROM (
  SELECT "a", "__grebe_f6fc42039fba3776_n_new" AS "count", 1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_new" > 0
) AS __grebe_q13
UNION ALL
SELECT "a", "count", "__grebe_weight" FROM (
  SELECT "a", "__grebe_f6fc42039fba3776_n_old" AS "count", -1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_old" > 0
) AS __grebe_q14
),
__grebe_c3 AS (
SELECT "count", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "a", "count", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "count", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", "count", 1 AS "__grebe_weight" FROM (
        SELECT "a", COUNT(*) AS "count" FROM (
          SELECT "a" FROM r_new
        ) AS __grebe_q1
        GROUP BY "a"
      ) AS __grebe_q2
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_count" FROM (
          SELECT "count" AS "__grebe_key_count" FROM (
            SELECT "a", "count", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c2
            GROUP BY "a", "count"
            HAVING SUM("__grebe_weight") <> 0
          ) AS __grebe_q15
        ) AS __grebe_q16
      ) AS __grebe_q17 ON "count" IS NOT DISTINCT FROM "__grebe_key_count"
    ) AS __grebe_q18
  ) AS __grebe_q19
  UNION ALL
  SELECT "a", "count", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "count", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "count", "__grebe_weight" FROM (
        SELECT "a", "count", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c2
      ) AS __grebe_q20
    ) AS __grebe_q21
  ) AS __grebe_q22
) AS __grebe_q23
GROUP BY "count"
)
SELECT "count", "__grebe__count_2", "__grebe_weight" FROM (
  SELECT "count", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count_2", 1 AS "__grebe_weight" FROM __grebe_c3
  WHERE "__grebe_count_new" > 0
) AS __grebe_q24
UNION ALL
SELECT "count", "__grebe__count_2", "__grebe_weight" FROM (
  SELECT "count", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count_2", -1 AS "__grebe_weight" FROM __grebe_c3
  WHERE "__grebe_count_old" > 0
) AS __grebe_q25
