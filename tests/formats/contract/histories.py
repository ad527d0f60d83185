"""Histories of a table: what happens to it, one statement at a time.

A step is SQL in which ``{t}`` is the table, or the name of an operation that every format spells
in its own way. After each step but the silent ones the table's version is pinned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

COMPACT = "compact"
REWRITE_MANIFESTS = "rewrite manifests"
REWRITE_DELETES = "rewrite deletes"
UPGRADE = "upgrade"


@dataclass(frozen=True, slots=True)
class Rollback:
    """Go back to the n-th pinned version."""

    to: int


@dataclass(frozen=True, slots=True)
class Silent:
    """A step after which no version is pinned."""

    step: str


Step = str | Rollback | Silent


@dataclass(frozen=True, slots=True)
class History:
    """A table's columns and what happens to it."""

    name: str
    columns: str
    steps: Sequence[Step]
    partitioned: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    """Features that a format must have for this history."""


SHOP = "id BIGINT, grp STRING, qty INT, price DECIMAL(10,2), note STRING"
FIRST = (
    "INSERT INTO {t} VALUES (1,'a',1,1.00,'x'),(2,'a',2,2.00,NULL),(3,'b',3,3.00,'z'),"
    "(4,NULL,NULL,NULL,NULL),(5,'c',5,5.50,'dup'),(5,'c',5,5.50,'dup'),(5,'c',5,5.50,'dup'),"
    "(6,'d',6,6.00,''),(NULL,NULL,NULL,NULL,NULL),(NULL,NULL,NULL,NULL,NULL)"
)
ROWS = (
    "INSERT INTO {t} SELECT id, concat('g', id % 3), CAST(id AS INT), id * 1.5, 'n' FROM range({})"
)


def rows(first: int, last: int) -> str:
    """An INSERT of plain rows with ids of a range."""
    return ROWS.replace("{}", f"{first}, {last}, 1, 1")


