"""After a crash or a lost registry: what happened is read from the tables, and written down again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grebe.config import CatalogSettings
from grebe.errors import GrebeError
from grebe.model import TableName
from grebe.project.ownership import PROPERTY, project_id
from grebe.project.tabular import Tabular
from grebe.registry.records import ViewRecord
from grebe.stored_properties import KEYS, StoredProperties, pairs_of

if TYPE_CHECKING:
    from grebe.api.project import Project


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


def recover(project: Project) -> Recovered:
    """Settle dead runs, write lost records again, remove what unfinished runs left behind.

    Doing it twice does nothing more; a run that lives, by its lease, is left alone.
    """
    from grebe.engine.recover import UNREADABLE

    views, others, problems = _lost_views(project)
    _, failed = project.builder.added(project.written(), project.written())
    found = project.engine.recover()
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


def _lost_views(
    project: Project,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Views that have a storage table but no record: written again from its properties.

    Of other projects' views only the names are told, and what could not be read.
    """
    known = {record.name for record in project.registry.views()}
    own = project_id(project.settings)  # not before: without a registry nothing is made
    others: set[str] = set()
    problems: list[str] = []
    newest: dict[str, tuple[datetime, Mapping[str, str]]] = {}
    for catalog in project.settings.catalogs:
        for table in _storages(project, catalog, problems):
            try:
                properties = project.tables.properties(table, lambda: project.spark) or {}
                head = project.tables.source(table, lambda: project.spark).head()
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
        project.registry.change_view(_record(name, found), None)
    return tuple(sorted(newest)), tuple(sorted(others)), tuple(problems)


def _record(name: str, found: Mapping[str, str]) -> ViewRecord:
    stored = StoredProperties.from_properties(found)
    return ViewRecord(
        name,
        stored.definition or found[KEYS["sql"]],
        policy="auto" if stored.policy is None else stored.policy,
        lag=stored.lag or None,
        schedule=stored.schedule or None,
        properties=pairs_of(stored.properties),
        fingerprint=stored.fingerprint,
    )


def _storages(
    project: Project, catalog: CatalogSettings, problems: list[str]
) -> Sequence[TableName]:
    """The storage tables of a catalog; one that cannot be read is told, and holds up no other."""
    try:
        return project.tables.stored(catalog.name, lambda: project.spark)
    except GrebeError as error:
        problems.append(f"{catalog.name}: {error}")
        return ()
