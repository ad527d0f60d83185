"""Which storage table a public name shows."""

from __future__ import annotations

import re
from dataclasses import replace

from grebe.formats.base import OWN
from grebe.model import TableName
from grebe.sql_text import made
from grebe.stored_properties import KEYS

STORED = made("stored")
"""The relation that `PUBLIC` reads."""
PUBLIC = KEYS["public"]
"""The property of a storage table that holds the SELECT behind the public name."""


def shown_storage(name: TableName, shown: str | None) -> TableName | None:
    """The storage table that a public name's text reads.

    >>> shown_storage(TableName("c", "s", "v"), "SELECT a FROM c.s.__grebe_v_0123abcd").name
    '__grebe_v_0123abcd'
    >>> shown_storage(TableName("c", "s", "v"), "SELECT a FROM c.s.t") is None
    True
    """
    found = re.search(rf"{OWN}{re.escape(name.name)}_[0-9a-f]{{8}}", shown or "")
    return replace(name, name=found[0]) if found else None


def shows(shown: str | None, select: str) -> bool:
    """Whether the text behind a public name is a SELECT, be it below a CREATE VIEW.

    >>> shows("CREATE VIEW v AS SELECT a FROM t ", "SELECT a FROM t"), shows(None, "SELECT 1")
    (True, False)
    """
    return shown is not None and " ".join(shown.split()).endswith(" ".join(select.split()))
