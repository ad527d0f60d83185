"""Creating, altering, dropping and vacuuming views: checked as a whole before anything is done."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grebe.engine.public_name import shown_storage
from grebe.engine.view_graph import descendants, levels
from grebe.errors import DefinitionError, GrebeError, LeaseHeldError, RegistryError
from grebe.formats.base import LOST_TEXT
from grebe.model import Policy, TableName
from grebe.project.definitions import SUFFIXES, Definition, outside
from grebe.project.read_definition import digest_of, read_header, unreadable
from grebe.project.retention import (
    Vacuumed,
    bound_of,
    former_storages,
    needed_since,
    storages_of,
)
from grebe.project.standing import NEVER
from grebe.registry.records import ViewRecord
from grebe.secrets import names_secret
from grebe.stored_properties import StoredProperties, is_own, pairs_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from grebe.api.project import Project
    from grebe.compiler.text.statement import Statement

GivenDefinition = str | Path | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """What a caller said of a view, not checked yet."""

    name: str | None
    definition: GivenDefinition | None
    policy: Policy | str | None = None
    lag: str | None = None
    schedule: str | None = None


def policy_given(policy: Policy | str | None) -> Policy | None:
    """The policy that a caller means."""
    from grebe.compiler.text.statement import policy_of

    return policy if policy is None or isinstance(policy, Policy) else policy_of(policy)


def text_of(definition: GivenDefinition) -> str:
    """The text of a definition, wherever it is written."""
    if isinstance(definition, Mapping):
        try:
            return json.dumps(definition, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise DefinitionError("the definition is not plain data", detail=str(error)) from error
    if isinstance(definition, Path):
        try:
            return definition.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(definition, error) from error
    if isinstance(definition, str):
        return definition
    raise DefinitionError(
        f"a definition is SQL text, a path or a mapping, not {type(definition).__name__}",
        hint=_dataframe_hint(definition),
    )


def text_from(function: Callable[[], object]) -> str:
    """The SQL that a decorated function returns."""
    made = function()
    if isinstance(made, str):
        return made
    raise DefinitionError(
        f'function "{function.__name__}" returns {type(made).__name__}, not SQL',
        detail="what a DataFrame computes cannot be compiled exactly from Python",
        hint=_dataframe_hint(made),
        code="not-sql",
    )


def _dataframe_hint(_: object) -> str:
    return 'return the query as text: return "SELECT …"'


def kept_instead(project: Project, given: Given) -> TableName | None:
    """The view that is there already, for a definition that says IF NOT EXISTS."""
    if given.definition is None:
        return None
    statement = read_header(text_of(given.definition), None)
    parts = given.name or statement.name
    if not statement.if_not_exists or parts is None:
        return None
    known = project.written().get(str(project.settings.resolve(parts)))
    return known.name if known else None


def new_view(project: Project, given: Given, *, replaces: bool) -> Definition:
    """A view that is not saved yet, its name and settings checked.

    Raises:
        DefinitionError: it says nothing, or the name is taken.
    """
    if given.definition is None:
        raise DefinitionError("a view needs a definition")
    text = text_of(given.definition)
    statement = read_header(text, None)
    parts = given.name or statement.name
    if parts is None:
        raise DefinitionError("the view has no name", hint="give one, or CREATE MATERIALIZED VIEW")
    name = project.settings.resolve(parts)
    views = project.written()
    known = views.get(str(name))
    if known is not None and not (replaces or statement.replaces):
        raise DefinitionError(
            f'view "{name}" exists already',
            detail=f"defined in {known.file}" if known.file else None,
            hint="alter or drop it, or create it with replace",
            code="view-exists",
        )
    if known is not None and known.file:
        raise _in_file(known)
    policy = policy_given(given.policy) or statement.policy or Policy.AUTO
    record = ViewRecord(
        str(name),
        text,
        policy=policy,
        lag=checked(given.lag, statement.lag, "lag"),
        schedule=checked(given.schedule, statement.schedule, "schedule"),
        compiled=known.record.compiled if known and known.record else None,
        fingerprint=known.record.fingerprint if known and known.record else None,
    )
    made = Unsaved(name, text, project.settings, record=record, columns=project.columns())
    made.replaces = known.record if known else None
    return made


class Unsaved(Definition):
    """A view whose record says more than its text: settings given by the caller."""

    replaces: ViewRecord | None = None

    @property
    def seen(self) -> ViewRecord | None:
        """What the registry said: its own record was made of what the caller says."""
        return self.replaces

    @property
    def is_as_recorded(self) -> bool:
        """True: the record was just made of the text."""
        return True

    @property
    def digest(self) -> str:
        """Always of the text as it is."""
        return digest_of(self.statement, self.settings)

    @property
    def query(self) -> str:
        """Of the text as it is."""
        return self.statement.query

    @property
    def tags(self) -> tuple[str, ...]:
        """Of the text: the record has none yet."""
        return self.header.tags

    def parents_among(self, names: Mapping[str, Any]) -> tuple[str, ...]:
        """Of the text: the record has none yet."""
        return tuple(name for name in self.tables if name in names)


def checked(given: str | None, default: str | None, what: str) -> str | None:
    """A lag or a schedule that means something; an empty text means none."""
    from grebe.schedule import checked_lag, schedule

    if given is None:
        return default
    if not given.strip():
        return None
    if what == "lag":
        return checked_lag(given)
    schedule(given)
    return given


_NAME = re.compile(r"(?:`(?:[^`]|``)+`|[\w$-]+)(?:\.(?:`(?:[^`]|``)+`|[\w$-]+))*")
"""A text that can only be a name: SQL and JSON hold other signs."""


def meant(project: Project, what: str | Path, views: Mapping[str, Definition]) -> Definition | None:
    """The view that a name or the path of its file means; None for a text or another file.

    Raises:
        UnknownTableError: the text can only be a name, and no view has it.
    """
    if isinstance(what, Path):
        files = {project.settings.folder / view.file: view for view in views.values() if view.file}
        return files.get(what.resolve())
    if what in views:
        return views[what]
    if _NAME.fullmatch(what) and not what.endswith(SUFFIXES):
        return views[str(project.view(what).name)]
    try:
        return views.get(str(project.settings.resolve(what)))
    except GrebeError:
        return None


def unsaved(project: Project, what: str | Path) -> Definition:
    """A text or a file that is no view yet."""
    path = Path(what) if isinstance(what, Path) or what.endswith(SUFFIXES) else None
    if path and _leads_out(path, project.settings.folder):
        raise outside(str(what))
    text = text_of(path or str(what))
    file = str(path) if path else None
    parts = read_header(text, file).name
    name = project.settings.resolve(parts or (path.stem if path else "query",))
    return Definition(name, text, project.settings, file, columns=project.columns())


def _leads_out(file: Path, folder: Path) -> bool:
    """True for a link of the project to something elsewhere."""
    lies_in = any(parent.resolve() == folder for parent in file.absolute().parents)
    return lies_in and not file.resolve().is_relative_to(folder)


def alter(
    project: Project, view: Definition, given: Given, properties: Mapping[str, str]
) -> TableName:
    """New settings, and perhaps a new text, in the registry and in the storage table."""
    from grebe.project.compile_views import overtaken

    if view.file:
        raise _in_file(view)
    record = view.record or ViewRecord(view.key, view.text)
    text = None if given.definition is None else text_of(given.definition)
    said = _said_in(project, view, text)
    policy = policy_given(given.policy) or (said and said.policy) or Policy(record.policy)
    merged = {**dict(record.properties), **_free(properties)}
    new = replace(
        record,
        policy=policy,
        lag=checked(given.lag, (said and said.lag) or record.lag, "lag"),
        schedule=checked(given.schedule, (said and said.schedule) or record.schedule, "schedule"),
        properties=tuple(sorted(merged.items())),
    )
    if text is not None:
        project.builder.added(project.written(), ())
        candidate = Unsaved(
            view.name,
            text,
            project.settings,
            record=replace(new, definition=text),
            columns=project.columns(),
        )
        project.builder.added(project.written(), candidate.parents_among(project.written()))
        project.builder.compile(candidate)
        merged |= {**dict(candidate.header.properties), **properties}
        new = replace(new, definition=text, properties=tuple(sorted(merged.items())))
    elif policy is not record.policy and policy in (Policy.STRICT, Policy.INCREMENTAL):
        _refuse_impossible(view, policy)
    _refuse_overtaken(project, view)
    # The table first: it may refuse a property, and then nothing has changed.
    _keep_in_storage(project, view, new)
    if not project.registry.change_view(new, view.record):
        _refuse_overtaken(project, view)
        raise overtaken(view)
    return view.name


def _said_in(project: Project, view: Definition, text: str | None) -> Statement | None:
    """What a new text says around its query; a name in it must be the view's."""
    if text is None:
        return None
    said = read_header(text, None)
    if said.name and project.settings.resolve(said.name) != view.name:
        raise DefinitionError(
            f'the definition is one of view "{".".join(said.name)}", not of "{view.name}"',
            hint="a view keeps its name: create another one",
            code="other-name",
        )
    return said


