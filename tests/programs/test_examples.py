"""F019: the two complete workflows, as the examples run them; every feature has a test."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from examples.ducklake import one_catalog, three_catalogs
from programs.features import shown


def test_F019_one_catalog(tmp_path: Path) -> None:
    assert one_catalog.main(tmp_path) == [(7, Decimal("74.99"), 2)]


def test_F019_F059_three_catalogs(tmp_path: Path) -> None:
    assert three_catalogs.main(tmp_path) == [
        ("East", Decimal("20.00")),
        ("West", Decimal("100.00")),
    ]


def test_every_feature_of_programs_has_a_test() -> None:
    wanted = {f"F{number:03}" for number in (*range(1, 64), 70, 71)}
    assert not wanted - set(shown())
