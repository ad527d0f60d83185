"""The nouns of the design as frozen dataclasses. No behaviour that touches the world."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from grebe.errors import Reason as Reason
from grebe.sql_text import made, quote_path

Version = NewType("Version", str)
"""A position in one table's history. Opaque text: only its format's file may look inside."""

RunId = NewType("RunId", str)

STREAM = "stream:"
"""How a frontier's name of a stream begins; no table has such a name."""

WEIGHT = made("weight")
"""The column of a delta that holds the signed weight."""

ACTION = made("action")
"""The column of rows to merge that says what to do with each: insert, update or delete."""


class Check(StrEnum):
    """Whether a first build is compared with the user's own text before it is shown."""

    AUTO = "auto"
    """In full up to a size, a sample of keys above it."""
    ALWAYS = "always"
    NEVER = "never"


class SmallChoice(StrEnum):
    """What runs the small steps of a refresh."""

    AUTO = "auto"
    """DuckDB on the driver, where it is installed."""
    SPARK = "spark"


class Policy(StrEnum):
    """What the user allows a refresh to do."""

    AUTO = "auto"
    INCREMENTAL = "incremental"
    STRICT = "strict"
    FULL = "full"


class Outcome(StrEnum):
    """What a refresh did."""

    NO_OP = "no_op"
    INCREMENTAL = "incremental"
    FULL = "full"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost, and what its other way is expected to cost by earlier runs."""

    chosen: Outcome
    seconds: float
    """As measured."""
    expected: float | None = None
    """Of the chosen way, before it ran; None: nothing like it was measured before."""
    rejected: Outcome | None = None
    rejected_seconds: float | None = None
    """As expected; None: it was never measured."""

    @property
    def was_dearer(self) -> bool:
        """True when the other way would have been the cheaper one, by more than machines vary."""
        other = self.rejected_seconds
        return other is not None and self.seconds > max(other * 1.25, other + 0.2)

    def __str__(self) -> str:
        """Both figures, for a person."""
        own = f"{self.chosen} took {self.seconds:.1f} s"
        if self.rejected is None or self.rejected_seconds is None:
            return own
        return f"{own}, {self.rejected} would take about {self.rejected_seconds:.1f} s"


class State(StrEnum):
    """Where a view stands towards its definition and its sources."""

    NEVER_REFRESHED = "never refreshed"
    FRESH = "fresh"
    STALE = "stale"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A fully resolved table: catalog, schema (dotted if nested) and name."""

    catalog: str
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.catalog}.{self.schema}.{self.name}"

    def quoted(self) -> str:
        """The name as Spark's SQL, every part quoted."""
        return quote_path(self.catalog, *self.schema.split("."), self.name)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its id never changes, its name and type may. ``type`` is Spark SQL type text."""

    id: int
    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table at some version."""

    id: str
    columns: tuple[Column, ...]

    def by_id(self) -> dict[int, Column]:
        """The columns keyed by their stable ids."""
        return {column.id: column for column in self.columns}

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True, slots=True)
class Partition:
    """One part of how a table's files are divided: a column, or a coarser value of it."""

    column: str
    transform: str = "identity"
    """identity, year, month, day, hour, bucket or truncate."""
    width: int | None = None
    """How many buckets, or how much is cut off."""

    def __str__(self) -> str:
        if self.transform == "identity":
            return self.column
        width = "" if self.width is None else f"{self.width}, "
        return f"{self.transform}({width}{self.column})"


@dataclass(frozen=True, slots=True)
class Window:
    """``(after, upto]``: the history of one source after one version, up to and with another.

    ``after is None`` means "from nothing": the whole content at ``upto`` is the change.
    """

    after: Version | None
    upto: Version

    @property
    def is_empty(self) -> bool:
        """True when nothing can have changed."""
        return self.after == self.upto


@dataclass(frozen=True, slots=True)
class SourcePoint:
    """Which data of one source a view shows."""

    identity: str
    version: Version
    committed_at: datetime | None
    schema_id: str
    fingerprint: str | None = None
    """The definition fingerprint when the source is itself a view."""
    columns: tuple[Column, ...] | None = None
    """The columns that the view's rows were made from: a name may mean another one by now. None:
    nobody wrote them down."""


