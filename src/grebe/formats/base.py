"""The contract between grebe and a table format. Small on purpose.

A *source* offers pinned reads and exact changes. A *storage* table offers one atomic move that
carries rows and frontier together. What a format can do is data (`Capabilities`), never a class
test. Versions are opaque: only the format that made one may look inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from grebe.errors import CheckFailedError
from grebe.model import ACTION as ACTION
from grebe.model import WEIGHT as WEIGHT
from grebe.model import (
    Frontier,
    Partition,
    Position,
    Reason,
    RunId,
    Schema,
    TableName,
    Version,
    Window,
)
from grebe.sql_text import PREFIX, made

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from grebe.formats.near_rows import NearKeys


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a table can do, as data."""

    row_id: bool = False
    """`changes` and `read_at` can carry a stable row id (for row views)."""
    exact_row_counts: bool = False
    """`VersionStats.rows`, where it is given, is exact and not an estimate."""
    head_without_spark: bool = False
    """`Source.head` neither starts nor asks Spark."""
    rows_on_driver: bool = False
    """`Source.rows_on_driver` reads rows, where their files allow it."""
    any_two_versions: bool = False
    """A window may lead backwards or sideways in the history, e.g. after a rollback."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where a table stands now: read without a Spark job."""

    identity: str
    version: Version
    schema: Schema
    committed_at: datetime | None
    retention: timedelta | None = None
    """How long the table's own settings keep versions, where they say."""


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """Smallest and largest value of a column in some files, from metadata. None: unknown."""

    column: str
    low: object | None
    high: object | None
    has_null: bool | None = None
    bytes: int = 1
    """How large the files are: what skipping them saves."""


@dataclass(frozen=True, slots=True)
class VersionStats:
    """What metadata says of one version. ``rows`` is None unless it is exact."""

    rows: int | None
    files: int
    bytes: int
    bounds: Mapping[str, Sequence[KeyBounds]]
    """Per column, one entry per data file: says whether a key filter would prune."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """What a person runs to remove old versions of a table."""

    statement: str
    setting: str | None = None
    """A SET to run before it, without which it is refused."""
    until: datetime | None = None
    """When it no longer means the same: it counts back from the time it runs at. None: never."""


@dataclass(frozen=True, slots=True)
class WindowStats:
    """What metadata says of a window, before any row is read."""

    rows_added: int | None
    rows_removed: int | None
    files_added: int
    files_removed: int
    bytes: int
    only_maintenance: bool
    """Nothing but compaction, manifest rewrites and the like: no row changed."""
    since: datetime | None = None
    """When the first commit of the window that is not maintenance was made, if metadata says."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The consolidated changes of one window, and how they were found.

    Exactly one of ``arrow`` and ``frame`` is set. The columns are those asked for, with the names
    and types of ``upto``, plus `WEIGHT`. ``way`` names the method for explain and tests.
    """

    way: str
    arrow: pa.Table | None = None
    frame: DataFrame | None = None
    bytes_read: int | None = None
    total: int | None = None
    """The sum of weights that metadata demands, if it gives one. Arrow was checked against it;
    whoever runs ``frame`` has the sum at hand and gives it to `check_total`."""


def check_total(name: TableName, window: Window, expected: int | None, found: int) -> None:
    """Nothing when the weights of a window sum to what its row counts demand.

    This guard turns any error in finding changes from silent to loud.
    """
    if expected is None or expected == found:
        return
    raise CheckFailedError(
        f'the changes of table "{name}" contradict its row counts',
        detail=f"({window.after}, {window.upto}]: weights sum to {found}, rows differ by {expected}",
        hint="refresh in full and report this with the table's history",
        code="window-guard",
    )


class Source(Protocol):
    """A table that a view reads."""

    @property
    def name(self) -> TableName: ...

    @property
    def capabilities(self) -> Capabilities: ...

    def head(self) -> Head:
        """Identity, version and schema now; no Spark job."""

    def schema_at(self, version: Version) -> Schema:
        """The schema that rows of a version are read with."""

    def unreadable(self, window: Window, columns: Sequence[int]) -> Reason | None:
        """Why the window cannot be read exactly for these column ids, or None if it can."""

    def window_stats(self, window: Window) -> WindowStats:
        """Rows and files added and removed, from metadata."""

    def version_stats(self, version: Version, columns: Sequence[int] = ()) -> VersionStats:
        """Rows, files and key bounds of a version, from metadata."""

    def changes(self, window: Window, columns: Sequence[int]) -> Changes:
        """The consolidated signed rows of the window; guarded by the sum of weights."""

    def read_at(self, version: Version, columns: Sequence[int]) -> DataFrame:
        """All rows of a version, pinned."""

    def rows_on_driver(
        self, version: Version, columns: Sequence[int], near: NearKeys | None = None
    ) -> pa.Table | None:
        """The same on the driver, without Spark, or those of some keys; None where it cannot read them."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to write: a query for Spark, or a table on the driver."""

    sql: str | None = None
    arrow: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """Add rows."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Make these rows the whole content."""

    rows: Rows


