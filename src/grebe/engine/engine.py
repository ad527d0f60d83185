"""The engine: definitions in, refreshed views out. Spark starts when something needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from grebe.compiler.explain import Explanation, explain
from grebe.compiler.text.clock import reads_clock
from grebe.config import Settings
from grebe.engine.compile_view import compile_view
from grebe.engine.compiled_view import CompiledView, ViewDefinition, as_created
from grebe.engine.former_storage import in_former_storage
from grebe.engine.lease import SECONDS
from grebe.engine.new_storage import make_storage
from grebe.engine.preview import RefreshPreview
from grebe.engine.public_name import shown_storage
from grebe.engine.recover import HOUR, Repair, recover
from grebe.engine.refresh import RefreshResult
from grebe.engine.rows.compile_rows import as_row_view
from grebe.engine.rows.row_options import RowOptions
from grebe.engine.run import Options, Run, set_up
from grebe.engine.soundness import is_there, next_usable
from grebe.engine.tables import Tables
from grebe.engine.verify import Report, verify
from grebe.errors import ConfigError, GrebeError, NotIncrementalError, UnknownTableError
from grebe.events import Tell, unheard
from grebe.model import Policy, RunId, TableName
from grebe.spark.pool import Pool
from grebe.spark.session import open_session
from grebe.view_graph import levels, with_parents

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql import SparkSession

    from grebe.registry import Registry

KEPT_SETTINGS = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.legacy.sizeOfNull",
    "spark.sql.ansi.enforceReservedKeywords",
    "spark.sql.ansi.relationPrecedence",
    "spark.sql.groupByOrdinal",
    "spark.sql.orderByOrdinal",
    "spark.sql.groupByAliases",
    "spark.sql.lateralColumnAlias.enableImplicitResolution",
    "spark.sql.crossJoin.enabled",
)
"""Settings that change what a query means: stored with the view and restored at every refresh."""


READ_ONE_WAY: Final = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}
"""Settings that change what characters mean: under another value texts are not ours to read."""


def _check_reading(spark: SparkSession) -> None:
    """Refuse a session in which the same characters say something else."""
    for key, wanted in READ_ONE_WAY.items():
        value = str(spark.conf.get(key, wanted))
        if value.lower() != wanted.lower():
            raise ConfigError(
                f"the session's setting {key} changes what a definition says",
                detail=f"it is {value}; definitions are read with {wanted}",
                hint=f'spark.conf.set("{key}", "{wanted}")',
                code="session-setting",
            )


@dataclass(slots=True)
class Engine:
    """The views of a project and the means to refresh them."""

    settings: Settings
    given: SparkSession | None = None
    """The caller's session, if there is one."""
    registry: Registry | None = None
    """The journal of runs and leases; everything works without one."""
    lease_seconds: float = SECONDS
    tell: Tell = unheard
    """Lets listeners hear what happens."""
    views: dict[str, CompiledView] = field(default_factory=dict)
    started: SparkSession | None = None
    pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        """Sessions for views are made beside the one in use."""
        self.pool = Pool(lambda: open_session(self.settings, self.spark))

    @property
    def tables(self) -> Tables:
        """The tables of the configured catalogs."""
        return Tables(self.settings)

    @property
    def spark(self) -> SparkSession:
        """The session in use, started at first use."""
        if self.started is None:
            self.started = open_session(self.settings, self.given, self.tell)
        return self.started

    def compile(self, definition: ViewDefinition) -> CompiledView:
        """A definition, compiled over its sources as they are; nothing is written anywhere.

        Raises:
            NotIncrementalError: the policy asks for what the query does not allow.
            DefinitionError: the text is not a query over known tables.
        """
        _check_reading(self.spark)
        shown = self._shown(definition.name)
        definition = self._as_created(definition, shown)
        kept = tuple((key, str(self.spark.conf.get(key))) for key in KEPT_SETTINGS)
        definition = replace(definition, settings=definition.settings or kept)
        with self.pool.lend() as session:
            view = self._compile_in(definition, session())
        view = in_former_storage(view, shown, self.tables, lambda: self.spark)
        given_up = max(definition.generation, view.generation_of(shown))
        view = replace(view, replaces=frozenset([shown] if shown else [])).next_generation(given_up)
        levels({**{k: v.parents for k, v in self.views.items()}, str(view.name): view.parents})
        return view

    def _shown(self, name: TableName) -> TableName | None:
        return shown_storage(name, self.tables.shown(name, lambda: self.spark))

    def _as_created(self, definition: ViewDefinition, shown: TableName | None) -> ViewDefinition:
        """The definition with the settings and columns that it was created under, if it was."""
        if shown is None or (definition.settings and definition.frozen):
            return definition
        found = self.tables.properties(shown, lambda: self.spark)
        return as_created(definition, found) if found else definition

    def _compile_in(self, definition: ViewDefinition, session: SparkSession) -> CompiledView:
        for key, value in definition.settings:
            session.conf.set(key, value)
        view = compile_view(
            definition,
            session,
            resolve=self.settings.resolve,
            open_source=lambda table: self.tables.source(table, lambda: self.spark),
            views={key: other for key, other in self.views.items() if key != str(definition.name)},
        )
        view = as_row_view(view)
        self.tables.partitioning(view.storage_name, view.partitions)
        clock = reads_clock(view.plan.reasons)
        if (view.plan.reasons and definition.policy in (Policy.INCREMENTAL, Policy.STRICT)) or (
            clock and definition.policy is not Policy.FULL
        ):
            raise NotIncrementalError(
                f'view "{view.name}" cannot be maintained incrementally',
                view.plan.reasons,
                hint=f'rewrite the query, or set the policy to "{"full" if clock else "auto"}"'
                " to allow full refreshes",
            )
        return view

    def define(self, name: str, sql: str, policy: Policy = Policy.AUTO) -> CompiledView:
        """A view of this name, compiled and known from now on; nothing is built yet."""
        return self.add(self.compile(ViewDefinition(self.settings.resolve(name), sql, policy)))

    def add(self, view: CompiledView) -> CompiledView:
        """A compiled view, known from now on."""
        # Children compile against the storage table, so it exists from now on, without a commit.
        try:
            make_storage(view, self.tables.storage(view.storage_name, self.spark))
        except GrebeError:
            # What is there and not as it was made is for a refresh to judge, which may give it up.
            was_there = view.storage_name in view.replaces
            if not was_there and not is_there(view.storage_name, self.tables, lambda: self.spark):
                raise
        self.views[str(view.name)] = view
        return view

    def refresh(  # noqa: PLR0913  every option of a run, by name
        self,
        names: Sequence[str] | None = None,
        *,
        policy: Policy | None = None,
        jobs: int = 1,
        parents: bool | None = None,
        trigger: str = "manual",
        run_id: RunId | None = None,
        skips_held: bool = False,
        rows: RowOptions | None = None,
    ) -> list[RefreshResult]:
        """The results of refreshing some views, or all, on one pin per source.

        With ``parents`` the views that they read are refreshed too; with None only when they cannot
        be read together as they are; with False such a view fails with `frontier-conflict`.
        """
        options = Options(
            policy, jobs, parents, trigger, self.lease_seconds, skips_held, rows or RowOptions()
        )
        run = self._run(names, options, self.add)
        run.run_id = run_id or run.run_id
        return run.refresh()

    def plan(
        self, names: Sequence[str] | None = None, *, policy: Policy | None = None
    ) -> list[RefreshPreview]:
        """What a refresh of the same views would do now; nothing is written."""
        return self._run(names, Options(policy), self._know).plan()

    def _run(
        self,
        names: Sequence[str] | None,
        options: Options,
        accept: Callable[[CompiledView], CompiledView],
    ) -> Run:
        """A run over some views, or all; what it compiles anew is accepted in one way."""
        above = {key: view.parents for key, view in self.views.items()}
        chosen = set(above) if names is None else {str(self.named(name)) for name in names}
        if options.parents:
            chosen = with_parents(chosen, above)

        def again(view: CompiledView) -> CompiledView:
            return accept(_in_place_of(view, self.compile(view.definition)))

        def give_up(view: CompiledView) -> CompiledView:
            other = next_usable(view, self.tables, lambda: self.spark)
            return accept(_in_place_of(view, other))

        return Run(
            self.tables,
            lambda: self.spark,
            self.pool,
            {key: view for key, view in self.views.items() if key in chosen},
            self.views,
            options,
            self.registry,
            again,
            give_up,
            self._know,
            tell=self.tell,
        )

    def _know(self, view: CompiledView) -> CompiledView:
        """A compiled view, known to those that read it; nothing is made for it."""
        self.views[str(view.name)] = view
        return view

    def recover(self, *, older_than: timedelta = HOUR) -> list[Repair]:
        """What was repaired of runs that did not end; nothing when asked again."""
        with self.pool.lend() as session:
            return recover(self.views, self.tables, session(), self.registry, older_than=older_than)

    def verify(self, name: str, sample: float | None = None) -> Report:
        """A report when the view equals its query at its frontier, else CheckFailedError."""
        with self.pool.lend() as session:
            view = self.view(name)
            return verify(view, self.tables, set_up(session(), view), sample)

    def explain(self, name: str) -> Explanation:
        """What a refresh of the view does, and why."""
        return explain(self.view(name).plan)

    def named(self, name: str) -> TableName:
        """The full name of a view that exists."""
        return self.view(name).name

    def view(self, name: str) -> CompiledView:
        """The view of that name."""
        full = str(self.settings.resolve(name))
        if full not in self.views:
            raise UnknownTableError.named(full, sorted(self.views))
        return self.views[full]


def _in_place_of(former: CompiledView, made: CompiledView) -> CompiledView:
    """A view that may take the place of the former one, but not of what others published meanwhile."""
    return replace(made, replaces=former.replaces | {former.storage_name})
