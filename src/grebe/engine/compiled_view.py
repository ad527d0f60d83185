"""A view as the engine sees it: its definition, compiled over the sources as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from grebe.compiler.algebra.nodes import Scan, Verbatim, walk
from grebe.compiler.algebra.parent_views import Parent
from grebe.compiler.parser.parse import normalised, parse
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.rows.row_layout import RowLayout
from grebe.config import Settings
from grebe.errors import DefinitionError
from grebe.model import LAYOUT, Check, Column, Partition, Policy, Schema, TableName
from grebe.sql_text import PREFIX
from grebe.stored_properties import KEYS, StoredProperties

GENERATIONS = 64
"""How many storage tables of one definition are looked for; nobody breaks so many."""


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """What a person wrote, and the settings of the session it was written for."""

    name: TableName
    sql: str
    policy: Policy = Policy.AUTO
    settings: tuple[tuple[str, str], ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    frozen: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The columns that each relation had when the view was created: what `*` means ever after."""
    meaning: str = field(default="", compare=False)
    """What Spark said of the text, as it is kept: asked again only when something of it changed."""
    generation: int = 0
    """How many storage tables of this definition were given up, because somebody broke them."""
    made_as: str = field(default="", compare=False)
    """The fingerprint that an older version gave to the same definition: its table is used further."""
    rows: str = ""
    """JSON of a row view, whose query ``sql`` is; empty for others."""

    @property
    def columns_of(self) -> dict[str, tuple[str, ...]]:
        """The frozen columns by relation."""
        return dict(self.frozen)


@dataclass(frozen=True, slots=True)
class Used:
    """A column of a source that a view reads, by the id that outlives its name."""

    name: str
    id: int
    type: str

    @property
    def column(self) -> Column:
        """The same, as tables say it."""
        return Column(self.id, self.name, self.type)


@dataclass(frozen=True, slots=True)
class CompiledView:
    """A compiled definition."""

    definition: ViewDefinition
    plan: RefreshPlan
    columns: tuple[tuple[str, str], ...]
    """Public names and types, as Spark gave the query at creation."""
    stored: Schema
    """The columns of the storage table."""
    sources: tuple[tuple[TableName, tuple[Used, ...]], ...]
    """The source tables, each with the columns that are read."""
    parents: tuple[str, ...] = ()
    """Views that this one reads, by name."""
    partitions: tuple[Partition, ...] = ()
    """How the storage table is divided, by its own columns."""
    clustered: tuple[str, ...] = ()
    """Columns of the storage table that its rows are sorted by when all are written."""
    text: str = ""
    """What the user wrote, with marks for the tables: what `verify` compares with."""
    read: tuple[tuple[TableName, tuple[Used, ...]], ...] = ()
    """The columns that the text may read of each table."""
    seen: tuple[tuple[TableName, tuple[str, ...]], ...] = ()
    """The names of all columns that the sources had when the view was compiled."""
    replaces: frozenset[TableName] = frozenset()
    """Storage tables that this one may take the place of under the public name: what that showed
    when the view was compiled."""
    rows: RowLayout | None = None
    """What is stored of a row view; None for others."""

    @property
    def name(self) -> TableName:
        """The public name."""
        return self.definition.name

    @property
    def fingerprint(self) -> str:
        """A digest of what is stored and shown: plan, types, and settings that change results."""
        if self.definition.made_as:
            return self.definition.made_as
        types = [f"{name} {kind}" for name, kind in self.columns]
        types += [f"{column.name} {column.type}" for column in self.stored.columns]
        types += [f"by {part}" for part in self.partitions]
        types += [f"with {key}={value}" for key, value in sorted(self.definition.settings)]
        parts = "\x1f".join([self.plan.fingerprint, *types])
        return blake2b(parts.encode(), digest_size=16).hexdigest()

    @property
    def storage_name(self) -> TableName:
        """The table that holds the rows; another definition has another table."""
        return self.storage_of(self.definition.generation)

    def storage_of(self, generation: int) -> TableName:
        """The table that holds the rows after so many were given up."""
        mark = self.fingerprint[:8]
        if generation:
            mark = blake2b(f"{self.fingerprint} {generation}".encode(), digest_size=4).hexdigest()
        return replace(self.name, name=f"{PREFIX}{self.name.name}_{mark}")

    def generation_of(self, storage: TableName | None) -> int:
        """Which of the tables of this definition one is; 0 for those of others."""
        return next((n for n in range(1, GENERATIONS) if self.storage_of(n) == storage), 0)

    def next_generation(self, generation: int | None = None) -> CompiledView:
        """The same view in another table, which is empty or stands where it was left."""
        following = self.definition.generation + 1 if generation is None else generation
        return replace(self, definition=replace(self.definition, generation=following))

    @property
    def as_parent(self) -> Parent:
        """What children need of this view."""
        return Parent(str(self.storage_name), self.plan.public, self.plan.outputs)

    def properties(self) -> dict[str, str]:
        """What the storage table keeps of the definition: the registry can be rebuilt from it."""
        return {**self.own_properties().to_properties(), **dict(self.definition.properties)}

    def own_properties(self) -> StoredProperties:
        """What grebe itself says of the definition in its storage table."""
        return StoredProperties(
            view=str(self.name),
            sql=self.definition.sql,
            policy=self.definition.policy,
            settings=json.dumps(dict(self.definition.settings), sort_keys=True),
            columns=json.dumps(self.columns),
            partitions=", ".join(str(part) for part in self.partitions),
            fingerprint=self.fingerprint,
            layout=str(LAYOUT),
            frozen=json.dumps(self.definition.frozen),
            meaning=self.definition.meaning,
        )


def check_of(view: CompiledView, settings: Settings) -> Check:
    """Whether the view's first build is checked: its own property, else the project's setting."""
    own = dict(view.definition.properties).get(KEYS["check"])
    return Check(own) if own else settings.views.check


def as_created(definition: ViewDefinition, properties: Mapping[str, str]) -> ViewDefinition:
    """The definition with what its storage table kept of its creation, if that means the same."""
    stored = StoredProperties.from_properties(properties)
    if not _same(stored.sql or "", definition.sql):
        return definition
    settings = definition.settings or tuple(json.loads(stored.settings or "{}").items())
    kept = json.loads(stored.frozen or "[]")
    frozen = definition.frozen or tuple((name, tuple(columns)) for name, columns in kept)
    meaning = definition.meaning or stored.meaning or ""
    return replace(definition, settings=settings, frozen=frozen, meaning=meaning)


def _same(one: str, two: str) -> bool:
    """True for texts that differ in nothing but spaces, case and comments."""
    if one == two or not one:
        return bool(one)
    try:
        return normalised(parse(one, "spark"), "spark") == normalised(parse(two, "spark"), "spark")
    except DefinitionError:
        return False


def used_columns(plan: RefreshPlan, schemas: Mapping[str, Sequence[Used]]) -> dict[str, list[Used]]:
    """For each source table of a plan, the columns that its scans read, in the table's order."""
    if isinstance(plan.definition, Verbatim):  # which columns a text reads is not looked for
        return {table: list(schemas[table]) for table in sorted(plan.tables)}
    names: dict[str, set[str]] = {}
    for node in walk(plan.definition):
        if isinstance(node, Scan):
            names.setdefault(node.table, set()).update(source for _, source in node.pairs)
    return {
        table: [column for column in schemas[table] if column.name in wanted]
        for table, wanted in sorted(names.items())
    }
