"""Is what the parser read what DuckDB reads? Asked of DuckDB's own parser.

Two texts are the same query when `json_serialize_sql` gives the same for both, apart from places in
the text and other names of one function, which DuckDB lists itself. No table has to be there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PLACES = frozenset({"query_location"})
_OF_TRUTH = frozenset({"bool_and", "bool_or"})
"""They take nothing but BOOLEAN."""


def same_to(connection: DuckDBPyConnection) -> Callable[[str, str], bool]:
    """A judge of texts: `compile_ivm(…, judge=same_to(connection))`."""
    names = _other_names(connection)
    known: dict[str, object] = {}

    def read(text: str) -> object:
        if text not in known:
            known[text] = _read(connection, text, names)
        return known[text]

    def same(one: str, other: str) -> bool:
        left, right = read(one), read(other)
        return left is not None and left == right

    return same


def _read(connection: DuckDBPyConnection, text: str, names: Mapping[str, str]) -> object:
    """What DuckDB's parser makes of a text; None when it is no query to it."""
    sql = "SELECT json_serialize_sql(CAST(? AS VARCHAR))"
    row = connection.execute(sql, [text]).fetchone()
    found = json.loads(row[0]) if row is not None else {"error": True}
    return None if found.get("error") else _plain(found, names)


def _plain(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [_plain(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: _plain(item, names) for key, item in value.items() if key not in _PLACES}
    if made.get("class") in ("FUNCTION", "WINDOW") and isinstance(made.get("function_name"), str):
        _rename(made, names)
    return made


def _rename(call: dict[str, Any], names: Mapping[str, str]) -> None:
    """One name for a function; without what its arguments are cast to in any case."""
    name = call["function_name"].lower()
    name = names.get(name, name)
    if name == "count" and not call.get("children"):
        name = "count_star"
    if name in _OF_TRUTH:
        call["children"] = [_uncast(item) for item in call.get("children", [])]
    call["function_name"] = name


def _uncast(item: Any) -> Any:  # noqa: ANN401 - any JSON
    is_cast = isinstance(item, dict) and item.get("class") == "CAST" and not item.get("try_cast")
    return item["child"] if is_cast and item["cast_type"].get("id") == "BOOLEAN" else item


def _other_names(connection: DuckDBPyConnection) -> dict[str, str]:
    """Names that mean another function, as DuckDB says."""
    rows = connection.execute(
        "SELECT DISTINCT function_name, alias_of FROM duckdb_functions()"
        " WHERE alias_of IS NOT NULL AND schema_name = 'main'"
    ).fetchall()
    return {str(name).lower(): str(other).lower() for name, other in rows}