def _refuse_overtaken(project: Project, view: Definition) -> None:
    """Nothing, while the registry says of a view what it said when it was read."""
    from grebe.project.compile_views import dropped, overtaken

    now = project.registry.view(view.key)
    if view.record is not None and now is None:
        raise dropped(view.name)
    if now is not None and (view.record is None or now.said != view.record.said):
        raise overtaken(view)


def _refuse_impossible(view: Definition, policy: Policy) -> None:
    if view.facts and view.facts.reasons:
        raise DefinitionError(
            f'view "{view.name}" cannot have the policy "{policy}"',
            detail="; ".join(f"{message}  [{code}]" for code, message in view.facts.reasons),
            hint='keep "auto", which refreshes it in full and says why',
            code="not-incremental",
        )


def _free(properties: Mapping[str, str]) -> dict[str, str]:
    from grebe.compiler.text.statement import secret_property

    for key, value in properties.items():
        if is_own(key) or not isinstance(value, str):
            raise DefinitionError(
                f'property "{key}" is not one that can be set',
                hint="policy, lag and schedule are arguments of their own; values are texts",
            )
        if names_secret(key) and value:
            raise secret_property(key)
    return dict(properties)


def _keep_in_storage(project: Project, view: Definition, record: ViewRecord) -> None:
    """A lost registry is written again from the storage table, so it has to know too."""
    if view.facts is None or view.facts.storage is None:
        return
    if project.tables.position(view.facts.storage, lambda: project.spark) is None:
        return
    kept = StoredProperties(
        policy=record.policy,
        lag=record.lag or "",
        schedule=record.schedule or "",
        properties=pairs_text(record.properties),
    )
    own = {**kept.to_properties(), **dict(record.properties)}
    project.tables.keep(view.facts.storage, lambda: project.spark, own)


