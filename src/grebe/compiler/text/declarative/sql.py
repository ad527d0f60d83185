"""A checked definition becomes SQL: links become joins, arrays are unnested, fields are named.

A path leads from the source over links and arrays to a field. A path through an array or a link
with many rows at its end makes one row per element, so it has to be said in `$expand` or
`$unnest`; only `$compute` without `$groupBy` adds such rows up for each source row by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlglot import exp

from grebe.compiler.text.declarative.declared import Computed, Declared, Group, declared, wrong
from grebe.compiler.text.declarative.links import Link, Links
from grebe.compiler.text.statement import Statement
from grebe.errors import UnknownTableError, did_you_mean
from grebe.schedule import duration
from grebe.sql_text import literal, made, quote, quote_path
from grebe.view_timing import Timing

Columns = Callable[[str], Mapping[str, str]]
"""The columns of a table and their types, by name; raises when there is no such table."""

_LAYOUTS: Final = {
    "olap": {"write.target-file-size-bytes": "536870912"},
    "oltp": {
        "write.target-file-size-bytes": "33554432",
        "write.parquet.row-group-size-bytes": "8388608",
    },
    "both": {},
}
_TRIGGERS: Final = {"streaming": "update", "manual": "manual"}
_TIMES: Final = ("date", "timestamp", "timestamp_ntz")
_CALLS: Final = {
    "$sum": "SUM({})",
    "$avg": "AVG({})",
    "$min": "MIN({})",
    "$max": "MAX({})",
    "$stddev": "STDDEV_SAMP({})",
    "$variance": "VAR_SAMP({})",
}
_SIGNS: Final = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def header_of(known: Declared) -> Statement:
    """Everything that a definition says around its query; no table is looked at."""
    refresh = known.refresh
    properties = dict(_LAYOUTS[known.projection])
    if refresh.retention:
        kept = int(duration(refresh.retention).total_seconds() * 1000)
        properties["history.expire.max-snapshot-age-ms"] = str(kept)
    schedule = refresh.schedule and f"CRON '{refresh.schedule}' AT TIME ZONE '{refresh.timezone}'"
    return Statement(
        query="",
        name=tuple(known.name.split(".")),
        using=None if refresh.backend == "native" else refresh.backend,
        timing=Timing(
            trigger=_TRIGGERS.get(refresh.mode),
            schedule=schedule,
            grace=refresh.grace,
            strategy=None if refresh.strategy == "replace" else refresh.strategy,
        ).checked(),
        properties=tuple(sorted(properties.items())),
    )


def statement_of(spec: object, links: Links, columns: Columns) -> Statement:
    """The statement that a declarative definition means.

    Raises:
        DeclarationError: with a code and the field at fault.
        UnknownTableError: a table that does not exist.
    """
    known = declared(spec)
    query, first_time = _Writer(known, links, columns).query()
    return replace(
        header_of(known),
        query=query,
        partitioned_by=(f"days({quote(first_time)})",)
        if known.projection == "olap" and first_time
        else (),
        text=query,
    )


@dataclass(slots=True)
class _Place:
    """Somewhere on a path: how its fields are written, and what they are."""

    prefix: str
    columns: Mapping[str, str]
    key: str
    owner: _Relation
    many: bool = False


@dataclass(slots=True)
class _Relation:
    """One table of the FROM clause, with the arrays of it that are unnested."""

    table: str
    alias: str
    columns: Mapping[str, str]
    on: str = ""
    arrays: list[str] = field(default_factory=list)

    def element(self, array: str) -> str:
        """The column that holds an unnested element: none of the table's own."""
        name = f"__element_{array}"
        while name.lower() in {column.lower() for column in self.columns}:
            name = f"_{name}"
        return quote(name)

    def text(self) -> str:
        name = quote_path(*self.table.split("."))
        if not self.arrays:
            return f"{name} AS {self.alias}"
        items = ", ".join(f"s.{quote(column)}" for column in self.columns)
        elements = "".join(
            f", e{place}.element AS {self.element(array)}"
            for place, array in enumerate(self.arrays)
        )
        views = "".join(
            f" LATERAL VIEW OUTER explode(s.{quote(array)}) e{place} AS element"
            for place, array in enumerate(self.arrays)
        )
        return f"(SELECT {items}{elements} FROM {name} AS s{views}) AS {self.alias}"


