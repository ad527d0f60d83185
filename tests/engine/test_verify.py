"""Is a view what its query says: rounding, samples, and what cannot be checked."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from engine.shop import Shop
from grebe.config import Settings
from grebe.engine import verify
from grebe.engine.bag_compare import differing
from grebe.engine.engine import Engine
from grebe.errors import CheckFailedError, ConfigError, StepFailedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
_numbers = count()


@pytest.fixture
def shop(spark: SparkSession, project: Settings) -> Shop:
    shop = Shop(spark, Engine(project, spark), f"verify{next(_numbers)}")
    shop.sql("CREATE NAMESPACE {s}")
    shop.sql("CREATE TABLE {s}.s USING iceberg AS SELECT id AS k, id / 7 AS v FROM range(300)")
    shop.view("sums", "SELECT k % 200 AS g, SUM(v) AS total, COUNT(*) AS n FROM {s}.s GROUP BY 1")
    shop.engine.refresh()
    return shop


def test_rounding_is_no_difference_however_many_rows_have_it(spark: SparkSession) -> None:
    exact = spark.sql("SELECT id % 100 AS k, id + 0.1D AS x FROM range(3000)")
    noisy = spark.sql("SELECT id % 100 AS k, (id + 0.1D) * (1 + 1e-14) AS x FROM range(3000)")
    assert differing(exact, noisy, ["x"], 3) == []
    off = noisy.selectExpr("k", "IF(k = 7 AND x < 100, x * 1.00001, x) AS x")
    found = differing(exact, off, ["x"], 10)
    assert sorted(text.split()[0] for text in found) == ["missing", "surplus"]


CASES = [
    ("(1, 'NaN', 'Infinity')", "(1, 'NaN', 'Infinity')", True),
    ("(1, 1.0, NULL)", "(1, 1.00000000000001, NULL)", True),
    ("(NULL, 1.0, 1)", "(NULL, 1.00000000000001, 1)", True),
    ("(1, 1.0, NULL)", "(1, 1.00000000000001, 0)", False),
    ("(1, 1.0, 'NaN')", "(1, 1.0, 5)", False),
    ("(1, 1.0, 'Infinity')", "(1, 1.0, 5)", False),
    ("(1, 1.0, '-Infinity')", "(1, 1.0, 'Infinity')", False),
    ("(1, 1.0, 1)", "(2, 1.00000000000001, 1)", False),
    ("(1, 1.0, 1), (1, 1.0, 1)", "(1, 1.00000000000001, 1)", False),
    ("(1, 1.0, 1), (1, 2.0, 1)", "(1, 2.00000000000001, 1), (1, 1.0, 1)", True),
]


def test_what_is_nearly_equal(spark: SparkSession) -> None:
    """All cases in one comparison: the number of the case is one of the other columns."""

    def side(place: int) -> DataFrame:
        parts = [
            f"SELECT {number} AS c, CAST(k AS INT) AS k, CAST(x AS DOUBLE) AS x,"
            f" CAST(y AS DOUBLE) AS y FROM VALUES {case[place]} AS t (k, x, y)"
            for number, case in enumerate(CASES)
        ]
        return spark.sql(" UNION ALL ".join(parts))

    found = differing(side(0), side(1), ["x", "y"], 100)
    differ = {
        number for number in range(len(CASES)) if any(f"'c': {number}," in text for text in found)
    }
    assert differ == {number for number, case in enumerate(CASES) if not case[2]}


def test_a_sample_compares_the_rows_of_some_keys(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{shop.schema}.sums"
    whole, part = shop.engine.verify(name), shop.engine.verify(name, 0.2)
    assert (whole.rows, whole.sample) == (200, None)
    assert 10 < part.rows < 80
    assert shop.engine.verify(name, 0.2).rows == part.rows
    asked = verify.query_at
    monkeypatch.setattr(
        verify, "query_at", lambda *given: asked(*given).selectExpr("g", "total", "n + 1 AS n")
    )
    with pytest.raises(CheckFailedError, match="differs"):
        shop.engine.verify(name, 0.2)
    for wrong in (0.0, 1.5, -1.0):
        with pytest.raises(ConfigError, match="sample"):
            shop.engine.verify(name, wrong)


def test_what_cannot_be_checked_is_said_in_our_own_words(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{shop.schema}.sums"
    with monkeypatch.context() as patch:
        patch.setattr(verify, "_one_zero", lambda rows: rows.selectExpr("raise_error('lost') AS x"))
        with pytest.raises(StepFailedError, match="could not be verified"):
            shop.engine.verify(name)
    shop.sql("DROP TABLE {s}.s")
    shop.sql("CREATE TABLE {s}.s USING iceberg AS SELECT id AS k, id / 7 AS v FROM range(300)")
    with pytest.raises(CheckFailedError, match="cannot be checked") as caught:
        shop.engine.verify(name)
    assert caught.value.code == "source-replaced"
