"""The SQL of one refresh of a row view: what enters, leaves and changes, and what is written of it.

All of it reads temporary views whose names are fixed here, so the texts can be shown as they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grebe.compiler.rows.row_definition import RowDefinition, RowIdentity
from grebe.compiler.rows.row_layout import (
    ERRORS,
    IS_SET,
    MATCH,
    ROW,
    ROW_ID,
    SUM,
    RowLayout,
    key_column,
)
from grebe.model import ACTION, WEIGHT
from grebe.sql_text import literal, made, quote

CHOSEN: Final = made("chosen")
"""The rows of the query, hashed, each with its copy's number."""
DELTA: Final = made("delta")
"""The changes of the one source, with weights."""
STORED: Final = made("stored")
MOVES: Final = made("moves")
"""The rows that enter, leave or change."""
RESULTS: Final = made("results")
WANTED: Final = made("wanted")
COPY: Final = made("copy")
WAS_SET: Final = made("was_set")
WAS_FAILED: Final = made("was_failed")
SEEN: Final = made("seen")


def _names(items: Sequence[str], prefix: str = "") -> str:
    return ", ".join(f"{prefix}{quote(name)}" for name in items)


def hashed(layout: RowLayout, relation: str, more: Sequence[str] = ()) -> str:
    """The rows of a relation with the columns of the query, and their hashes."""
    hashes = [f"{text} AS {quote(name)}" for name, text in layout.hashes]
    names = [quote(name) for name, _ in layout.read]
    return f"SELECT {', '.join([*names, *hashes, *map(quote, more)])} FROM {relation}"


def chosen(layout: RowLayout, relation: str) -> str:
    """All chosen rows, hashed; equal ones numbered where that is what tells them apart."""
    definition = layout.definition
    rows = hashed(layout, relation)
    if definition.has_bounds:
        order = _base_order(layout)
        rows = (
            f"SELECT * EXCEPT ({made('place')}) FROM (SELECT *, row_number() OVER (ORDER BY {order})"
            f" AS {made('place')} FROM ({rows})) WHERE {_between(definition)}"
        )
    return _numbered(layout, rows)


def _base_order(layout: RowLayout) -> str:
    """The order that limit and offset count in."""
    return _names((*layout.definition.key, ROW))


def _between(definition: RowDefinition) -> str:
    place, offset = made("place"), definition.offset
    upper = "" if definition.limit is None else f" AND {place} <= {offset + definition.limit}"
    return f"{place} > {offset}{upper}"


def _numbered(layout: RowLayout, rows: str) -> str:
    if layout.definition.identity is RowIdentity.KEY:
        return f"SELECT *, 1 AS {COPY} FROM ({rows})"
    over = f"PARTITION BY {ROW} ORDER BY {ROW}"
    return f"SELECT *, row_number() OVER ({over}) AS {COPY} FROM ({rows})"


def stored_numbered(layout: RowLayout) -> str:
    """The stored rows without their values: ids, hashes, and how they stand."""
    on = layout.matched_on
    keys = [key_column(place) for place, _ in layout.functions]
    items = [ROW_ID, IS_SET, ROW, *([MATCH] if on == MATCH else []), *keys]
    failed = f"coalesce(size({ERRORS}), 0) > 0 AS {WAS_FAILED}"
    body = f"SELECT {_names(items)}, {failed}"
    if layout.definition.identity is RowIdentity.KEY:
        return f"{body}, 1 AS {COPY} FROM {STORED}"
    return (
        f"{body}, row_number() OVER (PARTITION BY {ROW} ORDER BY {ROW_ID}) AS {COPY} FROM {STORED}"
    )


def net_rows(layout: RowLayout, relation: str) -> str:
    """The changes of the source as net rows of the query, with the sum of their weights."""
    rows = hashed(layout, relation, (WEIGHT,))
    names = [name for name, _ in layout.read] + [name for name, _ in layout.hashes]
    firsts = ", ".join(f"first({quote(name)}) AS {quote(name)}" for name in names if name != ROW)
    return (
        f"SELECT {ROW}, {firsts}, sum({WEIGHT}) AS {WEIGHT} FROM ({rows})"
        f" GROUP BY {ROW} HAVING sum({WEIGHT}) <> 0"
    )


def touched_stored(layout: RowLayout) -> str:
    """The stored rows that a change of the source may concern."""
    on = layout.matched_on
    return f"SELECT s.* FROM ({stored_numbered(layout)}) AS s LEFT SEMI JOIN {DELTA} AS d ON s.{on} = d.{on}"


def chosen_of_delta(layout: RowLayout, seen: str) -> str:
    """What the rows that a change concerns are after it."""
    names = _names([name for name, _ in layout.read] + [name for name, _ in layout.hashes], "d.")
    if layout.definition.identity is RowIdentity.KEY:
        return f"SELECT {names}, 1 AS {COPY} FROM {DELTA} AS d WHERE d.{WEIGHT} > 0"
    held = f"SELECT {ROW}, count(*) AS n FROM {seen} GROUP BY {ROW}"
    copies = f"d.{WEIGHT} + coalesce(h.n, 0)"
    return (
        f"SELECT {names}, explode(sequence(1L, {copies})) AS {COPY} FROM {DELTA} AS d"
        f" LEFT JOIN ({held}) AS h ON d.{ROW} = h.{ROW} WHERE {copies} > 0"
    )


