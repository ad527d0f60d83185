-- title: ranks
-- query
SELECT a, x, RANK() OVER (PARTITION BY a ORDER BY x) AS k, DENSE_RANK() OVER (PARTITION BY a ORDER BY x) AS d FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "x", "rank", "dense_rank", "__grebe_weight" FROM (
  SELECT "a", "x", "rank", "dense_rank", 1 AS "__grebe_weight" FROM (
    SELECT "a", "x", RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "rank", DENSE_RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "dense_rank" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
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
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
  ) AS __grebe_q8
) AS __grebe_q9

-- title: LAG and LEAD
-- query
SELECT a, x, LAG(x) OVER (PARTITION BY a ORDER BY x) AS p, LEAD(x) OVER (PARTITION BY a ORDER BY x) AS n FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "x", "lag", "lead", "__grebe_weight" FROM (
  SELECT "a", "x", "lag", "lead", 1 AS "__grebe_weight" FROM (
    SELECT "a", "x", LAG("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "lag", LEAD("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "lead" FROM (
      SELECT "a", "x" FROM (
        SELECT "a", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
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
      SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q7
  ) AS __grebe_q8
) AS __grebe_q9

-- title: running and sliding frames
-- query
SELECT a, x, SUM(x) OVER (PARTITION BY a ORDER BY x) AS run, SUM(x) OVER (PARTITION BY a ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS slide FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "x", "sum", "sum_2", "__grebe_weight" FROM (
  SELECT "a", "x", "sum", "sum_2", 1 AS "__grebe_weight" FROM (
    SELECT "a", "x", "sum", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC, "sum" ASC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS "sum_2" FROM (
      SELECT "a", "x", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "sum" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
) AS __grebe_q6
UNION ALL
SELECT "a", "x", "sum", "sum_2", "__grebe_weight" FROM (
  SELECT "a", "x", "sum", "sum_2", -1 AS "__grebe_weight" FROM (
    SELECT "a", "x", "sum", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC, "sum" ASC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS "sum_2" FROM (
      SELECT "a", "x", SUM("x") OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "sum" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_old
        ) AS __grebe_q7
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      ) AS __grebe_q8
    ) AS __grebe_q9
  ) AS __grebe_q10
) AS __grebe_q11

-- title: NTILE and CUME_DIST
-- query
SELECT a, x, NTILE(2) OVER (PARTITION BY a ORDER BY x) AS h, CUME_DIST() OVER (PARTITION BY a ORDER BY x) AS c FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "x", "ntile", "cume_dist", "__grebe_weight" FROM (
  SELECT "a", "x", "cume_dist", "ntile", "__grebe_weight" FROM (
    SELECT "a", "x", "cume_dist", "ntile", 1 AS "__grebe_weight" FROM (
      SELECT "a", "x", "cume_dist", NTILE(2) OVER (PARTITION BY "a" ORDER BY "x" ASC, "cume_dist" ASC NULLS FIRST) AS "ntile" FROM (
        SELECT "a", "x", CUME_DIST() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "cume_dist" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_new
          ) AS __grebe_q1
          SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
        ) AS __grebe_q3
      ) AS __grebe_q4
    ) AS __grebe_q5
  ) AS __grebe_q6
  UNION ALL
  SELECT "a", "x", "cume_dist", "ntile", "__grebe_weight" FROM (
    SELECT "a", "x", "cume_dist", "ntile", -1 AS "__grebe_weight" FROM (
      SELECT "a", "x", "cume_dist", NTILE(2) OVER (PARTITION BY "a" ORDER BY "x" ASC, "cume_dist" ASC NULLS FIRST) AS "ntile" FROM (
        SELECT "a", "x", CUME_DIST() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "cume_dist" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_old
          ) AS __grebe_q7
          SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
        ) AS __grebe_q8
      ) AS __grebe_q9
    ) AS __grebe_q10
  ) AS __grebe_q11
) AS __grebe_q12

-- title: different partitions
-- query
SELECT a, b, COUNT(*) OVER (PARTITION BY a) AS n, COUNT(*) OVER (PARTITION BY b) AS m FROM r
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q4
),
__grebe_c2 AS (
SELECT DISTINCT "__grebe_key_b" FROM (
  SELECT "b" AS "__grebe_key_b" FROM (
    SELECT "a", "b", "count", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM (
      SELECT "a", "b", "count", "__grebe_weight" FROM (
        SELECT "a", "b", "count", 1 AS "__grebe_weight" FROM (
          SELECT "a", "b", COUNT(*) OVER (PARTITION BY "a") AS "count" FROM (
            SELECT "a", "b" FROM (
              SELECT "a", "b" FROM r_new
            ) AS __grebe_q3
            SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
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
            SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
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
      SEMI JOIN __grebe_c2 ON "b" IS NOT DISTINCT FROM "__grebe_key_b"
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
      SEMI JOIN __grebe_c2 ON "b" IS NOT DISTINCT FROM "__grebe_key_b"
    ) AS __grebe_q20
  ) AS __grebe_q21
) AS __grebe_q22

-- title: over an aggregate
-- query
SELECT a, b, COUNT(*) AS n, RANK() OVER (PARTITION BY a ORDER BY COUNT(*)) AS k FROM r GROUP BY a, b
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "b", "count", "rank", "__grebe_weight" FROM (
  SELECT "a", "b", "count", "rank", 1 AS "__grebe_weight" FROM (
    SELECT "a", "b", "count", RANK() OVER (PARTITION BY "a" ORDER BY "count" ASC) AS "rank" FROM (
      SELECT "a", "b", COUNT(*) AS "count" FROM (
        SELECT "a", "b" FROM (
          SELECT "a", "b" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      ) AS __grebe_q3
      GROUP BY "a", "b"
    ) AS __grebe_q4
  ) AS __grebe_q5
) AS __grebe_q6
UNION ALL
SELECT "a", "b", "count", "rank", "__grebe_weight" FROM (
  SELECT "a", "b", "count", "rank", -1 AS "__grebe_weight" FROM (
    SELECT "a", "b", "count", RANK() OVER (PARTITION BY "a" ORDER BY "count" ASC) AS "rank" FROM (
      SELECT "a", "b", COUNT(*) AS "count" FROM (
        SELECT "a", "b" FROM (
          SELECT "a", "b" FROM r_old
        ) AS __grebe_q7
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      ) AS __grebe_q8
      GROUP BY "a", "b"
    ) AS __grebe_q9
  ) AS __grebe_q10
) AS __grebe_q11

-- title: QUALIFY
-- query
SELECT a, x FROM r QUALIFY RANK() OVER (PARTITION BY a ORDER BY x) = 1
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__rank", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__rank", 1 AS "__grebe_weight" FROM (
      SELECT "a", "x", RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "__grebe__rank" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "x", "__grebe__rank", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__rank", -1 AS "__grebe_weight" FROM (
      SELECT "a", "x", RANK() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "__grebe__rank" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_old
        ) AS __grebe_q6
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
WHERE "__grebe__rank" = 1
