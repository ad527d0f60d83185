"""What is written in grebe.toml and in GREBE_* variables, each value checked against what its key may hold."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from grebe.config.settings_model import FILE_NAME
from grebe.errors import ConfigError, did_you_mean
from grebe.formats.table_format import table_formats
from grebe.known_formats import format_names
from grebe.model import Check, SmallChoice
from grebe.secrets import keep_secret, looks_secret, names_secret, secrets_in
from grebe.sql_text import pair_value

Value = str | int | bool
KeyPath = tuple[str, ...]
Checked = Mapping[KeyPath, Value]


@dataclass(frozen=True, slots=True)
class Key:
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


_SECTIONS: Mapping[str, Mapping[str, Key]] = {
    "defaults": {"catalog": Key(), "schema": Key()},
    "storage": {"format_version": Key(int, (2, 3))},
    "views": {"check": Key(str, tuple(Check))},
    "refresh": {"small_steps": Key(str, tuple(SmallChoice))},
    "registry": {"url": Key()},
    "scheduler": {
        "jobs": Key(int, smallest=1),
        "poll": Key(),
        "catch_up": Key(str, ("one", "none")),
        "max_failures": Key(int, smallest=0),
        "apply": Key(str, ("manual", "auto")),
    },
    "web": {"token": Key(), "hosts": Key()},
    "project": {"id": Key()},
    "spark": {
        "master": Key(),
        "remote": Key(),
        "java": Key(),
        "timezone": Key(),
        "log_level": Key(str, ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG")),
        "shuffle_partitions": Key(int, smallest=1),
    },
}
_STREAM: Mapping[str, Key] = {
    "source": Key(str, ("webhook", "kafka", "none")),
    "token": Key(),
    "secret": Key(),
    "inbox": Key(bool),
    "keep": Key(),
    "linger": Key(str, tuple(f"{number}ms" for number in range(51))),
    "max_events": Key(int, smallest=1),
    "servers": Key(),
    "topic": Key(),
    "on_gap": Key(str, ("stop", "continue")),
}
_RELATION: Mapping[str, Key] = {
    "to": Key(),
    "column": Key(),
    "key": Key(),
    "many": Key(bool),
}
_SINK: Mapping[str, Key] = {
    "kinds": Key(),
    "webhook": Key(),
    "secret": Key(),
    "command": Key(),
}
_ANY = Key()
_OWN_VARIABLES = ("GREBE_CACHE", "GREBE_FAILPOINTS", "GREBE_SHADOW")
BETWEEN = "\x1f"
"""Between the items of a list of texts, where one is allowed."""
_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_SCHEME_OF_A_HEADER = re.compile(r"\s*(?:bearer|basic|token|apikey)?\s*", re.IGNORECASE)
_BEFORE_HOST = re.compile(r"://[^@]*$")
_IN_QUERY = re.compile(r"://.*[?&;][^=&;]*=$", re.DOTALL)
_IN_PAIRS = re.compile(r"(?:^|[\s:])\w+=$")


def _catalog_keys() -> Mapping[str, Key]:
    """What may be said of a catalog, of whichever format."""
    types = dict.fromkeys(kind for form in table_formats() for kind in form.types)
    return {
        "format": Key(str, format_names()),
        "uri": Key(),
        "root": Key(),
        "spark_catalog": Key(),
        "type": Key(str, tuple(types)),
    }


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """One written value, where it stands, and under which path it belongs."""

    path: KeyPath
    value: object
    variable: str | None
    file: Path

    @property
    def place(self) -> str:
        if self.variable:
            return f"variable {self.variable}"
        return f"{self.file}: key {dotted(self.path)}"

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
            case (
                ("spark", "conf", *names)
                | ("catalogs", _, "options", *names)
                | ("listeners", _, *names)
                | ("streams", _, "options", *names)
            ):
                return names_secret(dotted(tuple(names)))
        return names_secret(self.path[-1])

    def _keep_secrets(self, value: str) -> None:
        for secret in [value] if self._is_secret else secrets_in(value):
            keep_secret(secret)
            keep_secret(unquote(secret))

    def _key(self) -> Key:  # noqa: C901  one case for each shape of a path
        match self.path:
            case (
                ("spark", "conf", _, *_)
                | ("catalogs", _, "options", _, *_)
                | ("listeners", _, _, *_)
                | ("streams", _, "options" | "exclude", _, *_)
            ):
                return _ANY
            case ("listeners", _) if self.value == "":  # a listener without settings of its own
                return _ANY
            case ("listeners", name):
                raise ConfigError(f"{self.place} must be a table", hint=f"write [listeners.{name}]")
            case ("catalogs" | "streams" as section, _, name):
                known: Mapping[str, Key] = _catalog_keys() if section == "catalogs" else _STREAM
            case ("relations", _, _, name):
                known = _RELATION
            case ("scheduler", "notices", _, name):
                known = _SINK
            case (section, name) if section in _SECTIONS:
                known = _SECTIONS[section]
            case (section,) if section in (*_SECTIONS, "catalogs", "listeners", "streams"):
                raise ConfigError(f"{self.place} must be a table", hint=f"write [{section}]")
            case ("catalogs" | "streams" as section, name):
                hint = f"write [{section}.{name}]"
                raise ConfigError(f"{self.place} must be a table", hint=hint)
            case (section, _, *_) if section in (*_SECTIONS, "catalogs"):
                raise ConfigError(
                    f"{self.place} is unknown",
                    detail="it is nested too deep",
                    hint="quote a name that holds dots",
                )
            case (name, *_):
                known = dict.fromkeys(
                    (*_SECTIONS, "catalogs", "relations", "listeners", "streams"), _ANY
                )
                if name == "relations":
                    raise ConfigError(
                        f"{self.place} is no relation",
                        hint="write [relations.<table>.<name>] with to, column and key",
                    )
        return self._known(name, known)

    def _known(self, name: str, known: Mapping[str, Key]) -> Key:
        if name in known:
            return known[name]
        extra = {"spark": ["conf"], "catalogs": ["options"], "streams": ["options", "exclude"]}.get(
            self.path[0], []
        )
        allowed = [*known, *extra] if len(self.path) > 1 else list(known)
        raise ConfigError(
            f"{self.place} is unknown",
            detail=f"allowed: {', '.join(allowed)}",
            hint=did_you_mean(name, allowed) or "take it away",
        )

    def _typed(self, key: Key, value: object) -> Value:
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


def dotted(path: KeyPath) -> str:
    """A path as it is written in a text."""
    return ".".join(path)


def from_file(file: Path) -> Iterator[WrittenValue]:
    """The values that a TOML file holds; none without the file."""
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
        yield WrittenValue(path, value, None, file)


def _leaves(table: Mapping[str, object], path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    for name, value in table.items():
        if isinstance(value, Mapping) and not value and path == ("listeners",):
            yield (*path, name), ""
        elif isinstance(value, Mapping):
            yield from _leaves(value, (*path, name))
        elif (*path, name) == ("scheduler", "notices") and isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, Mapping):
                    yield from _leaves(item, (*path, name, str(number)))
        elif path[:2] == ("scheduler", "notices") and isinstance(value, list):
            yield (*path, name), BETWEEN.join(str(item) for item in value)
        else:
            yield (*path, name), value


def from_variables(variables: Mapping[str, str], catalogs: Sequence[str]) -> Iterator[WrittenValue]:
    """The values that variables hold, each under the path that it means."""
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
        yield WrittenValue(path, value, name, Path(FILE_NAME))


def _unknown_variable(name: str) -> ConfigError:
    known = [f"GREBE_{s}__{key}".upper() for s, keys in _SECTIONS.items() for key in keys]
    return ConfigError(
        f"variable {name} is unknown",
        detail="a setting is GREBE_<SECTION>__<KEY>; others: " + ", ".join(_OWN_VARIABLES),
        hint=did_you_mean(name, [*known, *_OWN_VARIABLES]) or f"unset {name}",
    )
