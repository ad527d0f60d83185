-- title: ranks
-- query
SELECT a, x, RANK() OVER (PARTITION BY a ORDER BY x) AS k, DENSE_RANK() OVER (PARTITION BY a ORDER BY x) AS d FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a" AS "a__key" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "x", "rank", "dense_rank", "__grebe_weight" FROM (
  SELECT "a", "x", "rank", "dense_rank", 1 AS "__grebe_weight" FROM (
    SELECT "a", "x", RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "rank", DENSE_RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "dense_rank" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
    ) AS __grebe_q3
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "x", "rank", "dense_rank", "__grebe_weight" FROM (
  SELECT "a", "x", "rank", "dense_rank", -1 AS "__grebe_weight" FROM (
    SELECT "a", "x", RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "rank", DENSE_RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "dense_rank" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
    ) AS __grebe_q7
  ) AS __grebe_q8
) AS __grebe_q9

-- title: LAG and LEAD
-- query
SELECT a, x, LAG(x) OVER (PARTITION BY a ORDER BY x) AS p, LEAD(x) OVER (PARTITION BY a ORDER BY x) AS n FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a" AS "a__key" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "x", "lag", "lead", "__grebe_weight" FROM (
  SELECT "a", "x", "lag", "lead", 1 AS "__grebe_weight" FROM (
    SELECT "a", "x", LAG("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "lag", LEAD("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "lead" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
    ) AS __grebe_q3
  ) AS __grebe_q4
) AS __grebe_q5
UNION ALL
SELECT "a", "x", "lag", "lead", "__grebe_weight" FROM (
  SELECT "a", "x", "lag", "lead", -1 AS "__grebe_weight" FROM (
    SELECT "a", "x", LAG("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "lag", LEAD("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "lead" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_old
      ) AS __grebe_q6
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
    ) AS __grebe_q7
  ) AS __grebe_q8
) AS __grebe_q9

-- title: running and sliding frames
-- query
SELECT a, x, SUM(x) OVER (PARTITION BY a ORDER BY x) AS run, SUM(x) OVER (PARTITION BY a ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS slide FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a" AS "a__key" FROM r_delta
) AS __grebe_q3
),
__grebe_c2 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a" AS "a__key" FROM (
    SELECT "a", "x", "sum", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
      SELECT "a", "x", "sum", "__grebe_weight" FROM (
        SELECT "a", "x", "sum", 1 AS "__grebe_weight" FROM (
          SELECT "a", "x", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "sum" FROM (
            SELECT "a", "x" FROM (
              SELECT "a", "x" FROM r_new
            ) AS __grebe_q2
            SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
          ) AS __grebe_q4
        ) AS __grebe_q5
      ) AS __grebe_q6
      UNION ALL
      SELECT "a", "x", "sum", "__grebe_weight" FROM (
        SELECT "a", "x", "sum", -1 AS "__grebe_weight" FROM (
          SELECT "a", "x", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "sum" FROM (
            SELECT "a", "x" FROM (
              SELECT "a", "x" FROM r_old
            ) AS __grebe_q7
            SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
          ) AS __grebe_q8
        ) AS __grebe_q9
      ) AS __grebe_q10
    ) AS __grebe_q11
    GROUP BY "a", "x", "sum"
    HAVING SUM("__grebe_weight") <> 0
  ) AS __grebe_q12
) AS __grebe_q13
)
SELECT "a", "x", "sum", "sum_2", "__grebe_weight" FROM (
  SELECT "a", "x", "sum", "sum_2", 1 AS "__grebe_weight" FROM (
    SELECT "a", "x", "sum", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC, "sum" ASC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS "sum_2" FROM (
      SELECT "a", "x", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "sum" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
      ) AS __grebe_q14
    ) AS __grebe_q15
  ) AS __grebe_q16
) AS __grebe_q17
UNION ALL
SELECT "a", "x", "sum", "sum_2", "__grebe_weight" FROM (
  SELECT "a", "x", "sum", "sum_2", -1 AS "__grebe_weight" FROM (
    SELECT "a", "x", "sum", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC, "sum" ASC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS "sum_2" FROM (
      SELECT "a", "x", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "sum" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_old
        ) AS __grebe_q18
        SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
      ) AS __grebe_q19
    ) AS __grebe_q20
  ) AS __grebe_q21
) AS __grebe_q22

