"""From what is written to what runs: views are compiled, remembered, and refreshed by the engine."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe.engine.public import ALTERED
from grebe.engine.public_name import shown_storage
from grebe.engine.result import RefreshResult, ended
from grebe.errors import (
    ConflictError,
    DefinitionError,
    GrebeError,
    InternalError,
    RegistryError,
)
from grebe.events import RunStarted
from grebe.model import Outcome, Policy, Reason, RunId, TableName
from grebe.project.definitions import Definition
from grebe.project.ownership import project_id
from grebe.project.stream_storage import StreamMeans, compile_stream, generation_of
from grebe.project.stream_storage import make as make_stream
from grebe.project.summary import SourceSummary, Summary, text_digest
from grebe.registry.records import Counts, RunRecord, ViewRecord
from grebe.sql_text import quote
from grebe.stored_properties import StoredProperties, pairs_text
from grebe.view_graph import levels, with_parents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from grebe.compiler.text.statement import Statement
    from grebe.engine.compiled_view import CompiledView, ViewDefinition
    from grebe.engine.engine import Engine
    from grebe.engine.rows.row_options import RowOptions
    from grebe.registry import Registry

log = logging.getLogger(__name__)

Say = Callable[[str], None]
TRIES = 5
"""How often a record is saved that others save at the same time, before that is told."""
DROPPED = "view-dropped"


class Builder:
    """Compiles views into an engine and runs it, with the registry as the journal."""

    def __init__(self, engine: Engine, registry: Registry, say: Say) -> None:
        self.engine = engine
        self.registry = registry
        self.say = say
        self._known: dict[str, tuple[object, CompiledView]] = {}

    @property
    def _means(self) -> StreamMeans:
        return StreamMeans(self.engine.tables, lambda: self.engine.spark, self.registry)

    def compile(self, view: Definition) -> CompiledView:
        """A view compiled over its sources; its parents must have been added before."""
        if view.error is not None:
            raise view.error
        if view.stream is not None:
            generation = generation_of(self._means, view.name)
            return compile_stream(view, view.stream, generation)
        refuse_other_format(view)
        self.say(f"compiling {view.name}")
        try:
            made = self.engine.compile(definition_of(view))
            refuse_shrinking(view, made)
            return made
        except GrebeError as error:
            raise view.statement.placed(error) from error

    def add(self, view: Definition) -> CompiledView:
        """A view that the engine knows from now on, and the registry too."""
        if view.error is not None:
            raise view.error
        if view.stream is not None:  # without Spark, and whatever reads it finds its table
            made = make_stream(self._means, view, view.stream)
            self.engine.views[view.key] = made
            return made
        sign = self._sign(view)
        known = self._known.get(view.key)
        if known is not None and known[0] == sign and _is_recorded(view, known[1]):
            self.engine.views[view.key] = known[1]
            return known[1]
        made = self.compile(view)
        record = record_of(view, made)
        self._refuse_overtaken(view, record)  # before a table is made for it
        if view.seen is None and not made.replaces:  # what shows its table is its own name
            self._refuse_taken(view.name)
        compiled = self.engine.add(made)
        try:
            self._save(view, record)
        except DefinitionError as error:
            if error.code == DROPPED:
                self._remove(compiled)
            raise
        self._known[view.key] = (sign, compiled)
        return compiled

    def _refuse_taken(self, name: TableName) -> None:
        """Nothing, unless a table has the name that a view is to be read by: its rows are somebody's."""
        tables = self.engine.tables
        if tables.taken(name, lambda: self.engine.spark):
            raise DefinitionError(
                f'the name "{name}" is taken by a table',
                detail=f"{tables.relation(name)} is a table, and no view can be put in its place",
                hint="give the view another name, or rename the table",
                code="name-taken",
            )

    def _sign(self, view: Definition) -> object:
        """What a compiled view was made of: another one has to be compiled again."""
        above = [self.engine.views[name] for name in view.parents_among(self.engine.views)]
        return (view.text, view.policy, view.timing, [id(parent) for parent in above])

    def _refuse_overtaken(self, view: Definition, record: ViewRecord) -> ViewRecord | None:
        """The record there is now, unless people said something else since the view was read.

        Raises:
            DefinitionError: it is gone.
            ConflictError: it says something else, which saving ours would undo.
        """
        now = self.registry.view(view.key)
        if now is None and view.seen is not None:
            raise dropped(view.name)
        if now is not None and now.said not in (record.said, view.seen and view.seen.said):
            raise overtaken(view)
        return now

    def _save(self, view: Definition, record: ViewRecord) -> None:
        """Write the record down in place of the one that was read, and of no other."""
        for _ in range(TRIES):
            if self.registry.change_view(record, self._refuse_overtaken(view, record)):
                return
        raise overtaken(view)

    def _remove(self, compiled: CompiledView) -> None:
        """Remove what was made of a view that was dropped meanwhile: its record is gone for good."""

        def spark() -> SparkSession:
            return self.engine.spark

        tables = self.engine.tables
        if shown_storage(compiled.name, tables.shown(compiled.name, spark)) is not None:
            tables.unpublish(compiled.name, spark)
        tables.remove(compiled.storage_name, spark)
        self.forget(str(compiled.name))

    def forget(self, name: str) -> None:
        """A view that is gone."""
        self._known.pop(name, None)
        self.engine.views.pop(name, None)

    def add_all(
        self, views: Mapping[str, Definition], names: Iterable[str]
    ) -> tuple[dict[str, CompiledView], dict[str, GrebeError]]:
        """Add these views and all that they read, parents first; and what failed, with the reason."""
        return self._each(views, names, self.add)

    def compile_all(
        self, views: Mapping[str, Definition], names: Iterable[str]
    ) -> tuple[dict[str, CompiledView], dict[str, GrebeError]]:
        """The same, only compiled: no table and no record is written."""
        return self._each(views, names, self._compile_only)

    def _compile_only(self, view: Definition) -> CompiledView:
        made = self.compile(view)
        self.engine.views[view.key] = made
        return made

    def _each(
        self,
        views: Mapping[str, Definition],
        names: Iterable[str],
        make: Callable[[Definition], CompiledView],
    ) -> tuple[dict[str, CompiledView], dict[str, GrebeError]]:
        parents = {name: view.parents_among(views) for name, view in views.items()}
        wanted = with_parents(names, parents)
        done: dict[str, CompiledView] = {}
        failed: dict[str, GrebeError] = {}
        self.engine.views.clear()
        for level in levels({name: parents[name] for name in wanted}):
            for name in level:
                if any(parent in failed for parent in parents[name]):
                    continue
                try:
                    done[name] = make(views[name])
                except GrebeError as error:
                    failed[name] = error
                except Exception as error:  # what nobody foresaw stops one view, not its siblings
                    if self.engine.started is None:
                        raise  # Spark does not start: no view is to blame for that
                    log.exception('view "%s" was not compiled', name)
                    failed[name] = InternalError.unforeseen(error)
        return done, failed

    def refresh(  # noqa: PLR0913  every option of a run, by name
        self,
        views: Mapping[str, Definition],
        names: Iterable[str],
        run_id: RunId,
        *,
        policy: Policy | None = None,
        jobs: int = 1,
        trigger: str = "manual",
        skips_held: bool = False,
        rows: RowOptions | None = None,
    ) -> list[RefreshResult]:
        """The results of refreshing views, parents before children.

        What does not compile fails alone, with what reads it; the engine refreshes the others.
        """
        begun = time.monotonic()
        chosen = set(names)
        done, failed = self.add_all(views, chosen)
        parents = {name: view.parents_among(views) for name, view in views.items()}
        results: dict[str, RefreshResult] = {}
        for name, error in failed.items():
            results[name] = failure(views[name], run_id, error, time.monotonic() - begun)
        able = [name for name in chosen if not with_parents([name], parents) & failed.keys()]
        if able:
            self.say(f"refreshing {', '.join(sorted(able))}")
            quoted = [done[name].name.quoted() for name in able]
            for result in self.engine.refresh(
                quoted,
                policy=policy,
                jobs=jobs,
                run_id=run_id,
                trigger=trigger,
                skips_held=skips_held,
                rows=rows,
            ):
                results[str(result.view)] = self._undo_dropped(done[str(result.view)], result)
            self._follow(views, done)
        for name in chosen - results.keys():
            results[name] = skipped(views[name], run_id, parents[name], results)
        for name in (name for name in results if name in failed or name not in done):
            self._write_down(views[name], results[name])
        order = [name for level in levels(parents) for name in level]
        return [results[name] for name in order if name in results]

    def _follow(self, views: Mapping[str, Definition], done: Mapping[str, CompiledView]) -> None:
        """Remember the views that the run compiled again, because what they read has changed."""
        order = levels({name: views[name].parents_among(done) for name in done})
        for name in (name for level in order for name in level):
            compiled = self.engine.views.get(name)
            if compiled is None or compiled is done[name]:
                continue
            view = views[name]
            self._known[name] = (self._sign(view), compiled)
            try:
                self._save(view, record_of(view, compiled))
            except GrebeError as error:  # somebody else's word holds, or nobody can be told now
                self.say(f"the record of {name} stays as it is: {error}")
                self._known.pop(name)

    def _undo_dropped(self, compiled: CompiledView, result: RefreshResult) -> RefreshResult:
        """The result, or that the view was dropped before the run had its lease, and is again."""
        if isinstance(result.error, ConflictError) and result.error.code == ALTERED:
            self._known.pop(str(compiled.name), None)
        if self._is_kept(compiled):
            return result
        self._remove(compiled)
        error = dropped(result.view)
        reason = Reason(error.code, error.explain())
        return replace(result, outcome=Outcome.FAILED, reasons=(reason,), error=error)

    def _is_kept(self, compiled: CompiledView) -> bool:
        try:
            return self.registry.view(str(compiled.name)) is not None
        except RegistryError as error:
            self.say(f"the registry cannot be used: {error}")
            return True  # nobody can tell, and nothing is removed on a guess

    def _write_down(self, view: Definition, result: RefreshResult) -> None:
        """A run that the engine never saw; a journal that fails harms nobody."""
        record = run_record(result)
        try:
            self.registry.begin(record)
            self.registry.finish(record)
        except RegistryError as error:
            self.say(f"the registry cannot be used: {error}")
        policy = Policy.AUTO if view.error else view.policy
        now, run = datetime.now(UTC), result.run_id
        self.engine.tell(RunStarted(run, run, view.name, record.trigger, policy, now))
        self.engine.tell(ended(result))


