"""grebe.toml and GREBE_* variables -> settings; names -> tables.

A variable wins over the file: ``GREBE_SPARK__MASTER`` is ``master`` in ``[spark]``, and
``GREBE_CATALOGS__LAKE__URI`` is ``uri`` in ``[catalogs.lake]``. Every text in the file may hold
``${VAR}``; what is secret must.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, unquote

import platformdirs

from grebe.compiler.text.declarative.links import Link
from grebe.errors import ConfigError, UnknownTableError, did_you_mean
from grebe.model import CatalogAddress, Check, TableName
from grebe.secrets import keep_secret, looks_secret, names_secret, secrets_in
from grebe.sql_text import pair_value

FILE_NAME = "grebe.toml"
HOME_NAME = ".grebe"
PLACE_NAME = "place.json"
EMBEDDED_CATALOG = "lake"
DEFAULT_SCHEMA = "main"


class TableFormat(StrEnum):
    """The table formats a catalog can hold."""

    ICEBERG = "iceberg"
    DELTA = "delta"
    DUCKLAKE = "ducklake"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """One place where tables live: a uri, a root folder, or a catalog that Spark already has."""

    name: str
    format: TableFormat
    uri: str | None = field(default=None, repr=False)
    root: str | None = None
    spark_catalog: str | None = None
    type: str | None = None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def spark_name(self) -> str:
        """The name under which Spark knows this catalog."""
        return self.spark_catalog or self.name


@dataclass(frozen=True, slots=True)
class Defaults:
    """What completes a name of fewer than three parts."""

    catalog: str
    schema: str = DEFAULT_SCHEMA


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """How storage tables of views are made."""

    format_version: int = 3


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """What holds for every view that does not say otherwise itself."""

    check: Check = Check.AUTO
    """Whether a first build is compared with the user's own text."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Where the registry of views, runs and leases is kept."""

    url: str | None = field(default=None, repr=False)
    """``sqlite:///file`` or ``postgresql://…``; None: a file in the project's own folder."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which project this is, among those that keep views in the same catalogs."""

    id: str | None = None
    """None: one that is made up and kept in the project's own folder."""


@dataclass(frozen=True, slots=True)
class Spark:
    """How a Spark session is made when the caller brings none."""

    master: str = "local[*]"
    remote: str | None = field(default=None, repr=False)
    java: str = "auto"
    timezone: str = "UTC"
    log_level: str = "ERROR"
    shuffle_partitions: int = 4
    conf: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Site:
    """Where a project lies, as it wrote down itself."""

    folder: Path
    first: Path
    """Where it lay when it was made: what is known by its path keeps that one for ever."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that grebe.toml and the environment say, checked; ``folder`` is the project's."""

    folder: Path
    catalogs: tuple[CatalogSettings, ...]
    defaults: Defaults
    storage: StorageSettings = StorageSettings()
    views: ViewSettings = ViewSettings()
    spark: Spark = Spark()
    registry: Journal = Journal()
    project: Identity = Identity()
    relations: tuple[tuple[str, tuple[tuple[str, Link], ...]], ...] = ()
    """For a table, its links to other tables by name."""
    file: Path | None = None
    site: Site | None = None
    """What the project wrote down of its place; None before its first run."""

    @property
    def home(self) -> Path:
        """The folder for what grebe itself keeps in a project."""
        return self.folder / HOME_NAME

    @property
    def links(self) -> dict[str, dict[str, Link]]:
        """The declared relations by table and name."""
        return {table: dict(links) for table, links in self.relations}

    @property
    def registry_url(self) -> str:
        """The registry's place; without a setting, a file beside what else grebe keeps."""
        return self.registry.url or f"sqlite:///{self.home}/registry.db"

    def catalog(self, name: str) -> CatalogSettings:
        """The catalog of that name, or an UnknownTableError with the closest one."""
        for catalog in self.catalogs:
            if catalog.name == name:
                return catalog
        known = [catalog.name for catalog in self.catalogs]
        raise UnknownTableError(
            f'catalog "{name}" does not exist',
            detail=f"catalogs: {', '.join(known)}",
            hint=did_you_mean(name, known) or f"add [catalogs.{name}] to {FILE_NAME}",
        )

    def address(self, catalog: CatalogSettings) -> CatalogAddress:
        """A configured catalog as its format needs it."""
        return CatalogAddress(
            catalog=catalog.name,
            home=str(self.home),
            root=catalog.root,
            uri=catalog.uri,
            spark_catalog=catalog.spark_catalog,
            type=catalog.type,
            options=dict(catalog.options),
            format_version=self.storage.format_version,
            folder=str(self.folder),
            first_folder=str(self.site.first if self.site else self.folder),
        )

    def resolve(self, name: str | Sequence[str]) -> TableName:
        """The full name of a table: three or more parts are exact, fewer take the defaults."""
        match split_name(name) if isinstance(name, str) else tuple(name):
            case (table,):
                return TableName(self.defaults.catalog, self.defaults.schema, table)
            case (schema, table):
                return TableName(self.defaults.catalog, schema, table)
            case (catalog, *schemas, table):
                return TableName(self.catalog(catalog).name, ".".join(schemas), table)
        raise UnknownTableError("a table name has no parts", hint="write schema.table")


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder for what can be fetched again: $GREBE_CACHE, or one in the user's cache."""
    chosen = (os.environ if environ is None else environ).get("GREBE_CACHE")
    return Path(chosen).expanduser().resolve() if chosen else platformdirs.user_cache_path("grebe")