TARGET = made("target")
"""What a merge calls the stored rows."""

CHANGE = made("change")
"""What a merge calls the rows to be written."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Apply rows that carry an `ACTION`, matched null-safely on ``on``.

    delete removes every stored row that matches, update sets all other columns of the one that
    matches, insert adds. ``expect_updated`` and ``expect_deleted`` are the numbers of stored rows
    that must match; another number means stored rows contradict the change: nothing is published.
    The rows hold every column of the table; in a delete only those of ``on`` are looked at.

    A bag is merged on all columns: one delete for every touched value takes all its stored copies,
    and inserts put back as many as there must be.
    """

    rows: Rows
    on: tuple[str, ...]
    expect_updated: int | None = None
    expect_deleted: int | None = None
    unique: bool = False
    """``on`` is a key of the table, so an insert that finds its key stored contradicts too."""
    has_inserts: bool = True
    """Some of the rows are inserts; without them a merge is an inner join."""
    prune: str | None = None
    """SQL over columns of `TARGET` that lets the scan skip files."""
    target_is_large: bool = False
    """Two cheap passes over the target are better than one outer join of all of it."""
    signed: tuple[str, ...] = ()
    """Those of ``on`` whose values must be the same, not only equal: -0.0 is not 0.0."""


Write = Append | Overwrite | Merge


@dataclass(frozen=True, slots=True)
class Committed:
    """A published run: the storage version it made, and what it wrote."""

    version: Version
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None


@dataclass(frozen=True, slots=True)
class Orphan:
    """What a run that did not finish left behind, and since when at the latest it is there."""

    run_id: RunId
    since: datetime


class Storage(Protocol):
    """The table that holds a view's rows and hidden state."""

    @property
    def name(self) -> TableName: ...

    @property
    def commits_on_driver(self) -> bool:
        """Whether rows that replace all of a small table are written without Spark."""

    def create(
        self,
        schema: Schema,
        properties: Mapping[str, str],
        partitions: Sequence[Partition] = (),
    ) -> None:
        """Make the empty table; an existing one of the same identity is left alone."""

    def position(self) -> Position:
        """The last published frontier and the version it was read at. The only truth."""

    def commit(self, writes: Sequence[Write], frontier: Frontier, expected: Position) -> Committed:
        """Move the table once, rows and frontier together, if it is still at ``expected``.

        No writes at all is a frontier-only commit. Where rows cannot be trusted any more
        (``expected`` names foreign writes or is unproven) the first write must be an Overwrite.
        A run that landed before is answered again, not applied again.

        Raises:
            ConflictError: somebody else moved the table; nothing of this run is visible.
            CheckFailedError: stored rows contradict the change; nothing is visible.
            StepFailedError: a statement failed; nothing is visible.
            UnknownOutcomeError: not even re-reading can tell whether the run landed.
        """

    def orphans(self) -> Sequence[Orphan]:
        """What unfinished runs left behind, running ones included: ask the lease before `abandon`."""

    def abandon(self, run_id: RunId) -> None:
        """Remove what an unpublished run left behind; never a file of a published one."""

    def compact(self) -> None:
        """Rewrite many small files into few: maintenance, which changes no row and no frontier.

        A commit of somebody else meanwhile goes first; the next call makes up for it.
        """


