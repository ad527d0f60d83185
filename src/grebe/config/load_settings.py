"""grebe.toml and GREBE_* variables -> settings; names -> tables.

A variable wins over the file: ``GREBE_SPARK__MASTER`` is ``master`` in ``[spark]``, and
``GREBE_CATALOGS__LAKE__URI`` is ``uri`` in ``[catalogs.lake]``. Every text in the file may hold
``${VAR}``; what is secret must.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import platformdirs

from grebe.compiler.text.declarative.links import Link
from grebe.config.catalog_keys import catalogs_of, embedded, free_keys
from grebe.config.settings_model import (
    DEFAULT_SCHEMA,
    FILE_NAME,
    HOME_NAME,
    NOTICE_KINDS,
    PLACE_NAME,
    CatalogSettings,
    Defaults,
    Identity,
    Journal,
    RefreshSettings,
    SchedulerSettings,
    Settings,
    Sink,
    Site,
    Spark,
    StorageSettings,
    StreamSettings,
    ViewSettings,
    WebSettings,
)
from grebe.config.written_values import BETWEEN as _BETWEEN
from grebe.config.written_values import Checked, Value, from_file, from_variables
from grebe.errors import ConfigError, DefinitionError, did_you_mean
from grebe.model import Check, SmallChoice
from grebe.schedule import duration


def load(folder: str | Path = ".", environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a project folder; without a grebe.toml, the embedded default.

    Args:
        folder: the project's folder, or the path of a TOML file.
        environ: the variables to use instead of the process's own.

    Raises:
        ConfigError: naming the file or the variable, the key, and what is allowed.
    """
    variables = os.environ if environ is None else environ
    place = Path(folder).expanduser().resolve()
    file = place if place.is_file() else place / FILE_NAME
    site = read_site(file.parent)
    if site and site.folder != file.parent and _is_same(site.folder, file.parent):
        file = site.folder / file.name  # another mount of the same folder is no other place
    entries = {entry.path: entry for entry in from_file(file)}
    for entry in from_variables(variables, [path[1] for path in entries if path[0] == "catalogs"]):
        entries[entry.path] = entry
    checked = {path: entry.checked(variables) for path, entry in entries.items()}
    catalogs = tuple(catalogs_of(checked, file)) or (embedded(file.parent),)
    return Settings(
        folder=file.parent,
        file=file if file.is_file() else None,
        site=site,
        catalogs=catalogs,
        defaults=_defaults(checked, catalogs, file),
        storage=StorageSettings(**_section(checked, "storage")),  # type: ignore[arg-type]
        views=_views(checked),
        refresh=_refresh(checked),
        scheduler=_scheduler(checked, file),
        web=WebSettings(**_section(checked, "web")),  # type: ignore[arg-type]
        registry=Journal(**_section(checked, "registry")),  # type: ignore[arg-type]
        project=Identity(**_section(checked, "project")),  # type: ignore[arg-type]
        relations=_relations(checked, file),
        listeners=_listeners(checked),
        streams=_streams(checked),
        spark=Spark(**_section(checked, "spark"), conf=free_keys(checked, "spark", "conf")),  # type: ignore[arg-type]
    )


def _streams(checked: Checked) -> tuple[tuple[str, StreamSettings], ...]:
    """Each stream that is described."""
    names = sorted({path[1] for path in checked if path[0] == "streams"})
    return tuple((name, _stream(checked, name)) for name in names)


def _stream(checked: Checked, name: str) -> StreamSettings:
    keys = {
        p[2]: value for p, value in checked.items() if p[:2] == ("streams", name) and len(p) == 3
    }
    if "keep" in keys:
        duration(str(keys["keep"]))
    return StreamSettings(
        **keys,  # type: ignore[arg-type]
        exclude=free_keys(checked, "streams", name, "exclude"),
        options=free_keys(checked, "streams", name, "options"),
    )