def dropped(name: TableName) -> DefinitionError:
    """The error for a view that was read and is gone."""
    return DefinitionError(f'view "{name}" was dropped by somebody else meanwhile', code=DROPPED)


def overtaken(view: Definition) -> ConflictError:
    """The error for a view of which somebody else said something meanwhile."""
    return ConflictError(
        f'view "{view.name}" was altered by somebody else meanwhile',
        hint="run the command again, which reads it as it is now",
        code=ALTERED,
    )


def refuse_shrinking(view: Definition, made: CompiledView) -> None:
    """Nothing, unless rows are promised to be added only, of a query that may take some away."""
    from grebe.compiler.algebra.facts import is_monotone

    if view.timing.adds_only and not is_monotone(made.plan.definition):
        raise DefinitionError(
            f'view "{view.name}" cannot have the strategy "append"',
            detail="a row that is added to a source may take rows away: only filters, columns, joins"
            " and UNION ALL leave every row where it is",
            hint="leave the strategy out: the view equals its query either way",
            code="not-append-only",
        )


def refuse_other_format(view: Definition) -> None:
    """Nothing when the view's catalog has the format that USING asks for, or it asks for none."""
    wanted, settings = view.statement.using, view.settings
    own = settings.catalog(view.name.catalog)
    if wanted is None or wanted == own.format.name:
        return
    able = [catalog.name for catalog in settings.catalogs if catalog.format.name == wanted]
    raise DefinitionError(
        f'view "{view.name}" cannot be kept as {wanted}',
        detail=f'catalog "{own.name}" has format {own.format}',
        hint=f"name it {able[0]}.{view.name.schema}.{view.name.name}"
        if able
        else f"add a catalog of format {wanted} to grebe.toml",
        code="other-format",
    )