class _Writer:
    """Builds one SELECT."""

    def __init__(self, known: Declared, links: Links, columns: Columns) -> None:
        self.known = known
        self.links = links
        self.columns = columns
        base = _Relation(known.source, self._base_alias(), columns(known.source))
        self.relations = [base]
        self.base = _Place(base.alias, base.columns, known.source, base)
        self.places: dict[str, _Place] = {}
        self.opened = {*known.expand, *([known.unnest] if known.unnest else [])}

    def _base_alias(self) -> str:
        """What the source is called: never like a column at the end of a link, which would win."""
        linked = {link.to for link in self.links.get(self.known.source, {}).values() if link.many}
        names = {name.lower() for table in linked for name in self._columns_if_known(table)}
        return made("base") if "base" in names else "base"

    def _columns_if_known(self, table: str) -> Mapping[str, str]:
        try:
            return self.columns(table)
        except UnknownTableError:
            return {}

    def query(self) -> tuple[str, str | None]:
        """The text, and the name of the first output that is a time."""
        for place, path in enumerate(self.known.expand):
            self._place(path, "INVALID_EXPAND", f"$expand[{place}]")
        if self.known.unnest:
            self._place(self.known.unnest, "INVALID_UNNEST", "$unnest")
        if self.known.group_by is not None:
            items, keys = self._grouped(self.known.group_by)
        else:
            items, keys = [*self._fields(), *self._per_row()], []
        self._refuse_twins(items)
        self._refuse_idle_flatten()
        where = self._where(self.known.filter) if self.known.filter else ""
        joins = "".join(f"\nLEFT JOIN {item.text()} ON {item.on}" for item in self.relations[1:])
        text = (
            f"SELECT {', '.join(f'{sql} AS {quote(name)}' for name, sql, _ in items)}"
            f"\nFROM {self.relations[0].text()}{joins}"
        )
        text += f"\nWHERE {where}" if where else ""
        text += f"\nGROUP BY {', '.join(keys)}" if keys else ""
        times = [name for name, _, kind in items if kind.lower() in _TIMES]
        return text, times[0] if times else None

    # --- outputs --------------------------------------------------------------------------------

    def _fields(self) -> list[tuple[str, str, str]]:
        """Names, SQL and types of the fields of a view that is not grouped."""
        if self.known.select:
            return [self._selected(alias, path) for alias, path in self.known.select]
        unnested = {self.known.unnest} - {None}
        items = [
            (name, f"{self.base.prefix}.{quote(name)}", kind)
            for name, kind in self.base.columns.items()
            if name not in unnested
        ]
        for path in self.known.expand:
            items += self._all_of(path)
        if self.known.unnest:
            items += self._all_of(self.known.unnest)
        return items

    def _all_of(self, path: str) -> list[tuple[str, str, str]]:
        place, prefix = self.places[path], self._prefix(path)
        if not place.columns:
            return [(f"{prefix}_value", place.prefix, "")]
        return [
            (f"{prefix}_{name}", f"{place.prefix}.{quote(name)}", kind)
            for name, kind in place.columns.items()
        ]

    def _selected(self, alias: str | None, path: str) -> tuple[str, str, str]:
        sql, kind = self._field(path, "INVALID_SELECT", "$select")
        return alias or self._output(path), sql, kind

    def _grouped(self, groups: tuple[Group, ...]) -> tuple[list[tuple[str, str, str]], list[str]]:
        items: list[tuple[str, str, str]] = []
        keys: list[str] = []
        for place, group in enumerate(groups):
            at = f"$groupBy[{place}]"
            sql, kind = self._field(group.path, "INVALID_GROUP_BY", at)
            if group.bucket:
                if kind.lower() not in _TIMES:
                    raise wrong("INVALID_GROUP_BY", at, f'"{group.path}" is no time, but {kind}')
                sql = f"DATE_TRUNC('{group.bucket.upper()}', {sql})"
            items.append((group.alias or self._output(group.path), sql, kind))
            keys.append(sql)
        items += [(item.name, self._aggregate(item), "") for item in self.known.compute]
        return items, keys

    def _aggregate(self, item: Computed) -> str:
        at = f"$compute.{item.name}"
        if item.path == "*":
            return "COUNT(*)"
        sql, _ = self._field(item.path, "INVALID_COMPUTE", at)
        if item.function == "$count":
            return f"COUNT({sql})"
        if item.by:
            by, _ = self._field(item.by, "INVALID_COMPUTE", at)
            return f"{'MIN_BY' if item.function == '$first' else 'MAX_BY'}({sql}, {by})"
        return _CALLS[item.function].format(sql)

    def _per_row(self) -> list[tuple[str, str, str]]:
        return [(item.name, self._of_row(item), "") for item in self.known.compute]

    def _of_row(self, item: Computed) -> str:
        """An aggregate over an array, or over the rows at the end of a link, of each source row."""
        at = f"$compute.{item.name}"
        name, _, rest = item.path.partition(".")
        link = self.links.get(self.base.key, {}).get(name)
        if link is not None and link.many:
            return self._over_link(item, link, rest, at)
        kind = self.base.columns.get(name)
        fields = _elements(kind) if kind else None
        if fields is None:
            message = f'"{item.path}" is neither an array nor a link to many rows'
            raise wrong("INVALID_COMPUTE", at, message, "add $groupBy to aggregate over rows")
        array = f"{self.base.prefix}.{quote(name)}"
        if item.function == "$count":
            return f"COALESCE(SIZE({array}), 0)"
        kind = fields.get(rest) if rest else _element_type(self.base.columns[name])
        if kind is None:
            raise wrong("INVALID_COMPUTE", at, f'"{item.path}" does not exist', _near(rest, fields))
        return _over_array(item.function, array, rest, kind, at)

    def _over_link(self, item: Computed, link: Link, rest: str, at: str) -> str:
        columns = self.columns(link.to)
        if rest and rest not in columns:
            raise wrong(
                "INVALID_COMPUTE", at, f'"{item.path}" does not exist', _near(rest, columns)
            )
        if not rest and item.function != "$count":
            raise wrong("INVALID_COMPUTE", at, f"{item.function} needs a field of it")
        if item.by:
            raise wrong("INVALID_COMPUTE", at, f"{item.function} needs $groupBy")
        argument = f"m.{quote(rest)}" if rest else "*"
        call = f"COUNT({argument})"
        if item.function != "$count":
            call = _CALLS[item.function].format(argument)
        if item.function == "$sum":
            call = f"COALESCE({call}, 0)"
        table = quote_path(*link.to.split("."))
        return (
            f"(SELECT {call} FROM {table} AS m"
            f" WHERE m.{quote(link.key)} = {self.base.prefix}.{quote(link.column)})"
        )

    # --- paths ----------------------------------------------------------------------------------

    def _field(self, path: str, code: str, at: str) -> tuple[str, str]:
        """The SQL and the type of the field at the end of a path."""
        above, _, name = path.rpartition(".")
        place = self._place(above, code, at) if above else self.base
        if name not in place.columns:
            raise wrong(code, at, f'"{path}" does not exist', _near(name, place.columns))
        return f"{place.prefix}.{quote(name)}", place.columns[name]

    def _place(self, path: str, code: str, at: str) -> _Place:
        if path not in self.places:
            above, _, name = path.rpartition(".")
            parent = self._place(above, code, at) if above else self.base
            found = self._step(parent, path, name, code, at)
            if found.many and not self._is_opened(path):
                hint = f'add "{path}" to $expand or $unnest: it makes one row of each element'
                raise wrong(code, at, f'"{path}" has many elements', hint)
            self.places[path] = found
        return self.places[path]

    def _is_opened(self, path: str) -> bool:
        return any(item == path or item.startswith(f"{path}.") for item in self.opened)

    def _step(self, parent: _Place, path: str, name: str, code: str, at: str) -> _Place:
        link = self.links.get(parent.key, {}).get(name)
        if link is not None:
            return self._joined(parent, path, link, code, at)
        kind = parent.columns.get(name)
        if kind is None:
            known = [*self.links.get(parent.key, {}), *parent.columns]
            message = f'"{name}" is neither a relation nor a field of {parent.key}'
            raise wrong(code, at, message, did_you_mean(name, known) or _declare(parent.key, name))
        fields = _elements(kind)
        if fields is not None and parent.prefix == parent.owner.alias:
            if name not in parent.owner.arrays:
                parent.owner.arrays.append(name)
            prefix = f"{parent.owner.alias}.{parent.owner.element(name)}"
            return _Place(prefix, fields, f"{parent.key}.{name}", parent.owner, many=True)
        inner = _fields(kind)
        if inner is None:
            message = f'"{path}" is {kind}: nothing can be expanded in it'
            raise wrong(code, at, message, _declare(parent.key, name))
        key = f"{parent.key}.{name}"
        return _Place(f"{parent.prefix}.{quote(name)}", inner, key, parent.owner)

    def _joined(self, parent: _Place, path: str, link: Link, code: str, at: str) -> _Place:
        columns = self.columns(link.to)
        for name, known in ((link.column, parent.columns), (link.key, columns)):
            if name not in known:
                raise wrong(code, at, f'the relation uses "{name}", which does not exist')
        alias = f"j{len(self.relations)}"
        on = f"{parent.prefix}.{quote(link.column)} = {alias}.{quote(link.key)}"
        relation = _Relation(link.to, alias, columns, on)
        self.relations.append(relation)
        return _Place(alias, columns, link.to, relation, many=link.many)

    def _prefix(self, path: str) -> str:
        """What stands before the names of a path's fields: the longest renamed part counts."""
        renamed = dict(self.known.flatten)
        parts = path.split(".")
        for size in range(len(parts), 0, -1):
            head = ".".join(parts[:size])
            if head in renamed:
                return "_".join([renamed[head], *parts[size:]])
        return "_".join(parts)

    def _output(self, path: str) -> str:
        above, _, name = path.rpartition(".")
        return f"{self._prefix(above)}_{name}" if above else name

    # --- conditions -----------------------------------------------------------------------------

    def _where(self, conditions: Mapping[str, Any]) -> str:
        found: list[str] = []
        for key, wanted in conditions.items():
            if key in ("$and", "$or"):
                word = " AND " if key == "$and" else " OR "
                found.append("(" + word.join(f"({self._where(item)})" for item in wanted) + ")")
            elif key == "$not":
                found.append(f"NOT ({self._where(wanted)})")
            else:
                found.append(self._condition(key, wanted))
        return " AND ".join(found)

    def _condition(self, path: str, wanted: object) -> str:
        sql, kind = self._field(path, "INVALID_FILTER", f"$filter.{path}")
        if not isinstance(wanted, Mapping):
            return _compared(sql, "$eq", wanted, kind)
        return " AND ".join(_compared(sql, sign, value, kind) for sign, value in wanted.items())

    # --- clashes --------------------------------------------------------------------------------

    def _refuse_twins(self, items: list[tuple[str, str, str]]) -> None:
        seen: set[str] = set()
        computed = {item.name for item in self.known.compute}
        prefixes = tuple(prefix for _, prefix in self.known.flatten)
        for name, _, _ in items:
            if name.lower() in seen:
                code, at = "INVALID_EXPAND", "$expand"
                if name in computed:
                    code, at = "INVALID_COMPUTE", f"$compute.{name}"
                elif prefixes and name.startswith(prefixes):
                    code, at = "INVALID_FLATTEN", "$flatten"
                elif self.known.select:
                    code, at = "INVALID_SELECT", "$select"
                raise wrong(code, at, f'two fields are called "{name}"', "rename one: $flatten")
            seen.add(name.lower())

    def _refuse_idle_flatten(self) -> None:
        for path, _ in self.known.flatten:
            if not any(item == path or item.startswith(f"{path}.") for item in self.places):
                at = f"$flatten.{path}"
                raise wrong("INVALID_FLATTEN", at, f'"{path}" is not expanded', "add it to $expand")


