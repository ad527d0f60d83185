"""The small steps of one refresh: what they read is put before DuckDB, and what they give is compared in shadow.

A step that DuckDB cannot run (it raises) is run by Spark, which gives its rows or says what is wrong with them.
With `GREBE_SHADOW=1` every small step is run by Spark as well, and any difference raises.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from grebe import thresholds
from grebe.compiler.algebra.nodes import At, Named, Node, Scan, Stored
from grebe.compiler.bind.small_kinds import NotSmallError, SmallKind
from grebe.compiler.bind.small_relations import SmallLeaf, Translator
from grebe.compiler.bind.small_steps import SmallStep, kinds_of, leaves_of, small_step
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.explain import leaf_name
from grebe.compiler.write.steps import Step
from grebe.engine.kept_rows import Kept, KeptRows, NearRows, TooManyRowsError
from grebe.engine.small_runner import ABSENT, CannotRunError, SmallRunner, has_duckdb
from grebe.engine.source_deltas import SourceDelta
from grebe.errors import InternalError
from grebe.formats.base import WEIGHT, VersionStats
from grebe.formats.identity import consolidate_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from grebe.model import Version

SHADOW: Final = "GREBE_SHADOW"
_UTC: Final = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "+00:00"})


def shadowed() -> bool:
    """Whether small steps are run by Spark, too, and compared."""
    return os.environ.get(SHADOW) == "1"


class StoredRows(Protocol):
    """The view's own rows at the version that a refresh is planned from."""

    def target(self) -> VersionStats: ...

    def stored_types(self) -> Mapping[str, str]: ...

    def held(self) -> pa.Table | None: ...


@dataclass(frozen=True, slots=True)
class SourceRows:
    """How large the rows of a source are that come to the driver, and which."""

    bytes: int | None
    """None where they cannot come."""
    near: NearRows | None = None
    """Which they are, unless all."""


