"""A lake for commit tests: a Spark Connect server on a catalog of its own, and its tables."""

from __future__ import annotations

import itertools
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grebe import config
from grebe.formats.files import DriverFiles
from grebe.formats.iceberg.history import HistoryReader, MetadataReader, SparkReader
from grebe.formats.iceberg.locators import locator_of
from grebe.formats.iceberg.storage import IcebergStorage
from grebe.model import Column, Frontier, RunId, Schema, TableName
from grebe.spark.session import launch_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = config.EMBEDDED_CATALOG
NAMESPACE = "views"
COLUMNS = (Column(1, "k", "BIGINT"), Column(2, "v", "STRING"), Column(3, "n", "BIGINT"))
READY = "Spark Connect server started"
START_SECONDS = 120

SMALL = "GREBE_TEST_SMALL_COMMITS"
"""With 1 the driver makes the commits that it can make without Spark, in this process and in those of writers."""


def small_commits() -> bool:
    """Whether the driver makes small commits."""
    return os.environ.get(SMALL) == "1"


T = TypeVar("T")
Row = tuple[int | None, str | None, int | None]


def frontier(run: str, **values: str) -> Frontier:
    return Frontier(
        sources=(),
        fingerprint="f" * 8,
        run_id=RunId(run),
        engine_version="test",
        state_layout=1,
        values=tuple(sorted(values.items())),
    )


def until(found: Callable[[], T | None], what: str, seconds: float = 900) -> T:
    """What the condition finds, asked again until it does: for what other processes do."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (value := found()) is not None:
            return value
        time.sleep(0.005)
    raise TimeoutError(what)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(slots=True)
class Server:
    """One JVM that serves Spark Connect clients."""

    folder: Path
    conf: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / f"server-{self.port}.log"

    def start(self) -> None:
        import pyspark

        settings = config.load(self.folder, {})
        settings.home.mkdir(parents=True, exist_ok=True)
        conf = launch_conf(settings) | {
            # Short statements never pay for the slower, better code.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.adaptive.enabled": "false",
            "spark.driver.memory": "1g",
            **self.conf,
        }
        home = Path(pyspark.__path__[0])
        options = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
        command = [
            str(home / "bin" / "spark-submit"),
            "--master",
            "local[2]",
            "--class",
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            *options,
            "spark-internal",
        ]
        environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        until(self._ready, f"no Spark Connect server: see {self.log}", START_SECONDS)

    def _ready(self) -> bool | None:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        return True if READY in self.log.read_text() else None

    def kill(self) -> None:
        """End the JVM as a power cut would."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def connect(self) -> SparkSession:
        """A new session of the server, beside any classic session of this process."""
        from pyspark.sql.connect.client import SparkConnectClient
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        # At exit PySpark asks the server to clear a cache, and a killed one again for minutes.
        SparkConnectClient._cleanup_ml_cache = lambda _: None  # type: ignore[method-assign]
        # A session that is forgotten is closed by whatever thread collects it, and was seen to wait
        # there for itself for ever.
        _SESSIONS.append(ConnectSession.builder.remote(self.url).create())
        return _SESSIONS[-1]


_SESSIONS: list[SparkSession] = []


@dataclass(slots=True)
class Lake:
    """Tables in one catalog, by default in SQLite, and a session that sees it."""

    folder: Path
    session: SparkSession
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def catalog_file(self) -> Path:
        return self.folder / config.HOME_NAME / "catalog.db"

    def reader(self, name: TableName) -> HistoryReader:
        """The quickest way to the metadata: the database behind the catalog, or else Spark."""
        catalog = config.load(self.folder, {}).catalog(CATALOG)
        if catalog.type != "jdbc":
            return SparkReader(self.session, name)
        locator = locator_of(CATALOG, {"type": "jdbc", "uri": catalog.uri or ""})
        return MetadataReader(locator, DriverFiles(), name)

    def storage(self, name: TableName, session: SparkSession | None = None) -> IcebergStorage:
        return IcebergStorage(
            session or self.session, name, self.reader(name), small_commits=small_commits()
        )

    def create(
        self,
        format_version: int = 3,
        columns: Sequence[Column] = COLUMNS,
        name: str | None = None,
    ) -> Table:
        """A new empty storage table."""
        full = TableName(CATALOG, NAMESPACE, name or f"t{next(self._numbers)}")
        storage = IcebergStorage(
            self.session, full, self.reader(full), format_version, small_commits()
        )
        storage.create(Schema("0", tuple(columns)), {"grebe.view": "test"})
        return Table(self, full, storage)


@dataclass(frozen=True, slots=True)
class Table:
    """One storage table under test."""

    lake: Lake
    name: TableName
    storage: IcebergStorage

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Rows of a statement in which {t} is the table."""
        rows = self.lake.session.sql(text.format(t=self.name.quoted())).collect()
        return [tuple(row) for row in rows]

    def call(self, procedure: str, arguments: str = "") -> None:
        """A maintenance procedure by somebody else."""
        table = f"{self.name.schema}.{self.name.name}"
        rest = f", {arguments}" if arguments else ""
        self.sql(f"CALL {CATALOG}.system.{procedure}(table => '{table}'{rest})")

    def rows(self) -> list[Row]:
        """All rows, sorted, NULLs first."""
        found = self.sql("SELECT k, v, n FROM {t}")
        return sorted(found, key=lambda row: [(v is not None, str(v)) for v in row])  # type: ignore[arg-type,return-value]

    def refs(self) -> set[str]:
        return set(self.lake.reader(self.name).read().refs)

    def left_behind(self) -> set[str]:
        """Refs that should be gone, and those that should be there and are not."""
        return self.refs() ^ {"main", "grebe_frontier"}

    def location(self) -> str:
        """The current metadata file."""
        reader = self.lake.reader(self.name)
        assert isinstance(reader, MetadataReader)
        return reader.locator.metadata_location(self.name)


class Barrier:
    """A place to wait for `pause` failpoints, and to let them go in a chosen order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.listener.settimeout(900)

    def __enter__(self) -> Barrier:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        self._path.unlink(missing_ok=True)

    def at(self, *places: str) -> str:
        """The value of GREBE_FAILPOINTS that pauses at these places."""
        return ";".join(f"{place}=pause:{self._path}" for place in places)

    def arrive(self) -> socket.socket:
        """The next one that reached its place and said so."""
        connection, _ = self.listener.accept()
        connection.recv(256)
        return connection

    @staticmethod
    def release(*waiting: socket.socket) -> None:
        for connection in waiting:
            connection.sendall(b"\n")
            connection.close()


def readable(streams: Sequence[object], seconds: float) -> list[object]:
    """Those streams that have something to read."""
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)  # type: ignore[arg-type]
        return [key.fileobj for key, _ in selector.select(seconds)]


PYTHON = sys.executable