def value_text(value: object) -> str:
    """A value as SQL text."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    return literal(str(value))


def _compared(sql: str, sign: str, value: Any, kind: str) -> str:  # noqa: ANN401  checked before
    if sign == "$exists":
        return f"{sql} IS {'NOT ' if value else ''}NULL"
    if sign in ("$in", "$nin"):
        listed = ", ".join(_typed(item, kind) for item in value if item is not None)
        found = [f"{sql} IN ({listed})"] if listed else []
        found += [f"{sql} IS NULL"] if None in value else []
        within = f"({' OR '.join(found)})"
        # A field that is not there is in no list: NULL must not make the answer unknown.
        return within if sign == "$in" else f"NOT COALESCE({within}, FALSE)"
    if value is None:
        return f"{sql} IS {'NOT ' if sign == '$ne' else ''}NULL"
    if sign == "$ne":
        return f"NOT ({sql} <=> {_typed(value, kind)})"
    return f"{sql} {_SIGNS[sign]} {_typed(value, kind)}"


def _typed(value: object, kind: str) -> str:
    if isinstance(value, str) and kind.lower() in _TIMES:
        return f"CAST({value_text(value)} AS {kind})"
    return value_text(value)


def _over_array(function: str, array: str, path: str, kind: str, at: str) -> str:
    """An aggregate over an array's elements; NULL elements do not count, as in SQL."""
    values = f"{array}.{quote(path)}" if path else array
    present = f"FILTER({values}, x -> x IS NOT NULL)"
    number = _number(kind)
    match function:
        case "$min":
            return f"ARRAY_MIN({values})"
        case "$max":
            return f"ARRAY_MAX({values})"
        case "$sum" if number:
            zero = f"CAST(0 AS {number})"
            added = f"AGGREGATE({present}, {zero}, (a, x) -> CAST(a + x AS {number}))"
            return f"COALESCE({added}, {zero})"
        case "$avg" if number:
            zero = "CAST(0 AS DOUBLE)"
            added = f"AGGREGATE({present}, {zero}, (a, x) -> a + CAST(x AS DOUBLE))"
            return f"{added} / NULLIF(SIZE({present}), 0)"
    if number is None and function in ("$sum", "$avg"):
        raise wrong("INVALID_COMPUTE", at, f"{function} needs numbers, not {kind}")
    raise wrong("INVALID_COMPUTE", at, f"{function} of an array is not known", "use $groupBy")