HISTORIES = (
    History(
        "dml",
        SHOP,
        [
            FIRST,
            "UPDATE {t} SET qty = qty + 10, note = NULL WHERE grp = 'a' OR id = 4",
            "DELETE FROM {t} WHERE id IN (3, 5) OR id IS NULL",
            "MERGE INTO {t} t USING (SELECT * FROM VALUES (1,'m'),(2,'d'),(90,'i'),(91,NULL) AS v(id, act)) s"
            " ON t.id = s.id WHEN MATCHED AND act = 'd' THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET note = act"
            " WHEN NOT MATCHED THEN INSERT (id, note) VALUES (s.id, s.act)",
            "INSERT OVERWRITE {t} VALUES (1,'a',11,1.00,'m'),(7,'e',7,7.00,'new'),(7,'e',7,7.00,'new')",
            "TRUNCATE TABLE {t}",
        ],
    ),
    History(
        "churn",
        SHOP,
        [
            FIRST,
            Silent("INSERT INTO {t} VALUES (50,'t',1,1.00,'comes'),(51,'t',1,1.00,'stays')"),
            Silent("UPDATE {t} SET qty = 2 WHERE id IN (50, 51, 1)"),
            Silent("UPDATE {t} SET qty = 3 WHERE id IN (50, 51, 1)"),
            "DELETE FROM {t} WHERE id = 50",
            Silent("UPDATE {t} SET qty = 1 WHERE id = 1"),
            Silent("DELETE FROM {t} WHERE id = 51"),
            "INSERT INTO {t} VALUES (51,'t',3,1.00,'stays')",
            Silent("DELETE FROM {t} WHERE true"),
            FIRST,
        ],
    ),
    History(
        "duplicates",
        SHOP + ", copy INT",
        [
            "INSERT INTO {t} SELECT 1, 'a', 1, 1.00, 'dup', CAST(id AS INT) FROM range(3)",
            "DELETE FROM {t} WHERE copy = 1",
            "INSERT INTO {t} SELECT 1, 'a', 1, 1.00, 'dup', CAST(id AS INT) FROM range(3, 5)",
            "UPDATE {t} SET copy = copy + 10 WHERE copy > 2",
            "DELETE FROM {t} WHERE copy >= 13",
        ],
    ),
    History(
        "compaction",
        SHOP,
        [
            rows(0, 20),
            Silent("DELETE FROM {t} WHERE id IN (2, 3)"),
            Silent(rows(20, 24)),
            COMPACT,
            COMPACT,
            "UPDATE {t} SET note = 'after' WHERE id IN (5, 21)",
            REWRITE_MANIFESTS,
            Silent("DELETE FROM {t} WHERE id = 7"),
            Silent(COMPACT),
            Silent("DELETE FROM {t} WHERE id = 8"),
            rows(30, 33),
        ],
        needs=frozenset({"compact"}),
    ),
    History(
        "upgrade",
        SHOP,
        [
            rows(0, 12),
            "DELETE FROM {t} WHERE id IN (1, 2)",
            Silent(UPGRADE),
            "DELETE FROM {t} WHERE id IN (3)",
            Silent(rows(12, 16)),
            "UPDATE {t} SET qty = -1 WHERE id IN (4, 13)",
            Silent(REWRITE_DELETES),
            "DELETE FROM {t} WHERE id = 5",
            COMPACT,
        ],
        properties={"format-version": "2"},
        needs=frozenset({"upgrade"}),
    ),
    History(
        "partition deletes",
        SHOP,
        [
            rows(0, 12),
            Silent(rows(12, 20)),
            "DELETE FROM {t} WHERE id IN (1, 2, 13)",
            Silent("DELETE FROM {t} WHERE id IN (4, 14)"),
            rows(20, 26),
            Silent("DELETE FROM {t} WHERE id IN (5, 22)"),
            REWRITE_DELETES,
            "DELETE FROM {t} WHERE grp = 'g1'",
            Silent(UPGRADE),
            "DELETE FROM {t} WHERE id IN (0, 3)",
        ],
        partitioned="grp",
        properties={"format-version": "2", "write.delete.granularity": "partition"},
        needs=frozenset({"upgrade"}),
    ),
    History(
        "rollback",
        SHOP,
        [
            FIRST,
            "DELETE FROM {t} WHERE id IN (1, 5)",
            "UPDATE {t} SET note = 'late' WHERE id IN (2, 6)",
            Rollback(1),
            "INSERT INTO {t} VALUES (8,'x',8,8.00,'other life')",
            Rollback(0),
            "DELETE FROM {t} WHERE id = 2",
        ],
        needs=frozenset({"rollback"}),
    ),
    History(
        "columns",
        "id BIGINT, gone STRING, kept INT, wide INT, thin FLOAT, price DECIMAL(6,2)",
        [
            "INSERT INTO {t} VALUES (1,'a',1,1,0.5,1.25),(2,'b',2,2,1.5,2.50),(3,NULL,NULL,NULL,NULL,NULL)",
            Silent("ALTER TABLE {t} ADD COLUMN late STRING"),
            "INSERT INTO {t} VALUES (4,'d',4,4,4.5,4.00,'late')",
            Silent("ALTER TABLE {t} RENAME COLUMN kept TO held"),
            Silent("ALTER TABLE {t} ALTER COLUMN late FIRST"),
            "UPDATE {t} SET held = 20 WHERE id = 2",
            Silent("ALTER TABLE {t} ALTER COLUMN wide TYPE BIGINT"),
            Silent("ALTER TABLE {t} ALTER COLUMN thin TYPE DOUBLE"),
            Silent("ALTER TABLE {t} ALTER COLUMN price TYPE DECIMAL(12,2)"),
            "INSERT INTO {t} (id, wide, thin, price) VALUES (5, 5000000000, 0.1D, 12345678.90)",
            Silent("ALTER TABLE {t} DROP COLUMN gone"),
            Silent("ALTER TABLE {t} ADD COLUMN gone STRING"),
            "UPDATE {t} SET gone = 'back' WHERE id IN (1, 5)",
            "ALTER TABLE {t} ADD COLUMN only_schema INT",
        ],
        needs=frozenset({"columns"}),
    ),
    History(
        "nested columns",
        "id INT, s STRUCT<a:INT,b:STRING>, l ARRAY<STRUCT<p:INT>>, m MAP<STRING,STRUCT<v:INT>>",
        [
            "INSERT INTO {t} VALUES (1, struct(1,'x'), array(struct(1)), map('k', struct(1))),"
            " (2, NULL, NULL, NULL), (3, struct(NULL,NULL), array(), map())",
            Silent("ALTER TABLE {t} ADD COLUMN s.c DOUBLE"),
            Silent("ALTER TABLE {t} ADD COLUMN l.element.q STRING"),
            Silent("ALTER TABLE {t} ADD COLUMN m.value.w INT"),
            Silent("ALTER TABLE {t} ALTER COLUMN s.a TYPE BIGINT"),
            "INSERT INTO {t} VALUES (4, struct(4L,'y',0.5D), array(struct(4,'q'), NULL), map('k', struct(4, 5)))",
            "DELETE FROM {t} WHERE id = 1",
            "UPDATE {t} SET id = 5 WHERE id = 2",
            COMPACT,
        ],
        needs=frozenset({"columns", "compact"}),
    ),
    History(
        "partition evolution",
        SHOP,
        [
            rows(0, 9),
            Silent("ALTER TABLE {t} ADD PARTITION FIELD grp"),
            rows(9, 15),
            Silent("ALTER TABLE {t} ADD PARTITION FIELD bucket(4, id)"),
            Silent(rows(15, 20)),
            "DELETE FROM {t} WHERE id IN (1, 10, 16)",
            Silent("ALTER TABLE {t} DROP PARTITION FIELD grp"),
            "UPDATE {t} SET grp = 'moved' WHERE id IN (2, 11, 17)",
            COMPACT,
            "INSERT INTO {t} VALUES (40, NULL, 1, 1.00, NULL)",
        ],
        needs=frozenset({"evolve-partitions", "compact"}),
    ),
    History(
        "odd names",
        "`a b` INT, `q``t` STRING, `d.o.t` STRING, `größe ✓` INT, `select` STRING, `MiXed` INT,"
        " `quo'te\"s` STRUCT<`in ner`:INT, `x.y`:STRING>",
        [
            "INSERT INTO {t} VALUES (1,'a','b',2,'c',3,struct(1,'p')), (2,NULL,NULL,NULL,NULL,NULL,NULL)",
            "UPDATE {t} SET `größe ✓` = 5, `d.o.t` = 'é' WHERE `a b` = 1",
            "INSERT INTO {t} VALUES (3,'a','b',2,'c',3,struct(NULL,'p'))",
            "DELETE FROM {t} WHERE `select` = 'c' AND `MiXed` = 3 AND `a b` = 3",
        ],
        needs=frozenset({"odd names"}),
    ),
    History(
        "types",
        "id INT, bo BOOLEAN, i INT, b BIGINT, f FLOAT, d DOUBLE, de DECIMAL(38,18), dt DATE,"
        " tz TIMESTAMP, nt TIMESTAMP_NTZ, s STRING, bi BINARY,"
        " ar ARRAY<DOUBLE>, st STRUCT<x:DOUBLE,y:STRING>, mp MAP<STRING,DOUBLE>,"
        " deep ARRAY<MAP<INT,STRUCT<k:ARRAY<STRING>,z:MAP<STRING,FLOAT>>>>",
        [
            "INSERT INTO {t} VALUES"
            " (1, true, 2147483647, 9223372036854775807, float('NaN'), double('NaN'),"
            "  12345678901234567890.123456789012345678BD, DATE'0001-01-01',"
            "  TIMESTAMP'9999-12-31 23:59:59.999999', TIMESTAMP_NTZ'1969-12-31 23:59:59.999999',"
            "  'ünï 😀', X'00FF', array(double('NaN'), -0.0D, NULL), struct(-0.0D, NULL),"
            "  map('b', 1D, 'a', double('NaN')),"
            "  array(map(1, struct(array('x', NULL), map('f', float('-0.0')))), NULL)),"
            " (2, false, -2147483648, -9223372036854775808, float('-Infinity'), double('Infinity'),"
            "  -0.000000000000000001BD, DATE'9999-12-31', TIMESTAMP'1900-01-01 00:00:00.000001',"
            "  TIMESTAMP_NTZ'1583-01-01 00:00:00', '', X'', array(), struct(1D, 'y'), map(), array()),"
            " (3, NULL, 0, 0, float('-0.0'), -0.0D, 0BD, DATE'1969-12-31',"
            "  TIMESTAMP'2024-03-10 02:30:00', TIMESTAMP_NTZ'2024-03-10 02:30:00', NULL, NULL,"
            "  NULL, NULL, NULL, NULL),"
            " (4, NULL, 0, 0, float('0.0'), 0.0D, 0BD, NULL, NULL, NULL, NULL, NULL,"
            "  array(NULL, NULL), struct(NULL, NULL), map('n', NULL), array(map(), map(7, NULL)))",
            "UPDATE {t} SET f = 0.0F, d = 0.0D WHERE id = 3",
            "UPDATE {t} SET mp = map('a', double('NaN'), 'b', 1D), d = double('NaN') WHERE id = 1",
            "UPDATE {t} SET ar = array(double('NaN'), 0.0D, NULL),"
            "  deep = array(map(1, named_struct('k', array('x', NULL), 'z', map('f', float('0.0')))), NULL) WHERE id = 1",
            "DELETE FROM {t} WHERE id IN (2, 4)",
        ],
    ),
    History(
        "nothing",
        SHOP,
        [
            "ALTER TABLE {t} SET TBLPROPERTIES ('owner.note' = 'no version yet')",
            "INSERT INTO {t} SELECT * FROM {t} WHERE false",
            "INSERT INTO {t} VALUES (1,'a',1,1.00,'first row ever')",
            "DELETE FROM {t} WHERE id = 77",
            "MERGE INTO {t} t USING (SELECT 5L AS id WHERE false) s ON t.id = s.id"
            " WHEN MATCHED THEN DELETE",
            "DELETE FROM {t} WHERE true",
        ],
    ),
)
