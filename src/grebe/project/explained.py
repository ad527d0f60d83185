"""An explanation with what a plan alone cannot know: whether the sources are ready for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grebe.engine.heads import Heads
from grebe.errors import GrebeError
from grebe.model import Policy, TableName, Version, Window
from grebe.project.definitions import Definition
from grebe.project.given import meant, unsaved
from grebe.project.operator_words import sentence
from grebe.project.past_runs import named
from grebe.tabular import Printed, first_lines

if TYPE_CHECKING:
    from pathlib import Path

    from grebe.project.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a source can give exact changes, and what to do when it cannot."""

    source: str
    ready: bool
    says: str
    fix: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"source": self.source, "ready": self.ready, "says": self.says, "fix": self.fix}


@dataclass(frozen=True, slots=True, repr=False)
class Explained(Printed):
    """Can it be incremental, by which rules, why not; and are its sources ready."""

    view: TableName
    policy: Policy
    document: Mapping[str, Any]
    sources: tuple[Readiness, ...]
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()

    @property
    def incremental(self) -> bool:
        """True when the view can be maintained from changes."""
        return bool(self.document["incremental"])

    @property
    def reasons(self) -> Sequence[str]:
        """Why it cannot."""
        return tuple(self.document["reasons"])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        ready = [item.to_dict() for item in self.sources]
        return {
            "view": str(self.view),
            "policy": self.policy,
            **self.document,
            "sources": ready,
            "partitioned_by": list(self.partitioned_by),
            "clustered_by": list(self.clustered_by),
        }

    def text(
        self, *, sql: bool = False, laws: bool = False, say: Callable[[object], str] = str
    ) -> str:
        """The explanation for a person.

        Args:
            sql: with the SQL of every step.
            laws: with the law of every operator, and the state that is kept.
            say: how a name is said.
        """
        known = self.document
        kept = f"incremental, by {known['strategy']}" if self.incremental else "full refresh only"
        mark = f", {known['fingerprint'][:8]}" if laws else ""
        lines = [f"{say(self.view)}: {kept}  (policy {self.policy}{mark})"]
        lines += [
            f"  because: {reason['message']}  [{reason['code']}]" for reason in known["reasons"]
        ]
        lines += [f"  note:    {note}" for note in known["notes"]]
        if self.partitioned_by:
            lines.append(f"  files:   partitioned by {', '.join(self.partitioned_by)}")
        if self.clustered_by:
            lines.append(f"  rows:    sorted by {', '.join(self.clustered_by)} in full refreshes")
        if not self.incremental and self.policy is Policy.AUTO:
            lines.append("  so:      every refresh recomputes it, and says this reason")
        lines += [*self._sources(say), "operators"]
        for item in known["operators"]:
            line = f"  {sentence(item['name'], item['detail'], say)}"
            if laws or line != lines[-1]:
                lines.append(line)
            if laws:
                lines.append(f"    {item['name']} {item['detail']}".rstrip())
                lines.append(f"    rule {item['rule']}: {item['law']}")
        if laws and known["hidden"]:
            lines.append(f"state    {', '.join(known['hidden'])}")
        if sql:
            for number, step in enumerate(known["steps"], 1):
                lines.append(f"step {number}: {step['kind']} {step['name']}".rstrip())
                lines += [f"    {line}" for line in step["sql"].splitlines()]
        return "\n".join(lines)

    def _sources(self, say: Callable[[object], str]) -> Iterator[str]:
        if self.sources:
            yield "sources"
        for item in self.sources:
            state = "ready" if item.ready else "NOT READY"
            yield f"  {state}  {say(named(item.source))}: {item.says}"
            if item.fix:
                yield f"         fix: {item.fix}"

    def __str__(self) -> str:
        return first_lines(self.text(), ".text(), or .text(laws=True)")

    __repr__ = __str__


def explain_view(workspace: Workspace, what: str | Path) -> Explained:
    """Whether and how a view is maintained incrementally, and why.

    Raises:
        UnknownTableError: it can only be a name, and no view has it.
    """
    views = workspace.written()
    known = meant(workspace, what, views) or unsaved(workspace, what)
    if known.error:
        raise known.error
    if known.is_as_compiled and known.facts:
        document = json.loads(known.facts.explanation)
    else:
        document = _compiled(workspace, known, views)
    sources = [table for table in known.tables if table not in views]
    ready = readiness(known, sources, workspace.heads())
    return Explained(known.name, known.policy, document, ready, *known.layout)


def _compiled(
    workspace: Workspace, view: Definition, views: Mapping[str, Definition]
) -> dict[str, Any]:
    from grebe.compiler.explain import explain
    from grebe.project.foreseen import check_names

    check_names(workspace, view, views)  # a slip of the pen is told before Spark is started
    workspace.builder.compile_all(views, view.parents_among(views))
    return explain(workspace.builder.compile(view).plan).to_dict()


def readiness(view: Definition, tables: Sequence[str], look: Heads) -> tuple[Readiness, ...]:
    """Whether the sources can give exact changes from where the view stands."""
    points = {}
    if view.facts and view.facts.storage:
        position = look.position(view.facts.storage)
        points = position.frontier.by_source if position and position.frontier else {}
    used = {str(item.name): item.columns for item in view.facts.sources} if view.facts else {}
    found = []
    for table in tables:
        point = points.get(table)
        found.append(_one(view, table, point.version if point else None, used.get(table, ()), look))
    return tuple(found)


def _one(
    view: Definition, table: str, after: Version | None, columns: Sequence[int], look: Heads
) -> Readiness:
    name = view.settings.resolve(table.split("."))
    catalog = view.settings.catalog(name.catalog)
    try:
        head = look.head(name)
        source = look.tables.source(name, look.session)
        reason = None
        if after is not None and after != head.version:
            reason = source.unreadable(Window(after, head.version), columns)
    except GrebeError as error:
        return Readiness(table, False, error.message, error.hint or error.detail)
    if reason is not None:
        fix = "refresh it once in full: grebe refresh --full-refresh"
        return Readiness(table, False, f"{reason.message}  [{reason.code}]", fix)
    since = head.committed_at.strftime("%Y-%m-%d %H:%M:%S") if head.committed_at else "?"
    way = "any two versions compare" if source.capabilities.any_two_versions else "a change feed"
    return Readiness(
        table, True, f"{catalog.format}, version {head.version} of {since}; changes: {way}"
    )