@dataclass(slots=True)
class SmallSteps:
    """What DuckDB runs of one refresh."""

    sides: Mapping[str, SourceDelta]
    stored: StoredRows
    zone: Callable[[], str]
    """The time zone of the session."""
    nearby: KeptRows
    """What the views of a run keep of their sources."""
    session: Callable[[], SparkSession]
    refused: str | None = None
    """Why no step is small."""
    kept: dict[str, pa.Table] = field(default_factory=dict)
    """The results of steps that are on the driver."""
    types: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Spark's types of their columns."""
    rows: dict[str, pa.Table] = field(default_factory=dict)
    """What leaves read, by their keys."""
    runner: SmallRunner | None = None

    def judge(self, step: Step) -> SmallStep | str:
        """The step for DuckDB, or why it is left to Spark."""
        if self.refused is not None:
            return self.refused
        return small_step(step, self) if has_duckdb() else ABSENT

    def run(self, small: SmallStep) -> tuple[str, pa.Table]:
        """What was run, in words, and the rows that it gave.

        Raises:
            CannotRunError: Spark is to run it.
        """
        if self.runner is None:
            self.runner = SmallRunner.opened()
        names: dict[str, str] = {}
        for leaf in leaves_of(small.step.node):
            names[leaf.digest] = self.runner.put(self._key(leaf), self._rows(leaf))
        rows = self.runner.run(small.step.node, small.kinds, small.hashes, names)
        return emit(small.step.node, "duckdb", _named), rows

    def keep(self, name: str, rows: pa.Table, kinds: Mapping[str, SmallKind]) -> None:
        """The rows of a step, for those that follow."""
        self.kept[name] = rows
        self.types[name] = {column: kind.text for column, kind in kinds.items()}

    def keep_types(self, name: str, node: Node) -> None:
        """The types of a step without rows, where they are known."""
        try:
            translator = Translator(lambda leaf: kinds_of(leaf, self), self.utc)
            kinds = translator.relation(node).kinds
        except NotSmallError:
            return
        self.types[name] = {column: kind.text for column, kind in kinds.items()}

    def close(self) -> None:
        """Forget all rows."""
        if self.runner is not None:
            self.runner.close()
        self.runner = None
        self.rows.clear()
        self.kept.clear()

    # What a step is judged by (`compiler.bind.small_steps.AtHand`).

    @property
    def utc(self) -> bool:
        """Whether the session's clock is that of UTC."""
        return self.zone() in _UTC

    def types_of(self, leaf: SmallLeaf) -> Mapping[str, str]:
        """Spark's types of its columns."""
        match leaf:
            case Scan(at=At.DELTA):
                delta = self.sides[leaf.table].delta
                return {} if delta is None else dict(delta.types)
            case Scan():
                return self._source_types(leaf)
            case Named():
                return self.types.get(leaf.step, {})
        return self.stored.stored_types()

    def bytes_of(self, leaf: SmallLeaf) -> int | None:
        """How large its rows are; None where they cannot come to the driver."""
        match leaf:
            case Scan(at=At.DELTA):
                delta = self.sides[leaf.table].delta
                held = None if delta is None else delta.arrow
                return None if held is None else int(held.nbytes)
            case Scan():
                return self._source(leaf).bytes
            case Named():
                rows = self.kept.get(leaf.step)
                return None if rows is None else int(rows.nbytes)
        stats = self.stored.target()
        few = stats.rows is not None and stats.rows <= thresholds.SMALL_RESULT_ROWS
        return stats.bytes * thresholds.SMALL_UNPACKED if few else None

    def _source_types(self, leaf: Scan) -> Mapping[str, str]:
        side = self.sides[leaf.table]
        schema = {
            column.id: column.type for column in side.source.schema_at(self._version(leaf)).columns
        }
        return {name: schema[number] for name, number in side.columns.items()}

    def _key(self, leaf: SmallLeaf) -> str:
        match leaf:
            case Named():
                return f"step {leaf.step}"
            case Scan(at=At.DELTA):
                return f"delta {leaf.table} {sorted({source for _, source in leaf.pairs})}"
            case Scan():
                names = sorted({source for _, source in leaf.pairs})
                return f"{leaf.at} {leaf.table} {leaf.near} {names}"
        return "stored"

    def _rows(self, leaf: SmallLeaf) -> pa.Table:
        key = self._key(leaf)
        if key not in self.rows:
            found = self._read(leaf)
            if found is None:
                raise CannotRunError(f"{leaf_name(leaf)} was not read on the driver")
            self.rows[key] = found
        return self.rows[key]

    def _read(self, leaf: SmallLeaf) -> pa.Table | None:
        match leaf:
            case Named():
                return self.kept[leaf.step]
            case Scan(at=At.DELTA):
                return self._delta(leaf)
            case Scan():
                return self._rows_of_source(leaf)
            case Stored():
                return self.stored.held()
        return None

    def reads(self, scan: Scan) -> bool:
        """Whether the rows of a source that a scan needs come to the driver."""
        if self.refused is not None or not has_duckdb():
            return False
        size = self._source(scan).bytes
        return size is not None and size <= thresholds.SMALL_BYTES

    def _source(self, leaf: Scan) -> SourceRows:
        """How the rows of a source come to the driver."""
        side, version = self.sides[leaf.table], self._version(leaf)
        if not side.source.capabilities.rows_on_driver:
            return SourceRows(None)
        if not self.nearby.is_plain(side, version):
            return SourceRows(None)
        near = self._near(leaf)
        stats = side.source.version_stats(version, [])
        whole = stats.bytes * thresholds.SMALL_UNPACKED
        if whole <= thresholds.SMALL_SOURCE_BYTES or (
            near is None and whole <= thresholds.SMALL_BYTES
        ):
            return SourceRows(whole)
        if near is None:
            return SourceRows(None)
        return SourceRows(
            near.expected_rows * thresholds.SMALL_VALUE_BYTES * len(near.wanted), near
        )

    def _near(self, leaf: Scan) -> NearRows | None:
        """The rows near the change, where these are enough and the driver has its keys."""
        if leaf.near is None:
            return None
        found = self.nearby.asked(self.sides, leaf, leaf.near, 1)
        return None if found is None or found.keys is None or not found.is_plain else found

    def _version(self, leaf: Scan) -> Version:
        side = self.sides[leaf.table]
        version = side.old if leaf.at is At.OLD else side.new
        if version is None:
            raise InternalError.broken(f"no old version of {leaf.table}")
        return version

    def _rows_of_source(self, leaf: Scan) -> pa.Table | None:
        found = self._source(leaf)
        try:
            if found.near is not None:
                kept: Kept | None = self.nearby.read(self.session, found.near, leaf.at)
            else:
                kept = self.nearby.whole(self.sides[leaf.table], self._version(leaf))
        except TooManyRowsError:
            return None
        if kept is None or kept.rows.nbytes > thresholds.SMALL_UNPACKED * thresholds.SMALL_BYTES:
            return None
        return kept.rows.select(sorted({source for _, source in leaf.pairs}))

    def _delta(self, leaf: Scan) -> pa.Table:
        """A source's change, consolidated over the columns that are read."""
        delta = self.sides[leaf.table].delta
        if delta is None or delta.arrow is None:
            raise InternalError.broken(f"no delta of {leaf.table}")
        names = sorted({source for _, source in leaf.pairs})
        part = delta.arrow.select([*names, WEIGHT])
        return consolidate_arrow(part) if len(names) + 1 < delta.arrow.num_columns else part


def _named(leaf: Leaf) -> str:
    return leaf_name(leaf)


def differs(by_duckdb: pa.Table, by_spark: pa.Table) -> str | None:
    """How the rows of two engines differ; None where they are the same bag of the same types."""
    from collections import Counter

    one = [(part.name, str(part.type)) for part in by_duckdb.schema]
    other = [(part.name, str(part.type)) for part in by_spark.schema]
    if one != other:
        return f"types: {one} by DuckDB, {other} by Spark"
    bags = [Counter(map(repr, table.to_pylist())) for table in (by_duckdb, by_spark)]
    if bags[0] == bags[1]:
        return None
    more, fewer = bags[0] - bags[1], bags[1] - bags[0]
    return f"by DuckDB alone: {list(more)[:5]}; by Spark alone: {list(fewer)[:5]}"
