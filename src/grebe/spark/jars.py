"""The jars that Spark needs for its table formats: resolved once, then only files.

Spark's own resolver fetches them by their Maven coordinates, so mirrors and settings that a site
has for Spark hold here too. What it brings is checked against `jars.lock` and kept in a folder of
our cache; later starts hand Spark those files and resolve nothing.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from grebe.config import cache_folder, load
from grebe.errors import ConfigError
from grebe.events import Preparing, Tell, unheard
from grebe.formats.table_format import table_formats
from grebe.spark.java import Java, find_java


def coordinates() -> tuple[str, ...]:
    """The Maven coordinates that the table formats ask for."""
    return tuple(jar for form in table_formats() for jar in form.jars)


WHOLE = 75_246_599
"""Of the locked jars together."""
WHAT = "fetching Iceberg and Delta for Spark once per machine"
LOCK = Path(__file__).with_name("jars.lock")


def locked() -> dict[str, str]:
    """The file names and SHA-256 sums of `jars.lock`."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def jar_folder(cache: Path | None = None) -> Path:
    """The folder of the cache that holds exactly the locked jars, once it exists."""
    key = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    return (cache or cache_folder()) / "jars" / key


def ensure_jars(
    java: Java,
    conf: Mapping[str, str] | None = None,
    cache: Path | None = None,
    tell: Tell = unheard,
) -> tuple[Path, ...]:
    """The jar files, fetched first if this machine does not have them yet.

    Args:
        java: the Java that runs Spark's resolver.
        conf: Spark settings; those that begin with `spark.jars.` steer the resolver.
        cache: the cache folder to use instead of the user's.
        tell: hears how much of them is there, every second.

    Raises:
        ConfigError: when they are neither here nor to be had, or are not the locked ones.
    """
    folder = jar_folder(cache)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_suffix(".lock")):
            if not folder.is_dir():
                _fetch(java, conf or {}, folder, tell)
    return tuple(sorted(folder.glob("*.jar")))


def _fetch(java: Java, conf: Mapping[str, str], folder: Path, tell: Tell) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="resolve-") as scratch:
        with _told(Path(scratch), tell):
            found = resolve(java, conf, Path(scratch))
        _check(found)
        chosen = Path(scratch) / "chosen"
        chosen.mkdir()
        for name in locked():
            (found / name).replace(chosen / name)
        chosen.replace(folder)


@contextmanager
def _told(scratch: Path, tell: Tell) -> Iterator[None]:
    """Tell every second how much of the jars the resolver has brought so far."""
    over = threading.Event()

    def watch() -> None:
        while True:
            done = sum(
                _size(file) for file in scratch.rglob("*.jar*") if file.parent.name != "jars"
            )
            done = max(done, sum(_size(file) for file in (scratch / "jars").glob("*.jar")))
            tell(Preparing(WHAT, min(done, WHOLE), WHOLE))
            if over.wait(1.0):
                return

    thread = threading.Thread(target=watch, name="grebe-jars", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # moved meanwhile
        return 0


def resolve(java: Java, conf: Mapping[str, str], scratch: Path) -> Path:
    """The folder with every jar that Spark's resolver brings for the coordinates."""
    import pyspark

    (scratch / "nothing.py").write_text("", encoding="utf-8")
    settings = {key: value for key, value in conf.items() if key.startswith("spark.jars.")}
    settings |= {"spark.jars.packages": ",".join(coordinates()), "spark.jars.ivy": str(scratch)}
    spark = Path(pyspark.__path__[0])
    command = [str(spark / "bin" / "spark-submit")]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    done = subprocess.run(
        [*command, str(scratch / "nothing.py")],
        env={**os.environ, "JAVA_HOME": str(java.home), "SPARK_HOME": str(spark)}
        | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise _unresolved(done.stdout, scratch.parent)
    return scratch / "jars"


def _unresolved(output: str, keep: Path) -> ConfigError:
    log = keep / "resolve.log"
    log.write_text(output, encoding="utf-8")
    space = shutil.disk_usage(keep).free // 2**20
    if "No space left" in output:
        return ConfigError(
            "no space left to keep the jars that Spark needs",
            detail=f"{space} MB are free in {keep}",
            hint="free 500 MB, or set GREBE_CACHE to a folder elsewhere",
            code="jars-missing",
        )
    return ConfigError(
        "the jars that Spark needs could not be fetched",
        detail=f"needed: {', '.join(coordinates())}; what Spark's resolver said is in {log}",
        hint="connect to the network once and repeat; for a mirror set DEFAULT_ARTIFACT_REPOSITORY",
        code="jars-missing",
    )


def _check(folder: Path) -> None:
    for name, digest in locked().items():
        file = folder / name
        if not file.is_file():
            raise ConfigError(f"the resolver did not bring {name}", code="jars-missing")
        with file.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != digest:
            raise ConfigError(
                f"{name} is not the file that is locked",
                detail=f"SHA-256 is {found}, locked is {digest}",
                hint="check the mirror that Spark resolves from",
                code="jars-missing",
            )


def main(arguments: list[str]) -> int:
    """0 when the jars are here; `--have` only looks, otherwise they are fetched."""
    if "--have" in arguments:
        return 0 if jar_folder().is_dir() else 1
    try:
        settings = load()
        jars = ensure_jars(find_java(settings.spark.java), dict(settings.spark.conf))
    except ConfigError as error:
        sys.stderr.write(error.explain() + "\n")
        return 1
    sys.stdout.write(f"{len(jars)} jars in {jar_folder()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