def _listeners(checked: Checked) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Each listener with its settings; one that has none is there all the same."""
    names = sorted({path[1] for path in checked if path[0] == "listeners"})
    return tuple((name, free_keys(checked, "listeners", name)) for name in names)


def _scheduler(checked: Checked, file: Path) -> SchedulerSettings:
    from grebe.schedule import duration

    found = _section(checked, "scheduler")
    if "poll" in found:
        try:
            duration(str(found["poll"]))
        except DefinitionError as error:
            message = f"{file}: key scheduler.poll: {error.message}"
            raise ConfigError(message, hint=error.hint) from None
    sinks: dict[str, dict[str, str]] = {}
    for path, value in checked.items():
        if path[:2] == ("scheduler", "notices"):
            sinks.setdefault(path[2], {})[path[3]] = str(value)
    notices = tuple(_sink(name, keys, file) for name, keys in sorted(sinks.items()))
    return SchedulerSettings(**found, notices=notices)  # type: ignore[arg-type]


def _sink(name: str, keys: Mapping[str, str], file: Path) -> Sink:
    if ("webhook" in keys) == ("command" in keys):
        raise ConfigError(
            f"{file}: notices {name} go nowhere, or to two places",
            detail="each has a webhook or a command",
            hint='write webhook = "https://…", or command = ["notify", "--json"]',
        )
    kinds = tuple(keys.get("kinds", "").split(_BETWEEN)) if keys.get("kinds") else ()
    unknown = [kind for kind in kinds if kind not in NOTICE_KINDS]
    if unknown:
        raise ConfigError(
            f'{file}: notices {name}: "{unknown[0]}" is no kind of notice',
            detail=f"kinds: {', '.join(NOTICE_KINDS)}",
            hint=did_you_mean(unknown[0], NOTICE_KINDS) or "take it away",
        )
    command = tuple(keys["command"].split(_BETWEEN)) if "command" in keys else ()
    return Sink(name, kinds, keys.get("webhook"), keys.get("secret"), command)


def _views(checked: Checked) -> ViewSettings:
    found = _section(checked, "views")
    return ViewSettings(Check(str(found["check"]))) if "check" in found else ViewSettings()


def _refresh(checked: Checked) -> RefreshSettings:
    found = _section(checked, "refresh")
    return RefreshSettings(
        SmallChoice(str(found.get("small_steps", RefreshSettings().small_steps)))
    )


def read_site(folder: Path) -> Site | None:
    """What a project wrote down of its place; None when it did not, or it cannot be read."""
    try:
        found = json.loads((folder / HOME_NAME / PLACE_NAME).read_text(encoding="utf-8"))
        return Site(Path(str(found["folder"])), Path(str(found.get("first", found["folder"]))))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder for what can be fetched again: $GREBE_CACHE, or one in the user's cache."""
    chosen = (os.environ if environ is None else environ).get("GREBE_CACHE")
    return Path(chosen).expanduser().resolve() if chosen else platformdirs.user_cache_path("grebe")


def _section(checked: Checked, name: str) -> dict[str, Value]:
    return {path[1]: value for path, value in checked.items() if path[0] == name and len(path) == 2}


def _relations(
    checked: Checked, file: Path
) -> tuple[tuple[str, tuple[tuple[str, Link], ...]], ...]:
    found: dict[str, dict[str, dict[str, Value]]] = {}
    for path, value in checked.items():
        if path[0] == "relations":
            found.setdefault(path[1], {}).setdefault(path[2], {})[path[3]] = value
    for table, links in found.items():
        for name, keys in links.items():
            if missing := [key for key in ("to", "column", "key") if key not in keys]:
                raise ConfigError(
                    f"{file}: relation {table}.{name} has no {missing[0]}",
                    hint='write to = "customers", column = "customer", key = "id"',
                )
    return tuple(
        (table, tuple((name, Link(**keys)) for name, keys in sorted(links.items())))  # type: ignore[arg-type]
        for table, links in sorted(found.items())
    )


def _defaults(checked: Checked, catalogs: Sequence[CatalogSettings], file: Path) -> Defaults:
    known = [catalog.name for catalog in catalogs]
    chosen = checked.get(("defaults", "catalog"))
    if chosen is None and len(known) > 1:
        raise ConfigError(
            f"{file}: key defaults.catalog is missing",
            detail=f"there are several catalogs: {', '.join(known)}",
            hint=f'write [defaults] catalog = "{known[0]}"',
        )
    catalog = str(chosen or known[0])
    if catalog not in known:
        raise ConfigError(
            f'{file}: key defaults.catalog names "{catalog}", which is not configured',
            detail=f"catalogs: {', '.join(known)}",
            hint=did_you_mean(catalog, known) or f"add [catalogs.{catalog}], or name another",
        )
    return Defaults(catalog, str(checked.get(("defaults", "schema"), DEFAULT_SCHEMA)))
