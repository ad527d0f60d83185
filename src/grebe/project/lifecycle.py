"""Creating, altering and dropping views: checked as a whole before anything is done."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from grebe.engine.lease import hold
from grebe.engine.public_name import shown_storage
from grebe.errors import DefinitionError, GrebeError, LeaseHeldError, RegistryError
from grebe.formats.base import LOST_TEXT
from grebe.model import Policy, TableName
from grebe.project.definitions import Definition
from grebe.project.given import (
    Given,
    Unsaved,
    in_file,
    kept_instead,
    new_view,
    policy_given,
    text_of,
)
from grebe.project.read_definition import read_header, stream_in
from grebe.project.refreshing import refresh_one
from grebe.project.retention import storages_of
from grebe.project.stream_views import define
from grebe.registry.records import ViewRecord
from grebe.secrets import names_secret
from grebe.stored_properties import StoredProperties, is_own, pairs_text
from grebe.streams.definition import is_stream
from grebe.streams.open_events import stream_name
from grebe.view_graph import descendants, levels
from grebe.view_timing import OTHERS, with_given

if TYPE_CHECKING:
    from grebe.compiler.text.statement import Statement
    from grebe.engine.rows.row_options import RowOptions
    from grebe.project.workspace import Workspace


def create(
    workspace: Workspace,
    given: Given,
    *,
    build: bool,
    replaces: bool,
    rows: RowOptions | None = None,
) -> TableName:
    """A view that is known from now on, and filled if asked for.

    Raises:
        DefinitionError: the definition means nothing, or the name is taken.
    """
    if isinstance(given.definition, Mapping) and is_stream(given.definition):
        return define(workspace, given.definition, replaces=replaces)
    there = kept_instead(workspace, given)
    if there is not None:
        return there
    view = new_view(workspace, given, replaces=replaces)
    before = workspace.written()
    views = {**before, view.key: view}
    levels({key: item.parents_among(views) for key, item in views.items()})
    _, failed = workspace.builder.add_all(views, view.parents_among(views))
    if failed:
        raise next(iter(failed.values()))
    workspace.builder.add(view)
    if build:
        try:
            refresh_one(workspace, view.name, rows=rows)
        except GrebeError as error:
            # What may go through the next time, or is somebody else's by now, stays.
            if view.key not in before and not getattr(error, "retryable", False):
                _undo(workspace, view.name)
            raise
    return view.name


def alter(
    workspace: Workspace, view: Definition, given: Given, properties: Mapping[str, str]
) -> TableName:
    """New settings, and perhaps a new text, in the registry and in the storage table."""
    from grebe.project.compile_views import overtaken

    if view.file:
        raise in_file(view)
    if view.stream is not None:
        return _alter_stream(workspace, view, given)
    record = view.record or ViewRecord(view.key, view.text)
    text = None if given.definition is None else text_of(given.definition)
    said = _read_change(workspace, view, text)
    policy = policy_given(given.policy) or (said and said.policy) or Policy(record.policy)
    merged = {**dict(record.properties), **_free(properties)}
    timing = with_given(view.timing.overlaid(said.timing) if said else view.timing, given.timing)
    new = replace(
        record,
        policy=policy,
        lag=timing.lag,
        schedule=timing.schedule,
        timing=timing.others,
        properties=tuple(sorted(merged.items())),
    )
    if text is not None:
        workspace.builder.add_all(workspace.written(), ())
        candidate = Unsaved(
            view.name,
            text,
            workspace.settings,
            record=replace(new, definition=text),
            columns=workspace.columns(),
        )
        workspace.builder.add_all(workspace.written(), candidate.parents_among(workspace.written()))
        workspace.builder.compile(candidate)
        merged |= {**dict(candidate.header.properties), **properties}
        new = replace(new, definition=text, properties=tuple(sorted(merged.items())))
    elif policy is not record.policy and policy in (Policy.STRICT, Policy.INCREMENTAL):
        _refuse_impossible(view, policy)
    _refuse_overtaken(workspace, view)
    # The table first: it may refuse a property, and then nothing has changed.
    _keep_in_storage(workspace, view, new)
    if not workspace.registry.change_view(new, view.record):
        _refuse_overtaken(workspace, view)
        raise overtaken(view)
    return view.name


def _alter_stream(workspace: Workspace, view: Definition, given: Given) -> TableName:
    """Another definition for the events that come from now on; the stored rows stay."""
    timed = any(value is not None for value in given.timing.values())
    if given.definition is None or given.policy or timed:
        raise DefinitionError(
            f'view "{view.name}" is a stream view: it has no policy, lag or schedule',
            hint="give its new definition as JSON, with another $refresh if that is to change",
            code="stream-view",
        )
    said = stream_in(text_of(given.definition), None)
    if said is None or stream_name(workspace.settings, said) != view.name:
        raise DefinitionError(
            f'the definition is not one of stream view "{view.name}"',
            hint="a view keeps its name: define another one",
            code="other-name",
        )
    return define(workspace, dict(said.document), replaces=True)


def _read_change(workspace: Workspace, view: Definition, text: str | None) -> Statement | None:
    """What a new text says around its query; a name in it must be the view's."""
    if text is None:
        return None
    said = read_header(text, None)
    if said.name and workspace.settings.resolve(said.name) != view.name:
        raise DefinitionError(
            f'the definition is one of view "{".".join(said.name)}", not of "{view.name}"',
            hint="a view keeps its name: create another one",
            code="other-name",
        )
    return said