def moves(layout: RowLayout, *, retries: bool = False) -> str:
    """The rows that enter, leave or change, from `CHOSEN` and `SEEN`."""
    on = layout.matched_on
    keys = [key_column(place) for place, _ in layout.functions]
    own = [name for name, _ in layout.read] + [name for name, _ in layout.hashes]
    old = ", ".join(
        f"s.{key} AS {quote(made('old_' + key.removeprefix('__grebe_')))}" for key in keys
    )
    again = f" OR s.{WAS_FAILED}" if retries else ""
    action = f"CASE WHEN s.{ROW_ID} IS NULL THEN 'insert' WHEN c.{on} IS NULL THEN 'delete' ELSE 'update' END"
    return (
        f"SELECT {action} AS {ACTION}, s.{ROW_ID}, s.{IS_SET} AS {WAS_SET}, s.{WAS_FAILED},"
        f" s.{ROW} AS {made('old_row')},{f' {old},' if old else ''} {_names(own, 'c.')}, c.{COPY}"
        f" FROM {CHOSEN} AS c FULL OUTER JOIN {SEEN} AS s ON c.{on} = s.{on} AND c.{COPY} = s.{COPY}"
        f" WHERE c.{on} IS NULL OR s.{ROW_ID} IS NULL OR c.{ROW} <> s.{ROW} OR NOT s.{IS_SET}{again}"
    )


def wanted(layout: RowLayout, place: int, known: str | None, most: int | None) -> str:
    """The inputs of one function that nobody has asked it with, each once."""
    use = layout.definition.functions[place]
    key = key_column(place)
    inputs = dict.fromkeys(name for _, name in use.inputs)
    firsts = ", ".join(f"first({quote(name)}) AS {quote(name)}" for name in inputs)
    unknown = f" LEFT ANTI JOIN {known} AS k ON m.{key} = k.key" if known else ""
    body = (
        f"SELECT {key}, {firsts}, min({ROW}) AS {made('least')} FROM {MOVES} AS m{unknown}"
        f" WHERE m.{ACTION} <> 'delete' GROUP BY {key}"
    )
    limit = "" if most is None else f" ORDER BY {made('least')} LIMIT {most}"
    items = [f"{key} AS {made('input_key')}"]
    items += [
        f"{quote(name)} AS {quote(made(f'input_{n}'))}" for n, (_, name) in enumerate(use.inputs)
    ]
    return f"SELECT {', '.join(items)} FROM ({body}{limit})"


def assembled(layout: RowLayout, next_id: int, run_id: str) -> str:
    """The rows to write, from `MOVES` and the results of each function."""
    definition = layout.definition
    joins, all_known = [], ["TRUE"]
    for place, _ in layout.functions:
        name, key = f"r{place}", key_column(place)
        joins.append(f" LEFT JOIN {RESULTS}_{place} AS {name} ON m.{key} = {name}.key")
        all_known.append(f"{name}.key IS NOT NULL")
    known = f"({' AND '.join(all_known)})"
    places = {use.column: place for place, use in layout.functions}
    items = [
        f"m.{ACTION}",
        f"coalesce(m.{ROW_ID}, {next_id}L - 1 + row_number() OVER (PARTITION BY m.{ROW_ID} IS NULL"
        f" ORDER BY m.{layout.matched_on}, m.{ROW}, m.{COPY})) AS {ROW_ID}",
        f"{known} AS {IS_SET}",
    ]
    for name, kind in layout.columns:
        value = f"r{places[name]}.value" if name in places else f"m.{quote(name)}"
        items.append(f"CASE WHEN {known} THEN CAST({value} AS {kind}) END AS {quote(name)}")
    items.append(f"m.{ROW}")
    if definition.identity is RowIdentity.KEY:
        items.append(f"m.{MATCH}")
    errors = []
    for place, use in layout.functions:
        key, error = key_column(place), f"r{place}.error"
        items.append(f"CASE WHEN {known} AND {error} IS NULL THEN m.{key} END AS {key}")
        errors.append(
            f"CASE WHEN {error} IS NOT NULL THEN named_struct('column', {literal(use.column)},"
            f" 'type', {error}.type, 'message', {error}.message, 'attempts', {error}.attempts,"
            f" 'run_id', {literal(run_id)}) END"
        )
    found = f"filter(array({', '.join(errors)}), e -> e IS NOT NULL)" if errors else "array()"
    items.append(f"CASE WHEN {known} AND size({found}) > 0 THEN {found} END AS {ERRORS}")
    flags = [f"m.{WAS_SET}", f"m.{WAS_FAILED}", f"m.{made('old_row')}"]
    rows = f"SELECT {', '.join([*items, *flags])} FROM {MOVES} AS m{''.join(joins)}"
    changed = f"NOT ({ACTION} = 'update' AND NOT {IS_SET} AND NOT {WAS_SET} AND {ROW} = {made('old_row')})"
    names = _names([name for name, _ in layout.stored])
    return (
        f"SELECT {ACTION}, {WAS_SET}, {WAS_FAILED}, {names}, {layout.checksum} AS {SUM}"
        f" FROM ({rows}) WHERE {changed}"
    )
