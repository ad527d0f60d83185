"""What a caller says of a view, read and checked before anything is done with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grebe.errors import DefinitionError, GrebeError
from grebe.model import Policy, TableName
from grebe.project.definitions import SUFFIXES, Definition, outside
from grebe.project.read_definition import digest_of, read_header, unreadable
from grebe.registry.records import ViewRecord
from grebe.view_timing import with_given

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace

GivenDefinition = str | Path | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """What a caller said of a view, not checked yet."""

    name: str | None
    definition: GivenDefinition | None
    policy: Policy | str | None = None
    timing: Mapping[str, object] = field(default_factory=dict)
    """When it is to be refreshed, by the names of the settings."""


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


def kept_instead(workspace: Workspace, given: Given) -> TableName | None:
    """The view that is there already, for a definition that says IF NOT EXISTS."""
    if given.definition is None:
        return None
    statement = read_header(text_of(given.definition), None)
    parts = given.name or statement.name
    if not statement.if_not_exists or parts is None:
        return None
    known = workspace.written().get(str(workspace.settings.resolve(parts)))
    return known.name if known else None


def new_view(workspace: Workspace, given: Given, *, replaces: bool) -> Definition:
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
    name = workspace.settings.resolve(parts)
    views = workspace.written()
    known = views.get(str(name))
    if known is not None and not (replaces or statement.replaces):
        raise DefinitionError(
            f'view "{name}" exists already',
            detail=f"defined in {known.file}" if known.file else None,
            hint="alter or drop it, or create it with replace",
            code="view-exists",
        )
    if known is not None and known.file:
        raise in_file(known)
    policy = policy_given(given.policy) or statement.policy or Policy.AUTO
    timing = with_given(statement.timing, given.timing)
    record = ViewRecord(
        str(name),
        text,
        policy=policy,
        lag=timing.lag,
        schedule=timing.schedule,
        timing=timing.others,
        compiled=known.record.compiled if known and known.record else None,
        fingerprint=known.record.fingerprint if known and known.record else None,
    )
    made = Unsaved(name, text, workspace.settings, record=record, columns=workspace.columns())
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


_NAME = re.compile(r"(?:`(?:[^`]|``)+`|[\w$-]+)(?:\.(?:`(?:[^`]|``)+`|[\w$-]+))*")
"""A text that can only be a name: SQL and JSON hold other signs."""


def meant(
    workspace: Workspace, what: str | Path, views: Mapping[str, Definition]
) -> Definition | None:
    """The view that a name or the path of its file means; None for a text or another file.

    Raises:
        UnknownTableError: the text can only be a name, and no view has it.
    """
    if isinstance(what, Path):
        files = {
            workspace.settings.folder / view.file: view for view in views.values() if view.file
        }
        return files.get(what.resolve())
    if what in views:
        return views[what]
    if _NAME.fullmatch(what) and not what.endswith(SUFFIXES):
        return views[str(workspace.named(what).name)]
    try:
        return views.get(str(workspace.settings.resolve(what)))
    except GrebeError:
        return None


def unsaved(workspace: Workspace, what: str | Path) -> Definition:
    """A text or a file that is no view yet."""
    path = Path(what) if isinstance(what, Path) or what.endswith(SUFFIXES) else None
    if path and _leads_out(path, workspace.settings.folder):
        raise outside(str(what))
    text = text_of(path or str(what))
    file = str(path) if path else None
    parts = read_header(text, file).name
    name = workspace.settings.resolve(parts or (path.stem if path else "query",))
    return Definition(name, text, workspace.settings, file, columns=workspace.columns())


def _leads_out(file: Path, folder: Path) -> bool:
    """True for a link of the project to something elsewhere."""
    lies_in = any(parent.resolve() == folder for parent in file.absolute().parents)
    return lies_in and not file.resolve().is_relative_to(folder)


def in_file(view: Definition) -> DefinitionError:
    """The error for a view that only its file can change."""
    return DefinitionError(
        f'view "{view.name}" is defined in a file',
        detail=str(view.file),
        hint="edit the file; the next refresh follows it",
        code="view-in-file",
    )
