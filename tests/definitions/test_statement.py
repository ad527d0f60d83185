"""The text of a view, read clause by clause; what is wrong is pointed at."""

from __future__ import annotations

import pytest

from grebe.compiler.text.statement import checked_check, policy_of, read_statement
from grebe.errors import DefinitionError, SqlSyntaxError, UnknownColumnError, Where
from grebe.model import Policy

FULL = """-- what we sold
CREATE OR REPLACE MATERIALIZED VIEW sales.`daily total` (day COMMENT 'the day', total)
COMMENT 'one row' ' per day'
PARTITIONED BY (months(day), bucket(4, total))
CLUSTER BY (day)
USING iceberg
TBLPROPERTIES ('grebe.lag' = '10  minutes', grebe.tags = 'hourly, money', 'write.format' = 'orc')
SCHEDULE CRON '0 2 * * *' AT TIME ZONE 'Europe/Oslo'
REFRESH POLICY INCREMENTAL STRICT
AS SELECT day, SUM(amount) FROM sales.orders
GROUP BY day;
"""


@pytest.mark.parametrize("share", ["0.3", "0", "1", " 0.25 "])
def test_F108_a_threshold_is_a_share(share: str) -> None:
    text = f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('grebe.threshold' = '{share}') AS SELECT 1"
    assert dict(read_statement(text).properties) == {"grebe.threshold": share.strip()}


@pytest.mark.parametrize("share", ["1.1", "-0.1", "30%", "", "nan", "inf"])
def test_F108_a_threshold_that_is_no_share_is_refused(share: str) -> None:
    text = f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('grebe.threshold' = '{share}') AS SELECT 1"
    with pytest.raises(DefinitionError) as caught:
        read_statement(text)
    assert caught.value.code == "bad-threshold"


def test_every_clause_is_read() -> None:
    found = read_statement(FULL)
    assert found.name == ("sales", "daily total")
    assert found.replaces
    assert found.columns == ("day", "total")
    assert found.comment == "one row per day"
    assert found.partitioned_by == ("months(day)", "bucket(4, total)")
    assert found.clustered_by == ("day",)
    assert found.using == "iceberg"
    assert found.lag == "10 minutes"
    assert found.tags == ("hourly", "money")
    assert found.properties == (("write.format", "orc"),)
    assert found.schedule == "CRON '0 2 * * *' AT TIME ZONE 'Europe/Oslo'"
    assert found.policy is Policy.STRICT
    assert found.query == "SELECT day, SUM(amount) FROM sales.orders\nGROUP BY day"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("select 1 as one", "select 1 as one"),
        ("/* why */ WITH a AS (SELECT 1 AS x) SELECT x FROM a ;\n", "WITH a AS (SELECT 1 AS x) SELECT x FROM a"),
        ("(SELECT 1 AS x)", "(SELECT 1 AS x)"),
        ("CREATE MATERIALIZED VIEW `as` AS SELECT 1 AS x", "SELECT 1 AS x"),
        ("create materialized view if not exists v as\nselect 1 as x", "select 1 as x"),
        ("CREATE MATERIALIZED VIEW v SCHEDULE EVERY 1 HOUR AS SELECT 1 AS x", "SELECT 1 AS x"),
        ("CREATE MATERIALIZED VIEW v TARGET_LAG = DOWNSTREAM AS SELECT 1 AS x", "SELECT 1 AS x"),
        ("CREATE MATERIALIZED VIEW v TBLPROPERTIES ('a'='AS SELECT 2', b=1) AS SELECT 1 AS x", "SELECT 1 AS x"),
    ],
)  # fmt: skip
def test_the_query_is_what_was_written(text: str, query: str) -> None:
    assert read_statement(text).query == query


