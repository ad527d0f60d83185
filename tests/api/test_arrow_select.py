"""What is computed over Arrow without an engine: as SQL means it, or refused."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from grebe.api import Project
from grebe.errors import RefreshError
from grebe.project.arrow_select import filtered, select_from

ROWS = pa.table(
    {
        "k": ["a", None, "b", "a"],
        "n": pa.array([1, 2, None, 4], pa.int32()),
        "d": pa.array([Decimal("1.50"), None, Decimal("2.00"), Decimal("-3.25")], pa.decimal128(9, 2)),
        "f": [1.0, math.nan, None, -0.0],
        "day": [date(2026, 1, 1), date(2026, 2, 1), None, date(2026, 3, 1)],
    }
)  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "places"),
    [
        ("n > 1", [1, 3]),
        ("NOT n > 1", [0]),
        ("n IS NULL", [2]),
        ("n IS NOT NULL AND k = 'a'", [0, 3]),
        ("n > 1 OR k = 'a'", [0, 1, 3]),
        ("k IN ('a', 'x')", [0, 3]),
        ("NOT k IN ('a')", [2]),
        ("n BETWEEN 2 AND 4", [1, 3]),
        ("d = 1.5", [0]),
        ("d < 2", [0, 3]),
        ("f > 100", [1]),
        ("f = 0", [3]),
        ("f <= 1", [0, 3]),
        ("f <> 1", [1, 3]),
        ("day >= '2026-02-01'", [1, 3]),
        ("-n = -4", [3]),
        ("k = NULL", []),
        ("`n` = 1", [0]),
        ("CASE WHEN n > 1 THEN k END = 'a'", [3]),
    ],
)  # fmt: skip
def test_a_condition_means_what_it_means_in_sql(condition: str, places: list[int]) -> None:
    found = filtered(ROWS, condition)
    assert found["n"].to_pylist() == [ROWS["n"][place].as_py() for place in places]


@pytest.mark.parametrize(
    "condition",
    ["upper(k) = 'A'", "n / 2 = 1", "n = 'a'", "n = 1.5", "nothing = 1", "k LIKE 'a%'", "n IN (SELECT 1)", "n >"],
)  # fmt: skip
def test_what_is_not_understood_is_refused(condition: str) -> None:
    with pytest.raises(RefreshError) as caught:
        filtered(ROWS, condition)
    assert caught.value.code == "only-spark"
    assert "view.read()" in (caught.value.hint or "")


def test_the_select_of_a_public_name() -> None:
    text = (
        "SELECT CAST(`c` AS STRING) AS `city`, CAST(`s` AS BIGINT) AS `total` FROM ("
        "SELECT `k` AS `c`, CASE WHEN `n` > 1 THEN `n` END AS `s`, `n` AS `x` FROM `__grebe_stored`"
        ") AS q WHERE `x` > 0"
    )
    shown = select_from(text, ROWS)
    assert shown.column_names == ["city", "total"]
    assert shown.schema.field("total").type == pa.int64()
    assert shown.to_pylist() == [
        {"city": "a", "total": None},
        {"city": None, "total": 2},
        {"city": "a", "total": 4},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CAST(n AS STRING) AS n FROM t",
        "SELECT CAST(d AS DECIMAL(9, 1)) AS n FROM t",
        "SELECT n + 1 AS n FROM t",
        "SELECT DISTINCT n FROM t",
        "SELECT n FROM t ORDER BY n",
        "SELECT n FROM t JOIN u ON t.a = u.a",
        "SELECT n FROM t LIMIT 1",
        "SELECT 1 AS n",
    ],
)  # fmt: skip
def test_a_select_that_says_more_is_refused(text: str) -> None:
    with pytest.raises(RefreshError):
        select_from(text, ROWS)


def test_a_number_of_rows_below_zero_is_refused(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text("SELECT id FROM t")
    with Project.open(tmp_path) as project:
        with pytest.raises(RefreshError) as caught:
            project["v"].to_arrow(limit=-1)
        assert caught.value.code == "negative-limit"
        with pytest.raises(RefreshError) as caught:
            project["v"].to_arrow()
        assert caught.value.code == "never-refreshed"
