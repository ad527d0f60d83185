"""Play a history on a format, read every version once, and check all pairs of versions."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as sf

from formats.contract.adapters import Adapter
from formats.contract.histories import History, Silent
from formats.contract.oracle import Bag, bag, difference
from grebe.errors import SchemaChangedError
from grebe.formats.base import WEIGHT, Changes, Source
from grebe.formats.near_rows import NearKeys
from grebe.model import Column, Schema, TableName, Version, Window

TAG = "__version"


@dataclass(slots=True)
class Played:
    """A table whose history was played, and what each pinned version holds."""

    adapter: Adapter
    name: TableName
    source: Source
    versions: list[Version]
    schemas: dict[Version, Schema] = field(default_factory=dict)
    rows: dict[Version, pa.Table] = field(default_factory=dict)


@dataclass(slots=True)
class Playground:
    """Histories that were played already, and how much was checked on them."""

    played: dict[tuple[str, str], Played] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def play(self, adapter: Adapter, history: History) -> Played:
        """The history on a format, played once."""
        key = (adapter.kind, history.name)
        if key not in self.played:
            self.played[key] = play(adapter, history)
        return self.played[key]

    def count(self, **numbers: int) -> None:
        """Add to what was checked."""
        self.counts.update(numbers)


def play(adapter: Adapter, history: History) -> Played:
    """Run the steps and read each version with Spark, as few queries as there are schemas."""
    name = adapter.create(history)
    source = adapter.source(name)
    pinned: list[Version] = []
    for step in history.steps:
        quiet = isinstance(step, Silent)
        adapter.run(name, step.step if isinstance(step, Silent) else step, pinned)
        if not quiet:
            pinned.append(source.head().version)
    played = Played(adapter, name, source, pinned)
    read_versions(played)
    return played


def read_versions(played: Played) -> None:
    """Fill in schema and rows of every pinned version."""
    groups: dict[tuple[Column, ...], list[Version]] = {}
    for version in dict.fromkeys(played.versions):
        schema = played.schemas[version] = played.source.schema_at(version)
        groups.setdefault(schema.columns, []).append(version)
    for columns, versions in groups.items():
        ids = [column.id for column in columns]
        own = played.adapter.own_reader(played.name)
        readers = [own or played.source, *([played.source] if own else [])]
        frames = [
            reader.read_at(version, ids).withColumn(TAG, sf.lit(index))
            for index, (reader, version) in enumerate(itertools.product(readers, versions))
        ]
        table = reduce(lambda left, right: left.unionAll(right), frames).toArrow()
        for index, version in enumerate(versions * len(readers)):
            mine = table.filter(pc.equal(table[TAG], index)).drop_columns([TAG])
            known = played.rows.setdefault(version, mine)
            assert known is mine or bag(known) == bag(mine), (played.name, version)
        for version in versions:
            check_on_driver(played, version, ids)


def check_on_driver(played: Played, version: Version, ids: Sequence[int]) -> None:
    """What the driver reads itself are the rows, and those of some keys, NULL among these."""
    rows, whole = played.rows[version], played.source.rows_on_driver(version, ids)
    if whole is None:
        return
    assert bag(whole) == bag(rows), (played.name, version)
    for name in whole.column_names:
        if pa.types.is_nested(whole.schema.field(name).type):
            continue
        column = whole[name].combine_chunks()
        wanted = pc.unique(column).slice(0, 3)
        near = NearKeys(name, wanted)
        found = played.source.rows_on_driver(version, ids, near)
        assert found is not None
        picked = whole.filter(pc.is_in(column, value_set=wanted))
        assert bag(found) == bag(picked), (played.name, version, name)


def check_all_pairs(played: Played) -> int:
    """The number of pairs whose changes were right: all ordered ones, and from nothing."""
    return _checked(played, list(itertools.permutations(_versions(played), 2)))


def check_near_pairs(played: Played) -> int:
    """The same for neighbours and for the two ends: what a refresh meets nearly always."""
    versions = _versions(played)
    pairs = [*itertools.pairwise(versions), (versions[0], versions[-1])]
    there = [(after, upto) for after, upto in pairs if after != upto]
    return _checked(played, list(dict.fromkeys([*there, *((b, a) for a, b in there)])))


def _versions(played: Played) -> list[Version]:
    return list(dict.fromkeys(played.versions))


def _checked(played: Played, pairs: Sequence[tuple[Version, Version]]) -> int:
    versions = _versions(played)
    if not played.adapter.both_directions:
        pairs = [(a, b) for a, b in pairs if versions.index(a) < versions.index(b)]
    windows = [Window(a, b) for a, b in pairs] + [Window(None, version) for version in versions]
    for window in windows:
        check_pair(played, played.source, window)
    return len(windows)


def check_pair(played: Played, source: Source, window: Window) -> Changes:
    """One window: changes of the columns that both versions have, refusal of the others."""
    same, changed = _columns(played, window)
    for column in changed:
        reason = source.unreadable(window, [column.id])
        assert reason is not None, column
        assert reason.code == "schema-changed"
        with pytest.raises(SchemaChangedError):
            source.changes(window, [column.id])
    changes = source.changes(window, [column.id for column in same])
    assert rows_of(changes) == _expected(played, window, same), (played.name, window, changes.way)
    assert arrow_of(changes).column_names == [*(column.name for column in same), WEIGHT]
    # A projection that drops columns turns different rows into duplicates.
    few = same[1:3]
    if source is played.source:
        found = source.changes(window, [column.id for column in few])
        assert rows_of(found) == _expected(played, window, few), (played.name, window, found.way)
    return changes


def _columns(played: Played, window: Window) -> tuple[list[Column], list[Column]]:
    """Columns of `upto` that are the same at `after`, and those that are not."""
    new = played.schemas[window.upto].columns
    if window.after is None:
        return list(new), []
    old = played.schemas[window.after].by_id()
    same = [c for c in new if c.id in old and old[c.id].type == c.type]
    return same, [column for column in new if column not in same]


def _expected(played: Played, window: Window, columns: Sequence[Column]) -> Bag:
    new = bag(played.rows[window.upto], [column.name for column in columns])
    if window.after is None:
        return new
    old_names = {column.id: column.name for column in played.schemas[window.after].columns}
    old = bag(played.rows[window.after], [old_names[column.id] for column in columns])
    return difference(new, old)


def rows_of(changes: Changes) -> Bag:
    """The changes as a bag; each row must come once."""
    table = arrow_of(changes)
    found = bag(table)
    assert len(found) == table.num_rows
    assert 0 not in found.values()
    return found


def arrow_of(changes: Changes) -> pa.Table:
    """The changes on the driver, whichever way they came."""
    if changes.arrow is not None:
        return changes.arrow
    assert changes.frame is not None
    return changes.frame.toArrow()