@pytest.mark.parametrize("word", ["incremental_strict", "INCREMENTAL STRICT", "strict", "Strict"])
def test_other_spellings_of_a_policy(word: str) -> None:
    assert policy_of(word) is Policy.STRICT


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("", 1, 1, "empty"),
        ("-- only a comment\n", 1, 1, "empty"),
        ("DROP TABLE x", 1, 1, "CREATE is expected"),
        ("CREATE TABLE x AS SELECT 1", 1, 8, "CREATE MATERIALIZED VIEW"),
        ("CREATE MATERIALIZED VIEW", 1, 25, "the text ends"),
        ("CREATE MATERIALIZED VIEW v", 1, 27, "the text ends"),
        ("CREATE MATERIALIZED VIEW v AS", 1, 30, "a query is missing"),
        ("CREATE MATERIALIZED VIEW 'v' AS SELECT 1", 1, 26, "is not a name"),
        ("CREATE MATERIALIZED VIEW v\nTBLPROPERTIES ('grebe.polcy'='auto') AS SELECT 1", 2, 36, "cannot|can be set"),
        ("CREATE MATERIALIZED VIEW v TBLPROPERTIES ('grebe.sql'='x') AS SELECT 1", 1, 58, "can be set"),
        ("CREATE MATERIALIZED VIEW v TBLPROPERTIES ('a'='1', 'a'='2') AS SELECT 1", 1, 59, "twice"),
        ("CREATE MATERIALIZED VIEW v COMMENT 'a' COMMENT 'b' AS SELECT 1", 1, 52, "twice"),
        ("CREATE MATERIALIZED VIEW v REFRESH POLICY sometimes AS SELECT 1", 1, 43, "does not exist"),
        ("CREATE MATERIALIZED VIEW v REFRESH NEVER AS SELECT 1", 1, 36, "POLICY"),
        ("CREATE MATERIALIZED VIEW v SCHEDULE CRON '61 * * * *' AS SELECT 1", 1, 42, "is not a cron text"),
        ("CREATE MATERIALIZED VIEW v SCHEDULE SOMETIME AS SELECT 1", 1, 37, "is not a schedule"),
        ("CREATE MATERIALIZED VIEW v TBLPROPERTIES ('grebe.lag'='soon') AS SELECT 1", 1, 55, "length of time"),
        ("CREATE MATERIALIZED VIEW v USING paper AS SELECT 1", 1, 34, "cannot hold a view"),
        ("CREATE MATERIALIZED VIEW v PARTITION BY (x) AS SELECT 1", 1, 28, "is not a clause"),
        ("CREATE MATERIALIZED VIEW v PARTITIONED BY (a,,b) AS SELECT 1", 1, 50, "empty item"),
        ("CREATE MATERIALIZED VIEW v PARTITIONED BY (a AS SELECT 1", 1, 57, "the text ends"),
        ("CREATE MATERIALIZED VIEW v TBLPROPERTIES ('a' = ) AS SELECT 1", 1, 49, "is not a value"),
        ("CREATE MATERIALIZED VIEW v COMMENT x AS SELECT 1", 1, 36, "is not a text"),
        ("SELECT 'x", 1, 1, "cannot be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_pointed_at(text: str, line: int, column: int, says: str) -> None:
    with pytest.raises(DefinitionError, match=says) as caught:
        read_statement(text, "views/v.sql")
    where = caught.value.where
    assert where is not None
    assert (where.line, where.column, where.file) == (line, column, "views/v.sql")
    assert isinstance(caught.value, SqlSyntaxError) or caught.value.hint


def test_an_error_of_the_query_is_moved_to_its_place_in_the_file() -> None:
    statement = read_statement(FULL, "views/daily.sql")
    inner = UnknownColumnError("column", where=Where(1, 8, source=statement.query, length=3))
    where = statement.placed(inner).where
    assert where is not None
    assert str(where) == "views/daily.sql:10:11"
    assert (where.underlined() or "").splitlines()[1] == " " * 10 + "^^^"
    later = UnknownColumnError("column", where=Where(2, 10, source=statement.query))
    assert str(statement.placed(later).where) == "views/daily.sql:11:10"


def test_when_a_first_build_is_checked_has_three_words() -> None:
    assert checked_check(" Always ") == "always"
    with pytest.raises(DefinitionError) as caught:
        checked_check("sometimes")
    assert caught.value.code == "bad-check"


def test_no_secret_is_kept_with_a_view() -> None:
    with pytest.raises(DefinitionError) as caught:
        read_statement(
            "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('db.password' = 'x') AS SELECT 1 AS a"
        )
    assert caught.value.code == "secret-in-text"
