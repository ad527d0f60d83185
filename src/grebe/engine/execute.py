"""Runs the bound steps of a plan in one Spark session: few actions, small results on the driver."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from grebe.compiler.algebra.join_keys import ColumnPlace
from grebe.compiler.algebra.nodes import (
    At,
    Empty,
    Named,
    Node,
    RowsNear,
    Scan,
    Stored,
    Verbatim,
    walk,
)
from grebe.compiler.algebra.scalar import Scalar, build, column
from grebe.compiler.bind import rebind
from grebe.compiler.bind.trail import Trail
from grebe.compiler.bind.write_choice import Way
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.explain import kind_and_name, leaf_name
from grebe.compiler.text.clock import ZONE, stopped
from grebe.compiler.text.verbatim import relation_of
from grebe.compiler.write import steps
from grebe.engine import small_views
from grebe.engine.delta_statistics import SourceStatistics
from grebe.engine.kept_rows import (
    Kept,
    KeptRows,
    NearRows,
    TooManyRowsError,
    collect,
    taken_apart,
)
from grebe.engine.result import StepRun, StepWatch, step_words, unwatched
from grebe.engine.small_runner import CannotRunError
from grebe.engine.small_steps_run import SmallSteps, differs, shadowed
from grebe.engine.source_deltas import SourceDelta, Stage
from grebe.engine.writing import changed_by, merge_of, pruning
from grebe.errors import CheckFailedError, GrebeError, InternalError, StepFailedError
from grebe.formats import base
from grebe.formats.base import Rows, VersionStats
from grebe.formats.frames import to_frame
from grebe.formats.storage_errors import cause_of, disk_hint, first_line
from grebe.model import ACTION
from grebe.spark.spark_types import type_text
from grebe.sql_text import PREFIX, made, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


_VIEWS: Final = re.compile(f"`({PREFIX}[^`]*)`")
"""Names of temporary views in a text."""


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
    small: SmallSteps
    """The steps that are computed by DuckDB on the driver."""
    nearby: KeptRows | None = None
    """What the views of a run keep of large sources; None where they are read whole."""
    order: tuple[str, ...] = ()
    """The columns by which rows are sorted that are written anew."""
    rewrites: bool = False
    """Whether the driver itself writes and commits the file of a view that is written anew."""
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
    refused: set[str] = field(default_factory=set)
    """Reads for both versions that turned out too large for the driver."""
    trail: Trail = field(default_factory=Trail)
    """Which pass changed which step."""
    ran: list[StepRun] = field(default_factory=list)
    """What was run, step by step."""
    watch: StepWatch = unwatched
    """Is told of every step that begins, and of what it was when it ran."""
    leaves: dict[str, str] = field(default_factory=dict)
    """How an explanation names what stands behind a temporary view."""
    said: str = ""
    """The text of the step that runs."""
    way: Way | None = None
    """How the rows of the last merge are written."""
    engine: str = ""
    """What runs the step; nothing does where it is known to have no rows."""
    why: str = ""
    """Why it is left to Spark."""

    @property
    def kept(self) -> dict[str, pa.Table]:
        """The results of steps that are on the driver."""
        return self.small.kept

    def sql(self, node: Node) -> str:
        """The text of a relation in this session."""
        text = emit(node, "spark", self.name_of)
        self.said = text
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
        for number, step in enumerate(bound, 1):
            try:
                self.watch(step_words(*kind_and_name(step)), (number, len(bound)), None)
                writes += self._bound_again(step)
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

    def _bound_again(self, step: steps.Step) -> list[base.Write]:
        """Run what a step has become by now; again, if rows turn out to be too many for the driver."""
        while True:
            writes: list[base.Write] = []
            try:
                for item in rebind(step, self, self.trail):
                    writes += self._timed(item)
            except TooManyRowsError:
                continue  # that is known now
            return writes

    def _timed(self, step: steps.Step) -> list[base.Write]:
        begun = time.monotonic()
        self.said, self.engine, self.why = "", "", ""
        writes = self._step(step)
        if self.said:
            ran = StepRun(
                *kind_and_name(step),
                sql=self._in_words(self.said),
                rows=self._rows_of_run(step, writes),
                seconds=time.monotonic() - begun,
                passes=self.trail.of(step),
                way=self.way,
                engine=self.engine,
                why=self.why,
            )
            self.ran.append(ran)
            self.watch(step_words(ran.kind, ran.name), None, ran)
        return writes

    def _in_words(self, sql: str) -> str:
        """What was run, with the names of tables and steps in the place of ours."""
        names = {view: self.leaves[key] for key, view in self.views.items() if key in self.leaves}
        return _VIEWS.sub(lambda found: names.get(found[1], found[0]), sql)

    def _rows_of_run(self, step: steps.Step, writes: Sequence[base.Write]) -> int | None:
        if isinstance(step, steps.Compute):
            return self.rows_of(Named(step.name, ()))
        arrow = [write.rows.arrow for write in writes]
        return sum(item.num_rows for item in arrow if item is not None) if all(arrow) else None

    def _step(self, step: steps.Step) -> list[base.Write]:
        match step:
            case steps.Compute(name=name, node=Empty()):
                self.empty[name] = step.node
                self.small.keep_types(name, step.node)
                self.said = emit(step.node, "spark", leaf_name)
                return []
        small = self._by_duckdb(step)
        self.engine = "Spark" if small is None else "DuckDB"
        return self._by_spark(step) if small is None else small

    def _by_duckdb(self, step: steps.Step) -> list[base.Write] | None:
        """The writes of a small step; None for one that Spark has to run."""
        judged = self.small.judge(step) if self.on_driver else "too many rows changed"
        if isinstance(judged, str):
            self.why = judged
            return None
        try:
            text, rows = self.small.run(judged)
        except CannotRunError as error:
            self.why = first_line(error)
            return None
        if shadowed():
            self._compare(step, rows)
        self.said = text
        match step:
            case steps.Compute():
                self.small.keep(step.name, rows, judged.kinds)
                if rows.num_rows == 0:
                    self.empty[step.name] = None
            case steps.ReadBoth():
                for at, part in zip((At.NEW, At.OLD), taken_apart(rows), strict=True):
                    self.small.keep(step.side(at).step, part.select(step.columns), judged.kinds)
            case steps.CheckStep():
                self._refuse_rows(step, rows.slice(0, 5).to_pylist())
            case steps.AppendStep():
                return [base.Append(Rows(arrow=rows))]
            case steps.MergeStep():
                return [self._write(rows, step)]
        return []

    def _compare(self, step: steps.Step, rows: pa.Table) -> None:
        """Nothing where Spark gives the same rows."""
        found = differs(rows, self.spark.sql(self.sql(step.node)).toArrow())
        if found is not None:
            raise InternalError.broken(f"DuckDB and Spark differ on {step}: {found}")

    def _by_spark(self, step: steps.Step) -> list[base.Write]:
        match step:
            case steps.Compute():
                self._keep(step.name, self.spark.sql(self.sql(step.node)))
            case steps.ReadBoth():
                self._read_both(step)
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
        names = ", ".join(quote(name) for name in self.order)
        return f"SELECT * FROM ({sql}) AS {made('rows')} ORDER BY {names}" if names else sql

    def close(self) -> None:
        """Forget the temporary views: the session is used again."""
        for name in self.views.values():
            self.spark.catalog.dropTempView(name)
        self.views.clear()
        self.small.close()

    def name_of(self, leaf: Leaf) -> str:
        """The temporary view behind a leaf, made when it is first needed."""
        if isinstance(leaf, Verbatim):
            return relation_of(leaf, "spark", lambda table: self.name_of(Scan(table, (), At.NEW)))
        key = self._key(leaf)
        if key not in self.views:
            self._show(key, self._frame(leaf))
        self.leaves[key] = leaf_name(leaf)
        return quote(self.views[key])

    def _key(self, leaf: Scan | Stored | Named) -> str:
        match leaf:
            case Named():
                return f"step {leaf.step}"
            case Scan(at=At.DELTA):
                return f"delta {leaf.table} {sorted(source for _, source in leaf.pairs)}"
            case Scan():
                near = leaf.near if leaf.near and leaf.near.kept else ""
                return f"{leaf.at} {leaf.table} {near}"
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
                if leaf.near and leaf.near.kept:
                    return self._kept_of(leaf, leaf.near).frame(self.spark, list(side.columns))
                return side.source.read_at(version, list(side.columns.values()))
            case Stored():
                return self.stored()
            case Named(step=name) if (absent := self.empty.get(name)) is not None:
                return self.spark.sql(self.sql(absent))
            case Named(step=name) if name in self.kept:
                return to_frame(self.spark, self.kept[name], self.small.types[name])
        raise InternalError.broken(f"step {leaf} is read before it is computed")

    def _kept_of(self, scan: Scan, near: RowsNear) -> Kept:
        asked = self.near(scan, near)
        if self.nearby is None or asked is None:
            raise TooManyRowsError
        return self.nearby.read(lambda: self.spark, asked, scan.at)

    def _read_both(self, step: steps.ReadBoth) -> None:
        frame = self.spark.sql(self.sql(step.node))
        rows = self._collect(frame)
        if rows is None:
            self.refused.add(step.name)
            raise TooManyRowsError
        for at, part in zip((At.NEW, At.OLD), taken_apart(rows), strict=True):
            kept = Kept(part, _types(frame)).frame(self.spark, step.columns)
            self._show(self._key(step.side(at)), kept)

    # What later steps are bound to (`compiler.bind.known.Known`).

    def is_empty(self, step: str) -> bool:
        """Whether a step gave no row."""
        return step in self.empty

    def is_read(self, named: Named) -> bool:
        """Whether rows under this name are there already."""
        return self._key(named) in self.views or named.step in self.kept

    def is_refused(self, name: str) -> bool:
        """Whether rows of this name turned out to be too many for the driver."""
        return name in self.refused

    def rows_of(self, leaf: Node) -> int | None:
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

    def range_of(self, step: str, key: str, stored: str) -> Scalar | None:
        """Where a stored column lies that equals a column of a step, if that skips files."""
        if step not in self.kept:
            return None
        ends = pruning(self.kept[step][key], self.target().bounds.get(stored, ()))
        if ends is None:
            return None
        return build(":c BETWEEN :low AND :high", c=column(stored), low=ends[0], high=ends[1])

    def near(self, scan: Scan, near: RowsNear) -> NearRows | None:
        """What is known of the rows that are near a change; None where they cannot be kept."""
        if self.nearby is None or not self.on_driver:
            return None
        return self.nearby.asked(self.sides, scan, near, self.scans[scan.table, near.column])

    def source(self, scan: Scan) -> SourceStatistics | None:
        """What is known of a source whose rows may come to the driver; None where none may."""
        side = self.sides[scan.table]
        if scan.near and self.small.reads(scan):
            return None  # the rows near the change are at hand at both versions
        if not self.on_driver or side.delta is None or side.delta.arrow is None:
            return None
        return SourceStatistics(side)

    def _show(self, key: str, frame: DataFrame) -> None:
        name = f"{PREFIX}{self.run_id}_{len(self.views)}"
        frame.createOrReplaceTempView(name)
        self.views[key] = name

    def _keep(self, name: str, frame: DataFrame) -> None:
        """Small results come to the driver and go back as local rows; large ones are staged."""
        arrow = self._collect(frame)
        if arrow is not None:
            self.kept[name] = arrow
            if arrow.num_rows == 0:
                self.empty[name] = None
            self.small.types[name] = _types(frame)
            self._show(f"step {name}", self.spark.createDataFrame(arrow, schema=frame.schema))
        else:
            self._show(f"step {name}", self.spark.sql(f"SELECT * FROM {self.stage(frame)}"))

    def _collect(self, frame: DataFrame) -> pa.Table | None:
        """The rows on the driver, or None when they are too many for it."""
        return collect(frame) if self.on_driver else None

    def _check(self, step: steps.CheckStep) -> None:
        rows = self.spark.sql(self.sql(step.node)).limit(5).collect()
        self._refuse_rows(step, [row.asDict() for row in rows])

    def _refuse_rows(self, step: steps.CheckStep, rows: Sequence[Mapping[str, object]]) -> None:
        """Nothing when a check gave no row."""
        if rows:
            raise CheckFailedError(
                step.message,
                detail="; ".join(map(str, rows)),
                hint="somebody altered the storage table, or this is a bug: verify, then rebuild"
                " with a full refresh",
                run_id=self.run_id,
                step=step.name,
            )

    def _rows(self, step: steps.AppendStep) -> Rows:
        arrow = self._collect(self.spark.sql(self.sql(step.node)))
        return Rows(sql=self.sql(step.node)) if arrow is None else Rows(arrow=arrow)

    def _merge(self, step: steps.MergeStep) -> base.Write | None:
        """The write, on the driver or staged; None when it is known to change nothing."""
        frame = self.spark.sql(self.sql(step.node))
        arrow = self._collect(frame)
        if arrow is not None:
            return self._write(arrow, step)
        staged = self.stage(frame)
        counts = self._expected(staged)
        if not counts:
            return None
        self.way = Way.MERGE_LARGE
        columns = [name for name in frame.columns if name != steps.COPIES]
        names = ", ".join(quote(name) for name in columns)
        return base.Merge(
            Rows(sql=f"SELECT {names} FROM {staged}"),
            step.on,
            expect_updated=counts.get("update", 0),
            expect_deleted=counts.get("delete", 0),
            target_is_large=True,
            signed=step.signed,
        )

    def _write(self, rows: pa.Table, step: steps.MergeStep) -> base.Write:
        """The write of rows that are on the driver, by the way that is cheapest for them."""
        self.way, write = merge_of(
            rows, step, self.target(), can_rewrite=True, on_driver=self.rewrites
        )
        if write is None:
            held = self.held()
            whole = None if held is None else small_views.merged(held, rows, step.on)
            if whole is not None:
                self.changed = changed_by(rows)
                return base.Overwrite(Rows(arrow=whole))
            self.way, write = merge_of(rows, step, self.target())
        if write is None:
            raise InternalError.broken("rows that cannot be written anew are to be written anew")
        return write

    def _expected(self, staged: str) -> dict[str, int]:
        rows = self.spark.sql(
            f"SELECT {ACTION}, SUM({steps.COPIES}) FROM {staged} GROUP BY {ACTION}"
        ).collect()
        return {str(row[0]): int(row[1]) for row in rows}


def _types(frame: DataFrame) -> dict[str, str]:
    """The types of a frame's columns, as Spark spells them."""
    return {part.name: type_text(part.dataType) for part in frame.schema.fields}
