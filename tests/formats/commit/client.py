"""A long-lived writer in a process of its own: reads commands from stdin, answers on stdout."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from formats.commit.lake import CATALOG, NAMESPACE, PYTHON, Lake, frontier
from grebe.errors import GrebeError
from grebe.formats.base import ACTION, Append, Merge, Overwrite, Rows, Storage, Write
from grebe.formats.failpoints import VARIABLE
from grebe.model import Position, TableName

TESTS = Path(__file__).parents[2]


def arrow(rows: list[list[Any]], *, actions: bool = False) -> pa.Table:
    """Rows (k, v, n[, action]) as an Arrow table."""
    names = ["k", "v", "n", *([ACTION] if actions else [])]
    types = [pa.int64(), pa.string(), pa.int64(), pa.string()]
    columns = list(zip(*rows, strict=True)) or [[] for _ in names]
    arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=False)]
    return pa.table(dict(zip(names, arrays, strict=True)))


def writes_of(command: dict[str, Any]) -> list[Write]:
    """The writes that a command describes."""
    rows = command.get("rows", [])
    match command["kind"]:
        case "append":
            return [Append(Rows(arrow=arrow(rows)))]
        case "query":
            return [Append(Rows(sql=command["sql"]))]
        case "overwrite":
            return [Overwrite(Rows(arrow=arrow(rows)))]
        case "merge" | "large":
            return [
                Merge(
                    Rows(arrow=arrow(rows, actions=True)),
                    on=tuple(command.get("on", ["k"])),
                    expect_updated=sum(row[3] == "update" for row in rows),
                    expect_deleted=command.get("deleted", sum(r[3] == "delete" for r in rows)),
                    target_is_large=command["kind"] == "large",
                )
            ]
        case "frontier":
            return []
        case kind:
            raise ValueError(kind)


@dataclass(slots=True)
class Client:
    """The parent's handle on a writer process."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, folder: Path, url: str | None, module: str = "formats.commit.client") -> Client:
        """A writer that is connected: to a server, or with a JVM of its own without a url."""
        paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        client = cls(
            subprocess.Popen(
                [PYTHON, "-m", module, str(folder), url or ""],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        client.answer()
        return client

    def send(self, do: str, table: TableName, **command: Any) -> None:
        assert self.process.stdin is not None
        line = json.dumps({"do": do, "table": table.name, **command})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            return {"died": self.process.wait()}
        return dict(json.loads(line))

    def ask(self, do: str, table: TableName, **command: Any) -> dict[str, Any]:
        self.send(do, table, **command)
        return self.answer()

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process.wait()


class Storages(Protocol):
    """Where a writer finds the storage of a table."""

    def storage(self, name: TableName) -> Storage: ...


@dataclass(slots=True)
class Writer:
    """What runs inside the process."""

    lake: Storages
    positions: dict[str, Position] = field(default_factory=dict)

    def handle(self, command: dict[str, Any]) -> dict[str, Any]:
        name = TableName(CATALOG, NAMESPACE, command["table"])
        storage = self.lake.storage(name)
        os.environ[VARIABLE] = command.get("failpoints", "")
        try:
            if command["do"] == "position":
                self.positions[name.name] = storage.position()
                return {"version": self.positions[name.name].version}
            done = storage.commit(
                writes_of(command), frontier(command["run"]), self.positions[name.name]
            )
        except GrebeError as error:
            return {"error": type(error).__name__, "text": error.explain()}
        finally:
            os.environ[VARIABLE] = ""
        return {
            "version": done.version,
            "counts": [done.rows_inserted, done.rows_updated, done.rows_deleted],
        }


def session(folder: Path, url: str) -> Any:
    if url:
        from pyspark.sql.connect.session import SparkSession

        return SparkSession.builder.remote(url).create()
    from grebe import config
    from grebe.spark.session import open_session

    return open_session(config.load(folder, {}))


def main() -> None:
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    folder = Path(sys.argv[1])
    serve(Writer(Lake(folder, session(folder, sys.argv[2]))))


def serve(writer: Writer) -> None:
    """Answer commands until there are no more."""
    say({"ready": True})
    for line in sys.stdin:
        say(writer.handle(json.loads(line)))


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
