"""A stream view's definition, checked: every rule of its form, with a code and the field at fault. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

from grebe.errors import DeclarationError, DefinitionError, did_you_mean
from grebe.schedule import duration
from grebe.sql_text import is_made
from grebe.streams.event_filters import BadFilterError, Question, read_filter
from grebe.streams.event_types import TYPES, BadTypeError, EventField, schema_fields
from grebe.streams.transform import BadMappingError, Rows, by_name, read_mapping, whole_event

DIRECTIVES: Final = (
    "$type", "$stream", "$schema", "$filter", "$transform", "$key", "$extra", "$refresh",
)  # fmt: skip
BACKENDS: Final = ("delta", "iceberg", "ducklake")
MODES: Final = ("streaming", "manual")
_REFRESH: Final = ("mode", "backend", "retention", "dedupe", "keyWindow")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}")
_STREAM: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_FUNCTION: Final = re.compile(
    r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
)
_OF_FEEDS: Final = ("_change_type", "_commit_version", "_commit_timestamp")
"""What the feed of a Delta table calls columns of its own."""
BATCHES_KNOWN: Final = timedelta(days=7)
KEYS_KNOWN: Final = timedelta(days=1)


@dataclass(frozen=True)
class StreamDefinition:
    """A definition whose form is right. Functions are names here; nothing is imported."""

    name: str
    stream: str
    fields: tuple[EventField, ...]
    filter: Mapping[str, Any] | str | None
    transform: Mapping[str, Any] | str | None
    key: str | None
    takes_extra: bool
    mode: str
    backend: str | None
    retention: timedelta | None
    dedupe: timedelta
    """How long a batch id is known."""
    key_window: timedelta
    """How long a key is known."""
    document: Mapping[str, Any] = field(repr=False)

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of people that it names."""
        return tuple(item for item in (self.filter, self.transform) if isinstance(item, str))

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Names and types that people see."""
        return tuple((item.name, item.type.spark) for item in self.fields)

    @cached_property
    def question(self) -> Question | None:
        """Which events count, where a document says so."""
        return read_filter(self.filter) if isinstance(self.filter, Mapping) else None

    @cached_property
    def mapping(self) -> Rows | None:
        """What makes the rows, where no function does."""
        if isinstance(self.transform, str):
            return None
        names = [item.name for item in self.fields]
        if self.transform is not None:
            return read_mapping(self.transform, names)
        return by_name(names) if self.takes_extra else whole_event

    def digest(self, sources: Mapping[str, str]) -> str:
        """What tells the definition from another one; ``sources`` has a digest for each function."""
        said = {key: value for key, value in self.document.items() if key != "$refresh"}
        text = json.dumps([said, [sources[name] for name in self.functions]], sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()


def is_stream(document: object) -> bool:
    """Whether a declarative definition is one of a stream view."""
    return isinstance(document, Mapping) and ("$stream" in document or "$schema" in document)


def declared_stream(spec: object) -> StreamDefinition:
    """The checked form of a definition.

    Raises:
        DeclarationError: with the code and the field of the first rule that it breaks.
    """
    if not isinstance(spec, Mapping):
        raise _wrong("INVALID_DEFINITION", "", "a definition is an object")
    for key in spec:
        if key not in DIRECTIVES:
            hint = did_you_mean(str(key), DIRECTIVES) or f"directives: {', '.join(DIRECTIVES)}"
            raise _wrong("INVALID_DIRECTIVE", str(key), f'"{key}" is not a directive', hint)
    name = spec.get("$type")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or is_made(name.split(".")[-1]):
        raise _wrong("INVALID_NAME", "$type", f"the name is {name!r}", 'write "$type": "WorkerLog"')
    stream = _stream(spec)
    fields = _schema(spec)
    names = [item.name for item in fields]
    refresh = _refresh(spec.get("$refresh", {}))
    return StreamDefinition(
        name=name,
        stream=stream,
        fields=fields,
        filter=_filter(spec.get("$filter")),
        transform=_transform(spec.get("$transform"), names),
        key=_key(spec.get("$key"), fields),
        takes_extra=_extra(spec.get("$extra", "ignore")),
        document=json.loads(json.dumps({key: spec[key] for key in spec if spec[key] is not None})),
        **refresh,
    )


def _wrong(code: str, at: str, message: str, hint: str | None = None) -> DeclarationError:
    return DeclarationError(code, at, message, hint=hint)


def _stream(spec: Mapping[str, Any]) -> str:
    if "$stream" not in spec:
        raise _wrong("MISSING_STREAM", "$stream", "there is no $stream", 'write "$stream": "tail"')
    stream = spec["$stream"]
    if not isinstance(stream, str) or not _STREAM.fullmatch(stream):
        hint = "name a stream: letters, digits, _ and -, as in [streams.tail]"
        raise _wrong("INVALID_STREAM", "$stream", f"$stream is {stream!r}", hint)
    return stream


def _schema(spec: Mapping[str, Any]) -> tuple[EventField, ...]:
    if "$schema" not in spec:
        hint = 'write "$schema": {"id": "string!"}'
        raise _wrong("MISSING_SCHEMA", "$schema", "there is no $schema", hint)
    schema = spec["$schema"]
    if not isinstance(schema, Mapping) or not schema:
        raise _wrong("INVALID_SCHEMA", "$schema", "$schema maps fields to types")
    for name in schema:
        if not isinstance(name, str):
            raise _wrong("INVALID_SCHEMA", "$schema", f"{name!r} is not the name of a field")
        if is_made(name) or name.lower() in _OF_FEEDS:
            message = f'"{name}" is a name that tables keep for themselves'
            raise _wrong("INVALID_SCHEMA", f"$schema.{name}", message, "give it another name")
    try:
        return schema_fields(schema)
    except BadTypeError as error:
        is_name = "name of a field" in str(error) or "there twice" in str(error)
        code = "INVALID_SCHEMA" if is_name else "INVALID_TYPE"
        types = f"types: {', '.join(TYPES)}, each with !, ? or [] behind it"
        at = f"$schema.{error.field}"
        raise _wrong(code, at, str(error), None if is_name else types) from None
    except RecursionError:
        raise _wrong("INVALID_TYPE", "$schema", "types lie too deep in each other") from None


def _filter(written: object) -> Mapping[str, Any] | str | None:
    if written is None:
        return None
    if isinstance(written, str):
        return _function(written, "INVALID_FILTER", "$filter")
    try:
        read_filter(written)
    except BadFilterError as error:
        raise _wrong("INVALID_FILTER", error.field, str(error), error.hint) from None
    return dict(written) if isinstance(written, Mapping) else None


def _transform(written: object, names: list[str]) -> Mapping[str, Any] | str | None:
    if written is None:
        return None
    if isinstance(written, str):
        return _function(written, "INVALID_TRANSFORM", "$transform")
    if not isinstance(written, Mapping):
        hint = 'write a mapping of paths, or "module:function"'
        raise _wrong("INVALID_TRANSFORM", "$transform", f"$transform is {written!r}", hint)
    try:
        read_mapping(written, names)
    except BadMappingError as error:
        at = f"$transform.{error.field}" if error.field else "$transform"
        raise _wrong("INVALID_TRANSFORM", at, str(error)) from None
    return dict(written)


def _function(written: str, code: str, at: str) -> str:
    found = _FUNCTION.fullmatch(written)
    if found is None:
        hint = 'name one that can be imported: "package.module:function"'
        raise _wrong(code, at, f'"{written}" is not the name of a function', hint)
    if found[1] == "__main__":
        hint = "put the function into a module of its own"
        raise _wrong(code, at, "a function of __main__ is gone after a restart", hint)
    return written


def named_function(function: Callable[..., Any], code: str, at: str) -> str:
    """The name that a function can be imported by, in whatever process.

    Raises:
        DeclarationError: there is none: a lambda, one inside of another, or one of `__main__`.
    """
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    if not module or not name or "<" in name:
        message = f"{name or function!r} cannot be imported by name, so it is gone after a restart"
        raise _wrong(code, at, message, "put a function with a name into a module")
    return _function(f"{module}:{name}", code, at)


def _key(written: object, fields: tuple[EventField, ...]) -> str | None:
    if written is None:
        return None
    known = {item.name: item.type for item in fields}
    if not isinstance(written, str) or written not in known:
        close = did_you_mean(str(written), list(known))
        raise _wrong("INVALID_KEY", "$key", f"{written!r} is no field of $schema", close)
    kind = known[written]
    if not kind.required or kind.spark not in ("STRING", "INT", "BIGINT"):
        hint = f'write "{written}": "string!" in $schema'
        message = f'"{written}" is no key: a key is a required text or whole number'
        raise _wrong("INVALID_KEY", "$key", message, hint)
    return written


def _extra(written: object) -> bool:
    if written not in ("ignore", "dead"):
        message = f'"$extra" is {written!r}'
        raise _wrong("INVALID_SCHEMA", "$extra", message, "write ignore or dead")
    return written == "ignore"


def _refresh(written: object) -> dict[str, Any]:
    if not isinstance(written, Mapping):
        raise _wrong("INVALID_REFRESH", "$refresh", "$refresh is an object")
    for key in written:
        if key not in _REFRESH:
            hint = did_you_mean(str(key), _REFRESH) or f"it holds {', '.join(_REFRESH)}"
            message = f'"{key}" is no word of $refresh'
            raise _wrong("INVALID_REFRESH", f"$refresh.{key}", message, hint)
    mode = written.get("mode", "streaming")
    if mode not in MODES:
        hint = f"modes of streams: {', '.join(MODES)}"
        raise _wrong("INVALID_REFRESH_MODE", "$refresh.mode", f"mode is {mode!r}", hint)
    retention = _length(written, "retention")
    dedupe = _length(written, "dedupe") or min(BATCHES_KNOWN, retention or BATCHES_KNOWN)
    window = _length(written, "keyWindow") or min(KEYS_KNOWN, retention or KEYS_KNOWN)
    if retention is not None and max(dedupe, window) > retention:
        message = f"rows are kept for {retention}, and what was sent again is known by its rows"
        hint = "keep rows at least as long as dedupe and keyWindow"
        raise _wrong("INVALID_RETENTION", "$refresh.retention", message, hint)
    return {
        "mode": mode,
        "backend": _backend(written.get("backend")),
        "retention": retention,
        "dedupe": dedupe,
        "key_window": window,
    }


def _length(written: Mapping[str, Any], key: str) -> timedelta | None:
    value = written.get(key)
    if value is None:
        return None
    try:
        return duration(value if isinstance(value, str) else repr(value))
    except DefinitionError as error:
        at = f"$refresh.{key}"
        raise _wrong("INVALID_RETENTION", at, error.message, error.hint) from None


def _backend(written: object) -> str | None:
    if written is None or written in BACKENDS:
        return written if isinstance(written, str) else None
    hint = f"backends of streams: {', '.join(BACKENDS)}"
    if written == "native":
        hint = 'write "delta", whose files are plain Parquet and which needs no Spark either'
    raise _wrong("INVALID_BACKEND", "$refresh.backend", f"the backend is {written!r}", hint)
