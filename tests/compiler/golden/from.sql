-- title: CTE used twice
-- query
WITH q AS (SELECT a, SUM(x) AS t FROM r GROUP BY a) SELECT p.a, p.t, o.t AS u FROM q AS p JOIN q AS o ON p.a = o.t
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
SELECT "a", "sum_x", "__grebe_weight" FROM (
  SELECT "a", CASE WHEN "__grebe_6d6f773a11561dcc_n_new" > 0 THEN "__grebe_6d6f773a11561dcc_s_new" END AS "sum_x", 1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_new" > 0
) AS __grebe_q11
UNION ALL
SELECT "a", "sum_x", "__grebe_weight" FROM (
  SELECT "a", CASE WHEN "__grebe_6d6f773a11561dcc_n_old" > 0 THEN "__grebe_6d6f773a11561dcc_s_old" END AS "sum_x", -1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_old" > 0
) AS __grebe_q12
),
__grebe_c3 AS (
SELECT "__grebe__a_2", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT "__grebe__x_2" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_d2d39261eddd4273_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN "__grebe__x_2" END) AS "__grebe_d2d39261eddd4273_s_new", CAST(SUM(CASE WHEN NOT ((NOT "__grebe__x_2" IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_d2d39261eddd4273_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN "__grebe__x_2" WHEN "__grebe_weight" > 0 THEN -"__grebe__x_2" ELSE "__grebe__x_2" END) AS "__grebe_d2d39261eddd4273_s_old" FROM (
  SELECT "__grebe__a_2", "__grebe__x_2", "__grebe_weight", "__grebe_side" FROM (
    SELECT "__grebe__a_2", "__grebe__x_2", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "__grebe__a_2", "__grebe__x_2", 1 AS "__grebe_weight" FROM (
        SELECT "a" AS "__grebe__a_2", "x" AS "__grebe__x_2" FROM r_new
      ) AS __grebe_q19
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key___grebe__a_2" FROM (
          SELECT "__grebe__a_2" AS "__grebe_key___grebe__a_2" FROM (
            SELECT "a" AS "__grebe__a_2", "x" AS "__grebe__x_2", "__grebe_weight" FROM r_delta
          ) AS __grebe_q20
        ) AS __grebe_q21
      ) AS __grebe_q22 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key___grebe__a_2"
    ) AS __grebe_q23
  ) AS __grebe_q24
  UNION ALL
  SELECT "__grebe__a_2", "__grebe__x_2", "__grebe_weight", "__grebe_side" FROM (
    SELECT "__grebe__a_2", "__grebe__x_2", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "__grebe__a_2", "__grebe__x_2", "__grebe_weight" FROM (
        SELECT "__grebe__a_2", "__grebe__x_2", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a" AS "__grebe__a_2", "x" AS "__grebe__x_2", "__grebe_weight" FROM r_delta
        ) AS __grebe_q25
      ) AS __grebe_q26
    ) AS __grebe_q27
  ) AS __grebe_q28
) AS __grebe_q29
GROUP BY "__grebe__a_2"
),
__grebe_c4 AS (
SELECT "__grebe__a_2", "sum_x_2", "__grebe_weight" FROM (
  SELECT "__grebe__a_2", CASE WHEN "__grebe_d2d39261eddd4273_n_new" > 0 THEN "__grebe_d2d39261eddd4273_s_new" END AS "sum_x_2", 1 AS "__grebe_weight" FROM __grebe_c3
  WHERE "__grebe_count_new" > 0
) AS __grebe_q30
UNION ALL
SELECT "__grebe__a_2", "sum_x_2", "__grebe_weight" FROM (
  SELECT "__grebe__a_2", CASE WHEN "__grebe_d2d39261eddd4273_n_old" > 0 THEN "__grebe_d2d39261eddd4273_s_old" END AS "sum_x_2", -1 AS "__grebe_weight" FROM __grebe_c3
  WHERE "__grebe_count_old" > 0
) AS __grebe_q31
)
SELECT "a", "sum_x", "sum_x_2", "__grebe_weight" FROM (
  SELECT "a", "sum_x", "__grebe__a_2", "sum_x_2", "__grebe_weight" FROM (
    SELECT "a", "sum_x", "__grebe__a_2", "sum_x_2", "__grebe_weight" FROM __grebe_c2
    JOIN (
      SELECT "__grebe__a_2", "sum_x_2" FROM (
        SELECT "__grebe__a_2", SUM("__grebe__x_2") AS "sum_x_2" FROM (
          SELECT "a" AS "__grebe__a_2", "x" AS "__grebe__x_2" FROM r_old
        ) AS __grebe_q13
        GROUP BY "__grebe__a_2"
      ) AS __grebe_q14
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_sum_x_2" FROM (
          SELECT "a" AS "__grebe_key_sum_x_2" FROM __grebe_c2
        ) AS __grebe_q15
      ) AS __grebe_q16 ON "sum_x_2" IS NOT DISTINCT FROM "__grebe_key_sum_x_2"
    ) AS __grebe_q17 ON "a" = "sum_x_2"
  ) AS __grebe_q18
  UNION ALL
  SELECT "a", "sum_x", "__grebe__a_2", "sum_x_2", "__grebe_weight" FROM (
    SELECT "a", "sum_x", "__grebe__a_2", "sum_x_2", "__grebe_weight" FROM __grebe_c4
    JOIN (
      SELECT "a", SUM("x") AS "sum_x" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_new
        ) AS __grebe_q32
        SEMI JOIN (
          SELECT DISTINCT "__grebe_key_a" FROM (
            SELECT "sum_x_2" AS "__grebe_key_a" FROM __grebe_c4
          ) AS __grebe_q33
        ) AS __grebe_q34 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      ) AS __grebe_q35
      GROUP BY "a"
    ) AS __grebe_q36 ON "a" = "sum_x_2"
  ) AS __grebe_q37
) AS __grebe_q38

