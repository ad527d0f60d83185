"""The statements of one write inside a run's transaction, and what they must find stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from grebe.errors import CheckFailedError, InternalError
from grebe.formats.base import ACTION, CHANGE, TARGET, Append, Merge, Overwrite
from grebe.formats.ducklake.catalog_rows import Table, names
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.schema import LakeField, duckdb_text
from grebe.formats.ducklake.staged_rows import Staged
from grebe.model import RunId, TableName
from grebe.program.duckdb_text import ident, literal
from grebe.sql_text import made

_DOOMED = f"temp.main.{made('doomed')}"
_ID = made("id")


@dataclass(slots=True)
class DuckLakeWriter:
    """Applies staged writes to one table, inside a transaction that somebody else ends."""

    lake: Session
    name: TableName
    table: Table
    fields: Sequence[LakeField]
    run_id: RunId
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    _views: int = field(default=0, init=False)

    def apply(self, staged: Staged) -> None:
        """Do one write.

        Raises:
            CheckFailedError: stored rows contradict the change.
        """
        match staged.write:
            case Append():
                self.inserted += self._add(staged, None)
            case Overwrite():
                self.deleted += self._count(f"DELETE FROM {self._target}")
                self.inserted += self._add(staged, None)
            case Merge():
                self._merge(staged, staged.write)

    @property
    def changed(self) -> bool:
        """Whether any row was written or removed."""
        return bool(self.inserted or self.updated or self.deleted)

    @property
    def gained(self) -> int:
        """By how many rows the table grew."""
        return self.inserted - self.deleted

    @property
    def _target(self) -> str:
        return self.table.sql(self.lake)

    def _count(self, sql: str) -> int:
        return int(self.lake.row(sql)[0])

    def _merge(self, staged: Staged, merge: Merge) -> None:
        if merge.unique and merge.expect_deleted is None:
            raise InternalError.broken("a merge on a unique key needs its expected deletes")
        with self._rows(staged) as rows:
            self._find_doomed(rows, merge)
            updated, deleted, contradicted, claims = self.lake.row(
                f"SELECT count(*) FILTER ({ACTION} = 'update'), count(*) FILTER ({ACTION} = 'delete'),"
                f" count(*) FILTER ({ACTION} = 'insert'), count(*) - count(DISTINCT {_ID})"
                f" FROM {_DOOMED}"
            )
            if claims:
                raise CheckFailedError(
                    f'several changes claim one stored row of table "{self.name}"',
                    run_id=self.run_id,
                )
            if contradicted:
                raise self._contradiction(0, contradicted, "inserted already")
            for wanted, found, done in (
                (merge.expect_updated, updated, "updated"),
                (merge.expect_deleted, deleted, "deleted"),
            ):
                if wanted is not None and wanted != found:
                    raise self._contradiction(wanted, found, done)
            gone = self._count(
                f"DELETE FROM {self._target} WHERE rowid IN (SELECT {_ID} FROM {_DOOMED})"
            )
            if gone != updated + deleted:
                raise self._contradiction(updated + deleted, gone, "removed")
            put_back = self._add(staged, "update")
            if put_back != updated:
                raise self._contradiction(updated, put_back, "put back")
        self.updated += updated
        self.deleted += deleted
        self.inserted += self._add(staged, "insert")

    def _find_doomed(self, rows: str, merge: Merge) -> None:
        """Keep the row ids of stored rows that a change matches, with what it wants of them."""
        kinds = {field.name: field for field in self.fields}
        tests = [
            f"{comparable(f'{TARGET}.{ident(column)}', kinds[column])} IS NOT DISTINCT FROM "
            f"{comparable(f'{CHANGE}.{ident(column)}', kinds[column])}"
            for column in merge.on
        ]
        tests += [
            f"CAST({TARGET}.{ident(column)} AS VARCHAR) IS NOT DISTINCT FROM "
            f"CAST({CHANGE}.{ident(column)} AS VARCHAR)"
            for column in merge.signed
        ]
        if not merge.unique:
            tests.append(f"{CHANGE}.{ident(ACTION)} <> 'insert'")
        self.lake.rows(
            f"CREATE OR REPLACE TEMP TABLE {_DOOMED} AS SELECT {TARGET}.rowid AS {_ID},"
            f" {CHANGE}.{ident(ACTION)} FROM {self._target} AS {TARGET}"
            f" JOIN {rows} AS {CHANGE} ON {' AND '.join(tests) or 'true'}"
        )

    def _add(self, staged: Staged, action: str | None) -> int:
        """Add rows of one action, and say how many."""
        if staged.arrow is not None:
            if staged.arrow.num_rows == 0:
                return 0
            with self._rows(staged) as rows:
                where = "" if action is None else f" WHERE {ident(ACTION)} = {literal(action)}"
                return self._insert(f"FROM {rows}{where}")
        files = staged.files(self.lake, action)
        if files and (self._is_divided() or any(field.parts for field in self.fields)):
            # A file with rows of several partitions belongs to none of them; and nested columns
            # of a foreign file may be laid out in more than one way.
            paths = names([path for path, _ in files])
            return self._insert(f"FROM read_parquet([{paths}], hive_partitioning = false)")
        for path, _ in files:
            self.lake.rows(
                f"CALL ducklake_add_data_files({literal(self.lake.alias)},"
                f" {literal(self.table.name)}, {literal(path)},"
                f" schema => {literal(self.table.schema)}, hive_partitioning => false)"
            )
        return sum(count for _, count in files)

    def _is_divided(self) -> bool:
        return bool(
            self.lake.rows(
                f"SELECT 1 FROM {self.lake.meta}.ducklake_partition_info"
                f" WHERE table_id = {self.table.id} AND end_snapshot IS NULL"
            )
        )

    def _insert(self, rows: str) -> int:
        columns = ", ".join(ident(field.name) for field in self.fields)
        casts = ", ".join(
            f"CAST({ident(field.name)} AS {duckdb_text(field)})" for field in self.fields
        )
        return self._count(f"INSERT INTO {self._target} ({columns}) SELECT {casts} {rows}")

    @contextmanager
    def _rows(self, staged: Staged) -> Iterator[str]:
        """The staged rows as a relation with all columns in the table's types, and the action."""
        casts = [
            f"CAST({ident(field.name)} AS {duckdb_text(field)}) AS {ident(field.name)}"
            for field in self.fields
        ]
        if staged.arrow is None:
            parts = []
            for action in ("insert", "update", "delete"):
                paths = names([path for path, _ in staged.files(self.lake, action)])
                if paths:
                    parts.append(
                        f"SELECT {', '.join(casts)}, {literal(action)} AS {ident(ACTION)}"
                        f" FROM read_parquet([{paths}], hive_partitioning = false)"
                    )
            none = f"SELECT {self._nulls()}, NULL AS {ident(ACTION)} WHERE false"
            yield f"({' UNION ALL '.join(parts) or none})"
            return
        self._views += 1
        view = made(f"rows_{self._views}")
        if ACTION in staged.arrow.column_names:
            casts.append(ident(ACTION))
        self.lake.connection.register(view, staged.arrow)
        try:
            yield f"(SELECT {', '.join(casts)} FROM {ident(view)})"
        finally:
            self.lake.connection.unregister(view)

    def _nulls(self) -> str:
        return ", ".join(
            f"CAST(NULL AS {duckdb_text(field)}) AS {ident(field.name)}" for field in self.fields
        )

    def _contradiction(self, wanted: int, found: int, done: str) -> CheckFailedError:
        return CheckFailedError(
            f'stored rows of table "{self.name}" contradict the change',
            detail=f"{wanted} stored rows should be {done}, {found} were found",
            hint="rebuild the view, and report this with its definition",
            run_id=self.run_id,
            step="write",
        )


def comparable(expression: str, field: LakeField, depth: int = 0) -> str:
    """An expression that is equal exactly when the value is: of maps, the sorted entries."""
    if not any(part.type == "map" for part in field.leaves()):
        return expression
    item = made(f"x{depth}")
    match field.type:
        case "list":
            inner = comparable(item, field.parts[0], depth + 1)
            return f"list_transform({expression}, {item} -> {inner})"
        case "map":
            key, value = field.parts
            entry = (
                f"{{'k': {comparable(f'{item}.key', key, depth + 1)},"
                f" 'v': {comparable(f'{item}.value', value, depth + 1)}}}"
            )
            return f"list_sort(list_transform(map_entries({expression}), {item} -> {entry}))"
        case _:
            parts = ", ".join(
                f"{literal(part.name)}: {comparable(f'{expression}.{ident(part.name)}', part, depth)}"
                for part in field.parts
            )
            return f"CASE WHEN {expression} IS NOT NULL THEN {{{parts}}} END"
