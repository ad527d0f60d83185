"""A program that refreshes views until it is killed, and the handle that the tests have on it.

One process imports everything and connects to nothing; each worker is a fork of it, so that a new
one costs milliseconds instead of seconds. Workers talk to one Spark Connect server.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grebe import config
from grebe.engine.engine import Engine
from grebe.errors import GrebeError
from grebe.formats.failpoints import VARIABLE
from grebe.model import Policy
from grebe.registry import Registry

if TYPE_CHECKING:
    from grebe.engine.refresh import RefreshResult

TESTS = Path(__file__).parents[1]
BY_SPARK = {"GREBE_REFRESH__SMALL_STEPS": "spark"}
"""The settings of workers that are killed between the steps of Spark's own commit."""
LEASE_SECONDS = 1.0


# --- the tests' side ----------------------------------------------------------------------------


@dataclass(slots=True)
class Nursery:
    """Makes workers."""

    process: subprocess.Popen[str]
    folder: Path
    listener: socket.socket

    @staticmethod
    def start(folder: Path, url: str) -> Nursery:
        """The process that workers are forked from."""
        listener = socket.socket(socket.AF_UNIX)
        path = folder / "nursery.sock"
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(900)
        process = subprocess.Popen(
            [sys.executable, "-m", "engine.worker", str(folder), url],
            env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}:{TESTS.parent / 'src'}"},
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return Nursery(process, folder, listener)

    def worker(self) -> Worker:
        """A new one."""
        assert self.process.stdin is not None
        self.process.stdin.write("fork\n")
        self.process.stdin.flush()
        connection, _ = self.listener.accept()
        connection.settimeout(900)
        return Worker(connection, connection.makefile("rw"))

    def close(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.listener.close()


@dataclass(slots=True)
class Worker:
    """One process that refreshes."""

    connection: socket.socket
    stream: Any
    dead: bool = False

    def send(self, do: str, **command: Any) -> None:
        self.stream.write(json.dumps({"do": do, **command}) + "\n")
        self.stream.flush()

    def answer(self) -> dict[str, Any]:
        try:
            line = self.stream.readline()
        except ConnectionResetError:
            line = ""
        if not line:
            self.dead = True
            return {"died": True}
        return dict(json.loads(line))

    def ask(self, do: str, **command: Any) -> dict[str, Any]:
        self.send(do, **command)
        return self.answer()

    def signal(self, number: int) -> None:
        """What a terminal or a scheduler sends."""
        size = struct.calcsize("3i")
        peer = self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        os.kill(struct.unpack("3i", peer)[0], number)

    def close(self) -> None:
        self.connection.close()


# --- the worker's side --------------------------------------------------------------------------


@dataclass(slots=True)
class Program:
    """What runs inside a worker."""

    folder: Path
    url: str
    registry: Registry | None = None
    engine: Engine | None = field(default=None)

    def handle(self, command: dict[str, Any]) -> dict[str, Any]:
        try:
            return getattr(self, command.pop("do"))(**command)  # type: ignore[no-any-return]
        except GrebeError as error:
            return {"error": error.code, "text": error.explain()}

    def open(self, views: dict[str, str], *, journal: bool = True) -> dict[str, Any]:
        """An engine as a new process has it."""
        from pyspark.sql.connect.session import SparkSession

        settings = config.load(self.folder, BY_SPARK)
        if journal and self.registry is None:
            self.registry = Registry.open(settings.registry_url)
        spark = SparkSession.builder.remote(self.url).create()
        self.engine = Engine(
            settings, spark, self.registry if journal else None, lease_seconds=LEASE_SECONDS
        )
        return self.define(views)

    def define(self, views: dict[str, str]) -> dict[str, Any]:
        assert self.engine is not None
        for name, sql in views.items():
            self.engine.define(name, sql)
        return {"views": sorted(self.engine.views)}

    def refresh(
        self,
        names: list[str] | None = None,
        failpoints: str = "",
        policy: str | None = None,
        *,
        large: bool = False,
        jobs: int = 1,
    ) -> dict[str, Any]:
        assert self.engine is not None
        if large:
            keep_nothing_on_the_driver()
        os.environ[VARIABLE] = failpoints
        try:
            results = self.engine.refresh(
                names, policy=Policy(policy) if policy else None, jobs=jobs
            )
        finally:
            os.environ[VARIABLE] = ""
        return {"results": {result.view.name: told(result) for result in results}}


def told(result: RefreshResult) -> dict[str, Any]:
    return {
        "outcome": result.outcome.value,
        "codes": [reason.code for reason in result.reasons],
        "text": [reason.message for reason in result.reasons],
        "version": result.version,
    }


def keep_nothing_on_the_driver() -> None:
    """Let small deltas go the way of large ones: by Spark, and staged."""
    from grebe import thresholds
    from grebe.formats.iceberg import source

    thresholds.DRIVER_ROWS = -1
    thresholds.COLLECTED_ROWS = -1
    source.IcebergSource.__init__.__kwdefaults__["driver_budget"] = -1


def serve(folder: Path, url: str) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(folder / "nursery.sock"))
    stream = connection.makefile("rw")
    program = Program(folder, url)
    for line in stream:
        try:
            answer = program.handle(json.loads(line))
        except KeyboardInterrupt:
            os._exit(130)
        stream.write(json.dumps(answer) + "\n")
        stream.flush()
    os._exit(0)


def main(folder: Path, url: str) -> None:
    import pyarrow
    import pyspark.sql.connect.session

    del pyarrow, pyspark
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have switched it off
    for _ in sys.stdin:
        if os.fork() == 0:
            serve(folder, url)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
