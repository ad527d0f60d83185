"""The results of functions: found again by their keys, or computed by one job for each function."""

from __future__ import annotations

import base64
import json
import logging
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from grebe import thresholds
from grebe.compiler.rows.row_definition import FunctionUse
from grebe.engine.rows.row_options import FunctionRun, RowOptions
from grebe.errors import FunctionError, RefreshError, SkipThresholdExceeded, StepFailedError
from grebe.formats.failpoints import reach
from grebe.formats.storage_errors import cause_of
from grebe.sql_text import quote
from grebe.udf import said_by

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)

PLACES: Final = ("rows.computed", "rows.kept")
"""The places where tests can interfere."""
_TRIES: Final = 3
_DEPARTED: Final = "departed"


@dataclass
class ResultStore:
    """The result files of one function of one view."""

    folder: Path
    function: FunctionUse

    def files(self) -> list[Path]:
        """Every whole file; what is torn, short or of another layout is left out, and told."""
        from grebe.worker.result_files import rows_of

        found = []
        for path in sorted(self.folder.glob("**/*.parquet")):
            rows = rows_of(path.name)
            if rows is None:
                continue
            if self._is_whole(path, rows):
                found.append(path)
        return found

    def _is_whole(self, path: Path, rows: int) -> bool:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from grebe.worker.result_files import ERROR, KEY, VALUE

        try:
            metadata = pq.read_metadata(path)
            names = metadata.schema.to_arrow_schema().names
            whole = metadata.num_rows == rows and names == [KEY, VALUE, ERROR]
        except (OSError, pa.ArrowException, ValueError):
            whole = False
        if not whole:
            log.warning("checkpoint-corrupt: %s holds other rows than its name says", path)
        return bool(whole)

    def clear(self, names: Sequence[str]) -> None:
        """Remove files whose results are settled in the view's table."""
        for name in names:
            path = self.folder / name
            path.unlink(missing_ok=True)
            with suppress(OSError):  # others' results are in there, or it is gone
                path.parent.rmdir()
        self._forget_old()

    def _forget_old(self) -> None:
        limit = time.time() - thresholds.DEPARTED_SECONDS
        for path in self.folder.glob("**/*.parquet"):
            if path.stat().st_mtime < limit:
                path.unlink(missing_ok=True)

    def keep_departed(self, rows: pa.Table) -> None:
        """Keep the results of rows that leave: what comes back finds them."""
        from grebe.worker.result_files import write

        if rows.num_rows:
            write(
                str(self.folder / _DEPARTED),
                (0, 0),
                rows.column(0),
                rows.column(1),
                [None] * rows.num_rows,
            )
            reach("rows.kept")


