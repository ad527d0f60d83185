"""A long-lived writer to a DuckLake in a process of its own; without Spark, so quickly there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from formats.commit.client import TESTS, Client, say, writes_of
from formats.commit.lake import NAMESPACE, PYTHON, frontier
from grebe.errors import GrebeError
from grebe.formats.ducklake.connections import Address
from grebe.formats.ducklake.storage import DuckLakeStorage
from grebe.formats.failpoints import VARIABLE
from grebe.model import Position, RunId, TableName


def start(address: Address) -> Client:
    """A writer that is ready."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    client = Client(
        subprocess.Popen(
            [PYTHON, "-m", "formats.ducklake.client", address.target, address.data_path or ""],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    )
    client.answer()
    return client


@dataclass(slots=True)
class Writer:
    """What runs inside the process."""

    address: Address
    positions: dict[str, Position] = field(default_factory=dict)

    def handle(self, command: dict[str, Any]) -> dict[str, Any]:
        name = TableName("lake", NAMESPACE, command["table"])
        storage = DuckLakeStorage(None, name, self.address)
        os.environ[VARIABLE] = command.get("failpoints", "")
        try:
            if command["do"] == "position":
                self.positions[name.name] = storage.position()
                return {"version": self.positions[name.name].version}
            if command["do"] == "abandon":
                storage.abandon(RunId(command["run"]))
                return {"done": True}
            planned = self.positions[name.name]
            done = storage.commit(writes_of(command), frontier(command["run"]), planned)
        except GrebeError as error:
            return {"error": type(error).__name__, "text": error.explain()}
        finally:
            os.environ[VARIABLE] = ""
        return {
            "version": done.version,
            "counts": [done.rows_inserted, done.rows_updated, done.rows_deleted],
        }


def main() -> None:
    writer = Writer(Address.of(sys.argv[1], sys.argv[2]))
    say({"ready": True})
    for line in sys.stdin:
        say(writer.handle(json.loads(line)))


if __name__ == "__main__":
    main()