-- title: NTILE and CUME_DIST
-- query
SELECT a, x, NTILE(2) OVER (PARTITION BY a ORDER BY x) AS h, CUME_DIST() OVER (PARTITION BY a ORDER BY x) AS c FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a" AS "a__key" FROM r_delta
) AS __grebe_q3
),
__grebe_c2 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a" AS "a__key" FROM (
    SELECT "a", "x", "cume_dist", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
      SELECT "a", "x", "cume_dist", "__grebe_weight" FROM (
        SELECT "a", "x", "cume_dist", 1 AS "__grebe_weight" FROM (
          SELECT "a", "x", CUME_DIST() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "cume_dist" FROM (
            SELECT "a", "x" FROM (
              SELECT "a", "x" FROM r_new
            ) AS __grebe_q2
            SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
          ) AS __grebe_q4
        ) AS __grebe_q5
      ) AS __grebe_q6
      UNION ALL
      SELECT "a", "x", "cume_dist", "__grebe_weight" FROM (
        SELECT "a", "x", "cume_dist", -1 AS "__grebe_weight" FROM (
          SELECT "a", "x", CUME_DIST() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "cume_dist" FROM (
            SELECT "a", "x" FROM (
              SELECT "a", "x" FROM r_old
            ) AS __grebe_q7
            SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
          ) AS __grebe_q8
        ) AS __grebe_q9
      ) AS __grebe_q10
    ) AS __grebe_q11
    GROUP BY "a", "x", "cume_dist"
    HAVING SUM("__grebe_weight") <> 0
  ) AS __grebe_q12
) AS __grebe_q13
)
SELECT "a", "x", "ntile", "cume_dist", "__grebe_weight" FROM (
  SELECT "a", "x", "cume_dist", "ntile", "__grebe_weight" FROM (
    SELECT "a", "x", "cume_dist", "ntile", 1 AS "__grebe_weight" FROM (
      SELECT "a", "x", "cume_dist", NTILE(2) OVER (PARTITION BY "a" ORDER BY "x" ASC, "cume_dist" ASC NULLS FIRST) AS "ntile" FROM (
        SELECT "a", "x", CUME_DIST() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "cume_dist" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_new
          ) AS __grebe_q1
          SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
        ) AS __grebe_q14
      ) AS __grebe_q15
    ) AS __grebe_q16
  ) AS __grebe_q17
  UNION ALL
  SELECT "a", "x", "cume_dist", "ntile", "__grebe_weight" FROM (
    SELECT "a", "x", "cume_dist", "ntile", -1 AS "__grebe_weight" FROM (
      SELECT "a", "x", "cume_dist", NTILE(2) OVER (PARTITION BY "a" ORDER BY "x" ASC, "cume_dist" ASC NULLS FIRST) AS "ntile" FROM (
        SELECT "a", "x", CUME_DIST() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "cume_dist" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_old
          ) AS __grebe_q18
          SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
        ) AS __grebe_q19
      ) AS __grebe_q20
    ) AS __grebe_q21
  ) AS __grebe_q22
) AS __grebe_q23

-- title: different partitions
-- query
SELECT a, b, COUNT(*) OVER (PARTITION BY a) AS n, COUNT(*) OVER (PARTITION BY b) AS m FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a" AS "a__key" FROM r_delta
) AS __grebe_q4
),
__grebe_c2 AS (
SELECT DISTINCT "b__key" FROM (
  SELECT "b" AS "b__key" FROM (
    SELECT "a", "b", "count", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
      SELECT "a", "b", "count", "__grebe_weight" FROM (
        SELECT "a", "b", "count", 1 AS "__grebe_weight" FROM (
          SELECT "a", "b", COUNT(*) OVER (PARTITION BY "a") AS "count" FROM (
            SELECT "a", "b" FROM (
              SELECT "a", "b" FROM r_new
            ) AS __grebe_q3
            SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
          ) AS __grebe_q5
        ) AS __grebe_q6
      ) AS __grebe_q7
      UNION ALL
      SELECT "a", "b", "count", "__grebe_weight" FROM (
        SELECT "a", "b", "count", -1 AS "__grebe_weight" FROM (
          SELECT "a", "b", COUNT(*) OVER (PARTITION BY "a") AS "count" FROM (
            SELECT "a", "b" FROM (
              SELECT "a", "b" FROM r_old
            ) AS __grebe_q8
            SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
          ) AS __grebe_q9
        ) AS __grebe_q10
      ) AS __grebe_q11
    ) AS __grebe_q12
    GROUP BY "a", "b", "count"
    HAVING SUM("__grebe_weight") <> 0
  ) AS __grebe_q13
) AS __grebe_q14
)
SELECT "a", "b", "count", "count_2", "__grebe_weight" FROM (
  SELECT "a", "b", "count", "count_2", 1 AS "__grebe_weight" FROM (
    SELECT "a", "b", "count", COUNT(*) OVER (PARTITION BY "b") AS "count_2" FROM (
      SELECT "a", "b", "count" FROM (
        SELECT "a", "b", COUNT(*) OVER (PARTITION BY "a") AS "count" FROM (
          SELECT "a", "b" FROM r_new
        ) AS __grebe_q1
      ) AS __grebe_q2
      SEMI JOIN __grebe_c2 ON "b" IS NOT DISTINCT FROM "b__key"
    ) AS __grebe_q15
  ) AS __grebe_q16
) AS __grebe_q17
UNION ALL
SELECT "a", "b", "count", "count_2", "__grebe_weight" FROM (
  SELECT "a", "b", "count", "count_2", -1 AS "__grebe_weight" FROM (
    SELECT "a", "b", "count", COUNT(*) OVER (PARTITION BY "b") AS "count_2" FROM (
      SELECT "a", "b", "count" FROM (
        SELECT "a", "b", COUNT(*) OVER (PARTITION BY "a") AS "count" FROM (
          SELECT "a", "b" FROM r_old
        ) AS __grebe_q18
      ) AS __grebe_q19
      SEMI JOIN __grebe_c2 ON "b" IS NOT DISTINCT FROM "b__key"
    ) AS __grebe_q20
  ) AS __grebe_q21
) AS __grebe_q22