def definition_of(view: Definition) -> ViewDefinition:
    """What the engine needs of a written view."""
    from grebe.engine.compiled_view import ViewDefinition

    statement = view.statement
    # Whoever edits a comment means the query that was created, with what its words meant then.
    known = view.facts if view.facts and not view.has_changed else None
    return ViewDefinition(
        view.name,
        query_of(statement, view.query),
        view.policy,
        settings=known.settings if known else (),
        frozen=known.frozen if known else (),
        properties=_properties(view),
        partitioned_by=statement.partitioned_by,
        clustered_by=statement.clustered_by,
        rows=statement.rows or "",
    )


def query_of(statement: Statement, query: str) -> str:
    """The query, with the column names that the statement lists."""
    if not statement.columns:
        return query
    names = ", ".join(quote(name) for name in statement.columns)
    return f"SELECT * FROM (\n{query}\n) AS __grebe_named ({names})"


def _properties(view: Definition) -> tuple[tuple[str, str], ...]:
    """What the storage table keeps, so that a lost registry can be written again."""
    own = StoredProperties(
        definition=view.text,
        file=view.file,
        **dict(view.timing.said),
        project=project_id(view.settings),
        properties=pairs_text(view.properties),
    )
    said = {**own.to_properties(), "comment": view.statement.comment}
    kept = {key: value for key, value in said.items() if value}
    return tuple(sorted({**dict(view.properties), **kept}.items()))


