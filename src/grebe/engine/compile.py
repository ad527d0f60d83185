"""SQL text to a compiled view: names are looked up, Spark is asked for types, nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from grebe.compiler.emit import Leaf, emit
from grebe.compiler.expand import expanded
from grebe.compiler.lower import Lowered, Relation, lower
from grebe.compiler.nodes import Node, Scan, Verbatim, walk
from grebe.compiler.parse import parse, place_of
from grebe.compiler.partitions import stored_order, stored_partitions
from grebe.compiler.strategy import make_plan
from grebe.compiler.types import Types, scan_types, wanted
from grebe.compiler.verbatim import anchored, filled, relation_of, tables_in
from grebe.engine.choice import Pinned
from grebe.engine.public import public_sql
from grebe.engine.views import Definition, Used, View, used_columns
from grebe.errors import DefinitionError, InternalError, UnknownTableError
from grebe.formats.base import Source
from grebe.formats.identity import quoted
from grebe.model import Column, Schema, TableName
from grebe.sql_text import made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DIALECT = "spark"
Resolve = Callable[[tuple[str, ...]], TableName]
Open = Callable[[TableName], Source]


def compile_view(
    definition: Definition,
    spark: SparkSession,
    *,
    resolve: Resolve,
    open_source: Open,
    views: Mapping[str, View],
) -> View:
    """The view that a definition means, over the sources and views as they are now."""
    relations: dict[str, Relation] = {}
    schemas: dict[str, list[Used]] = {}
    names: dict[str, TableName] = {}
    for parts in _tables_in(definition.sql):
        name = resolve(parts)
        names[str(name)] = name
        parent = views.get(str(name))
        if parent is not None:
            relations[".".join(parts)] = Relation(str(name), parent.columns)
            continue
        columns = _columns(name, parts, open_source)
        if columns is not None:
            schemas[str(name)] = columns
            typed = tuple((column.name, column.type) for column in columns)
            relations[".".join(parts)] = Relation(str(name), typed)
    relations, definition = _frozen(relations, definition)
    lowered = lower(definition.sql, dialect=DIALECT, sources=relations)
    read = lowered.tables
    if lowered.root is None:
        read = tuple(str(resolve(parts)) for parts in tables_in(definition.sql, DIALECT))
    parents = tuple(sorted({table for table in read if table in views}))
    for parent_name in parents:
        storage = views[parent_name].storage_name
        names[str(storage)] = storage
        schemas[str(storage)] = _stored(views[parent_name], open_source)
    if lowered.root is None:
        written = {parts: str(resolve(parts)) for parts in tables_in(definition.sql, DIALECT)}
        for table in written.values():
            if table not in schemas and table not in views:
                raise UnknownTableError.named(table, [*schemas, *views])
        schemas = _as_frozen(schemas, definition)
        lowered = _as_text(lowered, anchored(definition.sql, DIALECT, written), views)
    analysis = Analysis(definition.sql, spark, names, schemas)
    return _compiled(definition, analysis, _over_storage(lowered, views), parents)


def _stored(view: View, open_source: Open) -> list[Used]:
    """The columns of a parent's storage table; as they will be, where it is not made yet."""
    try:
        return _used(open_source(view.storage_name))
    except UnknownTableError:
        return [Used(column.name, column.id, column.type) for column in view.stored.columns]


def _as_frozen(schemas: Mapping[str, list[Used]], definition: Definition) -> dict[str, list[Used]]:
    """The columns that a text may name: a star in it is read by Spark, as late as it is run."""
    known = definition.columns_of
    return {
        table: [item for item in items if item.name in known.get(table, (item.name,))]
        for table, items in schemas.items()
    }


def _as_text(lowered: Lowered, text: str, views: Mapping[str, View]) -> Lowered:
    """A definition without algebra, with views replaced by their own SELECT over their storage."""

    def relation(name: str) -> str | None:
        parent = views.get(name)
        return f"({public_sql(parent, quoted(str(parent.storage_name)))})" if parent else None

    text = filled(text, DIALECT, relation)
    tables = sorted(name for (name,) in tables_in(text, DIALECT))
    return replace(lowered, sql=text, tables=tuple(tables))


def _frozen(
    relations: Mapping[str, Relation], definition: Definition
) -> tuple[dict[str, Relation], Definition]:
    """The relations with the columns that they had at creation, and the definition that keeps them."""
    known = definition.columns_of
    found = {
        text: replace(
            relation,
            columns=tuple(
                (name, kind)
                for name, kind in relation.columns
                if name in known.get(relation.name, (name,))
            ),
        )
        for text, relation in relations.items()
    }
    names = {item.name: tuple(name for name, _ in item.columns) for item in found.values()}
    return found, replace(definition, frozen=tuple(sorted({**names, **known}.items())))


def fits_parents(view: View, views: Mapping[str, View]) -> bool:
    """False when the definition of a parent changed since the view was compiled."""
    names = {name for name, _ in view.sources}
    return all(views[name].storage_name in names for name in view.parents if name in views)


