"""Values that engines disagree about come through a refresh as the query gives them."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from grebe import thresholds
from grebe.config import Settings
from grebe.errors import NotIncrementalError, StepFailedError
from grebe.model import Outcome, Policy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
ZONE = "spark.sql.session.timeZone"
_numbers = count()


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    place = spark.newSession()
    place.conf.set(ZONE, "Europe/Berlin")
    return Shop.opened(place, project, f"odd_{next(_numbers)}", orders=1)


def test_zeros_times_and_dates(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    # ORC is compared by Spark: the changes are staged, not held by the driver.
    shop.sql(
        "CREATE TABLE {s}.odd (id INT, x DOUBLE, t TIMESTAMP_NTZ, d DATE) USING iceberg"
        " TBLPROPERTIES ('write.format.default'='orc')"
    )
    shop.sql("INSERT INTO {s}.odd VALUES (1, 0.0, TIMESTAMP_NTZ'2024-01-01', DATE'2024-01-01')")
    shop.view("texts", "SELECT id, CAST(x AS STRING) AS x, t FROM {s}.odd")
    shop.view("plain", "SELECT id, x, t, d FROM {s}.odd")
    shop.view("days", "SELECT d, t, COUNT(*) AS n FROM {s}.odd GROUP BY d, t")
    shop.view("number", "SELECT COUNT(*) AS n FROM {s}.odd")
    shop.refreshed()

    shop.sql("UPDATE {s}.odd SET x = -0.0D")
    done = shop.refreshed()
    assert done["texts"].outcome is Outcome.INCREMENTAL
    assert rows(shop, "SELECT x FROM {s}.texts") == [("-0.0",)]

    # An hour that Berlin does not have, and a day after the last that Python has.
    shop.sql(
        "INSERT INTO {s}.odd SELECT 2, 1.5, TIMESTAMP_NTZ'2024-03-31 02:30:00',"
        " date_add(DATE'9999-12-31', 1)"
    )
    for small in (True, False):
        monkeypatch.setattr(thresholds, "REWRITTEN_ROWS", 2_000 if small else 0)
        shop.sql(
            f"INSERT INTO {{s}}.odd SELECT id + 2, x, t, d FROM {{s}}.odd WHERE id > {int(small)}"
        )
        done = shop.refreshed()
        assert {result.outcome for result in done.values()} == {Outcome.INCREMENTAL}
    shop.sql("DELETE FROM {s}.odd WHERE id > 2")
    assert {result.outcome for result in shop.refreshed().values()} == {Outcome.INCREMENTAL}


BAD_ROWS = {
    "share": "SELECT k, SUM(a) / SUM(b) AS r FROM {s}.pairs GROUP BY k",
    "total": "SELECT k, SUM(big) AS s FROM {s}.pairs GROUP BY k",
    "lists": "SELECT k, array(SUM(a) / SUM(b)) AS m FROM {s}.pairs GROUP BY k",
    "guarded": "SELECT k, SUM(a) / SUM(b) AS r FROM {s}.pairs GROUP BY k HAVING SUM(b) <> 0",
}


@pytest.mark.parametrize(
    "policy", [Policy.INCREMENTAL, pytest.param(Policy.FULL, marks=pytest.mark.laws)]
)
def test_rows_that_no_reader_could_read_are_not_stored(shop: Shop, policy: Policy) -> None:
    """The query fails on such data, so the refresh does, and the rows before stay readable."""
    shop.sql("CREATE TABLE {s}.pairs (k INT, a INT, b INT, big BIGINT) USING iceberg")
    shop.sql("INSERT INTO {s}.pairs VALUES (1, 6, 2, 5), (2, 6, 3, 7), (3, NULL, 1, NULL)")
    for name, text in BAD_ROWS.items():
        shop.view(name, text, policy)
    shop.refreshed()
    before = {name: rows(shop, f"SELECT * FROM {{s}}.{name} ORDER BY k") for name in BAD_ROWS}
    shop.sql("INSERT INTO {s}.pairs VALUES (1, 0, -2, 9223372036854775807), (4, 0, NULL, NULL)")
    # Spark itself divides before it asks HAVING, so plain Spark cannot answer the last text.
    done = shop.refreshed(failing={"share", "total", "lists"}, raising={"guarded"})
    kept = Outcome.FULL if policy is Policy.FULL else Outcome.INCREMENTAL
    assert {name: result.outcome for name, result in done.items()} == {
        **dict.fromkeys(BAD_ROWS, Outcome.FAILED), "guarded": kept,
    }  # fmt: skip
    assert {type(result.error) for result in done.values() if result.error} == {StepFailedError}
    for name in ("share", "total", "lists"):
        assert rows(shop, f"SELECT * FROM {{s}}.{name} ORDER BY k") == before[name]
    shop.sql("DELETE FROM {s}.pairs WHERE a = 0")
    assert {result.outcome for result in shop.refreshed().values()} <= {kept, Outcome.NO_OP}
    shop.sql("INSERT INTO {s}.pairs VALUES (4, 1, NULL, NULL)")
    assert {result.outcome for result in shop.refreshed().values()} <= {kept, Outcome.NO_OP}
    assert rows(shop, "SELECT r FROM {s}.share WHERE k > 2 ORDER BY k") == [(None,), (None,)]


CLOCK = """
    SELECT id, current_date() AS d, now() AS t, CAST(current_timestamp AS STRING) AS l
    FROM {s}.orders WHERE now() > TIMESTAMP'2020-01-01'"""


def test_a_view_that_reads_the_clock_can_be_checked_later(shop: Shop) -> None:
    with pytest.raises(NotIncrementalError) as caught:
        shop.view("seen", CLOCK, Policy.AUTO)
    assert caught.value.reasons[0].code == "time-function"
    assert '"full"' in str(caught.value.hint)
    shop.view("seen", CLOCK, Policy.FULL)
    shop.view("again", CLOCK, Policy.FULL)
    shop.refreshed()  # computes the query again and compares, a moment later
    first = rows(shop, "SELECT DISTINCT t FROM {s}.seen")
    assert first == rows(shop, "SELECT DISTINCT t FROM {s}.again")
    assert rows(shop, "SELECT COUNT(DISTINCT t, d, l) FROM {s}.seen") == [(1,)]
    # The rows change although no source does.
    assert {result.outcome for result in shop.refreshed().values()} == {Outcome.FULL}
    assert rows(shop, "SELECT DISTINCT t FROM {s}.seen") > first


def test_settings_of_a_small_refresh_do_not_stay(shop: Shop) -> None:
    partitions = "spark.sql.shuffle.partitions"
    shop.spark.conf.set(partitions, "7")
    shop.view("few", "SELECT id, amount FROM {s}.orders")
    shop.refreshed()
    shop.sql("INSERT INTO {s}.orders SELECT id + 7, cust, amount, day, score FROM {s}.orders")
    assert shop.refreshed()["few"].outcome is Outcome.INCREMENTAL
    with shop.engine.pool.lend() as session:
        assert session().conf.get(partitions) == "7"
        assert session().conf.get("spark.sql.adaptive.enabled") == "true"


def test_rewritten_files_are_not_taken_for_changed_rows(shop: Shop) -> None:
    """One row of a table that is copied on write: its whole file is new, one row is changed."""
    shop.sql("CREATE TABLE {s}.copied (id INT, x INT) USING iceberg")
    shop.sql("INSERT INTO {s}.copied SELECT /*+ COALESCE(1) */ id, id FROM range(5000)")
    shop.view("copies", "SELECT id, x FROM {s}.copied WHERE x > 10", Policy.AUTO)
    shop.refreshed()
    shop.sql("UPDATE {s}.copied SET x = 0 WHERE id = 77")
    assert shop.refreshed()["copies"].outcome is Outcome.INCREMENTAL
    shop.sql("UPDATE {s}.copied SET x = x + 1")
    (result,) = shop.refreshed().values()
    assert [reason.code for reason in result.reasons] == ["changeset-too-large"]


def rows(shop: Shop, text: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in shop.spark.sql(text.format(s=f"lake.{shop.schema}")).collect()]


ZEROS = {
    "bag": "SELECT id, f FROM {s}.signs",
    "lists": "SELECT id, a, st FROM {s}.signs",
    "best": "SELECT g, max(CAST(f AS STRING)) AS s, max_by(f, id) AS b FROM {s}.signs GROUP BY g",
    "before": "SELECT id, f, lag(CAST(f AS STRING)) OVER (PARTITION BY g ORDER BY id) AS p FROM {s}.signs",
    "met": "SELECT x.id, x.f, y.f AS other FROM {s}.signs AS x JOIN {s}.signs AS y ON x.f = y.f",
    "marked": "SELECT f, CAST(f AS STRING) IN (SELECT CAST(f AS STRING) FROM {s}.signs WHERE g = 2) AS m"
    " FROM {s}.signs",
    "risky": "SELECT g, max(CAST(f AS STRING)) AS s, sum(10 DIV id) AS n FROM {s}.signs GROUP BY g",
    "entries": "SELECT id, f, CAST(x AS STRING) AS x FROM {s}.signs LATERAL VIEW explode(a) AS x",
}


@pytest.mark.parametrize(
    "held", [True, pytest.param(False, marks=pytest.mark.laws)], ids=["driver", "staged"]
)
def test_a_zero_that_changes_its_sign(
    shop: Shop, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GROUP BY takes both zeros for one; rows that are added up and found again stay what they were."""
    if not held:
        monkeypatch.setattr(thresholds, "DRIVER_ROWS", 0)
    shop.sql(
        "CREATE TABLE {s}.signs (id INT, g INT, f DOUBLE, a ARRAY<DOUBLE>, st STRUCT<x: DOUBLE>)"
        " USING iceberg"
    )
    shop.sql(
        "INSERT INTO {s}.signs VALUES (1, 1, -0.0D, array(-0.0D), named_struct('x', -0.0D)), (2, 1, 0.0D, NULL, NULL),"
        " (3, 2, -0.0D, array(0.0D, 1), named_struct('x', 0.0D)), (4, 2, double('NaN'), NULL, NULL)"
    )
    views = dict(list(ZEROS.items())[: 5 if held else None])
    for name, text in views.items():
        shop.view(name, text)
    shop.engine.refresh()
    for change in (
        "UPDATE {s}.signs SET f = 0.0D WHERE id = 1",
        "UPDATE {s}.signs SET f = -f, a = array(0.0D), st = named_struct('x', 0.0D) WHERE id IN (1, 3)",
        "INSERT INTO {s}.signs VALUES (5, 1, 0.0D, NULL, NULL), (6, 1, -0.0D, NULL, NULL)",
        "DELETE FROM {s}.signs WHERE CAST(f AS STRING) = '-0.0'",
    ):
        shop.sql(change)
        outcomes = {result.outcome for result in shop.engine.refresh()}
        assert outcomes <= {Outcome.INCREMENTAL, Outcome.NO_OP}
        for name, text in views.items():
            shown = shop.spark.table(f"lake.{shop.schema}.{name}")
            said = shop.spark.sql(text.format(s=f"lake.{shop.schema}"))
            assert as_texts(shown) == as_texts(said), (change, name)


def as_texts(frame: DataFrame) -> Counter[tuple[str, ...]]:
    """The rows as a reader sees them: SQL takes both zeros for one."""
    texts = frame.select([frame[name].cast("string") for name in frame.columns])
    return Counter(map(tuple, texts.collect()))