def _number(kind: str) -> str | None:
    """The type that sums of a type have."""
    parsed = exp.DataType.build(kind, dialect="spark")
    if parsed.is_type("decimal"):
        scale = parsed.expressions[1].name if len(parsed.expressions) > 1 else "0"
        return f"DECIMAL(38, {scale})"
    if parsed.is_type(*exp.DataType.INTEGER_TYPES):
        return "BIGINT"
    return "DOUBLE" if parsed.is_type(*exp.DataType.FLOAT_TYPES) else None


def _elements(kind: str) -> dict[str, str] | None:
    """The fields of an array's elements, none for plain values; None when it is no array."""
    parsed = exp.DataType.build(kind, dialect="spark")
    if not parsed.is_type("array") or not parsed.expressions:
        return None
    return _struct(parsed.expressions[0]) or {}


def _element_type(kind: str) -> str:
    return str(exp.DataType.build(kind, dialect="spark").expressions[0].sql("spark"))


def _fields(kind: str) -> dict[str, str] | None:
    return _struct(exp.DataType.build(kind, dialect="spark"))


def _struct(parsed: exp.Expr) -> dict[str, str] | None:
    if not isinstance(parsed, exp.DataType) or not parsed.is_type("struct"):
        return None
    return {
        item.name: item.kind.sql("spark")
        for item in parsed.expressions
        if isinstance(item, exp.ColumnDef) and item.kind
    }


def _near(name: str, known: Mapping[str, object]) -> str:
    return did_you_mean(name, list(known)) or f"fields: {', '.join(known)}"


def _declare(table: str, name: str) -> str:
    return f"declare the relation: [relations.{table}.{name}] to, column, key"