def _refuse_overtaken(workspace: Workspace, view: Definition) -> None:
    """Nothing, while the registry says of a view what it said when it was read."""
    from grebe.project.compile_views import dropped, overtaken

    now = workspace.registry.view(view.key)
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


def _keep_in_storage(workspace: Workspace, view: Definition, record: ViewRecord) -> None:
    """A lost registry is written again from the storage table, so it has to know too."""
    if view.facts is None or view.facts.storage is None:
        return
    if workspace.tables.position(view.facts.storage, workspace.session) is None:
        return
    said = dict(record.timing or ())
    kept = StoredProperties(
        policy=record.policy,
        lag=record.lag or "",
        schedule=record.schedule or "",
        properties=pairs_text(record.properties),
        **{name: said.get(name, "") for name in OTHERS},
    )
    own = {**kept.to_properties(), **dict(record.properties)}
    workspace.tables.keep(view.facts.storage, workspace.session, own)


def views_to_drop(workspace: Workspace, view: Definition, *, cascade: bool) -> list[Definition]:
    """What goes with a view, children before parents, it last.

    Raises:
        DefinitionError: other views read it, and they are not to go.
    """
    views = workspace.written()
    parents = {name: item.parents_among(views) for name, item in views.items()}
    below = descendants(view.key, parents)
    if below and not cascade:
        raise DefinitionError(
            f'view "{view.name}" is read by other views',
            detail=f"by {', '.join(sorted(below))}",
            hint="drop them first, or drop them with it: grebe drop --cascade, cascade=True",
            code="has-dependents",
        )
    order = [name for level in levels(parents) for name in level]
    return [views[name] for name in reversed(order) if name in below or name == view.key]


def drop(workspace: Workspace, view: Definition, *, cascade: bool) -> tuple[TableName, ...]:
    """Views removed, children before parents."""
    gone = views_to_drop(workspace, view, cascade=cascade)
    with hold(workspace.registry, [item.key for item in gone]):
        for item in gone:
            _remove(workspace, item)
    return tuple(item.name for item in gone)


def _undo(workspace: Workspace, name: TableName) -> None:
    """Remove a view that was made a moment ago and could not be filled, unless others use it."""
    with suppress(LeaseHeldError, DefinitionError, RegistryError):
        drop(workspace, workspace.written()[str(name)], cascade=False)


def remove_rows(workspace: Workspace, name: TableName) -> None:
    """Take the public name and every storage table of a view away; its record stays."""
    tables, spark = workspace.tables, workspace.session
    # Asked of the catalog, not of the record: one that was recovered may never have been compiled.
    shown = tables.shown(name, spark)
    if shown == LOST_TEXT or shown_storage(name, shown) is not None:
        tables.unpublish(name, spark)
    for storage in storages_of(name, tables.stored(name.catalog, spark, name.schema)):
        tables.remove(storage, spark)


def _remove(workspace: Workspace, view: Definition) -> None:
    name = view.name
    if name.catalog not in {catalog.name for catalog in workspace.settings.catalogs}:
        # Nothing of it can be reached but the record, which else could never be got rid of.
        workspace.say(f'catalog "{name.catalog}" is not there: what it keeps of {name} stays')
        workspace.registry.drop_view(view.key)
        workspace.builder.forget(view.key)
        return
    remove_rows(workspace, name)
    if view.record is not None:
        workspace.registry.drop_view(view.key)
        # Whoever compiles the view at the same time may have made a table before the record went.
        remove_rows(workspace, name)
    workspace.builder.forget(view.key)