_NAME_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s.`]+))\s*(\.|$)")


def split_name(text: str) -> tuple[str, ...]:
    """The parts of a dotted name, backquotes removed.

    >>> split_name("lake.sales.`odd.name`")
    ('lake', 'sales', 'odd.name')
    """
    parts: list[str] = []
    at, dot = 0, "."
    while dot:
        found = _NAME_PART.match(text, at)
        if found is None:
            raise UnknownTableError(f"'{text}' is not a table name", hint="write schema.table")
        parts.append(found[1].replace("``", "`") if found[1] else found[2])
        at, dot = found.end(), found[3]
    return tuple(parts)


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
    entries = {entry.path: entry for entry in _from_file(file)}
    for entry in _from_variables(variables, [path[1] for path in entries if path[0] == "catalogs"]):
        entries[entry.path] = entry
    checked = {path: entry.checked(variables) for path, entry in entries.items()}
    catalogs = tuple(_catalogs(checked, file)) or (_embedded(file.parent),)
    return Settings(
        folder=file.parent,
        file=file if file.is_file() else None,
        site=site,
        catalogs=catalogs,
        defaults=_defaults(checked, catalogs, file),
        storage=StorageSettings(**_section(checked, "storage")),  # type: ignore[arg-type]
        views=_views(checked),
        registry=Journal(**_section(checked, "registry")),  # type: ignore[arg-type]
        project=Identity(**_section(checked, "project")),  # type: ignore[arg-type]
        relations=_relations(checked, file),
        spark=Spark(**_section(checked, "spark"), conf=_free(checked, "spark", "conf")),  # type: ignore[arg-type]
    )


def _views(checked: Checked) -> ViewSettings:
    found = _section(checked, "views")
    return ViewSettings(Check(str(found["check"]))) if "check" in found else ViewSettings()


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


# --- what may be written ------------------------------------------------------------------------

Value = str | int | bool
KeyPath = tuple[str, ...]
Checked = Mapping[KeyPath, Value]


@dataclass(frozen=True, slots=True)
class _Key:
    """What a key may hold: its type, and the allowed or the smallest value."""

    kind: type[Value] = str
    allowed: tuple[Value, ...] = ()
    smallest: int | None = None

    def says(self) -> str:
        if self.allowed:
            return "one of " + ", ".join(str(value) for value in self.allowed)
        if self.smallest is not None:
            return f"a whole number of at least {self.smallest}"
        return {str: "a text", int: "a whole number", bool: "true or false"}[self.kind]

    def accepts(self, value: object) -> bool:
        if type(value) is not self.kind or (self.allowed and value not in self.allowed):
            return False
        return self.smallest is None or (isinstance(value, int) and value >= self.smallest)


