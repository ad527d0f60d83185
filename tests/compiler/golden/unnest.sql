-- title: elements
-- query
SELECT c, e FROM t, UNNEST(l) AS u(e)
-- delta
SELECT "c", "e", "__grebe_weight" FROM (
  SELECT "c", "l", "e", "__grebe_weight" FROM (
    SELECT "c", "l", "__grebe_weight", "e" FROM (
      SELECT "c", "l", "__grebe_weight" FROM t_delta
    ) AS __grebe_q1
    JOIN LATERAL (SELECT UNNEST("l") AS "e") AS __grebe_q2 ON TRUE
  ) AS __grebe_q3
) AS __grebe_q4

-- title: elements counted
-- query
SELECT e, COUNT(*) AS n FROM t, UNNEST(l) AS u(e) GROUP BY e
-- delta
WITH __grebe_c1 AS (
SELECT "l", "e", "__grebe_weight" FROM (
  SELECT "l", "__grebe_weight", "e" FROM (
    SELECT "l", "__grebe_weight" FROM t_delta
  ) AS __grebe_q4
  JOIN LATERAL (SELECT UNNEST("l") AS "e") AS __grebe_q5 ON TRUE
) AS __grebe_q6
),
__grebe_c2 AS (
SELECT "e", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_new", CAST(SUM(CASE WHEN NOT ((NOT 1 IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_f6fc42039fba3776_n_old" FROM (
  SELECT "l", "e", "__grebe_weight", "__grebe_side" FROM (
    SELECT "l", "e", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "l", "e", 1 AS "__grebe_weight" FROM (
        SELECT "l", "e" FROM (
          SELECT "l" FROM t_new
        ) AS __grebe_q1
        JOIN LATERAL (SELECT UNNEST("l") AS "e") AS __grebe_q2 ON TRUE
      ) AS __grebe_q3
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_e" FROM (
          SELECT "e" AS "__grebe_key_e" FROM (
            SELECT "l", "e", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
            GROUP BY "l", "e"
            HAVING SUM("__grebe_weight") <> 0
          ) AS __grebe_q7
        ) AS __grebe_q8
      ) AS __grebe_q9 ON "e" IS NOT DISTINCT FROM "__grebe_key_e"
    ) AS __grebe_q10
  ) AS __grebe_q11
  UNION ALL
  SELECT "l", "e", "__grebe_weight", "__grebe_side" FROM (
    SELECT "l", "e", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "l", "e", "__grebe_weight" FROM (
        SELECT "l", "e", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM __grebe_c1
      ) AS __grebe_q12
    ) AS __grebe_q13
  ) AS __grebe_q14
) AS __grebe_q15
GROUP BY "e"
)
SELECT "e", "__grebe__count", "__grebe_weight" FROM (
  SELECT "e", "__grebe_f6fc42039fba3776_n_new" AS "__grebe__count", 1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_new" > 0
) AS __grebe_q16
UNION ALL
SELECT "e", "__grebe__count", "__grebe_weight" FROM (
  SELECT "e", "__grebe_f6fc42039fba3776_n_old" AS "__grebe__count", -1 AS "__grebe_weight" FROM __grebe_c2
  WHERE "__grebe_count_old" > 0
) AS __grebe_q17
