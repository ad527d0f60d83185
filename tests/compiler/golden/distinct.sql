-- title: columns
-- query
SELECT DISTINCT a, s FROM r
-- delta
SELECT "a", "s", "__grebe_weight" FROM (
  SELECT "a", "s", CAST(CASE WHEN "__grebe_left_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "a", "s", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "a", "s", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a", "s", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "a", "s" FROM r_new
        ) AS __grebe_q1
        SEMI JOIN (
          SELECT DISTINCT "__grebe_key_a", "__grebe_key_s" FROM (
            SELECT "a" AS "__grebe_key_a", "s" AS "__grebe_key_s" FROM r_delta
          ) AS __grebe_q2
        ) AS __grebe_q3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a" AND "s" IS NOT DISTINCT FROM "__grebe_key_s"
      ) AS __grebe_q4
      UNION ALL
      SELECT "a", "s", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "a", "s", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM r_delta
      ) AS __grebe_q5
    ) AS __grebe_q6
    GROUP BY "a", "s"
  ) AS __grebe_q7
) AS __grebe_q8
WHERE "__grebe_weight" <> 0

-- title: over a join
-- query
SELECT DISTINCT r.b, s.c FROM r JOIN s ON r.a = s.a
-- delta
WITH __grebe_c1 AS (
SELECT "b", "c", "__grebe_weight" FROM (
  SELECT "a", "b", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "b", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a", "b", "__grebe_weight" FROM r_delta
    ) AS __grebe_q2
    JOIN (
      SELECT "__grebe__a_2", "c" FROM (
        SELECT "a" AS "__grebe__a_2", "c" FROM s_old
      ) AS __grebe_q3
    ) AS __grebe_q4 ON "a" = "__grebe__a_2"
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "b", "__grebe__a_2", "c", "__grebe_weight" FROM (
    SELECT "a", "b", "__grebe__a_2", "c", "__grebe_weight" FROM (
      SELECT "a" AS "__grebe__a_2", "c", "__grebe_weight" FROM s_delta
    ) AS __grebe_q6
    JOIN (
      SELECT "a", "b" FROM r_new
    ) AS __grebe_q7 ON "a" = "__grebe__a_2"
  ) AS __grebe_q8
) AS __grebe_q9
),
__grebe_c2 AS (
SELECT DISTINCT "__grebe_key_b", "__grebe_key_c" FROM (
  SELECT "b" AS "__grebe_key_b", "c" AS "__grebe_key_c" FROM (
    SELECT "b", "c", CAST(SUM("__grebe_weight") AS BIGINT) AS "__grebe_weight" FROM __grebe_c1
    GROUP BY "b", "c"
    HAVING SUM("__grebe_weight") <> 0
  ) AS __grebe_q10
) AS __grebe_q11
)
SELECT "b", "c", "__grebe_weight" FROM (
  SELECT "b", "c", CAST(CASE WHEN "__grebe_left_new" > 0 THEN 1 ELSE 0 END - CASE WHEN "__grebe_left_old" > 0 THEN 1 ELSE 0 END AS BIGINT) AS "__grebe_weight" FROM (
    SELECT "b", "c", SUM("__grebe_left_new") AS "__grebe_left_new", SUM("__grebe_left_old") AS "__grebe_left_old", SUM("__grebe_right_new") AS "__grebe_right_new", SUM("__grebe_right_old") AS "__grebe_right_old" FROM (
      SELECT "b", "c", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "b", "c", 1 AS "__grebe_left_new", 1 AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM (
          SELECT "b", "c" FROM (
            SELECT "a", "b", "__grebe__a_2", "c" FROM (
              SELECT "a", "b" FROM (
                SELECT "a", "b" FROM r_new
              ) AS __grebe_q1
              SEMI JOIN __grebe_c2 ON "b" IS NOT DISTINCT FROM "__grebe_key_b"
            ) AS __grebe_q12
            JOIN (
              SELECT "__grebe__a_2", "c" FROM (
                SELECT "a" AS "__grebe__a_2", "c" FROM s_new
              ) AS __grebe_q13
              SEMI JOIN __grebe_c2 ON "c" IS NOT DISTINCT FROM "__grebe_key_c"
            ) AS __grebe_q14 ON "a" = "__grebe__a_2"
          ) AS __grebe_q15
          SEMI JOIN __grebe_c2 ON "b" IS NOT DISTINCT FROM "__grebe_key_b" AND "c" IS NOT DISTINCT FROM "__grebe_key_c"
        ) AS __grebe_q16
      ) AS __grebe_q17
      UNION ALL
      SELECT "b", "c", "__grebe_left_new", "__grebe_left_old", "__grebe_right_new", "__grebe_right_old" FROM (
        SELECT "b", "c", 0 AS "__grebe_left_new", -"__grebe_weight" AS "__grebe_left_old", 0 AS "__grebe_right_new", 0 AS "__grebe_right_old" FROM __grebe_c1
      ) AS __grebe_q18
    ) AS __grebe_q19
    GROUP BY "b", "c"
  ) AS __grebe_q20
) AS __grebe_q21
WHERE "__grebe_weight" <> 0