def fits_sources(view: View, pins: Mapping[TableName, Pinned]) -> bool:
    """False when a column that the view reads has another id, name or type by now."""
    return all(
        _has(pins[name].head.schema, item)
        for name, used in view.sources
        if name in pins
        for item in used
    )


def _has(schema: Schema, item: Used) -> bool:
    column = schema.by_id().get(item.id)
    return column is not None and (column.name, column.type) == (item.name, item.type)


def _tables_in(sql: str) -> list[tuple[str, ...]]:
    found: dict[tuple[str, ...], None] = {}
    for table in parse(sql, DIALECT).find_all(exp.Table):
        parts = tuple(part.name for part in table.parts if isinstance(part, exp.Identifier))
        if parts:
            found[parts] = None
    return list(found)


def _columns(name: TableName, parts: tuple[str, ...], open_source: Open) -> list[Used] | None:
    """The columns of a table; None for a bare name that no catalog has: it may be a CTE."""
    try:
        return _used(open_source(name))
    except UnknownTableError:
        if len(parts) == 1:
            return None
        raise


def _used(source: Source) -> list[Used]:
    return [Used(item.name, item.id, item.type) for item in source.head().schema.columns]


def _over_storage(lowered: Lowered, views: Mapping[str, View]) -> Lowered:
    """The definition with views replaced by their own SELECT over their storage tables."""
    if lowered.root is None:
        return lowered
    root = expanded(lowered.root, {name: view.as_parent for name, view in views.items()})
    tables = sorted({node.table for node in walk(root) if isinstance(node, Scan)})
    return replace(lowered, root=root, tables=tuple(tables))


def _compiled(
    definition: Definition, analysis: Analysis, lowered: Lowered, parents: tuple[str, ...]
) -> View:
    plan = make_plan(lowered, analysis.types(lowered.root))
    publics = [public for _, public in lowered.outputs]
    columns = tuple(zip(publics, analysis.columns(plan.definition), strict=True))
    used = used_columns(plan, analysis.schemas)
    sources = tuple((analysis.names[table], tuple(items)) for table, items in used.items())
    kinds = zip(plan.shape.columns, analysis.columns(plan.build), strict=True)
    stored = Schema("0", tuple(Column(i, name, kind) for i, (name, kind) in enumerate(kinds, 1)))
    partitions = stored_partitions(definition.partitioned_by, plan)
    clustered = stored_order(definition.clustered_by, plan)
    return View(definition, plan, columns, stored, sources, parents, partitions, clustered)


@dataclass(frozen=True, slots=True)
class Analysis:
    """Asks Spark for types: queries are analysed, never run."""

    text: str
    """The definition, to point at when Spark refuses it."""
    spark: SparkSession
    names: Mapping[str, TableName]
    schemas: Mapping[str, list[Used]]

    def types(self, root: Node | None) -> Types:
        """Types of the expressions that decide a rule."""
        if root is None:
            return Types(DIALECT)
        tables = {
            table: {item.name: item.type for item in items} for table, items in self.schemas.items()
        }
        found = scan_types(root, tables)
        for relation, items in wanted(root):
            unknown = [item for item in items if item.text not in found]
            if unknown:
                texts = ", ".join(item.ast.sql(DIALECT, comments=False) for item in unknown)
                body = emit(relation, DIALECT, self.now)
                kinds = self.schema(f"SELECT {texts} FROM (\n{body}\n) AS {made('q')}")
                found.update(zip((item.text for item in unknown), kinds, strict=True))
        return Types(DIALECT, found)

    def columns(self, root: Node) -> list[str]:
        """The types of a relation's columns."""
        return self.schema(emit(root, DIALECT, self.now))

    def schema(self, sql: str) -> list[str]:
        """The types of a query's columns.

        Raises:
            DefinitionError: Spark finds no meaning in it, such as a sum of dates.
        """
        from pyspark.errors import AnalysisException

        try:
            fields = self.spark.sql(sql).schema.fields
        except AnalysisException as error:
            raise DefinitionError(
                "Spark does not accept the query",
                detail=str(error).split("\n", maxsplit=1)[0],
                code="refused-by-spark",
                where=place_of(None, self.text),
            ) from error
        return [field.dataType.simpleString() for field in fields]

    def now(self, leaf: Leaf) -> str:
        """A relation without rows that has a source's columns: no table has to be opened."""
        if isinstance(leaf, Scan):
            return f"{self.empty(leaf.table)} AS {made('source')}"
        if isinstance(leaf, Verbatim):
            return relation_of(leaf, DIALECT, self.empty)
        raise InternalError.broken(f"{type(leaf).__name__} in a definition")

    def empty(self, table: str) -> str:
        """No rows, with the columns of a source."""
        columns = (f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in self.schemas[table])
        return f"(SELECT {', '.join(columns)} WHERE FALSE)"
