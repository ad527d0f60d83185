-- title: PIVOT with fixed values
-- query
SELECT * FROM (SELECT a, b, x FROM r) AS q PIVOT (SUM(x) FOR b IN (1, 2) GROUP BY a)
-- delta
WITH __grebe_c1 AS (
SELECT "a", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_count_new", CAST(SUM(CASE WHEN NOT ((1 = 1)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_count_old", CAST(SUM(CASE WHEN NOT ((NOT CASE WHEN "b" IS NOT DISTINCT FROM 1 THEN "x" END IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_576360a4342952fa_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN CASE WHEN "b" IS NOT DISTINCT FROM 1 THEN "x" END END) AS "__grebe_576360a4342952fa_s_new", CAST(SUM(CASE WHEN NOT ((NOT CASE WHEN "b" IS NOT DISTINCT FROM 1 THEN "x" END IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_576360a4342952fa_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN CASE WHEN "b" IS NOT DISTINCT FROM 1 THEN "x" END WHEN "__grebe_weight" > 0 THEN -CASE WHEN "b" IS NOT DISTINCT FROM 1 THEN "x" END ELSE CASE WHEN "b" IS NOT DISTINCT FROM 1 THEN "x" END END) AS "__grebe_576360a4342952fa_s_old", CAST(SUM(CASE WHEN NOT ((NOT CASE WHEN "b" IS NOT DISTINCT FROM 2 THEN "x" END IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE 0 END) AS BIGINT) AS "__grebe_4c7e88880a34cdb8_n_new", SUM(CASE WHEN "__grebe_side" = 0 THEN CASE WHEN "b" IS NOT DISTINCT FROM 2 THEN "x" END END) AS "__grebe_4c7e88880a34cdb8_s_new", CAST(SUM(CASE WHEN NOT ((NOT CASE WHEN "b" IS NOT DISTINCT FROM 2 THEN "x" END IS NULL)) THEN 0 WHEN "__grebe_side" = 0 THEN 1 ELSE -"__grebe_weight" END) AS BIGINT) AS "__grebe_4c7e88880a34cdb8_n_old", SUM(CASE WHEN "__grebe_side" = 0 THEN CASE WHEN "b" IS NOT DISTINCT FROM 2 THEN "x" END WHEN "__grebe_weight" > 0 THEN -CASE WHEN "b" IS NOT DISTINCT FROM 2 THEN "x" END ELSE CASE WHEN "b" IS NOT DISTINCT FROM 2 THEN "x" END END) AS "__grebe_4c7e88880a34cdb8_s_old" FROM (
  SELECT "a", "b", "x", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "b", "x", "__grebe_weight", 0 AS "__grebe_side" FROM (
      SELECT "a", "b", "x", 1 AS "__grebe_weight" FROM (
        SELECT "a", "b", "x" FROM r_new
      ) AS __grebe_q1
      SEMI JOIN (
        SELECT DISTINCT "__grebe_key_a" FROM (
          SELECT "a" AS "__grebe_key_a" FROM r_delta
        ) AS __grebe_q2
      ) AS __grebe_q3 ON "a" IS NOT DISTINCT FROM "__grebe_key_a"
    ) AS __grebe_q4
  ) AS __grebe_q5
  UNION ALL
  SELECT "a", "b", "x", "__grebe_weight", "__grebe_side" FROM (
    SELECT "a", "b", "x", "__grebe_weight", 1 AS "__grebe_side" FROM (
      SELECT "a", "b", "x", "__grebe_weight" FROM (
        SELECT "a", "b", "x", CAST(CASE WHEN "__grebe_weight" > 0 THEN 1 ELSE -1 END AS BIGINT) AS "__grebe_weight", UNNEST(range(abs("__grebe_weight"))) AS "__grebe_step" FROM (
          SELECT "a", "b", "x", "__grebe_weight" FROM r_delta
        ) AS __grebe_q6
      ) AS __grebe_q7
    ) AS __grebe_q8
  ) AS __grebe_q9
) AS __grebe_q10
GROUP BY "a"
)
SELECT "a", "1", "2", "__grebe_weight" FROM (
  SELECT "a", CASE WHEN "__grebe_576360a4342952fa_n_new" > 0 THEN "__grebe_576360a4342952fa_s_new" END AS "1", CASE WHEN "__grebe_4c7e88880a34cdb8_n_new" > 0 THEN "__grebe_4c7e88880a34cdb8_s_new" END AS "2", 1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_new" > 0
) AS __grebe_q11
UNION ALL
SELECT "a", "1", "2", "__grebe_weight" FROM (
  SELECT "a", CASE WHEN "__grebe_576360a4342952fa_n_old" > 0 THEN "__grebe_576360a4342952fa_s_old" END AS "1", CASE WHEN "__grebe_4c7e88880a34cdb8_n_old" > 0 THEN "__grebe_4c7e88880a34cdb8_s_old" END AS "2", -1 AS "__grebe_weight" FROM __grebe_c1
  WHERE "__grebe_count_old" > 0
) AS __grebe_q12

-- title: UNPIVOT
-- query
SELECT a, name, value FROM (SELECT a, b, x FROM r) AS q UNPIVOT (value FOR name IN (b, x))
-- delta
SELECT "a_4", "name", "value", "__grebe_weight" FROM (
  SELECT "__grebe__a_2" AS "a_4", "__grebe__label" AS "name", "__grebe__b_2" AS "value", "__grebe_weight" FROM (
    SELECT "a" AS "__grebe__a_2", 'b' AS "__grebe__label", "b" AS "__grebe__b_2", "__grebe_weight" FROM r_delta
  ) AS __grebe_q1
  UNION ALL
  SELECT "__grebe__a_3" AS "a_4", "__grebe__label_2" AS "name", "__grebe__x_2" AS "value", "__grebe_weight" FROM (
    SELECT "a" AS "__grebe__a_3", 'x' AS "__grebe__label_2", "x" AS "__grebe__x_2", "__grebe_weight" FROM r_delta
  ) AS __grebe_q2
) AS __grebe_q3
WHERE NOT ("value" IS NULL)