@dataclass
class Asking:
    """One function of one refresh."""

    store: ResultStore
    options: RowOptions
    run_id: str
    files: list[str] = field(default_factory=list)
    """What was written, by its receipts."""
    calls: int = 0
    failed: int = 0
    seconds: float = 0.0
    reused: int = 0
    """Inputs whose results were there already."""

    def run(self, ask: Callable[[], tuple[DataFrame, int]]) -> int:
        """Ask the function with all inputs that are not known; how many there were at first.

        Args:
            ask: the inputs that are not known now, and how many: asked again when a job fails, as what it
                wrote until then is known.

        Raises:
            FunctionError: a row failed and may not be skipped; what was computed before is kept.
            StepFailedError: the job failed again and again.
        """
        inputs, rows = ask()
        asked = rows
        for attempt in range(1, _TRIES + 1):
            if not rows:
                break
            try:
                receipts = self._job(inputs, rows, attempt).collect()
            except Exception as error:
                if attempt == _TRIES:
                    raise self._not_through(error) from error
                log.warning("the job of %s failed and is started again", self._name, exc_info=True)
                inputs, rows = ask()
                continue
            reach("rows.computed")
            self._take(receipts, attempt, inputs)
            break
        self._check_skips()
        return asked

    @property
    def _name(self) -> str:
        return str(self.store.function.said["name"])

    def _not_through(self, error: Exception) -> StepFailedError:
        return StepFailedError(
            f'function "{self._name}" did not get through',
            detail=cause_of(error),
            hint="what was computed is kept; look at the worker's memory and logs",
            step="compute",
        )

    def _folder(self, attempt: int) -> str:
        """Where one job writes: another one's word to stop is not meant for it."""
        return f"{self.run_id}_{attempt}"

    def _take(self, receipts: Sequence[Any], attempt: int, inputs: DataFrame) -> None:
        trouble = None
        for receipt in receipts:
            if receipt["error"]:
                trouble = trouble or json.loads(receipt["error"])
                continue
            name = f"{self._folder(attempt)}/{receipt['file']}"
            if not (self.store.folder / name).exists():
                raise RefreshError(
                    f'the results of function "{self._name}" cannot be read',
                    detail=f"{self.store.folder / name} was written by a worker and is not here",
                    hint="keep the project's folder where workers and this process both see it",
                    code="results-unreachable",
                )
            self.files.append(name)
            self.calls += receipt["rows"]
            self.failed += receipt["failed"]
            self.seconds += receipt["seconds"]
        if trouble:
            raise self._error(trouble, inputs)

    def _said(self, attempt: int) -> dict[str, Any]:
        said = said_by(self.store.function.said)
        rate = said["rate"]
        return {
            **said,
            "pace": rate / self.options.concurrency if rate else 0.0,
            "folder": str(self.store.folder / self._folder(attempt)),
            "deadline": self.options.deadline,
            "checkpoint_seconds": 30.0,
            "checkpoint_bytes": 64 << 20,
        }

    def _job(self, inputs: DataFrame, rows: int, attempt: int) -> DataFrame:
        """The job: equal inputs are there once, and spread over the tasks by their keys."""
        from grebe.worker.row_loop import RECEIPT_DDL

        said = self._said(attempt)
        tasks = max(1, min(self.options.concurrency, -(-rows // max(1, said["batch"][0]))))
        key = inputs.columns[0]
        parameters = [name for name, _ in self.store.function.inputs]
        renamed = inputs.toDF(key, *parameters) if said["kind"] == "batch" else inputs
        return renamed.repartition(tasks, quote(key)).mapInArrow(
            shipped(said, self.store.function.said["packed"]), RECEIPT_DDL
        )

    def _error(self, trouble: dict[str, Any], inputs: DataFrame) -> FunctionError:
        name = self.store.function.said["name"]
        detail = f"{trouble['type']}: {trouble['message']}"
        if trouble["where"] == "setup":
            return FunctionError(
                f'function "{name}" could not be set up',
                detail=detail,
                hint="nothing was committed; mend `setup`, then refresh again",
            )
        row = inputs.where(f"hex({quote(inputs.columns[0])}) = '{trouble['key'].upper()}'").first()
        shown = "" if row is None else ", ".join(repr(value)[:80] for value in row[1:])
        return FunctionError(
            f'function "{name}" failed',
            detail=f"{detail}; given {shown}; attempt {trouble['attempts']}",
            hint="nothing was committed, what was computed is kept; mend the row or the function, or"
            " say on_error=grebe.skip_on_error()",
        )

    def _check_skips(self) -> None:
        said = self.store.function.said
        limit, share = said["skips"], said["skip_fraction"]
        over = limit is not None and self.failed > limit
        if share is not None and self.calls:
            over |= self.failed / self.calls > share
        if over:
            raise SkipThresholdExceeded(
                f'function "{said["name"]}" failed for {self.failed:,} of {self.calls:,} rows',
                detail="more than its rule lets be skipped; nothing was committed",
                hint="look at the inputs, or allow more",
            )

    def report(self) -> FunctionRun:
        """What was asked, and what was found."""
        use = self.store.function
        return FunctionRun(
            use.column, use.said["name"], self.calls, self.reused, self.failed, self.seconds
        )


def shipped(said: dict[str, Any], packed: str) -> Any:  # noqa: ANN401
    """The loop of a task as a function that takes its code along."""
    from pyspark import cloudpickle

    import grebe.worker
    from grebe.worker.row_loop import loop

    bare = zlib.decompress(base64.b64decode(packed))
    cloudpickle.register_pickle_by_value(grebe.worker)  # type: ignore[no-untyped-call]
    return loop(said, bare)


def remove_results(folder: Path) -> int:
    """Remove all result files below a folder; how many there were."""
    found = [path for path in folder.glob("**/*") if path.is_file()]
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)