OWN = PREFIX
"""How the names of all tables that are grebe's begin."""

STAGED = f"{OWN}stage_"
"""How the name of a staged table begins; the run's id and a number follow."""


LOST_TEXT = f"-- {OWN}lost"
"""What is shown by a public name whose own text is lost."""


def holds_view(name: str) -> bool:
    """True for the name of a storage table.

    >>> [holds_view(name) for name in ("__grebe_daily_1a2b3c4d", "__grebe_stage_7_0", "daily")]
    [True, False, False]
    """
    return name.startswith(OWN) and not name.startswith(STAGED)


Session = Callable[[], "SparkSession"]
"""Gives the session when it is needed: Spark is not started before."""


class Catalog(Protocol):
    """Opens the tables of one catalog. Every format has one, made from a `CatalogAddress`."""

    def relation(self, name: TableName) -> str:
        """The table as it is now, as text for the engine that public names are read by."""

    def source(self, name: TableName, spark: Session) -> Source:
        """The table as a source; nothing is read yet."""

    def storage(self, name: TableName, session: SparkSession) -> Storage:
        """The table as a view's storage, written through a session of its own."""

    def position(self, name: TableName, spark: Session) -> Position | None:
        """The position of a storage table, without Spark where that is possible; None: no table."""

    def publish(self, name: TableName, session: SparkSession, select: Select) -> None:
        """Make a public name show what ``select`` says, in one step."""

    def shown(self, name: TableName, spark: Session) -> str | None:
        """The SELECT behind a public name, without Spark where that is possible; None: no name."""

    def taken(self, name: TableName, spark: Session) -> bool:
        """Whether a table stands under a name, so that it cannot be that of a view."""

    def properties(self, name: TableName, spark: Session) -> Mapping[str, str] | None:
        """What `Storage.create` was given to keep with a table; None: no table."""

    def staged(self, beside: TableName, session: SparkSession) -> Sequence[TableName]:
        """What is staged in the schema of a table, by whatever run."""

    def staged_at(self, name: TableName, spark: Session) -> datetime | None:
        """When rows were staged under a name; None: it cannot be told, or there are none yet."""

    def stage(self, name: TableName, rows: DataFrame) -> str:
        """Keep rows where every session and executor can read them; the SQL text to read them."""

    def unstage(self, name: TableName, session: SparkSession) -> None:
        """Remove what `stage` kept under this name; no harm if there is nothing."""

    def partitioning(self, parts: Sequence[Partition]) -> Sequence[str]:
        """The partitions of a storage table as the format writes them in SQL.

        Raises:
            DefinitionError: the format has no such partitions.
        """

    @property
    def one_history(self) -> bool:
        """Whether versions are those of the whole catalog, so that `expire` takes from all."""

    def stored(self, spark: Session, schema: str | None = None) -> Sequence[TableName]:
        """The storage tables of the catalog, or of one schema of it, of whatever view."""

    def keep(self, name: TableName, spark: Session, properties: Mapping[str, str]) -> None:
        """Put these beside the other properties of a storage table; its rows do not move."""

    def moment(self, name: TableName, version: Version, spark: Session) -> datetime | None:
        """When a version of a table was committed; None: it is gone, or does not say."""

    def version_at(self, name: TableName, when: datetime, spark: Session) -> Version | None:
        """The newest version that was committed by then; None: there is none, or none is left."""

    def expiry(self, name: TableName, before: datetime) -> Expiry | None:
        """How a person removes older versions of a table; None: there is no way."""

    def expire(self, name: TableName, spark: Session, before: datetime | None) -> None:
        """Remove versions of a storage table from before a moment; None: all but the newest."""

    def remove(self, name: TableName, spark: Session) -> None:
        """Remove a storage table with its rows; no harm if there is none."""

    def unpublish(self, name: TableName, spark: Session) -> None:
        """Remove a public name; no harm if there is none."""


Select = Callable[[str], str]
"""The SELECT behind a public name, in the dialect asked for."""
