"""The work that an archive of classes is made from, in a process of its own: `python -m grebe.spark.warm_up FOLDER`."""

from __future__ import annotations

import sys

from grebe.config import Settings, load
from grebe.spark.session import open_session

_WORK = (
    "CREATE NAMESPACE lake.warm",
    "CREATE TABLE lake.warm.t (k INT, s STRING, d DECIMAL(12, 2)) USING iceberg",
    "CREATE TABLE delta.`{folder}/t` (k INT, s STRING, d DECIMAL(12, 2)) USING delta",
)
_WORK_OF_EACH = (
    "INSERT INTO {table} VALUES (1, 'a', 1.5), (2, 'b', NULL)",
    "MERGE INTO {table} t USING (SELECT 1 AS k, 'c' AS s, 2.5 AS d) u ON t.k = u.k"
    " WHEN MATCHED THEN UPDATE SET s = u.s WHEN NOT MATCHED THEN INSERT *",
    "SELECT a.s, SUM(b.d), COUNT(*) FROM {table} a LEFT JOIN {table} b ON a.k = b.k GROUP BY a.s",
)


def warm_up(settings: Settings) -> None:
    """Do a little of everything that a refresh does, so that Java reads the classes."""
    spark = open_session(settings)
    folder = str(settings.folder / "delta")
    for text in _WORK:
        spark.sql(text.format(folder=folder)).collect()
    for table in ("lake.warm.t", f"delta.`{folder}/t`"):
        for text in _WORK_OF_EACH:
            spark.sql(text.format(table=table)).collect()
    spark.stop()


if __name__ == "__main__":
    warm_up(load(sys.argv[1]))
