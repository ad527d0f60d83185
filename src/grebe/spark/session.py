"""The one place that makes a Spark session: from the settings, or beside the caller's."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from grebe.config import Settings
from grebe.errors import ConfigError, MissingExtraError
from grebe.events import Tell, unheard
from grebe.formats.table_format import table_formats
from grebe.secrets import REDACTED
from grebe.spark.broken_rules import BROKEN_RULES
from grebe.spark.class_archive import archive_options, begin_to_prepare
from grebe.spark.jars import ensure_jars
from grebe.spark.java import Java, find_java, quiet_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SQLITE = "jdbc:sqlite:"
_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_CHEAP_FORKS = "-Djdk.lang.Process.launchMechanism=VFORK" if sys.platform == "linux" else ""
"""Hadoop sets the rights of every file that it writes to a local disk with a process of its own: chmod."""
_CLASS_PATH = "spark.driver.extraClassPath"
_LOG_FILE = Path(__file__).with_name("log4j2.properties")


_WITHOUT_ARCHIVE: list[Java] = []
"""The Java of the Spark that this process started without an archive of classes, if it did."""


def open_session(
    settings: Settings, spark: SparkSession | None = None, tell: Tell = unheard
) -> SparkSession:
    """A session that is ours alone, with every configured catalog in it.

    Args:
        settings: what grebe.toml and the environment say.
        spark: the caller's session, classic or Connect; its settings, functions and temporary
            views are not touched.
        tell: hears what has to be fetched first.

    Raises:
        ConfigError: when the caller's Spark lacks what its catalogs need.

    There is no counterpart that closes it: an embedded Spark serves the whole process, and a Spark
    server forgets an idle session by itself.
    """
    _make_folders(settings)
    beside = spark or _running()
    if beside is None:
        ours = _connect(settings, tell) if settings.spark.remote else _start(settings, tell)
        _require_extensions(ours, settings)
    else:
        _require_extensions(beside, settings)
        ours = _clone(beside)
    _silence()
    for key, value in session_conf(settings, given=spark is not None).items():
        ours.conf.set(key, value)
    excluded = str(ours.conf.get(_EXCLUDED_RULES, "") or "")
    ours.conf.set(_EXCLUDED_RULES, ",".join(dict.fromkeys([*_words(excluded), *BROKEN_RULES])))
    return ours


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def session_conf(settings: Settings, *, given: bool = False) -> dict[str, str]:
    """The settings of a session that may be set while Spark runs.

    With a session `given` by the caller, its time zone and its own settings stay as they are.
    """
    conf = catalog_conf(settings)
    if given:
        return conf
    return {
        "spark.sql.session.timeZone": settings.spark.timezone,
        "spark.sql.shuffle.partitions": str(settings.spark.shuffle_partitions),
        **conf,
        **{key: value for key, value in settings.spark.conf if key.startswith("spark.sql.")},
    }


def catalog_conf(settings: Settings) -> dict[str, str]:
    """What makes the configured catalogs known to a session."""
    return {
        key: value
        for catalog in settings.catalogs
        for key, value in catalog.format.session_conf(settings.address(catalog)).items()
    }


def launch_conf(settings: Settings, tell: Tell = unheard) -> dict[str, str]:
    """The settings that Spark takes only at its start, for an embedded Spark."""
    chosen = dict(settings.spark.conf)
    forms = table_formats()
    java = find_java(settings.spark.java)
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = {
        "spark.app.name": "grebe",
        "spark.sql.extensions": ",".join(form.extension for form in forms if form.extension),
        "spark.sql.warehouse.dir": str(settings.home / "spark-warehouse"),
        "spark.pyspark.python": os.environ["PYSPARK_PYTHON"],
        "spark.ui.enabled": "false",
        # Its own knows neither passes nor keys of accounts; logs and plans hold options, too.
        "spark.redaction.regex": REDACTED,
        "spark.sql.redaction.options.regex": f"{REDACTED}|(?i)url",
        "spark.ui.showConsoleProgress": "false",
        # Spark keeps 100 otherwise: a few views with their refreshes, compiled anew every time.
        "spark.sql.codegen.cache.maxEntries": "1000",
    }
    for form in forms:
        if form.session_catalog:
            conf["spark.sql.catalog.spark_catalog"] = form.session_catalog
    if settings.spark.master.startswith("local"):
        # A laptop's name may resolve to nothing, or to an address that is gone with the network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        # Delta computes a table's state with 50 tasks otherwise: seconds for a few files.
        conf["spark.databricks.delta.snapshotPartitions"] = "1"
    if not chosen.keys() & {"spark.jars", "spark.jars.packages"}:
        conf |= _jar_conf(java, settings.spark.master, chosen, tell)
    options = [conf.get(_JAVA_OPTIONS, ""), _log_options(settings.spark.log_level), _CHEAP_FORKS]
    conf[_JAVA_OPTIONS] = " ".join(filter(None, options))
    return conf | session_conf(settings) | chosen


def _jar_conf(java: Java, master: str, chosen: Mapping[str, str], tell: Tell) -> dict[str, str]:
    """How Spark comes to the jars: on the class path of the one process of a local Spark, else by `spark.jars`.

    Java keeps an archive only of what is on the class path.
    """
    jars = ensure_jars(java, chosen, tell=tell)
    path = os.pathsep.join(str(jar) for jar in jars)
    if (
        not master.startswith("local")
        or _CLASS_PATH in chosen
        or path.count(os.pathsep) >= len(jars)
    ):
        return {"spark.jars": ",".join(str(jar) for jar in jars)}
    options = archive_options(java, jars)
    if not options:  # it takes minutes to make: after the first result, see `archive_later`
        _WITHOUT_ARCHIVE.append(java)
    return {_CLASS_PATH: path, _JAVA_OPTIONS: options}


def archive_later() -> bool:
    """True when the archive of classes is now being made, in a process of its own that nobody waits for.

    Only where this process started Spark without one.
    """
    while _WITHOUT_ARCHIVE:
        java = _WITHOUT_ARCHIVE.pop()
        if begin_to_prepare(java, ensure_jars(java)):
            return True
    return False


def _running() -> SparkSession | None:
    """The session that this process has already, if any: one process has one Spark."""
    return _spark_class().getActiveSession()


def _make_folders(settings: Settings) -> None:
    """SQLite makes a missing file, but not the folder that it lies in."""
    for catalog in settings.catalogs:
        if catalog.uri and catalog.uri.startswith(_SQLITE):
            file = catalog.uri.removeprefix(_SQLITE).partition("?")[0]
            if Path(file).is_absolute():
                Path(file).parent.mkdir(parents=True, exist_ok=True)


def _start(settings: Settings, tell: Tell) -> SparkSession:
    builder = _spark_class().builder.master(settings.spark.master)
    for key, value in launch_conf(settings, tell).items():
        builder = builder.config(key, value)
    with _quiet_java():
        return builder.getOrCreate()


@contextmanager
def _quiet_java() -> Iterator[None]:
    """Start what is started here with a Java that warns of nothing; others still find the real one."""
    home = os.environ["JAVA_HOME"]
    os.environ["JAVA_HOME"] = str(quiet_home(Path(home)))
    try:
        yield
    finally:
        os.environ["JAVA_HOME"] = home


def _connect(settings: Settings, tell: Tell) -> SparkSession:
    remote = settings.spark.remote or ""
    builder = _spark_class().builder.remote(remote)
    if not remote.startswith("local"):
        return builder.getOrCreate()
    for key, value in launch_conf(settings, tell).items():
        builder = builder.config(key, value)
    with warnings.catch_warnings(), _quiet_java():
        # PySpark starts the server with these settings and then tries to set each one again.
        warnings.filterwarnings("ignore", "Failed to set", UserWarning)
        return builder.getOrCreate()


def _spark_class() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError.of("pyspark", "spark") from error
    return SparkSession


_KEPT: list[SparkSession] = []
"""Our sessions of Spark servers, for as long as the process lives, whatever becomes of the engine.

