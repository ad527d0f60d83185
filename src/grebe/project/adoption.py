"""What `adopt` answers: a folder that was copied or moved, and is a project of its place again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grebe.config import Settings
from grebe.engine.lease import hold
from grebe.project.lifecycle import remove_rows
from grebe.tabular import Tabular

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Adoption(Tabular):
    """What was made to lie where the project lies."""

    folder: str
    former: tuple[str, ...] = ()
    """Where it lay; nothing when it already was at home."""
    tables: tuple[str, ...] = ()
    """Tables and public names that name the files here now."""
    files: int = 0
    """Metadata files that were written anew."""
    problems: tuple[str, ...] = ()
    """Tables whose files are lost or damaged; what they name lies here, too."""
    emptied: tuple[str, ...] = ()
    """Views whose rows were taken away: the next refresh builds them."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per thing."""
        found: list[Sequence[object]] = [("adopted from", folder) for folder in self.former]
        if self.former:
            what = f"{len(self.tables)} tables and views, {self.files} files written anew"
            found.append(("adopted", what))
        found += [("to be built anew", view) for view in self.emptied]
        found += [("problem", text) for text in self.problems]
        return ("what", "which"), found or [("nothing", "it lies where its tables say")]

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return {
            "folder": self.folder,
            "from": list(self.former),
            "tables": list(self.tables),
            "files": self.files,
            "problems": list(self.problems),
            "emptied": list(self.emptied),
        }


def adopt(settings: Settings, reopened: Callable[[], Workspace], *, fresh: bool) -> Adoption:
    """Make a project one of its folder; what was done for that."""
    from grebe.engine.adopt import adopt as adopt_tables

    done = adopt_tables(settings)
    emptied: tuple[str, ...] = ()
    if fresh and done.former:
        with closing(reopened()) as workspace:
            emptied = _empty(workspace)
    return Adoption(
        str(done.folder),
        tuple(map(str, done.former)),
        done.tables,
        done.files,
        done.problems,
        emptied,
    )


def _empty(workspace: Workspace) -> tuple[str, ...]:
    """Take the rows of the views away that are kept in the folder itself; those views."""
    from grebe.engine.place import embedded

    inside = {place.catalog for _, place in embedded(workspace.settings)}
    views = [view for view in workspace.written().values() if view.name.catalog in inside]
    with hold(workspace.registry, [view.key for view in views]):
        for view in views:
            remove_rows(workspace, view.name)
    return tuple(view.key for view in views)