-- title: CTE that shadows a table
-- query
WITH s AS (SELECT a, x FROM r WHERE x > 0) SELECT a, x FROM s
-- delta
SELECT "a", "x", "__grebe_weight" FROM r_delta
WHERE "x" > 0

-- title: chained CTEs
-- query
WITH p AS (SELECT a, x FROM r WHERE x > 0), q AS (SELECT a, COUNT(*) AS n FROM p GROUP BY a) SELECT a, n FROM q WHERE n > 1
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x", "__grebe_weight" FROM r_delta
WHERE "x" > 0
),
__grebe_c2 AS (
SELECT "a", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "a", "x", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "x", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", "x", 1 AS "__grebe_weight" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_a" FROM (
          SELECT "a" AS "__grebe_key_a" FROM __grebe_c1
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      WHERE "x" > 0
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "x", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "x", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c1
      ) AS __grebe_q6
    ) AS __grebe_q7
  ) AS __grebe_q8
) AS __grebe_q9
GROUP BY "a"
)
SELECT "a", "__grebe__count", "__grebe_weight" FROM (
  SELECT "a", "__grebe__count", "__grebe_weight" FROM (
    SELECT "a", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count", 1 AS "__grebe_weight" FROM __grebe_c2
    WHERE "__grebe_count_new" > 0
  ) AS __grebe_q10
  UNION ALL
  SELECT "a", "__grebe__count", "__grebe_weight" FROM (
    SELECT "a", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count", -1 AS "__grebe_weight" FROM __grebe_c2
    WHERE "__grebe_count_old" > 0
  ) AS __grebe_q11
) AS __grebe_q12
WHERE "__grebe__count" > 1

-- title: subquery in FROM
-- query
SELECT q.k, COUNT(*) AS n FROM (SELECT a + 1 AS k FROM r) AS q GROUP BY q.k
-- delta
WITH __grebe_c1 AS (
SELECT "a" + 1 AS "k", "__grebe_weight" FROM r_delta
),
__grebe_c2 AS (
SELECT "k", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "k", "__grebe_weight", "__grebe_side" FROM (
    SELECT "k", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "k", 1 AS "__grebe_weight" FROM (
        SELECT "a" + 1 AS "k" FROM (
          SELECT "a" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN (
          SELECT DISTINCT "__grebe_key_k" FROM (
            SELECT "k" AS "__grebe_key_k" FROM (
              SELECT "k", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
              GROUP BY "k"
              HAVING SUM("__grebe_weight") <> 0
            ) AS __grebe_q2
          ) AS __grebe_q3
        ) AS __grebe_q4 ON TRY("a" + 1) IS NOT DISTINCT FROM "__grebe_key_k"
      ) AS __grebe_q5
    ) AS __grebe_q6
  ) AS __grebe_q7
  UNION ALL
  SELECT "k", "__grebe_weight", "__grebe_side" FROM (
    SELECT "k", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "k", "__grebe_weight" FROM (
        SELECT "k", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c1
      ) AS __grebe_q8
    ) AS __grebe_q9
  ) AS __grebe_q10
) AS __grebe_q11
GROUP BY "k"
)
SELECT "k", "__grebe__count", "__grebe_weight" FROM (
  SELECT "k", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count", 1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_new" > 0
) AS __grebe_q12
UNION ALL
SELECT "k", "__grebe__count", "__grebe_weight" FROM (
  SELECT "k", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count", -1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_old" > 0
) AS __grebe_q13

