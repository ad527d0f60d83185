"""F011: every shape equals its query after every window, or is refused at compile with a code."""

from __future__ import annotations

from hashlib import blake2b

import pytest

from compiler.test_shapes import LOUD, REFUSED, SILENTLY_WRONG, Feed
from grebe import MaterializedView, compile_ivm
from grebe.errors import DefinitionError
from programs.lake import Lake, maintain
from programs.test_rules import FORMS

SCHEMAS = {"t": {"g": "INTEGER", "x": "INTEGER"}, "u": {"g": "INTEGER", "y": "INTEGER"}}

UNNAMED = "expression without alias"
ALL = {name: item for name, item in {**SILENTLY_WRONG, **LOUD}.items() if name != UNNAMED}
STOPPED = {**REFUSED, UNNAMED: "SELECT g, x + 1 FROM t"}


def test_F011_there_are_at_least_fifty_one_shapes() -> None:
    plain = sum(len(forms) for forms in FORMS.values())
    assert len(ALL) + len(STOPPED) >= 35
    assert len(ALL) + len(STOPPED) + plain >= 51


@pytest.mark.parametrize("name", ALL)
def test_F011_shape_equals_its_query_after_every_window(shared: Lake, name: str) -> None:
    shape = ALL[name]
    place = f"s{blake2b(name.encode(), digest_size=4).hexdigest()}"
    shared.run(f"CREATE SCHEMA dl.{place}")
    for table, columns in SCHEMAS.items():
        fields = ", ".join(f"{key} {kind}" for key, kind in columns.items())
        shared.run(f"CREATE TABLE dl.{place}.{table} ({fields})")
    view: MaterializedView | None = None
    for window in shape.windows:
        for table, feed in window.items():
            _write(shared, f"dl.{place}.{table}", feed)
        if view is None:
            view = compile_ivm(shape.sql, mv_schema=place, schemas=SCHEMAS)
            shared.run(view.create_cursors_table, view.create_mv, *view.initialize_cursors)
        else:
            maintain(shared.con, view)
        _equal(shared, view, shape.sql, place)


def _write(lake: Lake, table: str, feed: Feed) -> None:
    """Every change as a commit of its own, in order."""
    for weight, row in feed:
        values = ", ".join("NULL" if value is None else str(value) for value in row)
        if weight > 0:
            lake.run(f"INSERT INTO {table} VALUES ({values})")
            continue
        named = ", ".join(f"c{place}" for place in range(len(row)))
        on = " AND ".join(
            f"c{place} IS NOT DISTINCT FROM {'NULL' if value is None else value}"
            for place, value in enumerate(row)
        )
        found = f"SELECT MIN(id) FROM (SELECT *, rowid FROM {table}) AS h({named}, id) WHERE {on}"
        lake.run(f"DELETE FROM {table} WHERE rowid = ({found})")


def _equal(lake: Lake, view: MaterializedView, sql: str, place: str) -> None:
    lake.run(f"USE dl.{place}")
    shown, truth = f"SELECT * FROM ({view.query_mv})", f"SELECT * FROM ({sql})"
    found = lake.rows(f"{shown} EXCEPT ALL {truth}"), lake.rows(f"{truth} EXCEPT ALL {shown}")
    lake.run("USE memory")
    assert found == ([], []), sql


@pytest.mark.parametrize("name", STOPPED)
def test_F011_shape_is_refused_at_compile_with_a_code(name: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        compile_ivm(STOPPED[name], schemas=SCHEMAS)
    assert caught.value.code