def doomed(project: Project, view: Definition, *, cascade: bool) -> list[Definition]:
    """What goes with a view, children before parents, it last.

    Raises:
        DefinitionError: other views read it, and they are not to go.
    """
    views = project.written()
    parents = {name: item.parents_among(views) for name, item in views.items()}
    below = descendants(view.key, parents)
    if below and not cascade:
        raise DefinitionError(
            f'view "{view.name}" is read by other views',
            detail=f"by {', '.join(sorted(below))}",
            hint="drop them first, or drop with cascade",
            code="has-dependents",
        )
    order = [name for level in levels(parents) for name in level]
    return [views[name] for name in reversed(order) if name in below or name == view.key]


def drop(project: Project, view: Definition, *, cascade: bool) -> tuple[TableName, ...]:
    """Views removed, children before parents."""
    gone = doomed(project, view, cascade=cascade)
    with leased(project, [item.key for item in gone]):
        for item in gone:
            _remove(project, item)
    return tuple(item.name for item in gone)


def undo(project: Project, name: TableName) -> None:
    """Remove a view that was made a moment ago and could not be filled, unless others use it."""
    with suppress(LeaseHeldError, DefinitionError, RegistryError):
        drop(project, project.written()[str(name)], cascade=False)


def remove_rows(project: Project, name: TableName) -> None:
    """Take the public name and every storage table of a view away; its record stays."""

    def spark() -> SparkSession:
        return project.spark

    tables = project.tables
    # Asked of the catalog, not of the record: one that was recovered may never have been compiled.
    shown = tables.shown(name, spark)
    if shown == LOST_TEXT or shown_storage(name, shown) is not None:
        tables.unpublish(name, spark)
    for storage in storages_of(name, tables.stored(name.catalog, spark, name.schema)):
        tables.remove(storage, spark)


