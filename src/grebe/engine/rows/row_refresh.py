"""One refresh of a row view: what enters, leaves and changes; results; one fenced commit.

Functions run in jobs of their own, never inside of a commit. What they gave is in files before anything
is written, and everything after them is SQL that may be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from grebe import thresholds
from grebe.compiler.algebra.nodes import Filter, Projection, Scan, walk
from grebe.compiler.rows import row_sql
from grebe.compiler.rows.row_definition import FunctionUse, RowIdentity, is_row_view, row_definition
from grebe.compiler.rows.row_keys import checksum_of
from grebe.compiler.rows.row_layout import ERRORS, IS_SET, ROW_ID, RowLayout, key_column
from grebe.engine.compiled_view import CompiledView
from grebe.engine.pinned_query import query_at
from grebe.engine.rows.row_options import FunctionRun, RowOptions
from grebe.engine.rows.row_preview import RowNumbers
from grebe.engine.rows.row_results import Asking, ResultStore
from grebe.engine.source_deltas import SourceDelta, Stage
from grebe.engine.standing import distrust
from grebe.engine.tables import Tables
from grebe.errors import CheckFailedError, GrebeError, InternalError
from grebe.formats.base import Append, Committed, Merge, Overwrite, Rows, Write
from grebe.formats.failpoints import reach
from grebe.model import ACTION, WEIGHT, Frontier, Position, TableName
from grebe.sql_text import made, quote
from grebe.stored_properties import StoredProperties

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

NEXT_ID: Final = "next_id"
ROWS: Final = "rows"
PENDING: Final = "pending"
FAILED: Final = "failed"
KEPT_VALUES: Final = (NEXT_ID, ROWS, PENDING, FAILED)
"""What the frontier keeps of a row view beside the sources."""
_VIEWS: Final = (
    row_sql.CHOSEN,
    row_sql.DELTA,
    row_sql.STORED,
    row_sql.SEEN,
    row_sql.MOVES,
)


def row_values(frontier: Frontier | None) -> dict[str, int]:
    """What a frontier says of its rows: how many, pending, failed, and the next id."""
    said = dict(frontier.values) if frontier else {}
    return {name: int(said.get(name, "0")) for name in KEPT_VALUES}


@dataclass(slots=True)
class RowDone:
    """What a refresh of rows did."""

    committed: Committed | None
    frontier: Frontier
    changed: int
    rows_in: int
    functions: tuple[FunctionRun, ...] = ()


@dataclass
class RowRefresh:
    """Everything that one refresh of a row view needs."""

    view: CompiledView
    layout: RowLayout
    run_id: str
    tables: Tables
    spark: SparkSession
    stage: Stage
    position: Position
    frontier: Callable[[dict[str, str]], Frontier]
    """The frontier of the versions that are read, with further values."""
    options: RowOptions
    results: Path
    """The folder for the results of this view's functions."""
    sides: Mapping[TableName, SourceDelta] = field(default_factory=dict)
    """The changes of the sources, where they can be followed."""
    kept: list[tuple[ResultStore, list[str]]] = field(default_factory=list)
    reports: list[FunctionRun] = field(default_factory=list)
    held: dict[str, pa.Table] = field(default_factory=dict)
    """What is on the driver: counted there, without a job."""

    @property
    def trusted(self) -> bool:
        """Whether the stored rows can be built upon."""
        return self.position.frontier is not None and not distrust(self.position)

    def moves(self) -> tuple[int, int]:
        """Find out what moves; how many rows, and how many of the source were read for it."""
        read = self._delta()
        self._stored()
        if read is None:
            chosen = self._checked(self._query())
            self._name(row_sql.SEEN, self.spark.sql(row_sql.stored_numbered(self.layout)))
            self._name(row_sql.CHOSEN, chosen)
        else:
            self._name(row_sql.SEEN, self.spark.sql(row_sql.touched_stored(self.layout)))
            found = row_sql.chosen_of_delta(self.layout, row_sql.SEEN)
            self._name(row_sql.CHOSEN, self.spark.sql(found))
        text = row_sql.moves(self.layout, retries=self.options.retry_errors)
        rows = self._materialised(row_sql.MOVES, self.spark.sql(text))
        return rows, rows if read is None else read

    def _query(self) -> DataFrame:
        """All rows of the query at the versions that are to be shown."""
        found = query_at(self.view, self.layout.read, self.tables, self.spark, self.frontier({}))
        name = made("rows_queried")
        found.createOrReplaceTempView(name)
        return self.spark.sql(row_sql.chosen(self.layout, name))

    def _checked(self, rows: DataFrame) -> DataFrame:
        """The rows, unless two have one key."""
        if self.layout.definition.identity is RowIdentity.KEY:
            on = quote(self.layout.matched_on)
            twice = (
                rows.groupBy(self.layout.matched_on).count().where("count > 1").limit(1).collect()
            )
            if twice:
                same = rows.where(f"hex({on}) = '{bytes(twice[0][0]).hex().upper()}'").first()
                raise self._not_unique(same)
        return rows

    def _not_unique(self, row: Any) -> CheckFailedError:  # noqa: ANN401  a row of Spark
        shown = ", ".join(
            f"{name} = {row[name]!r}" for name in self.layout.definition.key if row is not None
        )
        return CheckFailedError(
            f'the key of view "{self.view.name}" does not tell rows apart',
            detail=f"two rows have {shown}",
            hint="name the columns of a key, or leave key= out: then equal rows are copies",
            code="key-not-unique",
        )

    def _delta(self) -> int | None:
        """The net changes as rows of the query, and how many; None where all rows are read."""
        pending = row_values(self.position.frontier)[PENDING]
        if not self.sides or not self.trusted or pending or self.options.retry_errors:
            return None
        if not follows_changes(self.view, self.layout):
            return None
        ((name, side),) = self.sides.items()
        if side.delta is None:
            return None
        source = made("rows_changed")
        side.delta.frame(self.spark, list(side.columns)).createOrReplaceTempView(source)
        definition = self.layout.definition
        items = definition.over(f"{source} AS {quote(name.name)}", f", {WEIGHT}")
        kinds = dict(self.layout.read)
        typed = [f"CAST({quote(item)} AS {kind}) AS {quote(item)}" for item, kind in kinds.items()]
        queried = made("rows_queried")
        rows = self.spark.sql(items).selectExpr(*typed, WEIGHT)
        rows.createOrReplaceTempView(queried)
        text = row_sql.net_rows(self.layout, queried)
        count = self._materialised(row_sql.DELTA, self.spark.sql(text))
        if definition.identity is RowIdentity.KEY:
            self._check_delta()
        return count

    def _check_delta(self) -> None:
        """Nothing, unless the change gives a key twice."""
        self._stored()
        on = self.layout.matched_on
        delta, stored = row_sql.DELTA, row_sql.STORED
        twice = self.spark.sql(
            f"SELECT row FROM (SELECT {on}, first(struct(*)) AS row, min({WEIGHT}) AS least,"
            f" sum(CASE WHEN {WEIGHT} > 0 THEN {WEIGHT} ELSE 0 END) AS more FROM {delta} GROUP BY {on})"
            f" AS d WHERE more > 1 OR (least > 0 AND {on} IN (SELECT {on} FROM {stored})) LIMIT 1"
        ).collect()
        if twice:
            raise self._not_unique(twice[0]["row"])

    def _stored(self) -> None:
        """The view's rows as they were planned from; none where they cannot be built upon."""
        if self.position.version is not None and self.trusted:
            source = self.tables.source(self.view.storage_name, lambda: self.spark)
            ids = [column.id for column in source.schema_at(self.position.version).columns]
            frame = source.read_at(self.position.version, ids)
        else:
            columns = [f"{quote(item.name)} {item.type}" for item in self.view.stored.columns]
            frame = self.spark.createDataFrame([], ", ".join(columns))
        self._name(row_sql.STORED, frame)

    def _name(self, name: str, frame: DataFrame) -> None:
        frame.createOrReplaceTempView(name)

    def _materialised(self, name: str, frame: DataFrame) -> int:
        """Keep rows, so that they are computed once: on the driver where they are few."""
        found = frame.limit(thresholds.MOVED_ROWS + 1).toArrow()
        self.held.pop(name, None)
        if found.num_rows <= thresholds.MOVED_ROWS:
            self.held[name] = found
            self._name(name, self.spark.createDataFrame(found, frame.schema))
            return int(found.num_rows)
        text = self.stage(frame)
        kept = self.spark.sql(f"SELECT * FROM {text}")
        self._name(name, kept)
        return kept.count()

    def numbers(self) -> RowNumbers:
        """What was found, in numbers."""
        moved = dict.fromkeys(("enter", "leave", "change", "pending"), 0)
        (row,) = self.spark.sql(
            f"SELECT count_if({ACTION} = 'insert') AS enter, count_if({ACTION} = 'delete') AS leave,"
            f" count_if({ACTION} = 'update' AND {row_sql.WAS_SET}) AS `change`,"
            f" count_if({ACTION} = 'update' AND NOT {row_sql.WAS_SET}) AS pending FROM {row_sql.MOVES}"
        ).collect()
        moved.update({key: int(value) for key, value in row.asDict().items()})
        reused = to_compute = 0
        for place, use in self.layout.functions:
            needed = self._needed(place)
            known = self._known(place, self._store(use)) if needed else None
            asked = self.spark.sql(row_sql.wanted(self.layout, place, known, None)).count()
            to_compute += asked
            reused += needed - asked
        return RowNumbers(**moved, reused=reused, to_compute=to_compute)

    @staticmethod
    def _staying(rows: pa.Table) -> pa.Table:
        import pyarrow.compute as pc

        return rows.filter(pc.not_equal(rows[ACTION], "delete"))

    def _store(self, use: FunctionUse) -> ResultStore:
        return ResultStore(self.results / use.fingerprint[:24], use)

    def _needed(self, place: int) -> int:
        """How many different inputs of a function are needed."""
        if row_sql.MOVES in self.held:
            rows = self._staying(self.held[row_sql.MOVES])
            return len(rows[key_column(place)].unique())
        (counted,) = self.spark.sql(
            f"SELECT count(DISTINCT {key_column(place)}) AS n FROM {row_sql.MOVES}"
            f" WHERE {ACTION} <> 'delete'"
        ).collect()
        return int(counted[0])

    # --- results ----------------------------------------------------------------------------------

    def find_results(self) -> None:
        """For each function the results of all inputs that are needed: known, or computed now."""
        for place, _ in self.layout.functions:
            self._results_of(place)

    def _results_of(self, place: int) -> None:
        use = self.layout.definition.functions[place]
        store = self._store(use)
        needed = self._needed(place)
        asking = Asking(store, self.options, self.run_id)
        most = self.options.max_rows

        def ask() -> tuple[DataFrame, int]:
            text = row_sql.wanted(self.layout, place, self._known(place, store), most)
            rows = self._materialised(row_sql.WANTED, self.spark.sql(text))
            return self.spark.table(row_sql.WANTED), rows

        if needed and most != 0:
            asked = asking.run(ask)
            asking.reused = needed - asked if most is None or asked < most else 0
        self.kept.append((store, asking.files))
        self.reports.append(asking.report())
        self._name_results(place, self._known(place, store) if needed else None)

    def _known(self, place: int, store: ResultStore) -> str | None:
        """A relation with what is known of a function's results: key, value, error."""
        use = store.function
        parts = []
        files = store.files()
        if files:
            name = made(f"files_{place}")
            kind = f"key binary, value {use.returns}, error struct<type:string,message:string,attempts:int>"
            self._name(name, self.spark.read.schema(kind).parquet(*map(str, files)))
            # What failed before is asked again, by whoever wants that; never taken as a result.
            parts.append(f"SELECT key, value, error FROM {name}" + self._failed_files(store, files))
        error = "CAST(NULL AS struct<type:string,message:string,attempts:int>) AS error"
        for number, (relation, column, key, checksum) in enumerate(self._settled(use)):
            name = made(f"settled_{place}_{number}")
            relation.createOrReplaceTempView(name)
            parts.append(
                f"SELECT {quote(key)} AS key, CAST({quote(column)} AS {use.returns}) AS value, {error}"
                f" FROM {name} WHERE __is_set AND {quote(key)} IS NOT NULL AND {made('sum')} = {checksum}"
            )
        if not parts:
            return None
        name = made(f"known_{place}")
        both = " UNION ALL ".join(parts)
        # Whatever is known twice is the same: of an error and a value the value is taken.
        ranked = (
            f"SELECT *, row_number() OVER (PARTITION BY key ORDER BY error IS NOT NULL) AS {made('n')}"
            f" FROM ({both}) WHERE key IN (SELECT {key_column(place)} FROM {row_sql.MOVES}"
            f" WHERE {ACTION} <> 'delete')"
        )
        text = f"SELECT key, value, error FROM ({ranked}) WHERE {made('n')} = 1"
        self._name(name, self.spark.sql(text))
        return name

    def _failed_files(self, store: ResultStore, files: Sequence[Path]) -> str:
        """Errors count where this very run made them."""
        own = {name for kept, names in self.kept for name in names if kept is store}
        del files
        return "" if own else " WHERE error IS NULL"

    def _name_results(self, place: int, known: str | None) -> None:
        use = self.layout.definition.functions[place]
        if known is None:
            error = "CAST(NULL AS struct<type:string,message:string,attempts:int>)"
            text = (
                f"SELECT CAST(NULL AS BINARY) AS key, CAST(NULL AS {use.returns}) AS value,"
                f" {error} AS error WHERE FALSE"
            )
        else:
            text = f"SELECT * FROM {known}"
        self._name(f"{row_sql.RESULTS}_{place}", self.spark.sql(text))

    def _settled(self, use: Any) -> Iterator[tuple[DataFrame, str, str, str]]:  # noqa: ANN401
        """Tables of this view that hold results of a function: (rows, column, key, checksum)."""
        names = dict.fromkeys([self.view.storage_name, *sorted(self.view.replaces)])
        for name in names:
            try:
                yield from self._settled_in(name, use)
            except GrebeError:  # a table that cannot be read holds no results
                continue

    def _settled_in(self, name: TableName, use: Any) -> Iterator[tuple[DataFrame, str, str, str]]:  # noqa: ANN401
        import json

        kept = self.tables.properties(name, lambda: self.spark)
        text = StoredProperties.from_properties(kept).definition if kept else None
        document = json.loads(text) if text and text.lstrip().startswith("{") else None
        if not is_row_view(document):
            return
        definition = row_definition(document)
        places = [
            n for n, item in enumerate(definition.functions) if item.fingerprint == use.fingerprint
        ]
        position = self.tables.position(name, lambda: self.spark)
        if not places or position is None or position.version is None or position.frontier is None:
            return
        source = self.tables.source(name, lambda: self.spark)
        columns = source.schema_at(position.version).columns
        rows = source.read_at(position.version, [column.id for column in columns])
        kinds = [(item.name, item.type) for item in columns if item.name != made("sum")]
        checksum = checksum_of(kinds)
        for place in places:
            yield rows, definition.functions[place].column, key_column(place), checksum

    # --- writing ----------------------------------------------------------------------------------

    def write(self, rows_in: int) -> RowDone:
        """Everything into the storage table by one commit, and what it was."""
        before = row_values(self.position.frontier if self.trusted else None)
        first_id = row_values(self.position.frontier)[NEXT_ID]
        text = row_sql.assembled(self.layout, first_id, self.run_id)
        name = made("rows_written")
        self._materialised(name, self.spark.sql(text))
        counts = self._counted(name)
        values = {
            NEXT_ID: first_id + counts["insert"],
            ROWS: before[ROWS] + counts["insert"] - counts["delete"],
            PENDING: before[PENDING] + counts["pending"],
            FAILED: before[FAILED] + counts["failed"],
        }
        frontier = self.frontier({key: str(value) for key, value in values.items()})
        writes = self._writes(name, counts)
        self._keep_departed()
        storage = self.tables.storage(self.view.storage_name, self.spark)
        committed = storage.commit(writes, frontier, self.position)
        reach("refresh.committed")
        if not values[PENDING]:
            for store, files in self.kept:
                store.clear(files)
        changed = counts["insert"] + counts["update"] + counts["delete"]
        return RowDone(committed, frontier, changed, rows_in, tuple(self.reports))

    def _counted(self, name: str) -> dict[str, int]:
        """How many rows of each action, and by how much more are pending and failed."""
        if name in self.held:
            return _counted_here(self.held[name])
        gone = f"CASE WHEN {ACTION} <> 'insert' THEN"
        was_pending = f"{gone} CAST(NOT {row_sql.WAS_SET} AS INT) ELSE 0 END"
        was_failed = f"{gone} CAST({row_sql.WAS_FAILED} AS INT) ELSE 0 END"
        pending = f"CASE WHEN {ACTION} <> 'delete' THEN CAST(NOT __is_set AS INT) ELSE 0 END"
        failed = f"CASE WHEN {ACTION} <> 'delete' THEN CAST({ERRORS} IS NOT NULL AS INT) ELSE 0 END"
        (row,) = self.spark.sql(
            f"SELECT count_if({ACTION} = 'insert') AS `insert`, count_if({ACTION} = 'update') AS `update`,"
            f" count_if({ACTION} = 'delete') AS `delete`,"
            f" coalesce(sum({pending} - {was_pending}), 0) AS pending,"
            f" coalesce(sum({failed} - {was_failed}), 0) AS failed FROM {name}"
        ).collect()
        return {key: int(value) for key, value in row.asDict().items()}

    def _writes(self, name: str, counts: dict[str, int]) -> list[Write]:
        columns = ", ".join(quote(column.name) for column in self.view.stored.columns)
        if not self.trusted:
            return [Overwrite(Rows(sql=f"SELECT {columns} FROM {name}"))]
        if not any(counts[action] for action in ("insert", "update", "delete")):
            return []
        if not (counts["update"] or counts["delete"]):
            return [Append(Rows(sql=f"SELECT {columns} FROM {name}"))]
        rows = Rows(sql=f"SELECT {columns}, {ACTION} FROM {name}")
        return [
            Merge(
                rows,
                (ROW_ID,),
                expect_updated=counts["update"],
                expect_deleted=counts["delete"],
                unique=True,
                has_inserts=counts["insert"] > 0,
            )
        ]

    def _keep_departed(self) -> None:
        """The old results of rows that leave or change, where what comes back finds them."""
        moved = self.held.get(row_sql.MOVES)
        only_new = moved is not None and moved[ACTION].unique().to_pylist() == ["insert"]
        if not self.trusted or only_new:
            return
        for place, (store, _) in enumerate(self.kept):
            column, key = store.function.column, key_column(place)
            old = self.spark.sql(
                f"SELECT s.{key} AS key, first(s.{quote(column)}) AS value FROM {row_sql.STORED} AS s"
                f" LEFT SEMI JOIN {row_sql.MOVES} AS m ON s.{ROW_ID} = m.{ROW_ID}"
                f" AND (m.{ACTION} = 'delete' OR NOT (m.{key} <=> s.{key}))"
                f" WHERE s.__is_set AND s.{key} IS NOT NULL GROUP BY s.{key}"
            )
            store.keep_departed(old.limit(1_000_000).toArrow())


