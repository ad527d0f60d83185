"""Real catalogs besides SQLite: PostgreSQL, and the REST server that the Iceberg project publishes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

import postgres
from formats.commit.lake import free_port, until
from grebe.config import cache_folder
from grebe.spark.java import find_java

IVY_FILE = Path(__file__).with_name("rest-server.ivy.xml")


def rest_jars() -> Path:
    """The folder of the server's jars, resolved once by their coordinates into the cache."""
    import pyspark

    key = hashlib.sha256(IVY_FILE.read_bytes()).hexdigest()[:12]
    folder = cache_folder() / "rest-server" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            draft = folder.with_suffix(".draft")
            [ivy] = Path(pyspark.__path__[0], "jars").glob("ivy-*.jar")
            java = find_java().home / "bin" / "java"
            command = [str(java), "-cp", str(ivy), "org.apache.ivy.Main", "-ivy", str(IVY_FILE)]
            command += ["-cache", str(folder.with_suffix(".ivy")), "-confs", "default"]
            command += ["-retrieve", f"{draft}/[artifact]-[revision](-[classifier]).[ext]"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-3000:]
            draft.replace(folder)
    return folder


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """The settings of a REST catalog while its server runs; the server keeps it in SQLite."""
    port = free_port()
    log = folder / "rest.log"
    java = find_java().home / "bin" / "java"
    environment = {
        **os.environ,
        "CATALOG_URI": f"jdbc:sqlite:{folder}/rest.db?journal_mode=WAL",
        "CATALOG_WAREHOUSE": str(folder / "rest-warehouse"),
        "CATALOG_JDBC_SCHEMA__VERSION": "V1",
        "CATALOG_REST_PORT": str(port),
    }
    command = [str(java), "-cp", f"{rest_jars()}/*", "org.apache.iceberg.rest.RESTCatalogServer"]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, env=environment, stdout=stream, stderr=stream, start_new_session=True
        )
    try:
        until(lambda: _ready(process, log), f"no REST server: see {log}")
        yield f'type = "rest"\nuri = "http://127.0.0.1:{port}"\n'
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _ready(process: subprocess.Popen[bytes], log: Path) -> bool | None:
    text = log.read_text()
    assert process.poll() is None, text[-3000:]
    return True if "Started oejs.Server" in text else None


@contextmanager
def postgres_catalog(folder: Path) -> Iterator[str]:
    """The settings of a JDBC catalog in a PostgreSQL server that runs meanwhile."""
    with postgres.server() as server:
        [socket_file] = Path(server.get_postmaster_info().socket_dir).glob(".s.PGSQL.[0-9]*[0-9]")
        with forwarded(socket_file) as port:
            address = f"jdbc:postgresql://127.0.0.1:{port}/postgres?user=postgres"
            yield f'uri = "{address}"\nroot = "{folder / "warehouse"}"\n'


@contextmanager
def forwarded(socket_file: Path) -> Iterator[int]:
    """A port of this machine that leads to a Unix socket: Java's driver knows only ports."""
    loop = asyncio.new_event_loop()
    port = free_port()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_unix_connection(socket_file)
        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = loop.run_until_complete(asyncio.start_server(connected, "127.0.0.1", port))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
