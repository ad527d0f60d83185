"""A view as the engine sees it: its definition, compiled over the sources as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grebe.compiler.expand import Parent
from grebe.compiler.nodes import Scan, walk
from grebe.compiler.plan import LAYOUT, RefreshPlan
from grebe.model import Policy, Schema, TableName

PREFIX = "__grebe_"


@dataclass(frozen=True, slots=True)
class Definition:
    """What a person wrote, and the settings of the session it was written for."""

    name: TableName
    sql: str
    policy: Policy = Policy.AUTO
    settings: tuple[tuple[str, str], ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    partitioned_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Used:
    """A column of a source that a view reads, by the id that outlives its name."""

    name: str
    id: int
    type: str


@dataclass(frozen=True, slots=True)
class View:
    """A compiled definition."""

    definition: Definition
    plan: RefreshPlan
    columns: tuple[tuple[str, str], ...]
    """Public names and types, as Spark gave the query at creation."""
    stored: Schema
    """The columns of the storage table."""
    sources: tuple[tuple[TableName, tuple[Used, ...]], ...]
    """The source tables, each with the columns that are read."""
    parents: tuple[str, ...] = ()
    """Views that this one reads, by name."""

    @property
    def name(self) -> TableName:
        """The public name."""
        return self.definition.name

    @property
    def storage_name(self) -> TableName:
        """The table that holds the rows; another definition has another table."""
        own = f"{PREFIX}{self.name.name}_{self.plan.fingerprint[:8]}"
        return replace(self.name, name=own)

    @property
    def as_parent(self) -> Parent:
        """What children need of this view."""
        return Parent(str(self.storage_name), self.plan.public, self.plan.outputs)

    def properties(self) -> dict[str, str]:
        """What the storage table keeps of the definition: the registry can be rebuilt from it."""
        return {
            "grebe.view": str(self.name),
            "grebe.sql": self.definition.sql,
            "grebe.policy": self.definition.policy,
            "grebe.settings": json.dumps(dict(self.definition.settings), sort_keys=True),
            "grebe.columns": json.dumps(self.columns),
            "grebe.fingerprint": self.plan.fingerprint,
            "grebe.layout": str(LAYOUT),
            **dict(self.definition.properties),
        }


def used_columns(plan: RefreshPlan, schemas: Mapping[str, Sequence[Used]]) -> dict[str, list[Used]]:
    """For each source table of a plan, the columns that its scans read, in the table's order."""
    names: dict[str, set[str]] = {}
    for node in walk(plan.definition):
        if isinstance(node, Scan):
            names.setdefault(node.table, set()).update(source for _, source in node.pairs)
    return {
        table: [column for column in schemas[table] if column.name in wanted]
        for table, wanted in sorted(names.items())
    }
