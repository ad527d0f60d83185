"""A declarative definition, checked: every rule of its form, with a code and the field at fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from re import compile as pattern
from typing import Any, Final

from grebe.errors import DeclarationError, DefinitionError, did_you_mean
from grebe.schedule import Cron, duration

PROJECTIONS: Final = ("olap", "oltp", "both")
MODES: Final = ("streaming", "scheduled", "manual")
STRATEGIES: Final = ("replace", "append")
"""A view equals its query in both: `append` promises that rows are only ever added."""
BACKENDS: Final = ("native", "iceberg", "delta")
BUCKETS: Final = ("minute", "hour", "day", "week", "month", "quarter", "year")
AGGREGATES: Final = ("$count", "$sum", "$avg", "$min", "$max", "$first", "$last", "$stddev", "$variance")  # fmt: skip
COMPARISONS: Final = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists")
DEPTH: Final = 3
NESTED: Final = 30
"""Conditions in conditions; far below what the parser of SQL can stand."""
DIRECTIVES: Final = (
    "$type", "$projection", "$from", "$expand", "$flatten", "$filter", "$select", "$unnest",
    "$groupBy", "$compute", "$refresh",
)  # fmt: skip
_REFRESH: Final = (
    "mode", "schedule", "timezone", "strategy", "gracePeriod", "retention", "backend",
)  # fmt: skip
_NAME: Final = pattern(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}")
_PATH: Final = pattern(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_ALIAS: Final = pattern(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Computed:
    """One field of `$compute`: an aggregate of a path, ordered by another for first and last."""

    name: str
    function: str
    path: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """One item of `$groupBy`."""

    path: str
    alias: str | None = None
    bucket: str | None = None


@dataclass(frozen=True, slots=True)
class Refreshed:
    """When and how it is refreshed."""

    mode: str = "streaming"
    schedule: str | None = None
    timezone: str = "UTC"
    strategy: str = "replace"
    grace: str | None = None
    retention: str | None = None
    backend: str | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """A definition whose form is right; names are not looked up yet."""

    name: str
    source: str
    projection: str = "both"
    expand: tuple[str, ...] = ()
    flatten: tuple[tuple[str, str], ...] = ()
    filter: Mapping[str, Any] | None = None
    select: tuple[tuple[str | None, str], ...] = ()
    unnest: str | None = None
    group_by: tuple[Group, ...] | None = None
    compute: tuple[Computed, ...] = ()
    refresh: Refreshed = Refreshed()


def declared(spec: object) -> Declared:
    """The checked form of a definition.

    Raises:
        DeclarationError: with the code and the field of the first rule that it breaks.
    """
    if not isinstance(spec, Mapping):
        raise wrong("INVALID_DEFINITION", "", f"a definition is an object, not {_kind(spec)}")
    for key in spec:
        if key not in DIRECTIVES:
            hint = did_you_mean(str(key), DIRECTIVES) or f"directives: {', '.join(DIRECTIVES)}"
            raise wrong("INVALID_DIRECTIVE", str(key), f'"{key}" is not a directive', hint)
    source = _source(spec)
    name = spec.get("$type")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise wrong(
            "INVALID_NAME", "$type", f"the name is {name!r}", 'write "$type": "OrderAnalytics"'
        )
    if name == source:
        raise wrong("INVALID_FROM", "$from", "a view cannot read itself")
    found = Declared(
        name=name,
        source=source,
        projection=_one_of(spec, "$projection", PROJECTIONS, "INVALID_PROJECTION", "both"),
        expand=_expand(spec.get("$expand", ())),
        flatten=_flatten(spec.get("$flatten", {})),
        filter=_filter(spec["$filter"]) if spec.get("$filter") is not None else None,
        select=_select(spec.get("$select", ())),
        unnest=_unnest(spec.get("$unnest")),
        group_by=_group_by(spec["$groupBy"]) if "$groupBy" in spec else None,
        compute=_compute(spec.get("$compute", {})),
        refresh=_refresh(spec.get("$refresh", {})),
    )
    if found.group_by is not None and found.select:
        raise wrong("INVALID_SELECT", "$select", "a grouped view has its groups and aggregates")
    return found


def wrong(code: str, field: str, message: str, hint: str | None = None) -> DeclarationError:
    """The error for one field."""
    return DeclarationError(code, field, message, hint=hint)


def _source(spec: Mapping[str, Any]) -> str:
    if "$from" not in spec:
        raise wrong("MISSING_FROM", "$from", "there is no $from", 'write "$from": "orders"')
    source = spec["$from"]
    if not isinstance(source, str) or not _NAME.fullmatch(source):
        raise wrong("INVALID_FROM", "$from", f"$from is {source!r}", "name a table or a view")
    return source


def _one_of(
    spec: Mapping[str, Any], key: str, allowed: Sequence[str], code: str, default: str, at: str = ""
) -> str:
    value = spec.get(key, default)
    if value not in allowed or not isinstance(value, str):
        raise wrong(code, f"{at}{key}", f"{key} is {value!r}", f"allowed: {', '.join(allowed)}")
    return value


def _expand(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise wrong("INVALID_EXPAND", "$expand", "$expand is a list of paths")
    for place, item in enumerate(value):
        field = f"$expand[{place}]"
        _path(item, "INVALID_EXPAND", field)
        if item.count(".") >= DEPTH:
            raise wrong("INVALID_EXPAND", field, f'"{item}" has more than {DEPTH} levels')
        if item in value[:place]:
            raise wrong("INVALID_EXPAND", field, f'"{item}" is there twice')
    return tuple(value)


def _flatten(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise wrong("INVALID_FLATTEN", "$flatten", "$flatten maps paths to prefixes")
    for path, prefix in value.items():
        field = f"$flatten.{path}"
        _path(path, "INVALID_FLATTEN", field)
        if not isinstance(prefix, str) or not _ALIAS.fullmatch(prefix):
            raise wrong("INVALID_FLATTEN", field, f"{prefix!r} is not a prefix")
    seen: dict[str, str] = {}
    for path, prefix in value.items():
        if prefix in seen:
            message = f'"{seen[prefix]}" and "{path}" both become "{prefix}"'
            raise wrong("INVALID_FLATTEN", f"$flatten.{path}", message)
        seen[prefix] = path
    return tuple(sorted(value.items()))


def _filter(value: object, depth: int = 0) -> Mapping[str, Any]:
    if depth > NESTED:
        raise wrong("INVALID_FILTER", "$filter", f"conditions are more than {NESTED} deep")
    if not isinstance(value, Mapping) or not value:
        raise wrong("INVALID_FILTER", "$filter", "$filter maps fields to values or comparisons")
    for key, wanted in value.items():
        field = f"$filter.{key}"
        if key in ("$and", "$or"):
            if not isinstance(wanted, (list, tuple)) or not wanted:
                raise wrong("INVALID_FILTER", field, f"{key} is a list of conditions")
            for item in wanted:
                _filter(item, depth + 1)
        elif key == "$not":
            _filter(wanted, depth + 1)
        else:
            _path(key, "INVALID_FILTER", field)
            _condition(wanted, field)
    return value


def _condition(wanted: object, field: str) -> None:
    if not isinstance(wanted, Mapping):
        _plain(wanted, field)
        return
    if not wanted:
        raise wrong("INVALID_FILTER", field, "there is no comparison", 'write {"$gt": 5}')
    for operator, operand in wanted.items():
        if operator not in COMPARISONS:
            hint = did_you_mean(str(operator), COMPARISONS)
            hint = hint or f"comparisons: {', '.join(COMPARISONS)}"
            raise wrong("INVALID_FILTER", field, f'"{operator}" is not a comparison', hint)
        if operator in ("$in", "$nin"):
            if not isinstance(operand, (list, tuple)) or not operand:
                raise wrong("INVALID_FILTER", field, f"{operator} is a list of values")
            for item in operand:
                _plain(item, field)
        elif operator == "$exists" and not isinstance(operand, bool):
            raise wrong("INVALID_FILTER", field, "$exists is true or false")
        elif operand is None and operator not in ("$eq", "$ne"):
            hint = 'write {"$exists": false} for fields without a value'
            raise wrong("INVALID_FILTER", field, f"nothing is {operator} null", hint)
        else:
            _plain(operand, field)


def _plain(value: object, field: str) -> None:
    if value is not None and not isinstance(value, (str, int, float, bool)):
        raise wrong("INVALID_FILTER", field, f"{value!r} is not a value")
    if isinstance(value, float) and not isfinite(value):
        raise wrong("INVALID_FILTER", field, f"{value} is not a number that can be compared with")


def _select(value: object) -> tuple[tuple[str | None, str], ...]:
    if isinstance(value, Mapping):
        for alias, path in value.items():
            if not _ALIAS.fullmatch(str(alias)):
                raise wrong("INVALID_SELECT", f"$select.{alias}", f'"{alias}" is not a name')
            _path(path, "INVALID_SELECT", f"$select.{alias}")
        return tuple(value.items())
    if not isinstance(value, (list, tuple)):
        raise wrong(
            "INVALID_SELECT", "$select", "$select is a list of paths, or maps names to them"
        )
    for place, item in enumerate(value):
        _path(item, "INVALID_SELECT", f"$select[{place}]")
    return tuple((None, item) for item in value)


def _unnest(value: object) -> str | None:
    if value is not None:
        _path(value, "INVALID_UNNEST", "$unnest")
    return value if isinstance(value, str) else None


def _group_by(value: object) -> tuple[Group, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise wrong("INVALID_GROUP_BY", "$groupBy", "$groupBy is a list of fields")
    groups = tuple(_group(item, f"$groupBy[{place}]") for place, item in enumerate(value))
    names = [group.alias or group.path for group in groups]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise wrong("INVALID_GROUP_BY", f"$groupBy[{place}]", f'"{name}" is there twice')
    return groups


def _group(item: object, field: str) -> Group:
    if isinstance(item, Mapping):
        if len(item) != 1:
            raise wrong("INVALID_GROUP_BY", field, "one bucket and one field are expected")
        ((bucket, path),) = item.items()
        if not isinstance(path, str) or not path.startswith("$"):
            raise wrong("INVALID_GROUP_BY", field, f"{path!r} is not a field", 'write "$createdAt"')
        if bucket not in BUCKETS:
            hint = did_you_mean(str(bucket), BUCKETS) or f"buckets: {', '.join(BUCKETS)}"
            raise wrong("INVALID_GROUP_BY", field, f'"{bucket}" is not a bucket of time', hint)
        _path(path[1:], "INVALID_GROUP_BY", field)
        return Group(path[1:], str(bucket), str(bucket))
    _path(item, "INVALID_GROUP_BY", field)
    return Group(str(item))


def _compute(value: object) -> tuple[Computed, ...]:
    if not isinstance(value, Mapping):
        raise wrong("INVALID_COMPUTE", "$compute", "$compute maps names to aggregates")
    return tuple(_computed(name, item) for name, item in value.items())


def _computed(name: object, item: object) -> Computed:
    field = f"$compute.{name}"
    if not isinstance(name, str) or not _ALIAS.fullmatch(name):
        raise wrong("INVALID_COMPUTE", field, f"{name!r} is not a name")
    if not isinstance(item, Mapping):
        raise wrong("INVALID_COMPUTE", field, 'an aggregate is written {"$sum": "field"}')
    functions = [key for key in item if key != "$by"]
    if len(functions) != 1:
        raise wrong("INVALID_COMPUTE", field, f"one aggregate is expected, not {len(functions)}")
    function = functions[0]
    if function not in AGGREGATES:
        hint = did_you_mean(str(function), AGGREGATES) or f"aggregates: {', '.join(AGGREGATES)}"
        raise wrong("INVALID_COMPUTE", field, f'"{function}" is not an aggregate', hint)
    path = item[function]
    if path != "*" or function != "$count":
        _path(path, "INVALID_COMPUTE", field)
    by = item.get("$by")
    if by is not None:
        _path(by, "INVALID_COMPUTE", field)
    if (function in ("$first", "$last")) != (by is not None):
        message = f"{function} needs $by: rows have no order of their own"
        if by is not None:
            message = f"{function} has no $by"
        raise wrong("INVALID_COMPUTE", field, message, 'write {"$first": "total", "$by": "day"}')
    return Computed(name, function, path, by)


def _refresh(value: object) -> Refreshed:
    if not isinstance(value, Mapping):
        raise wrong("INVALID_REFRESH", "$refresh", "$refresh is an object")
    for key in value:
        if key not in _REFRESH:
            hint = did_you_mean(str(key), _REFRESH) or f"keys: {', '.join(_REFRESH)}"
            raise wrong("INVALID_REFRESH", f"$refresh.{key}", f'"{key}" is unknown', hint)
    mode = _one_of(value, "mode", MODES, "INVALID_REFRESH_MODE", "streaming", "$refresh.")
    return Refreshed(
        strategy=_one_of(value, "strategy", STRATEGIES, "INVALID_STRATEGY", "replace", "$refresh."),
        mode=mode,
        schedule=_cron(value, mode),
        timezone=value.get("timezone", "UTC"),
        grace=_length(value, "gracePeriod", "INVALID_GRACE_PERIOD"),
        retention=_length(value, "retention", "INVALID_RETENTION"),
        backend=_one_of(value, "backend", BACKENDS, "INVALID_BACKEND", "native", "$refresh."),
    )


def _cron(value: Mapping[str, Any], mode: str) -> str | None:
    text, zone = value.get("schedule"), value.get("timezone", "UTC")
    field = "$refresh.schedule"
    if mode == "scheduled" and text is None:
        hint = 'write "schedule": "0 2 * * *"'
        raise wrong("MISSING_SCHEDULE", field, "a scheduled view needs a schedule", hint)
    if mode != "scheduled" and text is not None:
        raise wrong("INVALID_SCHEDULE", field, f"a {mode} view has no schedule")
    if not isinstance(zone, str):
        raise wrong("INVALID_TIMEZONE", "$refresh.timezone", f"{zone!r} is not a time zone")
    if text is None:
        _checked(lambda: Cron.parse("* * * * *", zone), "INVALID_TIMEZONE", "$refresh.timezone")
        return None
    if not isinstance(text, str):
        raise wrong("INVALID_SCHEDULE", field, f"{text!r} is not a cron text")
    _checked(lambda: Cron.parse(text), "INVALID_SCHEDULE", field)
    _checked(lambda: Cron.parse(text, zone), "INVALID_TIMEZONE", "$refresh.timezone")
    return text


def _length(value: Mapping[str, Any], key: str, code: str) -> str | None:
    text = value.get(key)
    if text is None:
        return None
    if not isinstance(text, str):
        raise wrong(code, f"$refresh.{key}", f"{text!r} is not a length of time")
    _checked(lambda: duration(text), code, f"$refresh.{key}")
    return text


def _checked(read: Callable[[], object], code: str, field: str) -> None:
    try:
        read()
    except DefinitionError as error:
        raise DeclarationError(
            code, field, error.message, detail=error.detail, hint=error.hint
        ) from None


def _path(value: object, code: str, field: str) -> None:
    if not isinstance(value, str) or not _PATH.fullmatch(value):
        raise wrong(code, field, f"{value!r} is not a path", 'write "customer" or "customer.city"')


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