PySpark's client closes a forgotten session in whatever thread happens to collect it, and waits there
for threads that may wait for a lock which that thread holds: for ever."""


def is_connect(spark: SparkSession) -> bool:
    """True for a session that talks to a Spark server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _clone(spark: SparkSession) -> SparkSession:
    """A session with the same settings and a life of its own."""
    if is_connect(spark):
        clone: SparkSession = spark.cloneSession()  # type: ignore[attr-defined]
        # At exit the client would tell the server to forget models, of which we have none; when
        # the caller's server is gone by then, it would repeat that for ten minutes.
        atexit.unregister(clone.client._cleanup_ml_cache)  # type: ignore[operator]
        _KEPT.append(clone)
        return clone
    clone = spark.newSession()
    inherited = clone.conf.getAll
    for key, value in spark.conf.getAll.items():
        # What newSession() already has is static or unchanged; the rest was set while running.
        if key.startswith("spark.sql.") and inherited.get(key) != value:
            clone.conf.set(key, value)
    return clone


def _require_extensions(spark: SparkSession, settings: Settings) -> None:
    present = str(spark.conf.get("spark.sql.extensions", "") or "")
    for catalog in settings.catalogs:
        needed = catalog.format.extension
        if needed and needed not in present:
            raise ConfigError(
                f'catalog "{catalog.name}" needs the Spark extension {needed}',
                detail=f"spark.sql.extensions is {present or 'empty'}; Spark takes it only at its start",
                hint=f"start Spark with spark.sql.extensions={needed}",
                code="spark-extension-missing",
            )


def _log_options(level: str) -> str:
    root = level if level in ("INFO", "DEBUG") else "WARN"
    options = {
        "log4j2.configurationFile": _LOG_FILE.as_uri(),
        "grebe.log.level": level,
        "grebe.log.root": root,
    }
    return " ".join(f"-D{key}={value}" for key, value in options.items())


def _silence() -> None:
    # PySpark logs every analysis error with its whole JVM stack, though it also raises it.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
