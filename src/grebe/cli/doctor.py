"""`grebe doctor`: everything that a refresh will need, looked at before it does; no Spark starts."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grebe.config import CatalogSettings, Settings, load
from grebe.errors import GrebeError, MissingExtraError, ProjectMovedError, UnknownTableError
from grebe.model import TableName
from grebe.registry.records import ViewRecord
from grebe.tabular import Tabular

_ROOM = 500 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    says: str
    hint: str = ""


class Findings(list[Finding], Tabular):
    """All of them, as one table."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line each."""
        headings = ("what", "", "says", "hint")
        return headings, [
            (item.what, "ok" if item.ok else "PROBLEM", item.says, item.hint) for item in self
        ]

    def to_dict(self) -> list[dict[str, object]]:
        """Plain values, ready for JSON."""
        return [
            {"what": item.what, "ok": item.ok, "says": item.says, "hint": item.hint}
            for item in self
        ]

    __str__ = Tabular.__str__
    __repr__ = Tabular.__str__


def examine(folder: str) -> Findings:
    """What was found; a problem never hides the rest."""
    found = Findings([Finding("python", True, sys.version.split()[0])])
    try:
        settings = load(folder)
    except GrebeError as error:
        found.append(_problem("settings", error))
        return found
    file = settings.file or "none: the embedded default"
    found.append(Finding("settings", True, str(file)))
    checks: list[tuple[str, Callable[[], str]]] = [
        ("folder", lambda: _folder(settings)),
        ("place", lambda: _place(settings)),
        ("pyspark", lambda: _package("pyspark", "spark")),
        ("java", lambda: _java(settings)),
        ("jars", _jars),
        ("classes", lambda: _classes(settings)),
        ("registry", lambda: _registry(settings)),
        ("views", lambda: _views(settings)),
        *_catalogs(settings),
    ]
    for what, check in checks:
        try:
            found.append(Finding(what, True, check()))
        except GrebeError as error:
            found.append(_problem(what, error))
            if isinstance(error, ProjectMovedError):
                break  # what else there is must not be touched
    return found


def make_ready(folder: str, say: Callable[[str], None]) -> None:
    """Fetch what Spark needs and read its classes, so that no refresh waits for either."""
    from grebe.spark.class_archive import prepare
    from grebe.spark.jars import ensure_jars
    from grebe.spark.java import find_java

    settings = load(folder)
    if settings.spark.remote:
        return
    java = find_java(settings.spark.java)
    say("fetching the jars of Spark's table formats, once per machine")
    jars = ensure_jars(java, dict(settings.spark.conf))
    say("reading Spark's classes, once per machine: some minutes, and later starts are shorter")
    prepare(java, jars)


def _problem(what: str, error: GrebeError) -> Finding:
    says = f"{error.message}: {error.detail}" if error.detail else error.message
    return Finding(what, False, says, error.hint or "")


def _folder(settings: Settings) -> str:
    place = settings.home if settings.home.exists() else settings.folder
    if not os.access(place, os.W_OK):
        raise GrebeError(f"{place} cannot be written to", hint="change its permissions")
    free = shutil.disk_usage(place).free
    if free < _ROOM:
        raise GrebeError(f"{free // 2**20} MB are free", hint="make room: 500 MB are sensible")
    return f"{place} is writable, {free // 2**30} GB free"


def _place(settings: Settings) -> str:
    from grebe.engine.place import refuse_moved

    refuse_moved(settings)
    return "as its tables say" if settings.home.exists() else "is written down at the first run"


def _package(name: str, extra: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError as error:
        raise MissingExtraError.of(name, extra) from error


def _java(settings: Settings) -> str:
    from grebe.spark.java import find_java

    if settings.spark.remote:
        # What follows the host are parameters, of which some are secret.
        return f"not needed: Spark is at {re.split('[?;]', settings.spark.remote)[0].rstrip('/')}"
    java = find_java(settings.spark.java)
    return f"{java.version} in {java.home}"


def _jars() -> str:
    from grebe.spark.jars import jar_folder, locked

    wanted, folder = locked(), jar_folder()
    missing = [name for name in wanted if not (folder / name).is_file()]
    if missing:
        return f"{len(missing)} of {len(wanted)} are fetched at the first start of Spark"
    return f"all {len(wanted)} in {folder}"


def _classes(settings: Settings) -> str:
    from grebe.spark.class_archive import archive_file
    from grebe.spark.jars import ensure_jars, jar_folder
    from grebe.spark.java import find_java

    if settings.spark.remote:
        return "not needed"
    if not jar_folder().is_dir():
        return "are prepared at the first start of Spark"
    java = find_java(settings.spark.java)
    if archive := archive_file(java, ensure_jars(java)):
        return f"prepared: {archive}"
    return "not prepared; Spark would start in two thirds of the time: grebe doctor --prepare"


def _registry(settings: Settings) -> str:
    from grebe.registry import Registry

    url = settings.registry_url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return "is made at the first refresh"
    with Registry.open(url) as registry:
        return f"{registry.database.place}, {len(registry.views())} views"


def _records(settings: Settings) -> list[ViewRecord]:
    """What the registry knows; a registry that cannot be opened is a finding of its own."""
    from grebe.registry import Registry

    url = settings.registry_url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return []
    try:
        with Registry.open(url) as registry:
            return registry.views()
    except GrebeError:
        return []


def _views(settings: Settings) -> str:
    from grebe.project.definitions import all_written

    written = all_written(settings, _records(settings))
    for view in written.values():
        if view.error is not None:
            raise view.error
    return f"{sum(view.file is not None for view in written.values())} in files"


def _catalogs(settings: Settings) -> Iterator[tuple[str, Callable[[], str]]]:
    for catalog in settings.catalogs:
        yield f"catalog {catalog.name}", partial(_catalog, settings, catalog)


def _catalog(settings: Settings, catalog: CatalogSettings) -> str:
    for package, extra in catalog.format.packages(catalog.uri or ""):
        _package(package, extra)
    if catalog.spark_catalog or settings.spark.remote:
        return f"{catalog.format}; only Spark can tell more"
    return f"{catalog.format}; {_reach(settings, catalog.name)}"


def _reach(settings: Settings, catalog: str) -> str:
    from grebe.engine.tables import Tables

    def no_spark() -> object:
        raise _NeedsSparkError("only Spark can tell more")

    probe = TableName(catalog, settings.defaults.schema, "__grebe_probe")
    try:
        Tables(settings).source(probe, no_spark).head()  # type: ignore[arg-type]
    except UnknownTableError:
        return _answers(settings, catalog)
    except _NeedsSparkError as error:
        return str(error)
    return "answers"


def _answers(settings: Settings, catalog: str) -> str:
    known = settings.catalog(catalog)
    file = known.format.first_file(settings.address(known))
    return "is made at the first start of Spark" if file and not file.exists() else "answers"


class _NeedsSparkError(Exception):
    """The catalog cannot be asked without Spark."""
