"""A storage table that an older version of grebe made for the same definition is used further.

What a plan looks like may change from version to version, and its fingerprint with it. The rows do
not: where text, settings, columns and state are the same, the table holds what this version would
store. A version that stores something else under the same columns counts up `LAYOUT`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from grebe.engine.compiled_view import CompiledView
from grebe.engine.tables import Tables
from grebe.engine.verify import verify
from grebe.errors import CheckFailedError, GrebeError
from grebe.formats.base import Session
from grebe.model import LAYOUT, TableName
from grebe.stored_properties import KEYS, StoredProperties

MEANING: Final = KEYS["meaning"]
"""The property of tables whose rows were made from a text that Spark was asked about."""


def in_former_storage(
    view: CompiledView, shown: TableName | None, tables: Tables, spark: Session
) -> CompiledView:
    """The view in the table that its public name shows, if an older version made that for it."""
    if shown is None or shown == view.storage_name or view.generation_of(shown):
        return view
    try:
        kept = tables.properties(shown, spark)
        if not kept or not _is_the_same(view, kept):
            return view
        former = replace(
            view, definition=replace(view.definition, made_as=kept[KEYS["fingerprint"]])
        )
        found = tables.source(shown, spark).head().schema
    except GrebeError:  # whatever is wrong with it, it is for a refresh to tell
        return view
    stored = [(column.name, column.type) for column in view.stored.columns]
    fits = [(column.name, column.type) for column in found.columns] == stored
    is_its_own = shown == former.storage_of(0) or former.generation_of(shown)
    return former if fits and is_its_own else view


def _is_the_same(view: CompiledView, kept: Mapping[str, str]) -> bool:
    own, found = map(StoredProperties.from_properties, (view.properties(), kept))
    settings = json.loads(found.settings or "{}")
    return (
        bool(found.fingerprint)
        and found.layout == str(LAYOUT)
        and (found.view, found.sql, found.columns) == (own.view, own.sql, own.columns)
        and (found.partitions or "") == (own.partitions or "")
        and settings.items() <= dict(view.definition.settings).items()
        and (found.frozen is None or json.loads(found.frozen) == json.loads(own.frozen or "[]"))
    )


def differs_from_text(
    view: CompiledView, tables: Tables, spark: Session, *, keeps: bool = True
) -> str | None:
    """Why the rows of such a table cannot be built upon, if so; asked once where the answer is kept.

    The older version may have read the text otherwise than Spark does.
    """
    if not view.definition.made_as:
        return None
    kept = tables.properties(view.storage_name, spark) or {}
    if kept.get(MEANING):
        return None
    try:
        verify(view, tables, spark())
    except CheckFailedError as error:
        return f"the rows that an older version stored are not those of the text: {error.detail}"
    if keeps:
        tables.keep(view.storage_name, spark, {MEANING: view.definition.meaning})
    return None
