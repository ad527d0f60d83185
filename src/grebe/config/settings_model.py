"""Everything that a project can be told, checked, and the tables that its names mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from grebe.compiler.text.declarative.links import Link
from grebe.config.table_names import split_name
from grebe.errors import UnknownTableError, did_you_mean
from grebe.formats.table_format import TableFormat
from grebe.model import CatalogAddress, Check, SmallChoice, TableName
from grebe.schedule import duration

FILE_NAME = "grebe.toml"
HOME_NAME = ".grebe"
PLACE_NAME = "place.json"
EMBEDDED_CATALOG = "lake"
DEFAULT_SCHEMA = "main"
NOTICE_KINDS = ("late", "in-time", "failing", "suspended", "lag-unreachable", "differs")
"""What people can be told of."""


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """One place where tables live: a uri, a root folder, or a catalog that Spark already has."""

    name: str
    format: TableFormat
    uri: str | None = field(default=None, repr=False)
    root: str | None = None
    spark_catalog: str | None = None
    type: str | None = None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def spark_name(self) -> str:
        """The name under which Spark knows this catalog."""
        return self.spark_catalog or self.name


@dataclass(frozen=True, slots=True)
class Defaults:
    """What completes a name of fewer than three parts."""

    catalog: str
    schema: str = DEFAULT_SCHEMA


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """How storage tables of views are made."""

    format_version: int = 3


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """What holds for every view that does not say otherwise itself."""

    check: Check = Check.AUTO
    """Whether a first build is compared with the user's own text."""


@dataclass(frozen=True, slots=True)
class RefreshSettings:
    """How refreshes compute."""

    small_steps: SmallChoice = SmallChoice.AUTO


@dataclass(frozen=True, slots=True)
class Sink:
    """Where notices of some kinds go."""

    name: str
    kinds: tuple[str, ...] = ()
    """None: all."""
    webhook: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    """Signs what is sent to the webhook."""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """How views are refreshed by themselves."""

    jobs: int = 2
    poll: str = "1s"
    catch_up: str = "one"
    max_failures: int = 5
    apply: str = "manual"
    """Whether a changed definition is rebuilt: auto, or manual."""
    notices: tuple[Sink, ...] = ()


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Who may ask the server."""

    token: str | None = field(default=None, repr=False)
    hosts: str | None = None
    """Further names under which it may be asked, with commas between."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Where the registry of views, runs and leases is kept."""

    url: str | None = field(default=None, repr=False)
    """``sqlite:///file`` or ``postgresql://…``; None: a file in the project's own folder."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which project this is, among those that keep views in the same catalogs."""

    id: str | None = None
    """None: one that is made up and kept in the project's own folder."""


@dataclass(frozen=True, slots=True)
class Spark:
    """How a Spark session is made when the caller brings none."""

    master: str = "local[*]"
    remote: str | None = field(default=None, repr=False)
    java: str = "auto"
    timezone: str = "UTC"
    log_level: str = "ERROR"
    shuffle_partitions: int = 4
    conf: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Where the events of a stream come from, and how they are taken in."""

    source: str = "webhook"
    """webhook, kafka, or none."""
    token: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    inbox: bool = True
    keep: str = "7 days"
    linger: str = "0ms"
    max_events: int = 1000
    servers: str = ""
    topic: str = ""
    on_gap: str = "stop"
    exclude: tuple[tuple[str, str], ...] = ()
    """Events that say this are never taken in."""
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def kept(self) -> timedelta:
        """How long the inbox keeps events."""
        return duration(self.keep)

    @property
    def linger_seconds(self) -> float:
        """How long a request waits for others to share its commit."""
        return int(self.linger.removesuffix("ms")) / 1000


@dataclass(frozen=True, slots=True)
class Site:
    """Where a project lies, as it wrote down itself."""

    folder: Path
    first: Path
    """Where it lay when it was made: what is known by its path keeps that one for ever."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that grebe.toml and the environment say, checked; ``folder`` is the project's."""

    folder: Path
    catalogs: tuple[CatalogSettings, ...]
    defaults: Defaults
    storage: StorageSettings = StorageSettings()
    views: ViewSettings = ViewSettings()
    refresh: RefreshSettings = RefreshSettings()
    spark: Spark = Spark()
    registry: Journal = Journal()
    scheduler: SchedulerSettings = SchedulerSettings()
    web: WebSettings = WebSettings()
    project: Identity = Identity()
    relations: tuple[tuple[str, tuple[tuple[str, Link], ...]], ...] = ()
    """For a table, its links to other tables by name."""
    listeners: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    """Listeners of installed packages, by the names of their entry points, each with its settings."""
    streams: tuple[tuple[str, StreamSettings], ...] = ()
    """By the names of the streams."""
    file: Path | None = None
    site: Site | None = None
    """What the project wrote down of its place; None before its first run."""

    @property
    def home(self) -> Path:
        """The folder for what grebe itself keeps in a project."""
        return self.folder / HOME_NAME

    @property
    def links(self) -> dict[str, dict[str, Link]]:
        """The declared relations by table and name."""
        return {table: dict(links) for table, links in self.relations}

    @property
    def registry_url(self) -> str:
        """The registry's place; without a setting, a file beside what else grebe keeps."""
        return self.registry.url or f"sqlite:///{self.home}/registry.db"

    def catalog(self, name: str) -> CatalogSettings:
        """The catalog of that name, or an UnknownTableError with the closest one."""
        for catalog in self.catalogs:
            if catalog.name == name:
                return catalog
        known = [catalog.name for catalog in self.catalogs]
        raise UnknownTableError(
            f'catalog "{name}" does not exist',
            detail=f"catalogs: {', '.join(known)}",
            hint=did_you_mean(name, known) or f"add [catalogs.{name}] to {FILE_NAME}",
        )

    def address(self, catalog: CatalogSettings) -> CatalogAddress:
        """A configured catalog as its format needs it."""
        return CatalogAddress(
            catalog=catalog.name,
            home=str(self.home),
            root=catalog.root,
            uri=catalog.uri,
            spark_catalog=catalog.spark_catalog,
            type=catalog.type,
            options=dict(catalog.options),
            format_version=self.storage.format_version,
            small_commits=self.refresh.small_steps is SmallChoice.AUTO,
            folder=str(self.folder),
            first_folder=str(self.site.first if self.site else self.folder),
        )

    def resolve(self, name: str | Sequence[str]) -> TableName:
        """The full name of a table: three or more parts are exact, fewer take the defaults."""
        match split_name(name) if isinstance(name, str) else tuple(name):
            case (table,):
                return TableName(self.defaults.catalog, self.defaults.schema, table)
            case (schema, table):
                return TableName(self.defaults.catalog, schema, table)
            case (catalog, *schemas, table):
                return TableName(self.catalog(catalog).name, ".".join(schemas), table)
        raise UnknownTableError("a table name has no parts", hint="write schema.table")