def _counted_here(rows: pa.Table) -> dict[str, int]:
    names = (ACTION, IS_SET, ERRORS, row_sql.WAS_SET, row_sql.WAS_FAILED)
    found = dict.fromkeys(("insert", "update", "delete", "pending", "failed"), 0)
    for action, is_set, errors, was_set, was_failed in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        found[action] += 1
        if action != "insert":
            found["pending"] -= not was_set
            found["failed"] -= bool(was_failed)
        if action != "delete":
            found["pending"] += not is_set
            found["failed"] += errors is not None
    return found


def follows_changes(view: CompiledView, layout: RowLayout) -> bool:
    """Whether what changed in the source says all that changes in the view: row by row, without bounds."""
    if layout.definition.has_bounds or layout.definition.is_query or view.parents:
        return False
    plain = (Scan, Filter, Projection)
    return len(view.sources) == 1 and all(
        isinstance(node, plain) for node in walk(view.plan.definition)
    )


@contextmanager
def dropped_at_the_end(spark: SparkSession) -> Iterator[None]:
    """Temporary views go when a refresh ends: sessions are lent to others."""
    try:
        yield
    finally:
        for name in _VIEWS:
            spark.catalog.dropTempView(name)


def layout_of(view: CompiledView) -> RowLayout:
    """The layout of a row view."""
    if view.rows is None:
        raise InternalError.broken(f"{view.name} is no row view")
    return view.rows