-- title: over an aggregate
-- query
SELECT a, b, COUNT(*) AS n, RANK() OVER (PARTITION BY a ORDER BY COUNT(*)) AS k FROM r GROUP BY a, b
-- delta
WITH __grebe_c1 AS (
SELECT "a", "b", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "a", "b", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "b", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", "b", 1 AS "__grebe_weight" FROM (
        SELECT "a", "b" FROM r_new
      ) AS __grebe_q2
      SEMI JOIN (
        SELECT DISTINCT "a__key", "b__key" FROM (
          SELECT "a" AS "a__key", "b" AS "b__key" FROM r_delta
        ) AS __grebe_q3
      ) AS __grebe_q4 ON "a" IS NOT DISTINCT FROM "a__key" AND "b" IS NOT DISTINCT FROM "b__key"
    ) AS __grebe_q5
  ) AS __grebe_q6
  UNION ALL
  SELECT "a", "b", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "b", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "b", "__grebe_weight" FROM (
        SELECT "a", "b", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a", "b", "__grebe_weight" FROM r_delta
        ) AS __grebe_q7
      ) AS __grebe_q8
    ) AS __grebe_q9
  ) AS __grebe_q10
) AS __grebe_q11
GROUP BY "a", "b"
),
__grebe_c2 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a" AS "a__key" FROM (
    SELECT "a", "b", "count", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
      SELECT "a", "b", "count", "__grebe_weight" FROM (
        SELECT "a", "b", "__grebe_f6fc42039fba3776_n_new" AS "count", 1 AS "__grebe_weight" FROM __grebe_c1
        WHERE "__grebe_count_new" > 0
      ) AS __grebe_q12
      UNION ALL
      SELECT "a", "b", "count", "__grebe_weight" FROM (
        SELECT "a", "b", "__grebe_f6fc42039fba3776_n_old" AS "count", -1 AS "__grebe_weight" FROM __grebe_c1
        WHERE "__grebe_count_old" > 0
      ) AS __grebe_q13
    ) AS __grebe_q14
    GROUP BY "a", "b", "count"
    HAVING SUM("__grebe_weight") <> 0
  ) AS __grebe_q15
) AS __grebe_q16
)
SELECT "a", "b", "count", "rank", "__grebe_weight" FROM (
  SELECT "a", "b", "count", "rank", 1 AS "__grebe_weight" FROM (
    SELECT "a", "b", "count", RANK() OVER (PARTITION BY "a" ORDER BY "count" ASC) AS "rank" FROM (
      SELECT "a", "b", COUNT(*) AS "count" FROM (
        SELECT "a", "b" FROM (
          SELECT "a", "b" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
      ) AS __grebe_q17
      GROUP BY "a", "b"
    ) AS __grebe_q18
  ) AS __grebe_q19
) AS __grebe_q20
UNION ALL
SELECT "a", "b", "count", "rank", "__grebe_weight" FROM (
  SELECT "a", "b", "count", "rank", -1 AS "__grebe_weight" FROM (
    SELECT "a", "b", "count", RANK() OVER (PARTITION BY "a" ORDER BY "count" ASC) AS "rank" FROM (
      SELECT "a", "b", COUNT(*) AS "count" FROM (
        SELECT "a", "b" FROM (
          SELECT "a", "b" FROM r_old
        ) AS __grebe_q21
        SEMI JOIN __grebe_c2 ON "a" IS NOT DISTINCT FROM "a__key"
      ) AS __grebe_q22
      GROUP BY "a", "b"
    ) AS __grebe_q23
  ) AS __grebe_q24
) AS __grebe_q25

-- title: QUALIFY
-- query
SELECT a, x FROM r QUALIFY RANK() OVER (PARTITION BY a ORDER BY x) = 1
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "a__key" FROM (
  SELECT "a" AS "a__key" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "rank", "__grebe_weight" FROM (
    SELECT "a", "x", "rank", 1 AS "__grebe_weight" FROM (
      SELECT "a", "x", RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "rank" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "x", "rank", "__grebe_weight" FROM (
    SELECT "a", "x", "rank", -1 AS "__grebe_weight" FROM (
      SELECT "a", "x", RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "rank" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_old
        ) AS __grebe_q6
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "a__key"
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
WHERE "rank" = 1