_SECTIONS: Mapping[str, Mapping[str, _Key]] = {
    "defaults": {"catalog": _Key(), "schema": _Key()},
    "storage": {"format_version": _Key(int, (2, 3))},
    "views": {"check": _Key(str, tuple(Check))},
    "registry": {"url": _Key()},
    "project": {"id": _Key()},
    "spark": {
        "master": _Key(),
        "remote": _Key(),
        "java": _Key(),
        "timezone": _Key(),
        "log_level": _Key(str, ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG")),
        "shuffle_partitions": _Key(int, smallest=1),
    },
}
_CATALOG: Mapping[str, _Key] = {
    "format": _Key(str, tuple(TableFormat)),
    "uri": _Key(),
    "root": _Key(),
    "spark_catalog": _Key(),
    "type": _Key(str, ("jdbc", "rest", "hadoop", "hive", "glue")),
}
_RELATION: Mapping[str, _Key] = {
    "to": _Key(),
    "column": _Key(),
    "key": _Key(),
    "many": _Key(bool),
}
_LAKE_FILE = re.compile(r"(ducklake:|(?:ducklake:)?sqlite:)?([^:]+)")
"""A file behind DuckLake's prefixes, or a bare path."""
_CATALOG_NAME = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_ANY = _Key()
_OWN_VARIABLES = ("GREBE_CACHE", "GREBE_FAILPOINTS")
_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_SCHEME_OF_A_HEADER = re.compile(r"\s*(?:bearer|basic|token|apikey)?\s*", re.IGNORECASE)
_BEFORE_HOST = re.compile(r"://[^@]*$")
_IN_QUERY = re.compile(r"://.*[?&;][^=&;]*=$", re.DOTALL)
_IN_PAIRS = re.compile(r"(?:^|[\s:])\w+=$")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One written value, where it stands, and under which path it belongs."""

    path: KeyPath
    value: object
    variable: str | None
    file: Path

    @property
    def place(self) -> str:
        if self.variable:
            return f"variable {self.variable}"
        return f"{self.file}: key {_dotted(self.path)}"

    def checked(self, variables: Mapping[str, str]) -> Value:
        key = self._key()
        if self.variable is None:
            self._refuse_literal_secret()
        if self.variable is None and isinstance(self.value, str):
            value = self._typed(key, self._filled(self.value, variables))
        else:
            value = self._typed(key, self.value)
        self._keep_secrets(str(value))
        return value

    @property
    def _is_secret(self) -> bool:
        """Whether the key says that its value is secret; one of many parts does so as a whole."""
        match self.path:
            case ("spark", "conf", *names) | ("catalogs", _, "options", *names):
                return names_secret(_dotted(tuple(names)))
        return names_secret(self.path[-1])

    def _keep_secrets(self, value: str) -> None:
        for secret in [value] if self._is_secret else secrets_in(value):
            keep_secret(secret)
            keep_secret(unquote(secret))

    def _key(self) -> _Key:
        match self.path:
            case ("spark", "conf", _, *_) | ("catalogs", _, "options", _, *_):
                return _ANY
            case ("catalogs", _, name):
                known: Mapping[str, _Key] = _CATALOG
            case ("relations", _, _, name):
                known = _RELATION
            case (section, name) if section in _SECTIONS:
                known = _SECTIONS[section]
            case (section,) if section in (*_SECTIONS, "catalogs"):
                raise ConfigError(f"{self.place} must be a table", hint=f"write [{section}]")
            case ("catalogs", name):
                raise ConfigError(f"{self.place} must be a table", hint=f"write [catalogs.{name}]")
            case (section, _, *_) if section in (*_SECTIONS, "catalogs"):
                raise ConfigError(
                    f"{self.place} is unknown",
                    detail="it is nested too deep",
                    hint="quote a name that holds dots",
                )
            case (name, *_):
                known = dict.fromkeys((*_SECTIONS, "catalogs", "relations"), _ANY)
                if name == "relations":
                    raise ConfigError(
                        f"{self.place} is no relation",
                        hint="write [relations.<table>.<name>] with to, column and key",
                    )
        return self._known(name, known)

    def _known(self, name: str, known: Mapping[str, _Key]) -> _Key:
        if name in known:
            return known[name]
        extra = {"spark": ["conf"], "catalogs": ["options"]}.get(self.path[0], [])
        allowed = [*known, *extra] if len(self.path) > 1 else list(known)
        raise ConfigError(
            f"{self.place} is unknown",
            detail=f"allowed: {', '.join(allowed)}",
            hint=did_you_mean(name, allowed) or "take it away",
        )

    def _typed(self, key: _Key, value: object) -> Value:
        if key is _ANY and isinstance(value, (int, float, bool)):
            return str(value).lower()
        if self.variable and key.kind is int and isinstance(value, str) and value.isdecimal():
            value = int(value)
        if isinstance(value, (str, int)) and key.accepts(value):
            return value
        near = did_you_mean(str(value), [str(item) for item in key.allowed])
        # A list where a text belongs may hold anything; what is one of a few words is no secret.
        shown = repr(value) if key.allowed or key.kind is not str else f"a {type(value).__name__}"
        raise ConfigError(
            f"{self.place} is {shown}",
            detail=f"it must be {key.says()}",
            hint=near or "write such a value, or take the key away",
        )

    def _filled(self, text: str, variables: Mapping[str, str]) -> str:
        def fill(found: re.Match[str]) -> str:
            if found[1] not in variables:
                raise ConfigError(
                    f"{self.place} needs the variable {found[1]}, which is not set",
                    hint=f"export {found[1]}=…",
                )
            return _as_part(variables[found[1]], text[: found.start()], text[found.end() :])

        return _REFERENCE.sub(fill, text)

    def _refuse_literal_secret(self) -> None:
        text = self.value if isinstance(self.value, str) else ""
        plain = [part for part in secrets_in(text) if not _REFERENCE.fullmatch(part)]
        if self._is_secret and not isinstance(self.value, bool):
            plain += [] if _is_reference(self.value) else [text]
        if not plain and not looks_secret(_REFERENCE.sub("", text)):
            return
        raise ConfigError(
            f"{self.place} holds a secret in plain text",
            detail="secrets come from the environment only",
            hint="write ${NAME_OF_A_VARIABLE} in its place",
        )


def _is_reference(value: object) -> bool:
    """Whether a value is a variable's, with nothing beside it but what a header begins with."""
    if not isinstance(value, str):
        return False
    if value.lower() in ("", "true", "false"):
        return True
    rest, count = _REFERENCE.subn("", value)
    return count > 0 and bool(_SCHEME_OF_A_HEADER.fullmatch(rest))


def _as_part(value: str, before: str, after: str) -> str:
    """The value of a variable as it is written inside of the text that names it.

    Before the host and among the parameters of an address some characters mean something else:
    there it is encoded, unless it is already. In `key=value` pairs it is quoted.

    >>> _as_part("p@ss", "postgresql://me:", "@host/db"), _as_part("p%40ss", "postgresql://me:", "@h")
    ('p%40ss', 'p%40ss')
    >>> _as_part("a b", "ducklake:postgres:dbname=x password=", ""), _as_part("a b", "", "/x")
    ("'a b'", 'a b')
    """
    if (_BEFORE_HOST.search(before) and "@" in after) or _IN_QUERY.search(before):
        return value if quote(unquote(value), safe="") == value else quote(value, safe="")
    if _IN_PAIRS.search(before) and "://" not in before and re.search(r"[\s'\\]|^$", value):
        return pair_value(value)
    return value


def _dotted(path: KeyPath) -> str:
    return ".".join(path)


# --- where it is written ------------------------------------------------------------------------


def _from_file(file: Path) -> Iterator[_Entry]:
    if not file.is_file():
        return
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{file} is not valid TOML",
            detail=str(error),
            hint="correct it at that place; it is text in UTF-8, of [sections] and key = value",
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read",
            detail=error.strerror,
            hint="change its permissions, so that you may read it",
        ) from error
    for path, value in _leaves(document, ()):
        yield _Entry(path, value, None, file)


