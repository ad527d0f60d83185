"""After a crash or a lost registry: what happened is read from the tables, and written down again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe.config import CatalogSettings
from grebe.errors import GrebeError, RegistryError
from grebe.model import Position, TableName
from grebe.project.definitions import Definition
from grebe.project.ownership import PROPERTY, project_id
from grebe.registry import activity_rows
from grebe.registry.records import ViewRecord
from grebe.stored_properties import KEYS, StoredProperties, pairs_of
from grebe.tabular import Tabular
from grebe.view_timing import OTHERS

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Recovered(Tabular):
    """What was found and settled."""

    runs: tuple[str, ...] = ()
    """Runs that had died: each with what became of it."""
    views: tuple[str, ...] = ()
    """Views whose record was written again."""
    leftovers: tuple[str, ...] = ()
    """What unfinished runs had left behind, removed or finished."""
    problems: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Views of other projects in the same catalogs: left to them."""

    def rows(self) -> tuple[Sequence[str], list[Sequence[object]]]:
        """One line per thing."""
        found: list[Sequence[object]] = []
        for what, items in self.to_dict().items():
            found += [(what, item) for item in items]
        return ("what", "which"), found or [("nothing", "had to be recovered")]

    def to_dict(self) -> dict[str, list[str]]:
        """Plain values, ready for JSON."""
        return {
            "runs": list(self.runs),
            "views": list(self.views),
            "leftovers": list(self.leftovers),
            "problems": list(self.problems),
            "others": list(self.others),
        }


def recover(workspace: Workspace) -> Recovered:
    """Settle dead runs, write lost records again, remove what unfinished runs left behind.

    Doing it twice does nothing more; a run that lives, by its lease, is left alone.
    """
    from grebe.engine.recover import UNREADABLE

    views, others, problems = _write_lost_records(workspace)
    _, failed = workspace.builder.add_all(workspace.written(), workspace.written())
    found = workspace.engine.recover()
    unreadable = [item for item in found if item.kind == UNREADABLE]
    repairs = [item for item in found if item not in unreadable]
    return Recovered(
        runs=tuple(f"{item.name}, {item.detail}" for item in repairs if item.kind == "run"),
        views=views,
        leftovers=tuple(
            f"{item.kind} of {item.name}, {item.detail}" for item in repairs if item.kind != "run"
        ),
        problems=(
            *problems,
            *(f"{name}: {error}" for name, error in failed.items()),
            *(f"{item.name}: {item.detail}" for item in unreadable),
        ),
        others=others,
    )


def end_dead_runs(workspace: Workspace, views: Mapping[str, Definition]) -> None:
    """Write down how dead runs ended: whether they landed is known from the storage table."""
    if not workspace.has_registry():
        return
    registry = workspace.registry
    if not registry.dead(registry.unfinished()):
        return
    from grebe.engine.recover import UNREADABLE, end_dead

    heads = workspace.heads()

    def position(name: str) -> Position | None:
        facts = views[name].facts if name in views else None
        return heads.position(facts.storage) if facts and facts.storage else None

    try:
        for item in end_dead(registry, position):
            if item.kind == UNREADABLE:
                workspace.say(f"what became of a run of {item.name} is unknown: {item.detail}")
    except RegistryError as error:
        workspace.say(f"the registry cannot be used: {error}")


def _write_lost_records(
    workspace: Workspace,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Write the records of views again that have a storage table but none: from its properties.

    Of other projects' views only the names are told, and what could not be read.
    """
    known = {record.name for record in workspace.registry.views()}
    own = project_id(workspace.settings)  # not before: without a registry nothing is made
    others: set[str] = set()
    problems: list[str] = []
    newest: dict[str, tuple[datetime, Mapping[str, str]]] = {}
    for catalog in workspace.settings.catalogs:
        for table in _storages(workspace, catalog, problems):
            try:
                properties = workspace.tables.properties(table, workspace.session) or {}
                head = workspace.tables.source(table, workspace.session).head()
            except GrebeError as error:
                problems.append(f"{table}: {error}")
                continue
            name = properties.get(KEYS["view"])
            maker = properties.get(PROPERTY, own)
            if maker != own:
                hint = f'[project] id = "{maker}" in grebe.toml takes them over'
                others.add(f"{name} of another project; {hint}")
                continue
            moment = head.committed_at or datetime.min.replace(tzinfo=UTC)
            if name and name not in known and moment >= newest.get(name, (moment, {}))[0]:
                newest[name] = (moment, properties)
    for name, (_, found) in sorted(newest.items()):
        workspace.registry.change_view(_record(name, found), None)
        if reason := found.get(KEYS["suspended"]):
            with workspace.registry.database.writing() as connection:
                activity_rows.suspend(connection, name, reason)
    return tuple(sorted(newest)), tuple(sorted(others)), tuple(problems)


def _record(name: str, found: Mapping[str, str]) -> ViewRecord:
    stored = StoredProperties.from_properties(found)
    texts = [(name, getattr(stored, name)) for name in OTHERS]
    is_old = all(text is None for _, text in texts)
    return ViewRecord(
        name,
        stored.definition or found[KEYS["sql"]],
        policy="auto" if stored.policy is None else stored.policy,
        lag=stored.lag or None,
        schedule=stored.schedule or None,
        timing=None if is_old else tuple(sorted((name, text) for name, text in texts if text)),
        properties=pairs_of(stored.properties),
        fingerprint=stored.fingerprint,
    )


def _storages(
    workspace: Workspace, catalog: CatalogSettings, problems: list[str]
) -> Sequence[TableName]:
    """The storage tables of a catalog; one that cannot be read is told, and holds up no other."""
    try:
        return workspace.tables.stored(catalog.name, workspace.session)
    except GrebeError as error:
        problems.append(f"{catalog.name}: {error}")
        return ()
