"""Runs the bound steps of a plan in one Spark session: few actions, small results on the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from grebe.compiler.algebra.join_keys import ColumnPlace
from grebe.compiler.algebra.nodes import At, Empty, Named, Node, Scan, Stored, Verbatim, walk
from grebe.compiler.algebra.scalar import Scalar, build, column
from grebe.compiler.bind.key_ranges import narrowed
from grebe.compiler.bind.prune import without_empty
from grebe.compiler.bind.shared_reads import BothVersions, read_once, read_twice
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.plan import steps
from grebe.compiler.text.clock import ZONE, stopped
from grebe.compiler.text.verbatim import relation_of
from grebe.engine import small_views
from grebe.engine.kept_rows import Kept, KeptRows, collected
from grebe.engine.read_once import is_worth_it, taken_apart
from grebe.engine.source_deltas import SourceDelta, Stage
from grebe.engine.writing import expected, merge_of, pruning
from grebe.errors import CheckFailedError, GrebeError, InternalError, StepFailedError
from grebe.formats import base
from grebe.formats.base import Rows, VersionStats
from grebe.formats.identity import quoted
from grebe.formats.storage_errors import cause_of, disk_hint
from grebe.model import ACTION
from grebe.sql_text import PREFIX, made

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

DRIVER_ROWS = 200_000
"""Changed source rows up to which the results of steps are expected to fit on the driver."""

_OFTEN = 2
"""Scans of a source from which rows that are near a change are kept."""


@dataclass(slots=True)
class Execution:
    """The steps of one refresh, in a session of their own."""

    spark: SparkSession
    run_id: str
    sides: Mapping[str, SourceDelta]
    stored: Callable[[], DataFrame]
    """The view's own rows at the version that was planned from."""
    target: Callable[[], VersionStats]
    """What metadata says of the storage table at that version."""
    held: Callable[[], pa.Table | None]
    """The view's own rows on the driver, where they can be read there."""
    stage: Stage
    nearby: KeptRows | None = None
    """What the views of a run keep of large sources; None where they are read whole."""
    order: tuple[str, ...] = ()
    """The columns by which rows are sorted that are written anew."""
    moment: datetime | None = None
    """What the clock shows to a query that reads it."""
    on_driver: bool = True
    """Whether the results of steps are small enough to be held by the driver."""
    changed: int | None = None
    """Stored rows that change, where the write itself does not say it: all are written anew."""
    views: dict[str, str] = field(default_factory=dict)
    scans: Counter[ColumnPlace] = field(default_factory=Counter)
    """How often a source is read for the rows near a change, by the column that says which."""
    empty: dict[str, Node | None] = field(default_factory=dict)
    """The steps without any row: what follows from them alone is not computed, only its columns."""
    kept: dict[str, pa.Table] = field(default_factory=dict)
    """The results of steps that are on the driver."""

    def sql(self, node: Node) -> str:
        """The text of a relation in this session."""
        text = emit(node, "spark", self.name_of)
        if self.moment is None:
            return text
        return stopped(text, self.moment, str(self.spark.conf.get(ZONE, "UTC")))

    def run(self, bound: Sequence[steps.Step]) -> list[base.Write]:
        """The writes that the steps lead to; checks that fail raise, nothing is written yet.

        Raises:
            CheckFailedError: stored rows contradict the change.
            StepFailedError: Spark could not run a step, as it could not run the query.
        """
        writes: list[base.Write] = []
        self.scans = Counter(
            (node.table, node.near.column)
            for step in bound
            for node in walk(step.node)
            if isinstance(node, Scan) and node.near
        )
        for step in bound:
            try:
                writes += self._step(replace(step, node=without_empty(step.node, self.empty)))
            except GrebeError:
                raise
            except Exception as error:  # Spark's own, and those of the wire below it
                raise StepFailedError(
                    "a step of the refresh failed in Spark",
                    detail=cause_of(error),
                    hint=disk_hint(error)
                    or "the query itself fails on this data: correct the data or the query",
                    run_id=self.run_id,
                    step=getattr(step, "name", type(step).__name__.lower()),
                ) from error
        return writes

    def _step(self, step: steps.Step) -> list[base.Write]:
        match step:
            case steps.Compute(name=name, node=Empty()):
                self.empty[name] = step.node
            case (
                steps.CheckStep(node=Empty())
                | steps.AppendStep(node=Empty())
                | steps.MergeStep(node=Empty())
            ):
                return []
            case steps.Compute():
                node = self._read_once(narrowed(step.node, self._range))
                self._keep(step.name, self.spark.sql(self.sql(node)))
            case steps.CheckStep():
                self._check(step)
            case steps.OverwriteStep():
                return [base.Overwrite(Rows(sql=self._sorted(self.sql(step.node))))]
            case steps.AppendStep():
                return [base.Append(self._rows(step))]
            case steps.MergeStep():
                merge = self._merge(step)
                return [] if merge is None else [merge]
        return []

    def _sorted(self, sql: str) -> str:
        names = ", ".join(quoted(name) for name in self.order)
        return f"SELECT * FROM ({sql}) AS {made('rows')} ORDER BY {names}" if names else sql

    def close(self) -> None:
        """Forget the temporary views: the session is used again."""
        for name in self.views.values():
            self.spark.catalog.dropTempView(name)
        self.views.clear()
        self.kept.clear()

    def name_of(self, leaf: Leaf) -> str:
        """The temporary view behind a leaf, made when it is first needed."""
        if isinstance(leaf, Verbatim):
            return relation_of(leaf, "spark", lambda table: self.name_of(Scan(table, (), At.NEW)))
        key = self._key(leaf)
        if key not in self.views:
            self._show(key, self._frame(leaf))
        return quoted(self.views[key])

    def _key(self, leaf: Scan | Stored | Named) -> str:
        match leaf:
            case Named():
                return f"step {leaf.step}"
            case Scan(at=At.DELTA):
                return f"delta {leaf.table} {sorted(source for _, source in leaf.pairs)}"
            case Scan():
                return f"{leaf.at} {leaf.table} {leaf.near or ''}"
            case Stored():
                return "stored"

    def _frame(self, leaf: Scan | Stored | Named) -> DataFrame:
        match leaf:
            case Scan(at=At.DELTA):
                side = self.sides[leaf.table]
                if side.delta is None:
                    raise InternalError.broken(f"no delta of {leaf.table}")
                names = sorted({source for _, source in leaf.pairs})
                return side.delta.frame(self.spark, names)
            case Scan():
                side = self.sides[leaf.table]
                version = side.old if leaf.at is At.OLD else side.new
                if version is None:
                    raise InternalError.broken(f"no old version of {leaf.table}")
                kept = self._near(leaf)
                if kept is not None:
                    return kept.frame(self.spark, list(side.columns))
                return side.source.read_at(version, list(side.columns.values()))
            case Stored():
                return self.stored()
            case Named(step=name) if (absent := self.empty.get(name)) is not None:
                return self.spark.sql(self.sql(absent))
        raise InternalError.broken(f"step {leaf} is read before it is computed")

    def _near(self, leaf: Scan) -> Kept | None:
        """The rows that are enough for a scan, where they are read more than once."""
        if leaf.near is None or self.nearby is None or not self.on_driver:
            return None
        place = (leaf.table, leaf.near.column)
        if self.scans[place] < _OFTEN and not self.nearby.is_shared([place, *leaf.near.deltas]):
            return None
        return self.nearby.of(self.spark, self.sides, leaf, leaf.near)

    def _read_once(self, node: Node) -> Node:
        """The relation with what it needs at both versions read before, where that is worth it."""
        return read_once(node, [item for item in read_twice(node) if self._read_both(item)])

    def _read_both(self, both: BothVersions) -> bool:
        keys = {at: self._key(both.named(at)) for at in (At.NEW, At.OLD)}
        if keys[At.NEW] in self.views:
            return True
        scan, side = replace(both.scan, near=both.near), self.sides[both.scan.table]
        at_hand = self.on_driver and side.delta is not None and side.delta.arrow is not None
        if not at_hand or self._near(scan) or not is_worth_it(both, side, self._count):
            return False
        frame = self.spark.sql(self.sql(both.rows))
        rows = self._collected(frame)
        if rows is None:
            return False
        for at, part in zip(keys, taken_apart(rows), strict=True):
            self._show(keys[at], Kept(part, frame.schema).frame(self.spark, both.new.columns))
        return True

    def _count(self, leaf: Node) -> int | None:
        """How many rows a step or a delta has, where they are on the driver."""
        match leaf:
            case Named(step=name):
                rows = self.kept.get(name)
            case Scan(table=table):
                delta = self.sides[table].delta
                rows = delta.arrow if delta else None
            case _:
                rows = None
        return None if rows is None else rows.num_rows

    def _show(self, key: str, frame: DataFrame) -> None:
        name = f"{PREFIX}{self.run_id}_{len(self.views)}"
        frame.createOrReplaceTempView(name)
        self.views[key] = name

    def _keep(self, name: str, frame: DataFrame) -> None:
        """Small results come to the driver and go back as local rows; large ones are staged."""
        arrow = self._collected(frame)
        if arrow is not None:
            self.kept[name] = arrow
            if arrow.num_rows == 0:
                self.empty[name] = None
            self._show(f"step {name}", self.spark.createDataFrame(arrow, schema=frame.schema))
        else:
            self._show(f"step {name}", self.spark.sql(f"SELECT * FROM {self.stage(frame)}"))

    def _range(self, step: str, key: str, stored: str) -> Scalar | None:
        """Where a stored column lies that equals a column of a step, if that skips files."""
        if step not in self.kept:
            return None
        ends = pruning(self.kept[step][key], self.target().bounds.get(stored, ()))
        if ends is None:
            return None
        return build(":c BETWEEN :low AND :high", c=column(stored), low=ends[0], high=ends[1])

    def _collected(self, frame: DataFrame) -> pa.Table | None:
        """The rows on the driver, or None when they are too many for it."""
        return collected(frame) if self.on_driver else None

    def _check(self, step: steps.CheckStep) -> None:
        rows = self.spark.sql(self.sql(step.node)).limit(5).collect()
        if rows:
            raise CheckFailedError(
                step.message,
                detail="; ".join(str(row.asDict()) for row in rows),
                hint="somebody altered the storage table, or this is a bug: verify, then rebuild"
                " with a full refresh",
                run_id=self.run_id,
                step=step.name,
            )

    def _rows(self, step: steps.AppendStep) -> Rows:
        arrow = self._collected(self.spark.sql(self.sql(step.node)))
        return Rows(sql=self.sql(step.node)) if arrow is None else Rows(arrow=arrow)

    def _merge(self, step: steps.MergeStep) -> base.Write | None:
        """The write, on the driver or staged; None when it is known to change nothing."""
        frame = self.spark.sql(self.sql(step.node))
        arrow = self._collected(frame)
        if arrow is not None:
            return self._written_anew(arrow, step.on) or merge_of(arrow, step.on, self.target())
        staged = self.stage(frame)
        counts = self._expected(staged)
        if not counts:
            return None
        columns = [name for name in frame.columns if name != steps.COPIES]
        names = ", ".join(quoted(name) for name in columns)
        return base.Merge(
            Rows(sql=f"SELECT {names} FROM {staged}"),
            step.on,
            expect_updated=counts.get("update", 0),
            expect_deleted=counts.get("delete", 0),
            target_is_large=True,
        )

    def _written_anew(self, rows: pa.Table, on: Sequence[str]) -> base.Write | None:
        """All rows of a tiny view, as they are to be; None for a larger one."""
        import pyarrow.compute as pc

        stored = self.target().rows
        if stored is None or stored > small_views.ROWS or rows.num_rows == 0:
            return None
        held = self.held()
        whole = None if held is None else small_views.merged(held, rows, on)
        if whole is None:
            return None
        counts = expected(rows)
        inserted = rows.filter(pc.equal(rows[ACTION], "insert")).num_rows
        self.changed = inserted + counts.get("update", 0) + counts.get("delete", 0)
        return base.Overwrite(Rows(arrow=whole))

    def _expected(self, staged: str) -> dict[str, int]:
        rows = self.spark.sql(
            f"SELECT {ACTION}, SUM({steps.COPIES}) FROM {staged} GROUP BY {ACTION}"
        ).collect()
        return {str(row[0]): int(row[1]) for row in rows}
