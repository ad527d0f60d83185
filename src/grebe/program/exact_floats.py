"""Floating point values are kept to the last bit: not in the catalog, where DuckLake changes some.

DuckLake keeps small changes in its catalog, as the text of an INSERT. DuckDB reads 0.10333333333333333
there as a decimal, and casts it to a DOUBLE that is one bit off (duckdb issue 22837). A row that
was found by such a value, or by the checksum of one, would be lost. So the table of a view that may
hold such values gets its rows in files. DuckLake sets that for a table only when it is
there: `create_mv` uses the setting for all tables instead, and puts it back.
"""

from __future__ import annotations

from grebe.program.duckdb_text import assign, literal, variable
from grebe.program.program_sources import TablePlace

_LIMIT = "ducklake_default_data_inlining_row_limit"
_OPTION = "data_inlining_row_limit"
_FLOATING = "regexp_matches(column_type, 'FLOAT|DOUBLE')"


def created_exactly(create: str) -> list[str]:
    """The statement that creates and fills a table, and those that keep its rows in files."""
    before = variable("__grebe_limit")
    return [
        assign("__grebe_limit", f"SELECT current_setting('{_LIMIT}')"),
        f"SET {_LIMIT} = 0",
        create,
        f"SET {_LIMIT} = {before}",
    ]


def kept_exactly(table: str, place: TablePlace, name: str) -> list[str]:
    """The statements that set the option of the table, once, if it holds such values."""
    where = f"{place.schema}.{name}"
    known = (
        f"SELECT 1 FROM ducklake_options({literal(place.catalog)}) WHERE option_name = '{_OPTION}'"
        f" AND scope = 'TABLE' AND lower(scope_entry) = {literal(where.lower())} AND value = '0'"
    )
    asked = (
        f"SELECT COUNT(*) FROM ducklake_set_option({literal(place.catalog)}, '{_OPTION}', 0,"
        f" table_name => {literal(name)}, schema => {literal(place.schema)})"
    )
    floating = f"EXISTS (SELECT 1 FROM (DESCRIBE {table}) WHERE {_FLOATING})"
    text = (
        f"CASE WHEN {floating} AND NOT EXISTS ({known}) THEN {literal(asked)} ELSE 'SELECT 0' END"
    )
    return [
        assign("__grebe_option", f"SELECT {text}"),
        assign("__grebe_option", f"FROM query({variable('__grebe_option')})"),
    ]