def record_of(view: Definition, compiled: CompiledView) -> ViewRecord:
    """What the registry keeps of a compiled view."""
    from grebe.compiler.explain import explain

    facts = Summary(
        key=view.digest,
        text=text_digest(view.text),
        file=view.file,
        parents=compiled.parents,
        sources=tuple(
            SourceSummary(name, tuple(column.id for column in used))
            for name, used in compiled.sources
        ),
        columns=compiled.columns,
        reasons=tuple((reason.code, reason.message) for reason in compiled.plan.reasons),
        strategy=compiled.plan.strategy,
        tags=view.tags,
        explanation=json.dumps(explain(compiled.plan).to_dict()),
        storage=compiled.storage_name,
        before=_before(view, compiled),
        query=view.query,
        settings=compiled.definition.settings,
        context=view.context,
        frozen=compiled.definition.frozen,
    )
    return ViewRecord(
        name=view.key,
        definition=view.text,
        policy=view.policy,
        lag=view.timing.lag,
        schedule=view.timing.schedule,
        timing=view.timing.others,
        properties=view.properties,
        fingerprint=compiled.fingerprint,
        storage=str(compiled.storage_name),
        compiled=facts.to_json(),
    )


def _is_recorded(view: Definition, compiled: CompiledView) -> bool:
    """False when somebody compiled the same text into another table since, over other types."""
    return view.facts is None or view.facts.storage in (None, compiled.storage_name)


def _before(view: Definition, compiled: CompiledView) -> TableName | None:
    if view.facts is None:
        return None
    same = view.facts.storage == compiled.storage_name
    return view.facts.before if same else view.facts.storage


def failure(
    view: Definition, run_id: RunId, error: GrebeError, seconds: float = 0.0
) -> RefreshResult:
    """The result of a refresh that did not happen."""
    reason = Reason(error.code, error.explain())
    return RefreshResult(view.name, Outcome.FAILED, run_id, seconds, (reason,), error=error)


def skipped(
    view: Definition, run_id: RunId, parents: Sequence[str], results: Mapping[str, RefreshResult]
) -> RefreshResult:
    """The result of a view whose parents failed."""
    bad = [name for name in parents if name not in results or _failed(results[name])]
    reason = Reason("upstream-failed", f"not refreshed, because {', '.join(bad)} failed")
    return RefreshResult(view.name, Outcome.FAILED, run_id, 0.0, (reason,))


def _failed(result: RefreshResult) -> bool:
    return result.outcome is Outcome.FAILED


def run_record(result: RefreshResult) -> RunRecord:
    """A result as the journal keeps it."""
    return RunRecord(
        run_id=result.run_id,
        view=str(result.view),
        outcome=result.outcome,
        reasons=tuple(replace(reason, where=None) for reason in result.reasons),
        counts=Counts(result.rows_in, result.rows_out),
        seconds=result.seconds,
        frontier_json=result.frontier.to_json() if result.frontier else None,
        error=_error_text(result),
    )


def _error_text(result: RefreshResult) -> str | None:
    if isinstance(result.error, GrebeError):
        return result.error.explain()
    return str(result.error) if result.error else None
