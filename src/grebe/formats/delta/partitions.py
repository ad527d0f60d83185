"""Values that a partition of a Delta table cannot hold: an empty text would come back as NULL.

The group of '' would show as that of NULL, and its next change would find no row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from grebe.errors import RefreshError
from grebe.formats.base import ACTION
from grebe.model import RunId, TableName
from grebe.sql_text import literal, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The folder of NULL, and so a text that Spark reads back as NULL."""

_MARK = "grebe: a partition cannot hold an empty value of column "
_MARKED = re.compile(re.escape(_MARK) + "<(.*?)>", re.DOTALL)


def loud(value: str, column: str, kind: DataType, *, merge: bool) -> str:
    """An expression of Spark SQL that is the value, or fails where no partition can hold it."""
    empty = {"string": f"{value} IN ('', {literal(NULL_FOLDER)})", "binary": f"{value} = X''"}
    found = empty.get(kind.typeName())
    if found is None:
        return value
    # What is deleted is not written: its other columns than the key can hold anything.
    written = f" AND {quote(ACTION)} <> 'delete'" if merge else ""
    failure = f"raise_error({literal(f'{_MARK}<{column}>')})"
    return f"CASE WHEN {found}{written} THEN {failure} ELSE {value} END"


def failed_on(name: TableName, run_id: RunId, text: str) -> RefreshError | None:
    """The error for a statement that failed on such a value, None when it failed on another."""
    found = _MARKED.search(text)
    return _refused(name, run_id, found[1]) if found else None


def refuse_empty(name: TableName, run_id: RunId, rows: pa.Table, divided: Iterable[str]) -> None:
    """Nothing, or RefreshError when a partition column of rows to write holds such a value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if ACTION in rows.column_names:
        rows = rows.filter(pc.not_equal(rows[ACTION], "delete"))
    for column in divided:
        kind = rows.schema.field(column).type
        if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
            continue
        texts = ["", NULL_FOLDER] if pa.types.is_string(kind) else [b""]
        if pc.any(pc.is_in(rows[column], value_set=pa.array(texts, kind))).as_py():
            raise _refused(name, run_id, column)


def _refused(name: TableName, run_id: RunId, column: str) -> RefreshError:
    return RefreshError(
        f'table "{name}" is partitioned by column "{column}", which is empty in a row',
        detail="Delta keeps an empty value of a partition as NULL; nothing was written",
        hint="partition by another column, or give the view NULLIF or COALESCE of this one",
        code="empty-partition-value",
        run_id=run_id,
        step="write",
    )