def _leaves(table: Mapping[str, object], path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _from_variables(variables: Mapping[str, str], catalogs: Sequence[str]) -> Iterator[_Entry]:
    cased = {name.lower(): name for name in catalogs}
    for name, value in sorted(variables.items()):
        if (
            not name.startswith("GREBE_")
            or name.startswith("GREBE_TEST_")
            or name in _OWN_VARIABLES
        ):
            continue
        path = tuple(name.removeprefix("GREBE_").lower().split("__"))
        if len(path) == 1:
            raise _unknown_variable(name)
        if path[0] == "catalogs":
            path = ("catalogs", cased.get(path[1], path[1]), *path[2:])
        yield _Entry(path, value, name, Path(FILE_NAME))


def _unknown_variable(name: str) -> ConfigError:
    known = [f"GREBE_{s}__{key}".upper() for s, keys in _SECTIONS.items() for key in keys]
    return ConfigError(
        f"variable {name} is unknown",
        detail="a setting is GREBE_<SECTION>__<KEY>; others: " + ", ".join(_OWN_VARIABLES),
        hint=did_you_mean(name, [*known, *_OWN_VARIABLES]) or f"unset {name}",
    )


# --- what comes out -----------------------------------------------------------------------------


def _section(checked: Checked, name: str) -> dict[str, Value]:
    return {path[1]: value for path, value in checked.items() if path[0] == name and len(path) == 2}


def _free(checked: Checked, *prefix: str) -> tuple[tuple[str, str], ...]:
    size = len(prefix)
    return tuple(
        sorted(
            (_dotted(path[size:]), str(value))
            for path, value in checked.items()
            if path[:size] == prefix
        )
    )


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


def _catalogs(checked: Checked, file: Path) -> Iterator[CatalogSettings]:
    for name in dict.fromkeys(path[1] for path in checked if path[0] == "catalogs"):
        keys = {
            p[2]: str(v) for p, v in checked.items() if p[:2] == ("catalogs", name) and len(p) == 3
        }
        yield _catalog(name, keys, _free(checked, "catalogs", name, "options"), file)


def _catalog(
    name: str, keys: Mapping[str, str], options: tuple[tuple[str, str], ...], file: Path
) -> CatalogSettings:
    where = f"{file}: catalog {name}"
    if not _CATALOG_NAME.fullmatch(name):
        raise ConfigError(
            f"{where} has no name that Spark can be told",
            detail="it may hold letters, digits, _ and -",
            hint="give it another name",
        )
    if "format" not in keys:
        raise ConfigError(
            f"{where} has no format",
            detail=f"allowed: {', '.join(TableFormat)}",
            hint=f'write [catalogs.{name}] format = "iceberg"',
        )
    form = TableFormat(keys["format"])
    _refuse_contradiction(where, form, keys)
    root = _absolute(file.parent, keys["root"]) if "root" in keys else None
    uri = _absolute_uri(file.parent, keys["uri"]) if "uri" in keys else None
    kind = keys.get("type")
    if form is TableFormat.ICEBERG and "spark_catalog" not in keys:
        if kind is None:
            kind = _iceberg_type(uri)
        if uri is None and kind == "jdbc":
            uri = f"jdbc:sqlite:{root}/catalog.db?journal_mode=WAL"
    return CatalogSettings(name, form, uri, root, keys.get("spark_catalog"), kind, options)


def _refuse_contradiction(where: str, form: TableFormat, keys: Mapping[str, str]) -> None:
    if "spark_catalog" in keys:
        if extra := sorted(keys.keys() & {"uri", "root", "type"}):
            raise ConfigError(
                f"{where} has both spark_catalog and {extra[0]}",
                detail="a catalog that Spark already has brings its own place",
            )
        if form is TableFormat.DUCKLAKE:
            raise ConfigError(f"{where}: DuckLake is no Spark catalog", hint="give a uri")
    elif form is TableFormat.DUCKLAKE:
        if "uri" not in keys:
            raise ConfigError(f"{where} has no uri", hint='write uri = "catalog.ducklake"')
    elif "root" not in keys and (form is not TableFormat.ICEBERG or "uri" not in keys):
        raise ConfigError(
            f"{where} has no place", hint='give a root folder, a uri, or spark_catalog = "…"'
        )
    if "type" in keys and form is not TableFormat.ICEBERG:
        raise ConfigError(f"{where}: key type is for Iceberg only")


def _iceberg_type(uri: str | None) -> str:
    match (uri or "jdbc:").partition(":")[0]:
        case "http" | "https":
            return "rest"
        case "thrift":
            return "hive"
    return "jdbc"


def _absolute(base: Path, text: str) -> str:
    return text if "://" in text else str((base / Path(text).expanduser()).resolve())


def _absolute_uri(base: Path, uri: str) -> str:
    scheme = "jdbc:sqlite:"
    if uri.startswith(scheme):
        file, mark, parameters = uri.removeprefix(scheme).partition("?")
        place = file if file.startswith((":", "file:")) else _absolute(base, file)
        # WAL lets a reader of the catalog go on beside the writer.
        return f"{scheme}{place}?{parameters if mark else 'journal_mode=WAL'}"
    lake = _LAKE_FILE.fullmatch(uri)
    return f"{lake[1] or ''}{_absolute(base, lake[2])}" if lake else uri


def _embedded(folder: Path) -> CatalogSettings:
    home = folder / HOME_NAME
    return CatalogSettings(
        name=EMBEDDED_CATALOG,
        format=TableFormat.ICEBERG,
        uri=f"jdbc:sqlite:{home}/catalog.db?journal_mode=WAL",
        root=f"{home}/warehouse",
        type="jdbc",
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
