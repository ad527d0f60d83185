"""The parts of a program put together: set-up, one transaction of maintenance, and the query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b

from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import Projection, Scan, Stored, walk
from grebe.compiler.lower import Lowered
from grebe.compiler.lower.scope import dotted
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.model import Policy
from grebe.program.apply import StepWriter, kept_relations
from grebe.program.cursors import Cursors, check_types, described, tables
from grebe.program.duckdb_text import assign, ident, literal
from grebe.program.exact_floats import created_exactly, kept_exactly
from grebe.program.feeds import deltas
from grebe.program.naming import Naming
from grebe.program.program_sources import ProgramSource, TablePlace, struct, struct_of
from grebe.program.program_storage import storage_of
from grebe.program.program_view import MaterializedView
from grebe.program.program_window import ProgramWindow


def used_columns(found: Iterable[ProgramSource], plan: RefreshPlan) -> tuple[ProgramSource, ...]:
    """The sources with the columns that the plan reads; all of them when it has no algebra."""
    read: dict[str, dict[str, None]] = {}
    for root in (plan.build, *(step.node for step in plan.steps)):
        for node in walk(root):
            if isinstance(node, Scan):
                read.setdefault(node.table, {}).update(dict.fromkeys(s for _, s in node.pairs))
    return tuple(
        replace(s, columns=tuple(pair for pair in s.columns if pair[0] in read[s.key]))
        if s.key in read
        else s
        for s in found
    )


@dataclass(frozen=True, slots=True)
class Program:
    """A planned view with everything that its statements need to know."""

    plan: RefreshPlan
    lowered: Lowered
    types: Types
    sources: tuple[ProgramSource, ...]
    place: TablePlace
    naming: Naming
    policy: Policy

    @property
    def falls_back(self) -> bool:
        return self.policy is not Policy.STRICT

    def view(self) -> MaterializedView:
        """The finished program."""
        table = ident(self.place.catalog, self.place.schema, self.naming.mv_table())
        storage = storage_of(self.plan, self.types, self.naming, table)
        publics = {public for _, public in self.plan.outputs}
        name = dotted((self.place.catalog, self.place.schema, self.naming.mv_table()))
        writer = StepWriter(self.plan, storage, self.sources, name, self.falls_back)
        cursors = self._cursors(writer)
        return MaterializedView(
            view_sql=self.lowered.sql,
            create_cursors_table=cursors.create(),
            create_mv=self._create(cursors, writer),
            initialize_cursors=cursors.initialize(),
            maintain=self._maintain(cursors, writer),
            rehash=self._rehash(cursors, writer),
            base_tables={s.written.split("\0")[0]: s.catalog for s in self.sources},
            features=set(self.lowered.features),
            query_mv=writer.query(),
            strategy=str(self.plan.strategy) if self.plan.steps else "full_refresh",
            fallback_reason="; ".join(str(reason) for reason in self.plan.reasons) or None,
            name=cursors.view,
            definition=cursors.definition,
            sources=tuple(source.key for source in self.sources),
            notes=self.plan.notes,
            hidden=tuple(name for name in storage.columns if name not in publics),
            hides_rows=any(not isinstance(n, (Projection, Stored)) for n in walk(self.plan.public)),
        )

    def _cursors(self, writer: StepWriter) -> Cursors:
        """The cursors with the digest of what the table holds; the case of names does not count."""
        made = (writer.create("__grebe_pins"), writer.query(), *(s.key for s in self.sources))
        parts = [self.lowered.sql, str(self.plan.strategy), *(text.lower() for text in made)]
        definition = blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()
        return Cursors(
            self.place.catalog,
            self.place.schema,
            self.naming.cursors_table(),
            self.naming.mv_table(),
            definition,
            self.sources,
        )

    def _create(self, cursors: Cursors, writer: StepWriter) -> str:
        """What is read is captured in one statement, then read, then handed to the cursors."""
        points = [f"  {literal(s.field)}: {_point(s)}" for s in self.sources]
        points.append(f"  'own': ({_newest(cursors.catalog)})")
        found = tables(source.catalog for source in self.sources)
        captured = assign(
            "__grebe_read",
            "SELECT {\n"
            + ",\n".join(points)
            + f"\n}} FROM (SELECT {struct_of(self.sources, described)} AS __grebe_point"
            f" FROM (\n{found}\n) AS __grebe_found)",
        )
        pins = struct(self.sources, lambda s: f"{s.value('__grebe_read')}.snapshot")
        return ";\n".join(
            [
                captured,
                cursors.check_settings(),
                *check_types(self.sources),
                assign("__grebe_pins", pins),
                *self._created(writer),
                cursors.remember("__grebe_read", "__grebe_pins"),
            ]
        )

    def _created(self, writer: StepWriter) -> list[str]:
        create = writer.create("__grebe_pins")
        return created_exactly(create) if writer.storage.floats else [create]

    def _maintain(self, cursors: Cursors, writer: StepWriter) -> list[str]:
        window = self._window(cursors, writer)
        body = window.statements()
        if writer.storage.floats:
            name = self.naming.mv_table()
            body += kept_exactly(writer.storage.table, self.place, name)
        body += deltas(self.sources, read=bool(self.plan.steps))
        body += writer.statements()
        body.append(cursors.move(redefines=self.falls_back))
        return ["BEGIN", *body, *kept_relations(body), window.marked(), "COMMIT"]

    def _rehash(self, cursors: Cursors, writer: StepWriter) -> list[str]:
        """New checksums for all rows, if nobody else has written to them."""
        if not writer.storage.hashes:
            return []
        window = replace(self._window(cursors, writer), falls_back=False, hashes=False)
        written = [*window.statements(), writer.rehash(), cursors.own()]
        return ["BEGIN", *written, window.marked(), "COMMIT"]

    def _window(self, cursors: Cursors, writer: StepWriter) -> ProgramWindow:
        return ProgramWindow(
            cursors,
            self.naming.mv_table(),
            self.falls_back,
            hashes=writer.storage.hashes,
            always_full=not self.plan.steps,
        )


def _newest(catalog: str) -> str:
    return f"SELECT MAX(snapshot_id) FROM ducklake_snapshots({literal(catalog)})"


def _point(source: ProgramSource) -> str:
    """What identifies the state of a source that is read now."""
    point = f"__grebe_point.{source.field}"
    return (
        f"{{'snapshot': ({_newest(source.catalog)}), 'identity': {point}.identity,"
        f" 'ids': {point}.ids, 'columns': {point}.columns}}"
    )
