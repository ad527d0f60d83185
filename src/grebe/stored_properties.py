"""What is kept with a storage table beside its rows, and with each of its commits: every `grebe.*` key.

The keys are part of what old projects are read by: a field may be added, none may be renamed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

OWN: Final = "grebe."
"""What every key of grebe's begins with; a user's own key never does."""

RUN: Final = f"{OWN}run"
"""Of a commit: the run that made it."""
PART: Final = f"{OWN}part"
"""Of an Iceberg commit: which of the two commits of a run it is."""
FRONTIER: Final = f"{OWN}frontier"
"""Of an Iceberg commit: which version of each source the rows show."""
ROW_VERSION: Final = f"{OWN}row-version"
"""Of an Iceberg commit: the last one that changed a row."""
TABLE: Final = f"{OWN}table"
"""Of a DuckLake commit: the table that it is of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProperties:
    """The properties of a storage table, as texts; None for one that is not there.

    >>> StoredProperties.from_properties({"grebe.least-files": "7", "team": "us"}).least_files
    '7'
    >>> StoredProperties(sql="SELECT 1", expired_before="2026-01-01").to_properties()
    {'grebe.sql': 'SELECT 1', 'grebe.expired-before': '2026-01-01'}
    """

    view: str | None = None
    """The public name."""
    sql: str | None = None
    """The query that was compiled."""
    policy: str | None = None
    settings: str | None = None
    """JSON: Spark's settings that the query was created under."""
    columns: str | None = None
    """JSON: the columns of the query with their types."""
    partitions: str | None = None
    fingerprint: str | None = None
    layout: str | None = None
    frozen: str | None = None
    """JSON: what a star in the text stood for when the view was created."""
    meaning: str | None = None
    """What Spark said of the text when the view was created."""
    definition: str | None = None
    """The text as a person wrote it."""
    lag: str | None = None
    schedule: str | None = None
    trigger: str | None = None
    grace: str | None = None
    at_most_every: str | None = None
    catch_up: str | None = None
    max_failures: str | None = None
    timeout: str | None = None
    verify: str | None = None
    strategy: str | None = None
    suspended: str | None = None
    """Why a person stopped its refreshes."""
    tags: str | None = None
    threshold: str | None = None
    """The share of changed rows above which a refresh is in full."""
    check: str | None = None
    """Whether a first build is compared with the query."""
    file: str | None = None
    """The file that defines the view."""
    project: str | None = None
    """The project that made the table."""
    properties: str | None = None
    """JSON: pairs that people gave beside the text."""
    public: str | None = None
    """The SELECT behind the public name."""
    expired_before: str | None = None
    """Up to when versions were last asked to go."""
    least_files: str | None = None
    """How many files a compaction left, where it left many."""

    @classmethod
    def from_properties(cls, found: Mapping[str, str] | None) -> StoredProperties:
        """What a table keeps; keys of others are left out."""
        return cls(**{name: (found or {}).get(key) for name, key in KEYS.items()})

    def to_properties(self) -> dict[str, str]:
        """The keys and texts to keep, without those that are None."""
        pairs = ((key, getattr(self, name)) for name, key in KEYS.items())
        return {key: value for key, value in pairs if value is not None}


KEYS: Final[dict[str, str]] = {
    item.name: OWN + item.name.replace("_", "-") for item in fields(StoredProperties)
}
"""The key of each field."""


def is_own(key: str) -> bool:
    """Whether a key is grebe's, and none that a person may choose."""
    return key.startswith(OWN)


def pairs_text(pairs: Sequence[tuple[str, str]]) -> str:
    """The properties that people gave, as one text."""
    return json.dumps(pairs)


def pairs_of(text: str | None) -> tuple[tuple[str, str], ...]:
    """The properties that people gave; none where the text cannot be read."""
    try:
        return tuple((str(key), str(value)) for key, value in json.loads(text or "[]"))
    except (ValueError, TypeError):
        return ()
