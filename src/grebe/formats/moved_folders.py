"""Tables whose folder lies elsewhere now: from which folder to which, and what came of it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from grebe.formats.files import local_path
from grebe.sql_text import quote


@dataclass(frozen=True, slots=True)
class Move:
    """From one folder of this machine to another; both without a slash at the end."""

    old: str
    new: str

    def of(self, location: str) -> str:
        """Where something lies now; what never lay in the old folder stays where it is.

        >>> move = Move("/a", "/b")
        >>> move.of("/a/x"), move.of("file:///a/x"), move.of("/ab/x"), move.of("s3://a/x")
        ('/b/x', 'file:///b/x', '/ab/x', 's3://a/x')
        >>> up, down = Move("/a/b", "/a"), Move("/a", "/a/b")
        >>> up.of("/a/b/x"), up.of("/a/x"), down.of("/a/x"), down.of("/a/b/x")
        ('/a/x', '/a/x', '/a/b/x', '/a/b/x')
        """
        path = local_path(location)
        if path is None or not _below(path, self.old):
            return location
        if _below(self.new, self.old) and _below(path, self.new):
            return location  # a copy inside of the original: this is already there
        scheme = location[: len(location) - len(path)]
        return scheme + self.new + path[len(self.old) :]

    def touches(self, location: str) -> bool:
        """Whether something lay in the old folder."""
        return self.of(location) != location

    def in_text(self, sql: str) -> str:
        """A query whose quoted folders are those of now."""
        old, new = (f"{quote(folder)[:-1]}/" for folder in (self.old, self.new))
        return sql if _below(self.new, self.old) and new in sql else sql.replace(old, new)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


@dataclass(slots=True)
class MovedTables:
    """What was made to lie where it is."""

    tables: list[str] = field(default_factory=list)
    files: int = 0
    """Files that were written anew."""
    problems: list[str] = field(default_factory=list)
    """What could not be: its table cannot be read, but names nothing elsewhere either."""

    def add(self, other: MovedTables) -> None:
        """What another part has done."""
        self.tables += other.tables
        self.files += other.files
        self.problems += other.problems


def write_file(path: str, content: bytes) -> None:
    """A file in one step, in place of one of that name."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
    try:
        with draft.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def former_folder(location: str, folder: str) -> str | None:
    """The folder that a location names in place of this one, where the very file lies; or None.

    The longest end of the location that exists below the folder is it: `/old/x/lake/t/1.json` and
    a folder with `lake/t/1.json` say that the folder was `/old/x`.
    """
    path = local_path(location)
    if path is None or _below(path, folder):
        return None
    parts = Path(path).parts[1:]
    for at in range(1, len(parts)):
        if Path(folder, *parts[at:]).exists():
            return str(Path("/", *parts[:at]))
    return None


def first_former(locations: Iterable[str], folder: str) -> str | None:
    """The first folder that any of the locations names in place of this one."""
    return next(filter(None, (former_folder(item, folder) for item in locations)), None)