-- title: VALUES
-- query
SELECT r.x, v.name FROM r JOIN (VALUES (1, 'one'), (2, 'two')) AS v(id, name) ON r.a = v.id
-- delta
SELECT "x", "name", "__grebe_weight" FROM (
  SELECT "a", "x", "id", "name", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe_weight" FROM r_delta
  ) AS __grebe_q1
  JOIN (
    SELECT "id", "name" FROM (VALUES (1, 'one'), (2, 'two')) AS __grebe_q2("id", "name")
  ) AS __grebe_q3 ON COALESCE("a") = "id"
) AS __grebe_q4

-- title: LATERAL
-- query
SELECT r.a, q.m FROM r, LATERAL (SELECT MAX(s.c) AS m FROM s WHERE s.a = r.a) AS q
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key___grebe__a_4" FROM (
  SELECT "a" AS "__grebe_key___grebe__a_4" FROM r_delta
) AS __grebe_q3
),
__grebe_c2 AS (
SELECT "a" FROM (
  SELECT "a" FROM r_old
) AS __grebe_q2
SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key___grebe__a_4"
),
__grebe_c3 AS (
SELECT "a" AS "__grebe__a_4", "__grebe_weight" FROM r_delta
),
__grebe_c4 AS (
SELECT "__grebe__a_4", 1 AS "__grebe_weight" FROM (
  SELECT DISTINCT "__grebe__a_4" FROM (
    SELECT "a" AS "__grebe__a_4" FROM (
      SELECT "a" FROM r_old
    ) AS __grebe_q24
    SEMI JOIN (
      SELECT DISTINCT "__grebe_key_tie_0" FROM (
        SELECT "__grebe_key_tie_0" FROM (
          SELECT "__grebe__a_3" AS "__grebe_key_tie_0" FROM (
            SELECT "a" AS "__grebe__a_3", "__grebe_weight" FROM r_delta
          ) AS __grebe_q25
        ) AS __grebe_q26
        UNION ALL
        SELECT "__grebe_key_tie_0" FROM (
          SELECT "__grebe__a_2" AS "__grebe_key_tie_0" FROM (
            SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
          ) AS __grebe_q27
        ) AS __grebe_q28
      ) AS __grebe_q29
    ) AS __grebe_q30 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
  ) AS __grebe_q31
) AS __grebe_q32
),
__grebe_c5 AS (
SELECT "__grebe__a_4", "__grebe_weight" FROM (
  SELECT "__grebe__a_4", "__grebe_weight" FROM (
    SELECT "__grebe__a_4", CAST(CASE WHEN "__grebe_left_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
      SELECT "__grebe__a_4", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
        SELECT "__grebe__a_4", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
          SELECT "__grebe__a_4", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
            SELECT "a" AS "__grebe__a_4" FROM (
              SELECT "a" FROM r_new
            ) AS __grebe_q14
            SEMI JOIN (
              SELECT DISTINCT "__grebe_key___grebe__a_4" FROM (
                SELECT "__grebe__a_4" AS "__grebe_key___grebe__a_4" FROM __grebe_c3
              ) AS __grebe_q15
            ) AS __grebe_q16 ON "a" IS NOT DISTINCT FROM "__grebe_key___grebe__a_4"
          ) AS __grebe_q17
        ) AS __grebe_q18
        UNION ALL
        SELECT "__grebe__a_4", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
          SELECT "__grebe__a_4", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c3
        ) AS __grebe_q19
      ) AS __grebe_q20
      GROUP BY "__grebe__a_4"
    ) AS __grebe_q21
  ) AS __grebe_q22
  WHERE "__grebe_weight" <> 0
) AS __grebe_q23
UNION ALL
SELECT "__grebe__a_4", "__grebe_weight" FROM __grebe_c4
),
__grebe_c6 AS (
SELECT DISTINCT "__grebe_key_tie_0" FROM (
  SELECT "__grebe__a_4" AS "__grebe_key_tie_0" FROM __grebe_c5
) AS __grebe_q34
)
SELECT "a", "max_c", "__grebe_weight" FROM (
  SELECT "a", "max_c", "__grebe__a_4", "__grebe_weight" FROM (
    SELECT "a", "max_c", "__grebe__a_4", "__grebe_weight" FROM (
      SELECT "a", "__grebe_weight" FROM r_delta
    ) AS __grebe_q1
    JOIN (
      SELECT "max_c", "__grebe__a_4" FROM (
        SELECT DISTINCT "__grebe__a_4" FROM (
          SELECT "a" AS "__grebe__a_4" FROM __grebe_c2
        ) AS __grebe_q4
      ) AS __grebe_q5
      LEFT JOIN (
        SELECT "__grebe__a_3", MAX("c") AS "max_c" FROM (
          SELECT "__grebe__a_3", "__grebe__a_2", "c" FROM (
            SELECT DISTINCT "__grebe__a_3" FROM (
              SELECT "a" AS "__grebe__a_3" FROM __grebe_c2
            ) AS __grebe_q6
          ) AS __grebe_q7
          JOIN (
            SELECT "__grebe__a_2", "c" FROM (
              SELECT "a" AS "__grebe__a_2", "c" FROM s_old
            ) AS __grebe_q8
            SEMI JOIN __grebe_c1 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key___grebe__a_4"
          ) AS __grebe_q9 ON "__grebe__a_2" = "__grebe__a_3"
        ) AS __grebe_q10
        GROUP BY "__grebe__a_3"
      ) AS __grebe_q11 ON "__grebe__a_4" IS NOT DISTINCT FROM "__grebe__a_3"
    ) AS __grebe_q12 ON "a" IS NOT DISTINCT FROM "__grebe__a_4"
  ) AS __grebe_q13
  UNION ALL
  SELECT "a", "max_c", "__grebe__a_4", "__grebe_weight" FROM (
    SELECT "a", "max_c", "__grebe__a_4", "__grebe_weight" FROM (
      SELECT "max_c", "__grebe__a_4", "__grebe_weight" FROM (
        SELECT "__grebe__a_4", "__grebe__a_3", "max_c", "__grebe_weight" FROM (
          SELECT "__grebe__a_4", "__grebe__a_3", "max_c", "__grebe_weight" FROM __grebe_c5
          LEFT JOIN (
            SELECT "__grebe__a_3", MAX("c") AS "max_c" FROM (
              SELECT "__grebe__a_3", "__grebe__a_2", "c" FROM (
                SELECT DISTINCT "__grebe__a_3" FROM (
                  SELECT "a" AS "__grebe__a_3" FROM (
                    SELECT "a" FROM r_new
                  ) AS __grebe_q33
                  SEMI JOIN __grebe_c6 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
                ) AS __grebe_q35
              ) AS __grebe_q36
              JOIN (
                SELECT "__grebe__a_2", "c" FROM (
                  SELECT "a" AS "__grebe__a_2", "c" FROM s_new
                ) AS __grebe_q37
                SEMI JOIN __grebe_c6 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
              ) AS __grebe_q38 ON "__grebe__a_2" = "__grebe__a_3"
            ) AS __grebe_q39
            GROUP BY "__grebe__a_3"
          ) AS __grebe_q40 ON "__grebe__a_4" IS NOT DISTINCT FROM "__grebe__a_3"
        ) AS __grebe_q41
        UNION ALL
        SELECT "__grebe__a_4", "__grebe__a_3", "max_c", "__grebe_weight" FROM (
          SELECT "__grebe__a_4", "__grebe__a_3", "max_c", -"__grebe_weight" AS "__grebe_weight" FROM __grebe_c4
          LEFT JOIN (
            SELECT "__grebe__a_3", MAX("c") AS "max_c" FROM (
              SELECT "__grebe__a_3", "__grebe__a_2", "c" FROM (
                SELECT DISTINCT "__grebe__a_3" FROM (
                  SELECT "a" AS "__grebe__a_3" FROM (
                    SELECT "a" FROM r_old
                  ) AS __grebe_q42
                  SEMI JOIN __grebe_c6 ON "a" IS NOT DISTINCT FROM "__grebe_key_tie_0"
                ) AS __grebe_q43
              ) AS __grebe_q44
              JOIN (
                SELECT "__grebe__a_2", "c" FROM (
                  SELECT "a" AS "__grebe__a_2", "c" FROM s_old
                ) AS __grebe_q45
                SEMI JOIN __grebe_c6 ON "__grebe__a_2" IS NOT DISTINCT FROM "__grebe_key_tie_0"
              ) AS __grebe_q46 ON "__grebe__a_2" = "__grebe__a_3"
            ) AS __grebe_q47
            GROUP BY "__grebe__a_3"
          ) AS __grebe_q48 ON "__grebe__a_4" IS NOT DISTINCT FROM "__grebe__a_3"
        ) AS __grebe_q49
      ) AS __grebe_q50
    ) AS __grebe_q51
    JOIN (
      SELECT "a" FROM r_new
    ) AS __grebe_q52 ON "a" IS NOT DISTINCT FROM "__grebe__a_4"
  ) AS __grebe_q53
) AS __grebe_q54
