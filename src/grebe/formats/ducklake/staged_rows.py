"""Rows of a run before its transaction: Arrow on the driver, or Parquet files by Spark.

Files are written into the table's own folder, below one folder per run: registered, they belong
to the table; otherwise that folder is what the run left behind.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from grebe.errors import InternalError
from grebe.formats.base import ACTION, Merge, Write
from grebe.formats.ducklake.catalog_rows import Table, names
from grebe.formats.ducklake.connections import Session
from grebe.formats.ducklake.schema import LakeField, spark_text
from grebe.formats.ducklake.state import OWN_FOLDER
from grebe.formats.files import local_path
from grebe.model import RunId
from grebe.program.duckdb_text import literal
from grebe.sql_text import quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
_ACTIONS = ("insert", "update", "delete")


@dataclass(frozen=True, slots=True)
class Staged:
    """The rows of one write: a table on the driver, or a folder of files, by action in a merge."""

    write: Write
    arrow: pa.Table | None = None
    folder: str | None = None

    def files(self, lake: Session, action: str | None = None) -> list[tuple[str, int]]:
        """The files with rows of one action, and how many; without one, of all rows."""
        if self.folder is None:
            return []
        below = f"{self.folder}/{ACTION}={action}" if action else self.folder
        paths = _listed(lake, below)
        if not paths:
            return []
        rows = lake.rows(f"SELECT file_name, num_rows FROM parquet_file_metadata([{names(paths)}])")
        return [(path, count) for path, count in rows if count]


def run_folder(table: Table, run_id: RunId) -> str:
    """The folder of a run's files."""
    return f"{table.folder}{OWN_FOLDER}{run_id}"


def stage(
    session: SparkSession | None,
    table: Table,
    fields: Sequence[LakeField],
    writes: Sequence[Write],
    run_id: RunId,
) -> list[Staged]:
    """The rows of all writes where the transaction finds them."""
    return [
        _staged(session, fields, write, f"{run_folder(table, run_id)}/{number}")
        for number, write in enumerate(writes)
    ]


def _staged(
    session: SparkSession | None, fields: Sequence[LakeField], write: Write, folder: str
) -> Staged:
    if write.rows.arrow is not None:
        return Staged(write, arrow=write.rows.arrow)
    if write.rows.sql is None or session is None:
        raise InternalError.broken("rows to write are neither a query nor a table")
    session.conf.set(_TIMESTAMPS, "TIMESTAMP_MICROS")  # DuckDB refuses Spark's default
    casts = [f"CAST({quote(f.name)} AS {spark_text(f)}) AS {quote(f.name)}" for f in fields]
    if isinstance(write, Merge):
        casts.append(quote(ACTION))
    frame = session.sql(f"SELECT {', '.join(casts)} FROM ({write.rows.sql})")
    writer = frame.write.mode("overwrite")
    writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    if isinstance(write, Merge):
        writer = writer.partitionBy(ACTION)
    writer.parquet(folder)
    return Staged(write, folder=folder)


def _listed(lake: Session, folder: str) -> list[str]:
    here = local_path(folder)
    if here is not None:
        return sorted(str(path) for path in Path(here).rglob("*.parquet"))
    return sorted(
        row[0] for row in lake.rows(f"SELECT file FROM glob({literal(folder)} || '/**/*.parquet')")
    )


def left_behind(table: Table) -> list[tuple[RunId, datetime]]:
    """The runs that have a folder, with when it was made, where this machine can look."""
    root = local_path(table.folder)
    if root is None or not Path(root).is_dir():
        return []
    found = []
    for folder in Path(root).glob(f"{OWN_FOLDER}*"):
        made = datetime.fromtimestamp(folder.stat().st_ctime, UTC)
        found.append((RunId(folder.name.removeprefix(OWN_FOLDER)), made))
    return sorted(found, key=lambda run: (run[1], run[0]))


def registered(lake: Session, table: Table) -> set[str]:
    """Every file that belongs to the table, of old versions too."""
    rows = lake.rows(
        f"SELECT path, path_is_relative FROM {lake.meta}.ducklake_data_file"
        f" WHERE table_id = {table.id}"
        f" UNION ALL SELECT path, path_is_relative"
        f" FROM {lake.meta}.ducklake_files_scheduled_for_deletion"
    )
    return {str(path) for path, _ in rows}


def is_registered(known: set[str], run_id: RunId) -> bool:
    """Whether any file of a run belongs to the table."""
    mark = f"{OWN_FOLDER}{run_id}/"
    return any(mark in path for path in known)


def remove_unregistered(known: set[str], table: Table, run_id: RunId) -> None:
    """Delete what of a run's folder does not belong to the table, where this machine can."""
    root = local_path(run_folder(table, run_id))
    if root is None:
        return
    if not is_registered(known, run_id):
        shutil.rmtree(root, ignore_errors=True)
        return
    kept = {path[path.index(OWN_FOLDER) :] for path in known if OWN_FOLDER in path}
    for file in Path(root).rglob("*"):
        text = str(file)
        if file.is_file() and text[text.index(OWN_FOLDER) :] not in kept:
            file.unlink(missing_ok=True)
