"""`$transform` as a mapping: where each field of a row comes from. Pure.

```
{"$each": "logs", "$id": ["$position", "$index"], "scriptName": "^.scriptName", "level": "level",
 "message": {"$join": "message", "with": " "}, "status": {"$path": "status", "default": 0},
 "pathname": {"$url": "request.url", "part": "pathname"}, "kind": {"$const": "log"}}
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from grebe.streams.event_paths import BadPathError, EventPlace, Read, read_path
from grebe.streams.event_text import dump, kind_of

Rows = Callable[[EventPlace], list[Mapping[str, Any]]]
"""The rows of an event, their values not checked yet."""

URL_PARTS: Final = ("protocol", "host", "hostname", "port", "pathname", "search", "origin")
_FORMS: Final[dict[str, tuple[str, ...]]] = {
    "$path": ("default",),
    "$const": (),
    "$join": ("with",),
    "$url": ("part",),
    "$first": (),
    "$text": (),
}


class BadMappingError(ValueError):
    """A mapping that makes no rows; ``field`` names the place."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class BadUrlError(ValueError):
    """A text that is no URL: the event becomes a dead letter."""


def by_name(fields: Iterable[str]) -> Rows:
    """Every field from the one of its name."""
    names = tuple(fields)
    return lambda place: [{name: place.event.get(name) for name in names}]


def whole_event(place: EventPlace) -> list[Mapping[str, Any]]:
    """The event itself: its further fields can be refused."""
    return [place.event]


def read_mapping(mapping: Mapping[str, Any], fields: Sequence[str]) -> Rows:
    """What makes the rows that a mapping describes.

    Raises:
        BadMappingError: for the first field that has no place.
    """
    each = _path(mapping["$each"], "$each") if "$each" in mapping else None
    readers: dict[str, Read] = {}
    for name, written in mapping.items():
        if name == "$each":
            continue
        if name not in fields:
            raise BadMappingError(name, f'"{name}" is no field of $schema')
        readers[name] = _reader(written, name)
    if not readers:
        raise BadMappingError("", "a mapping names at least one field")

    def row(place: EventPlace) -> dict[str, Any]:
        return {name: read(place) for name, read in readers.items()}

    if each is None:
        return lambda place: [row(place)]

    def rows(place: EventPlace) -> list[Mapping[str, Any]]:
        items = each(place)
        if items is None:
            return []
        if not isinstance(items, list):
            raise TypeError(f"$each is {kind_of(items)}, not an array")
        return [
            row(EventPlace(item, place.event, place.position, index))
            for index, item in enumerate(items)
        ]

    return rows


def _path(written: object, field: str) -> Read:
    try:
        return read_path(written)
    except BadPathError as error:
        raise BadMappingError(field, str(error)) from error


def _reader(written: object, field: str) -> Read:
    if isinstance(written, str):
        return _path(written, field)
    if isinstance(written, (list, tuple)):
        if not written:
            raise BadMappingError(field, "a list of paths holds at least one")
        return _tied([_path(item, field) for item in written])
    if isinstance(written, Mapping):
        return _formed(written, field)
    raise BadMappingError(field, f"{written!r} is not a path, a list of paths or a form")


def _tied(parts: Sequence[Read]) -> Read:
    """Several values as one text, with a dash between; null if one of them is."""

    def read(place: EventPlace) -> str | None:
        values = [part(place) for part in parts]
        return None if None in values else "-".join(map(plain_text, values))

    return read


def _formed(written: Mapping[str, Any], field: str) -> Read:
    form = next(iter(written), "")
    if form not in _FORMS:
        raise BadMappingError(field, f"{dict(written)!r} is no form: {', '.join(_FORMS)}")
    for key in written:
        if key != form and key not in _FORMS[form]:
            raise BadMappingError(field, f'{form} takes no "{key}"')
    return _MAKERS[form](written, field)


def _with_default(written: Mapping[str, Any], field: str) -> Read:
    read, default = _path(written["$path"], field), written.get("default")
    _check_constant(default, field)

    def found(place: EventPlace) -> object:
        value = read(place)
        return default if value is None else value

    return found


def _constant(written: Mapping[str, Any], field: str) -> Read:
    value = written["$const"]
    _check_constant(value, field)
    return lambda _: value


def _check_constant(value: object, field: str) -> None:
    if value is not None and not isinstance(value, (str, int, float, bool)):
        raise BadMappingError(field, f"{value!r} is not a single value")


def _joined(written: Mapping[str, Any], field: str) -> Read:
    read, sign = _path(written["$join"], field), written.get("with", " ")
    if not isinstance(sign, str):
        raise BadMappingError(field, "with is a text")
    return lambda place: joined_text(read(place), sign)


def _url(written: Mapping[str, Any], field: str) -> Read:
    read, part = _path(written["$url"], field), written.get("part", "pathname")
    if part not in URL_PARTS:
        raise BadMappingError(field, f"part is one of {', '.join(URL_PARTS)}")
    return lambda place: url_part(read(place), part)


def _first(written: Mapping[str, Any], field: str) -> Read:
    paths = written["$first"]
    if not isinstance(paths, (list, tuple)) or not paths:
        raise BadMappingError(field, "$first is a list of paths")
    parts = [_path(item, field) for item in paths]

    def found(place: EventPlace) -> object:
        values = (part(place) for part in parts)
        return next((value for value in values if value is not None), None)

    return found


def _text(written: Mapping[str, Any], field: str) -> Read:
    read = _path(written["$text"], field)

    def found(place: EventPlace) -> str | None:
        value = read(place)
        return None if value is None else plain_text(value)

    return found


_MAKERS: Final = {
    "$path": _with_default,
    "$const": _constant,
    "$join": _joined,
    "$url": _url,
    "$first": _first,
    "$text": _text,
}


# --- what functions of people can use as well ---------------------------------------------------


def plain_text(value: object) -> str:
    """A value as a text: a text as it is, all else as JSON.

    >>> plain_text("a"), plain_text(True), plain_text(1.5), plain_text({"a": 1})
    ('a', 'true', '1.5', '{"a":1}')
    """
    return value if isinstance(value, str) else dump(value)


def joined_text(value: object, sign: str = " ") -> str | None:
    """The elements of an array as one text; a single value as a text.

    >>> joined_text(["a", 1, None]), joined_text("a"), joined_text(None)
    ('a 1 ', 'a', None)
    """
    if isinstance(value, (list, tuple)):
        return sign.join("" if item is None else plain_text(item) for item in value)
    return None if value is None else plain_text(value)


def url_part(url: object, part: str) -> str | None:
    """One part of a URL; null of null.

    Raises:
        BadUrlError: it is none.

    >>> url_part("https://a.example/b?c=1", "pathname"), url_part("https://a.example", "pathname")
    ('/b', '/')
    """
    if url is None:
        return None
    if not isinstance(url, str):
        raise BadUrlError(f"{kind_of(url)} is no URL")
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError as error:
        raise BadUrlError(f'"{url[:200]}" is no URL: {error}') from None
    if not found.scheme or not found.hostname or any(sign.isspace() for sign in found.netloc):
        raise BadUrlError(f'"{url[:200]}" is no URL')
    shown_port = "" if port is None else str(port)
    host = found.hostname + (f":{port}" if port is not None else "")
    return {
        "protocol": f"{found.scheme}:",
        "host": host,
        "hostname": found.hostname,
        "port": shown_port,
        "pathname": found.path or "/",
        "search": f"?{found.query}" if found.query else "",
        "origin": f"{found.scheme}://{host}",
    }[part]
