-- title: ORDER BY and LIMIT
-- query
SELECT a, x FROM r ORDER BY x DESC, a LIMIT 2
-- delta
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", 1 AS "__grebe_weight" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q1
    ORDER BY "x" DESC NULLS LAST, "a" ASC NULLS LAST
    LIMIT 2
  ) AS __grebe_q2
) AS __grebe_q3
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", -1 AS "__grebe_weight" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_old
    ) AS __grebe_q4
    ORDER BY "x" DESC NULLS LAST, "a" ASC NULLS LAST
    LIMIT 2
  ) AS __grebe_q5
) AS __grebe_q6

-- title: with OFFSET
-- query
SELECT a, x FROM r ORDER BY x, a LIMIT 2 OFFSET 1
-- delta
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", 1 AS "__grebe_weight" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_new
    ) AS __grebe_q1
    ORDER BY "x" ASC NULLS LAST, "a" ASC NULLS LAST
    LIMIT 2
    OFFSET 1
  ) AS __grebe_q2
) AS __grebe_q3
UNION ALL
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", -1 AS "__grebe_weight" FROM (
    SELECT "a", "x" FROM (
      SELECT "a", "x" FROM r_old
    ) AS __grebe_q4
    ORDER BY "x" ASC NULLS LAST, "a" ASC NULLS LAST
    LIMIT 2
    OFFSET 1
  ) AS __grebe_q5
) AS __grebe_q6

-- title: per group
-- query
SELECT a, x FROM (SELECT a, x, ROW_NUMBER() OVER (PARTITION BY a ORDER BY x) AS n FROM r) AS q WHERE n <= 2
-- delta
WITH __grebe_c1 AS (
SELECT DISTINCT "__grebe_key_a" FROM (
  SELECT "a" AS "__grebe_key_a" FROM r_delta
) AS __grebe_q2
)
SELECT "a", "x", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__row_number", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__row_number", 1 AS "__grebe_weight" FROM (
      SELECT "a", "x", ROW_NUMBER() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "__grebe__row_number" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      ) AS __grebe_q3
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "x", "__grebe__row_number", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__row_number", -1 AS "__grebe_weight" FROM (
      SELECT "a", "x", ROW_NUMBER() OVER (PARTITION BY "a" ORDER BY "x" ASC) AS "__grebe__row_number" FROM (
        SELECT "a", "x" FROM (
          SELECT "a", "x" FROM r_old
        ) AS __grebe_q6
        SEMI JOIN __grebe_c1 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
WHERE "__grebe__row_number" <= 2

-- title: below a join
-- query
SELECT q.x, s.c FROM (SELECT a, x FROM r ORDER BY x, a LIMIT 2) AS q JOIN s ON q.a = s.a
-- delta
WITH __grebe_c1 AS (
SELECT "a", "x" FROM (
  SELECT "a", "x" FROM r_new
) AS __grebe_q1
ORDER BY "x" ASC NULLS LAST, "a" ASC NULLS LAST
LIMIT 2
)
SELECT "x", "c", "__grebe_weight" FROM (
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", 1 AS "__grebe_weight" FROM __grebe_c1
      ) AS __grebe_q2
      UNION ALL
      SELECT "a", "x", "__grebe_weight" FROM (
        SELECT "a", "x", -1 AS "__grebe_weight" FROM (
          SELECT "a", "x" FROM (
            SELECT "a", "x" FROM r_old
          ) AS __grebe_q3
          ORDER BY "x" ASC NULLS LAST, "a" ASC NULLS LAST
          LIMIT 2
        ) AS __grebe_q4
      ) AS __grebe_q5
    ) AS __grebe_q6
    JOIN (
      SELECT "a" AS "__grebe__a_2", "c" FROM s_old
    ) AS __grebe_q7 ON "a" = "__grebe__a_2"
  ) AS __grebe_q8
  UNION ALL
  SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "x", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q9
    JOIN (
      SELECT "a", "x" FROM __grebe_c1
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_a" FROM (
          SELECT "__grebe__a_2" AS "__grebe_key_a" FROM (
            SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
          ) AS __grebe_q10
        ) AS __grebe_q11
      ) AS __grebe_q12 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q13 ON "a" = "__grebe__a_2"
  ) AS __grebe_q14
) AS __grebe_q15