LAYOUT = 1
"""The number of the state layout; a stored table with another one is migrated or rebuilt."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """Which data a view shows, kept inside the storage table's own commit."""

    sources: tuple[tuple[str, SourcePoint], ...]
    fingerprint: str
    run_id: RunId
    engine_version: str
    state_layout: int
    values: tuple[tuple[str, str], ...] = field(default=())
    """Small state that lives in the frontier, e.g. whether a stored prefix is complete."""

    @property
    def by_source(self) -> dict[str, SourcePoint]:
        """The points keyed by source name."""
        return dict(self.sources)

    def to_json(self) -> str:
        """The frontier as one line of JSON with sorted keys: equal frontiers, equal text."""
        document = {
            "sources": {name: _point_to_dict(point) for name, point in self.sources},
            "fingerprint": self.fingerprint,
            "run_id": self.run_id,
            "engine_version": self.engine_version,
            "state_layout": self.state_layout,
            "values": dict(self.values),
        }
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Frontier:
        """The frontier that ``to_json`` wrote."""
        document = json.loads(text)
        return Frontier(
            sources=tuple(
                (name, _point_from_dict(point))
                for name, point in sorted(document["sources"].items())
            ),
            fingerprint=document["fingerprint"],
            run_id=RunId(document["run_id"]),
            engine_version=document["engine_version"],
            state_layout=document["state_layout"],
            values=tuple(sorted(document.get("values", {}).items())),
        )


def _point_to_dict(point: SourcePoint) -> dict[str, Any]:
    document: dict[str, Any] = {
        "identity": point.identity,
        "version": point.version,
        "committed_at": point.committed_at.isoformat() if point.committed_at else None,
        "schema_id": point.schema_id,
        "fingerprint": point.fingerprint,
    }
    if point.columns is not None:
        document["columns"] = [[item.id, item.name, item.type] for item in point.columns]
    return document


def _point_from_dict(document: Mapping[str, Any]) -> SourcePoint:
    stamp = document["committed_at"]
    return SourcePoint(
        identity=document["identity"],
        version=Version(document["version"]),
        committed_at=datetime.fromisoformat(stamp) if stamp else None,
        schema_id=document["schema_id"],
        fingerprint=document.get("fingerprint"),
        columns=_columns_from(document.get("columns")),
    )


def _columns_from(items: Sequence[tuple[int, str, str]] | None) -> tuple[Column, ...] | None:
    return None if items is None else tuple(Column(*item) for item in items)


@dataclass(frozen=True, slots=True)
class Position:
    """The frontier found in a storage table, and the storage version it was read at.

    ``frontier is None`` means the view was never refreshed. ``foreign`` names commits of somebody
    else that lie on top of ours and are not maintenance: the rows can no longer be trusted.
    """

    frontier: Frontier | None
    version: Version | None
    row_version: Version | None = None
    """The last version that changed a row: frontier-only commits and maintenance do not move it."""
    foreign: tuple[str, ...] = ()
    unproven: str | None = None
    """Why the chain from the table's head to our last commit cannot be followed, if so."""


@dataclass(frozen=True, slots=True)
class CatalogAddress:
    """A catalog as its format needs it: where the tables are, and who else knows them."""

    catalog: str
    """The first part of its tables' names."""
    home: str
    """The project's own folder: what a format has to remember between runs lies below it."""
    root: str | None = None
    uri: str | None = None
    spark_catalog: str | None = None
    """The name of a catalog that Spark already has."""
    type: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    format_version: int = 3
    """The version of the format that storage tables are made with, where it has versions."""
    small_commits: bool = False
    """Whether the driver makes small commits itself, where the format allows it."""
    folder: str = ""
    """The project's folder."""
    first_folder: str = ""
    """Where that lay when the project was made: tables that are known by their path keep that one."""

    @property
    def spark_name(self) -> str:
        """The name under which Spark knows this catalog."""
        return self.spark_catalog or self.catalog