def _remove(project: Project, view: Definition) -> None:
    name = view.name
    if name.catalog not in {catalog.name for catalog in project.settings.catalogs}:
        # Nothing of it can be reached but the record, which else could never be got rid of.
        project.say(f'catalog "{name.catalog}" is not there: what it keeps of {name} stays')
        project.registry.drop_view(view.key)
        project.builder.forget(view.key)
        return
    remove_rows(project, name)
    if view.record is not None:
        project.registry.drop_view(view.key)
        # Whoever compiles the view at the same time may have made a table before the record went.
        remove_rows(project, name)
    project.builder.forget(view.key)


@contextmanager
def leased(project: Project, names: Sequence[str], seconds: float | None = None) -> Iterator[None]:
    """The right to write views while they are removed, renewed for as long as that takes."""
    from grebe.engine.lease import SECONDS, Leases, owner_of

    owner = owner_of(f"drop-{uuid.uuid4().hex[:8]}")
    leases = Leases(project.registry, owner, seconds=seconds or SECONDS)
    try:
        taken = leases.acquire(names)
        if taken:
            raise LeaseHeldError(
                f'view "{min(taken)}" is being refreshed',
                hint="wait for it to end, then try again",
            )
        if set(names) - leases.held.keys():
            raise RegistryError("the registry gives no lease", hint="run the command again")
        yield
    finally:
        leases.close()


def vacuum(project: Project, view: Definition, retention: str, *, force: bool) -> Vacuumed:
    """Versions older than the retention removed, within what children still need.

    Tables of former definitions go with them, when the name showed another one by then.
    """
    from grebe.schedule import duration

    is_nothing = retention.strip().lower() in ("0", "0d", "0 days")
    length = timedelta(0) if is_nothing else duration(retention)
    if view.facts is None or view.facts.storage is None:
        raise DefinitionError(
            f'view "{view.name}" was never refreshed',
            hint=f"grebe refresh {view.name}",
            code="never-refreshed",
        )
    wanted = datetime.now(UTC) - length
    storage = view.facts.storage
    readers = {} if force else project.written()
    look = project.look()
    since = needed_since(storage, look, wanted) if length else wanted
    until, holding = bound_of(storage, readers, look, since)
    former = former_storages(view, readers, look, wanted)
    # Also what the view itself needs holds: where one history is that of all, its own last commit.
    before = until if length or until < wanted else None
    with leased(project, [view.key]):
        if until != NEVER:
            project.tables.expire(storage, lambda: project.spark, before)
        for item in former:
            project.tables.remove(item, lambda: project.spark)
    return Vacuumed(view.name, until, holding, tuple(former))


def _in_file(view: Definition) -> DefinitionError:
    return DefinitionError(
        f'view "{view.name}" is defined in a file',
        detail=str(view.file),
        hint="edit the file; the next refresh follows it",
        code="view-in-file",
    )
