"""Checkpoints of a log: one file, several parts, or the second kind with files beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from grebe.errors import GrebeError
from grebe.formats.delta.actions import AddedFile, FileKey, Json, Metadata, Protocol
from grebe.formats.delta.log_state import FOLDER, LogState
from grebe.formats.files import Files, torn

if TYPE_CHECKING:
    import pyarrow as pa

_FILE = ("path", "size", "partitionValues", "deletionVector", "dataChange", "stats")
_SMALL = ("metaData", "protocol", "txn", "sidecar")


def read(files: Files, root: str, version: int, paths: Sequence[str], *, whole: bool) -> LogState:
    """The state that a checkpoint holds; without its files unless ``whole``."""
    wanted = [*_SMALL, *([f"add.{name}" for name in _FILE] if whole else [])]
    actions = [action for path in paths for action in _read(files, path, wanted)]
    beside = [action["sidecar"]["path"] for action in actions if action.get("sidecar")]
    if whole:
        folder = f"{root}/{FOLDER}/_sidecars"
        for name in beside:
            path = name if "/" in name else f"{folder}/{name}"
            actions += _read(files, path, wanted)
    return _state(root, version, paths[0], actions)


def _state(root: str, version: int, path: str, actions: Sequence[Json]) -> LogState:
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    live: dict[FileKey, AddedFile] = {}
    transactions: dict[str, int] = {}
    for action in actions:
        if found := action.get("add"):
            file = AddedFile.of(root, found)
            live[file.key] = file
        elif found := action.get("metaData"):
            metadata = Metadata.of(found)
        elif found := action.get("protocol"):
            protocol = Protocol.of(found)
        elif found := action.get("txn"):
            transactions[found["appId"]] = int(found["version"])
    if metadata is None or protocol is None:
        raise torn(path, "a checkpoint without a schema")
    return LogState(version, metadata, protocol, live, transactions)


def _read(files: Files, path: str, wanted: Sequence[str]) -> list[Json]:
    (content,) = files.read([path])
    try:
        if path.endswith(".json"):
            return [json.loads(line) for line in content.splitlines() if line.strip()]
        return list(_rows(content, wanted))
    except GrebeError:
        raise
    except Exception as error:  # whatever the parser stumbles over, the file is to blame
        raise torn(path, error) from error


def _rows(content: bytes, wanted: Sequence[str]) -> Iterator[Json]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(pa.BufferReader(content)) as parquet:
        leaves = [parquet.schema.column(i).path for i in range(len(parquet.schema))]
        counted = "add.stats_parsed.numRecords"
        asked = [*wanted, *([counted] if counted in leaves and "add.path" in wanted else [])]
        for batch in parquet.iter_batches(columns=asked):
            for name in batch.schema.names:
                column: pa.Array = batch.column(name)
                for value in column.filter(column.is_valid()).to_pylist():
                    yield {name: _maps(name, value)}


def _maps(name: str, value: Json) -> Json:
    """The action with its maps as dictionaries, and the count that only the parsed stats hold."""
    if name == "metaData":
        value["configuration"] = dict(value.get("configuration") or ())
    elif name == "add":
        value["partitionValues"] = dict(value.get("partitionValues") or ())
        value["numRecords"] = (value.pop("stats_parsed", None) or {}).get("numRecords")
    return value
