"""What is remembered of a compiled view, so that nothing has to be compiled to see nothing moved."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

from grebe.model import TableName


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """A table that a view reads, by the ids of the columns it uses."""

    name: TableName
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """A compiled view in a few plain values."""

    key: str
    """A digest of the normalised text: another one means another definition."""
    text: str
    """A digest of the very text that was compiled."""
    file: str | None = None
    parents: tuple[str, ...] = ()
    sources: tuple[SourceSummary, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()
    """Why the view can only be refreshed in full: codes and messages."""
    strategy: str = ""
    tags: tuple[str, ...] = ()
    explanation: str = ""
    """JSON of the explanation, so that explain needs no Spark either."""
    storage: TableName | None = None
    before: TableName | None = None
    """The storage table of the definition before, which may still be what readers see."""
    query: str = ""
    """The query as it was compiled: what a declarative definition meant then."""
    settings: tuple[tuple[str, str], ...] = ()
    """What the session said when the view was made, where it changes what the query means."""
    context: str = ""
    """What of the project's settings the definition stood in; empty where nobody wrote it down."""
    frozen: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The columns that each relation had when the view was made: what `*` means."""

    def to_json(self) -> str:
        """The facts as text."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str | None) -> Summary | None:
        """The facts that `to_json` wrote; None for anything else, which then is compiled anew."""
        try:
            return _read(json.loads(text or ""))
        except (ValueError, KeyError, TypeError):
            return None


def text_digest(text: str) -> str:
    """A digest of a text as it is written."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _read(document: dict[str, Any]) -> Summary:
    storage = document["storage"]
    return Summary(
        key=document["key"],
        text=document["text"],
        file=document["file"],
        parents=tuple(document["parents"]),
        sources=tuple(
            SourceSummary(TableName(**item["name"]), tuple(item["columns"]))
            for item in document["sources"]
        ),
        columns=tuple((name, kind) for name, kind in document["columns"]),
        reasons=tuple((code, message) for code, message in document["reasons"]),
        strategy=document["strategy"],
        tags=tuple(document["tags"]),
        explanation=document["explanation"],
        storage=TableName(**storage) if storage else None,
        before=TableName(**document["before"]) if document["before"] else None,
        query=document["query"],
        settings=tuple((key, value) for key, value in document["settings"]),
        context=document.get("context", ""),
        frozen=tuple((name, tuple(columns)) for name, columns in document["frozen"]),
    )
