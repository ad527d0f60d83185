"""What the views of a folder stand on: settings, tables, journal, engine; each is had at first use.

Whatever is done with views takes a workspace, or only those parts of it that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from grebe.config import Settings
from grebe.engine.announcer import Announcer
from grebe.engine.extras import require_extras
from grebe.engine.heads import Heads
from grebe.engine.place import write_site_once
from grebe.engine.tables import Tables
from grebe.errors import UnknownTableError, did_you_mean
from grebe.events import Event, Listener, Preparing
from grebe.model import TableName
from grebe.project.added_listeners import added_listeners
from grebe.project.definitions import Definition, all_written, columns_of_views
from grebe.project.lookup import Lookup
from grebe.project.selection import Selection, exact_name, select
from grebe.registry.records import RunRecord, ViewRecord
from grebe.stored_properties import KEYS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from grebe.engine.engine import Engine
    from grebe.project.compile_views import Builder
    from grebe.registry import Registry
    from grebe.streams.inbox import Inbox
    from grebe.streams.ingest import EventWriter

Say = Callable[[str], None]


class Workspace:
    """The means of one project. Spark starts when something has to be compiled, read or written."""

    def __init__(
        self,
        settings: Settings,
        spark: SparkSession | None = None,
        say: Say | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.settings = settings
        self.announcer = Announcer([*listeners, *added_listeners(settings)])
        self._say = say
        self._given = spark
        self._closing = ExitStack()
        self.stream_writers: dict[str, tuple[object, EventWriter]] = {}
        """What stores events, by view: each knows what landed."""
        self.inboxes: dict[str, Inbox] = {}

    def open_registry_again(self) -> None:
        """Give up the registry that was opened: another one is in its place."""
        opened = self.__dict__.pop("registry", None)
        if opened is not None:
            opened.close()

    def close(self) -> None:
        """Give the registry's connections back; Spark goes on, it may be somebody else's too."""
        for _, writer in self.stream_writers.values():
            writer.close()
        self.stream_writers.clear()
        self._closing.close()
        self.announcer.close()

    def say(self, text: str) -> None:
        """Tell what is made ready now, to a person and to whoever listens."""
        if self._say is not None:
            self._say(text)
        self.tell(Preparing(text))

    def tell(self, event: Event) -> None:
        """Let listeners hear what happens."""
        self.announcer.tell(event)

    @property
    def spark(self) -> SparkSession:
        """The session in use, started at first use."""
        return self.engine.spark

    def session(self) -> SparkSession:
        """The same, for whoever asks later or never."""
        return self.spark

    @cached_property
    def tables(self) -> Tables:
        """The tables of the configured catalogs."""
        return Tables(self.settings)

    @cached_property
    def engine(self) -> Engine:
        """What compiles and runs."""
        from grebe.engine.engine import Engine

        require_extras(self.settings)
        engine = Engine(self.settings, self._given, self.registry, tell=self.tell)
        if self._given is None:
            self.say("starting Spark")
        return engine

    @cached_property
    def registry(self) -> Registry:
        """The journal of views, runs and leases."""
        from grebe.registry import Registry

        if not self.has_registry():
            require_extras(self.settings)  # before one is made
        opened = Registry.open(self.settings.registry_url)
        self._closing.callback(opened.close)
        write_site_once(self.settings)
        return opened

    def has_registry(self) -> bool:
        """False for a project that never ran: looking at it makes no registry."""
        url = self.settings.registry_url
        return not url.startswith("sqlite:///") or Path(url.removeprefix("sqlite:///")).exists()

    @cached_property
    def builder(self) -> Builder:
        """What makes views from texts."""
        from grebe.project.compile_views import Builder

        return Builder(self.engine, self.registry, self.say)

    def heads(self) -> Heads:
        """One look at the tables as they are now."""
        return Heads(self.tables, self.session)

    # --- the views ------------------------------------------------------------------------------

    def written(self) -> dict[str, Definition]:
        """Every view as it is written now, by full name."""
        return all_written(self.settings, self.records(), self.session, self._compiled)

    def _compiled(self, view: Definition) -> dict[str, str] | None:
        """The columns of a view as the engine compiled this very text of it, if it did."""
        engine = self.__dict__.get("engine")  # asking for it would start Spark
        made = engine.views.get(view.key) if engine else None
        if made is None or dict(made.definition.properties).get(KEYS["definition"]) != view.text:
            return None
        return dict(made.columns)

    def records(self) -> list[ViewRecord]:
        """What the registry knows; a project that never ran has none, and looking makes none."""
        return self.registry.views() if self.has_registry() else []

    def latest(self, *, landed: bool = False) -> dict[str, RunRecord]:
        """The last run of every view, or the last that landed."""
        return self.registry.latest(landed=landed) if self.has_registry() else {}

    def columns(self) -> Lookup:
        """The columns of tables and views, for definitions that name none."""
        known = columns_of_views(self.written(), self._compiled)
        return Lookup(self.settings, known, self.session)

    def named(self, name: str | TableName) -> Definition:
        """The view of that name.

        Raises:
            UnknownTableError: there is none; the hint names the closest.
        """
        views = self.written()
        defaults = (self.settings.defaults.catalog, self.settings.defaults.schema)
        full = exact_name(str(name), views, None if isinstance(name, TableName) else defaults)
        full = full or str(name if isinstance(name, TableName) else self.settings.resolve(name))
        if full not in views:
            raise UnknownTableError(
                f'view "{full}" does not exist',
                hint=did_you_mean(full, list(views)) or "see `grebe status`",
                code="unknown-view",
            )
        return views[full]

    def selected(
        self, views: Mapping[str, Definition], selection: Selection
    ) -> dict[str, Definition]:
        """The views that a selection means, of these."""
        defaults = self.settings.defaults
        names = select(
            selection,
            {name: view.parents_among(views) for name, view in views.items()},
            {name: () if view.error else view.tags for name, view in views.items()},
            (defaults.catalog, defaults.schema),
        )
        return {name: view for name, view in views.items() if name in names}
