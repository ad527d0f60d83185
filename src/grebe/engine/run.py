"""A run: some views refreshed together, on one pin per source."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grebe.engine.choice import Pinned
from grebe.engine.deltas import Deltas
from grebe.engine.graph import levels
from grebe.engine.pool import Pool
from grebe.engine.refresh import Refresh, RefreshResult
from grebe.engine.tables import Tables
from grebe.engine.views import View
from grebe.errors import GrebeError
from grebe.formats.base import Head
from grebe.model import Outcome, Policy, Reason, RunId, TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PASSES = 5


@dataclass(slots=True)
class Run:
    """Refreshes views in the order of their graph; every view shows the same source versions."""

    tables: Tables
    spark: Callable[[], SparkSession]
    """The session in use, started at first use."""
    pool: Pool
    """Sessions for the views, one at a time for each."""
    views: Mapping[str, View]
    policy: Policy | None = None
    jobs: int = 1
    run_id: RunId = field(default_factory=lambda: RunId(uuid.uuid4().hex[:12]))
    results: dict[str, RefreshResult] = field(default_factory=dict)
    staged: list[TableName] = field(default_factory=list)

    def refresh(self) -> list[RefreshResult]:
        """The results, parents before children."""
        parents = {name: view.parents for name, view in self.views.items()}
        pins = self._pin()
        deltas = Deltas(self._columns(), self._stage)
        for level in levels(parents):
            with ThreadPoolExecutor(max_workers=max(1, self.jobs)) as pool:
                done = pool.map(lambda name: self._one(self.views[name], pins, deltas), level)
                self.results.update(zip(level, done, strict=True))
        self._clean()
        return list(self.results.values())

    def _one(self, view: View, pins: Mapping[TableName, Pinned], deltas: Deltas) -> RefreshResult:
        failed = [name for name in view.parents if self._has_failed(name)]
        if failed:
            reason = Reason("upstream-failed", f"not refreshed, because {', '.join(failed)} failed")
            return RefreshResult(view.name, Outcome.FAILED, self.run_id, 0.0, (reason,))
        try:
            with self.pool.lent() as session:
                return self._refreshed(view, pins, deltas, session)
        except GrebeError as error:
            reason = Reason(error.code, error.explain())
            return RefreshResult(
                view.name, Outcome.FAILED, self.run_id, 0.0, (reason,), error=error
            )

    def _refreshed(
        self,
        view: View,
        pins: Mapping[TableName, Pinned],
        deltas: Deltas,
        session: Callable[[], SparkSession],
    ) -> RefreshResult:
        return Refresh(
            view=view,
            run_id=RunId(f"{self.run_id}_{sorted(self.views).index(str(view.name))}"),
            tables=self.tables,
            session=lambda: _with_settings(session(), view),
            pins=self._pins_of(view, pins, session),
            deltas=deltas,
            stage=self._stage,
            policy=self.policy or view.definition.policy,
        ).run()

    def _has_failed(self, name: str) -> bool:
        result = self.results.get(name)
        return result is not None and result.outcome is Outcome.FAILED

    def _pin(self) -> dict[TableName, Pinned]:
        """One version per source for the whole run: all pointers, until two passes agree."""
        stored = {view.storage_name for view in self.views.values()}
        names = sorted({name for view in self.views.values() for name, _ in view.sources} - stored)
        sources = {name: self.tables.source(name, self.spark) for name in names}
        heads: dict[TableName, Head] = {}
        for _ in range(_PASSES):
            seen = {name: source.head() for name, source in sources.items()}
            if seen == heads:
                break
            heads = seen
        return {name: Pinned(sources[name], head) for name, head in heads.items()}

    def _pins_of(
        self, view: View, pins: Mapping[TableName, Pinned], session: Callable[[], SparkSession]
    ) -> dict[TableName, Pinned]:
        """The pins of a view's sources, readable in its session; parents as the run left them."""
        found: dict[TableName, Pinned] = {}
        for name, _ in view.sources:
            source = self.tables.source(name, session)
            pinned = pins.get(name)
            head = pinned.head if pinned else source.head()
            found[name] = Pinned(source, head)
        return found

    def _columns(self) -> dict[TableName, tuple[int, ...]]:
        ids: dict[TableName, dict[int, None]] = {}
        for view in self.views.values():
            for name, used in view.sources:
                ids.setdefault(name, {}).update(dict.fromkeys(column.id for column in used))
        return {name: tuple(found) for name, found in ids.items()}

    def _stage(self, rows: DataFrame) -> str:
        """Rows where every session of the run can read them; removed when the run ends."""
        beside = next(iter(self.views.values())).name
        name = TableName(
            beside.catalog, beside.schema, f"__grebe_stage_{self.run_id}_{len(self.staged)}"
        )
        self.staged.append(name)
        return self.tables.stage(name, rows)

    def _clean(self) -> None:
        if self.staged:
            spark = self.spark()
            for name in self.staged:
                self.tables.unstage(name, spark)


def _with_settings(spark: SparkSession, view: View) -> SparkSession:
    """The session with the settings that the view was defined under."""
    for key, value in view.definition.settings:
        spark.conf.set(key, value)
    return spark
