# ruff: noqa: ANN401  Arrow publishes no types
"""Files of finished results, each whole or not there: key, value, and why there is no value.

A name tells how many rows its file holds, so that one cut short is known by its footer. Results are
found again by their keys, whoever wrote them: an attempt that was thought dead does no harm.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from grebe.worker.one_batch import Failure

KEY: Final = "key"
VALUE: Final = "value"
ERROR: Final = "error"
FAILURE: Final = pa.struct(
    [("type", pa.string()), ("message", pa.string()), ("attempts", pa.int32())]
)
_NAME: Final = re.compile(r"p\d+-a\d+-[0-9a-f]+-r(\d+)\.parquet")
STOP: Final = "STOP"
"""The file that tells the tasks of a job to end."""


def located(root: str) -> tuple[Any, str]:
    """The file system and the path of a folder, given as a path or as an address."""
    if "://" in root:
        found: tuple[Any, str] = fs.FileSystem.from_uri(root)
        return found
    return fs.LocalFileSystem(), str(Path(root).absolute())


def rows_of(name: str) -> int | None:
    """How many rows a file says that it holds; None for what is no result file."""
    found = _NAME.fullmatch(name.rsplit("/", 1)[-1])
    return int(found[1]) if found else None


def write(folder: str, task: tuple[int, int], keys: Any, values: Any, errors: Sequence[Any]) -> str:
    """The name of a new file with these results; it is there as a whole or not at all."""
    table = pa.table(
        {KEY: keys, VALUE: values, ERROR: pa.array([_failure(item) for item in errors], FAILURE)}
    )
    partition, attempt = task
    name = f"p{partition:05d}-a{attempt}-{uuid.uuid4().hex[:8]}-r{table.num_rows}.parquet"
    system, path = located(folder)
    system.create_dir(path)
    if not isinstance(system, fs.LocalFileSystem):
        pq.write_table(table, f"{path}/{name}", filesystem=system)  # an object is put as a whole
        return name
    hidden = f"{path}/.{name}.tmp"
    pq.write_table(table, hidden, filesystem=system)
    system.move(hidden, f"{path}/{name}")
    return name


def _failure(item: Failure | None) -> dict[str, Any] | None:
    if item is None:
        return None
    return {"type": item.type, "message": item.message, "attempts": item.attempts}


def tell_to_end(folder: str) -> None:
    """Tell the tasks that write there to end."""
    system, path = located(folder)
    system.create_dir(path)
    with system.open_output_stream(f"{path}/{STOP}") as sink:
        sink.write(b"")


def is_stopped(folder: str) -> bool:
    """Whether the tasks that write there are to end."""
    system, path = located(folder)
    return bool(system.get_file_info(f"{path}/{STOP}").type != fs.FileType.NotFound)
