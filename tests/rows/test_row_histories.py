"""Random histories: after every step the view is what its text says, and no input was asked for twice."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from evidence import LongRun
from grebe.engine import refresh as refreshing
from grebe.engine.rows import row_refresh, row_results
from grebe.errors import GrebeError
from rows.pond import MEANT, Pond

KINDS = {
    "key": f"SELECT id, {MEANT} AS size, n * 2 AS twice FROM lake.{{s}}.t WHERE n < 6",
    "content": f"SELECT id, {MEANT} AS size, n * 2 AS twice FROM lake.{{s}}.t WHERE n < 6",
    "limit": f"SELECT id, {MEANT} AS size, n * 2 AS twice FROM lake.{{s}}.t WHERE n < 6 ORDER BY id LIMIT 4 OFFSET 1",
}


def step(pond: Pond, draw: random.Random, ids: set[int]) -> str:
    """One change of the table; keys stay unique."""
    words = [None, "", "a", "bb", "ccc", "dddd", "x" * 9]
    word = draw.choice(words)
    text = "NULL" if word is None else f"'{word}'"
    some = draw.sample(sorted(ids), min(len(ids), draw.randint(1, 3))) or [0]
    listed = ", ".join(map(str, some))
    free = next(n for n in range(100) if n not in ids)
    match draw.choice(
        ["insert", "insert", "delete", "word", "number", "same", "rewrite", "compact", "move"]
    ):
        case "insert":
            ids.add(free)
            return f"INSERT INTO lake.{{s}}.t VALUES ({free}, {text}, {draw.randint(0, 8)})"
        case "delete":
            ids.difference_update(some)
            return f"DELETE FROM lake.{{s}}.t WHERE id IN ({listed})"
        case "word":
            return f"UPDATE lake.{{s}}.t SET body = {text} WHERE id IN ({listed})"
        case "number":
            return f"UPDATE lake.{{s}}.t SET n = {draw.randint(0, 8)} WHERE id IN ({listed})"
        case "same":
            return f"UPDATE lake.{{s}}.t SET body = body WHERE id IN ({listed})"
        case "rewrite":
            return "INSERT OVERWRITE lake.{s}.t SELECT * FROM lake.{s}.t"
        case "compact":
            return "CALL lake.system.rewrite_data_files(table => '{s}.t', options => map('rewrite-all', 'true'))"
    ids.discard(some[0])
    ids.add(free)
    return f"UPDATE lake.{{s}}.t SET id = {free} WHERE id = {some[0]}"


def live(pond: Pond, kind: str, seed: int, steps: int) -> Counter[str]:
    """A view over some steps; how many of each were checked."""
    draw, ids = random.Random(seed), {1, 2, 3}
    pond.table("t", "(1, 'a', 1)", "(2, 'bb', 2)", "(3, NULL, 3)")
    how: dict[str, Any] = {} if kind == "content" else {"key": ("id",)}
    if kind == "limit":
        how |= {"limit": 4, "offset": 1}
    select = {"id": "id", "size": pond.counted(), "twice": "n * 2"}
    view = pond.view("v", pond.query(select, where="n < 6", **how))
    asked: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for number in range(steps):
        if number:
            sql = step(pond, draw, ids)
            seen[sql.split()[0]] += 1
            pond.sql(sql)
        most = draw.choice([None, None, None, 1])
        view.refresh(max_rows=most)
        asked.update(pond.calls())
        missing, wrong = pond.differs(view, KINDS[kind])
        assert wrong == [], (kind, seed, number)
        assert most is not None or missing == [], (kind, seed, number)
        view.verify()
    view.refresh()
    asked.update(pond.calls())
    assert pond.differs(view, KINDS[kind]) == ([], [])
    assert {word: times for word, times in asked.items() if times > 1} == {}
    return seen


def test_a_short_history(pond: Pond) -> None:
    draw = random.Random()
    kind, seed = draw.choice(sorted(KINDS)), draw.randrange(1000)
    assert sum(live(pond, kind, seed, 5).values()) == 4


@pytest.mark.laws
def test_many_histories(pond: Pond, long_run: LongRun) -> None:
    for seed in long_run.seeds():
        for kind in sorted(KINDS):
            seen = live(Pond(pond.project), kind, seed, 12)
            long_run.add(histories=1, steps=sum(seen.values()))


PLACES = ["rows.computed", "refresh.computed", "rows.kept", "refresh.committed"]


class Stopped(BaseException):
    """Nothing in the package may take it for an error that it knows."""


@pytest.mark.parametrize("place", PLACES)
def test_what_is_stopped_anywhere_is_found_again(
    pond: Pond, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pond.table("t", "(1, 'a', 1)", "(2, 'bb', 2)", "(3, 'ccc', 3)")
    query = pond.query({"id": "id", "size": pond.counted()}, key=("id",))
    view = pond.view("v", query, with_no_data=False)
    pond.sql("UPDATE lake.{s}.t SET body = 'new' WHERE id = 1")
    pond.sql("INSERT INTO lake.{s}.t VALUES (4, 'more', 4)")
    pond.sql("DELETE FROM lake.{s}.t WHERE id = 2")
    reached: list[str] = []

    def reach(name: str) -> None:
        reached.append(name)
        if name == place and reached.count(place) == 1:
            raise Stopped

    for module in (refreshing, row_refresh, row_results):
        monkeypatch.setattr(module, "reach", reach)
    with pytest.raises((Stopped, GrebeError)):
        view.refresh()
    assert place in reached
    pond.project.recover()
    view.refresh()
    assert pond.calls() == ["a", "bb", "ccc", "more", "new"]
    pond.check(view, f"SELECT id, {MEANT} AS size FROM lake.{{s}}.t")
    pond.sql("INSERT INTO lake.{s}.t VALUES (2, 'bb', 2), (5, 'a', 2)")
    view.refresh()
    assert pond.calls() == []
