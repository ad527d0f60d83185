"""SQL text to a compiled view: names are looked up, Spark is asked what it means, nothing runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from grebe.compiler.algebra.known_types import Types, scan_types, wanted
from grebe.compiler.algebra.nodes import Node, Scan, Verbatim, walk
from grebe.compiler.algebra.parent_views import expanded
from grebe.compiler.budget import FEATURE as TOO_LARGE
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.lower import Lowered, Relation, lower
from grebe.compiler.parser.parse import place_of
from grebe.compiler.plan.layout_items import stored_order, stored_partitions
from grebe.compiler.plan.strategy import make_plan
from grebe.compiler.reasons import ReasonCode
from grebe.compiler.text.references import Parts
from grebe.compiler.text.verbatim import (
    MARK,
    anchored,
    filled,
    named_in,
    relation_of,
    spoken,
    tables_in,
)
from grebe.engine.compiled_view import CompiledView, Used, ViewDefinition, used_columns
from grebe.engine.meaning import Meaning, known_meaning, meaning_key, remember
from grebe.engine.public import public_sql
from grebe.engine.spark_judge import REFUSED, Judge
from grebe.engine.standing import Pinned
from grebe.errors import (
    DefinitionError,
    GrebeError,
    InternalError,
    UnknownTableError,
    UnsupportedSQLError,
)
from grebe.formats.base import Source
from grebe.model import Column, Reason, Schema, TableName
from grebe.spark.spark_types import type_text
from grebe.sql_text import is_made, made, plain, quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DIALECT = "spark"
Resolve = Callable[[tuple[str, ...]], TableName]
Open = Callable[[TableName], Source]
ALWAYS_REFUSED: Final = (
    "non_deterministic",
    "tablesample",
    "time_travel",
    "parameter",
    "reserved_name",
    "duplicate_column",
    "several_statements",
    "not_a_query",
    "partition",
    "cte",
)
"""SQL that not even a recomputation is faithful to, or that has no columns to store."""


def compile_view(
    definition: ViewDefinition,
    spark: SparkSession,
    *,
    resolve: Resolve,
    open_source: Open,
    views: Mapping[str, CompiledView],
) -> CompiledView:
    """The view that a definition means, over the sources and views as they are now."""
    if is_made(definition.name.name):
        raise UnsupportedSQLError(
            "reserved_name", f'the name "{definition.name.name}" begins with the reserved prefix'
        )
    tables = _looked_up(definition, resolve, open_source, views)
    # What was there at creation and is gone now may come back.
    kept = {**dict(tables.frozen), **definition.columns_of}
    definition = replace(definition, frozen=tuple(sorted(kept.items())))
    meaning = _meaning(definition, spark, tables)
    definition = replace(definition, meaning=meaning.kept_as)
    lowered = _lowered(definition, tables, meaning)
    text = _text(definition, tables, views)
    if lowered.root is None:
        lowered = replace(lowered, sql=text, tables=tuple(sorted(named_in(text))))
    parents = tuple(sorted({table for table in tables.written.values() if table in views}))
    for parent in parents:
        storage = views[parent].storage_name
        tables.names[str(storage)] = storage
        tables.schemas[str(storage)] = _stored(views[parent], open_source)
    analysis = Analysis(definition.sql, spark, tables.names, tables.schemas)
    over = _over_storage(lowered, views)
    tried = _try(definition, analysis, over, parents, meaning)
    view = None if isinstance(tried, Reason) else tried
    if isinstance(tried, Reason):
        said = replace(_without_algebra(lowered, meaning, tried), sql=text)
        over = replace(said, tables=tuple(sorted(named_in(text))))
        view = _compile(definition, analysis, over, parents, meaning)
    if view is None:
        raise InternalError.broken("a text without algebra has the types that Spark gives it")
    read = tuple((analysis.names[name], tuple(tables.schemas[name])) for name in named_in(text))
    return replace(view, text=text, read=read)


@dataclass(slots=True)
class _Tables:
    """The tables that a definition names, by the name in its text and by their full one."""

    written: dict[Parts, str] = field(default_factory=dict)
    relations: dict[Parts, Relation] = field(default_factory=dict)
    names: dict[str, TableName] = field(default_factory=dict)
    schemas: dict[str, list[Used]] = field(default_factory=dict)

    @property
    def frozen(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The columns of each relation: what `*` means ever after."""
        found = {
            item.name: tuple(name for name, _ in item.columns) for item in self.relations.values()
        }
        return tuple(sorted(found.items()))

    @property
    def by_text(self) -> dict[str, Relation]:
        """The relations as lowering looks for them."""
        return {".".join(parts): relation for parts, relation in self.relations.items()}


def _looked_up(
    definition: ViewDefinition,
    resolve: Resolve,
    open_source: Open,
    views: Mapping[str, CompiledView],
) -> _Tables:
    """The tables of a definition, each with the columns that it had when the view was created."""
    found = _Tables()
    for parts in tables_in(definition.sql, DIALECT):
        name = resolve(parts)
        found.names[str(name)] = name
        found.written[parts] = str(name)
        parent = views.get(str(name))
        if parent is not None:
            columns = _frozen(parent.columns, definition.columns_of.get(str(name)))
            found.relations[parts] = Relation(str(name), columns)
            continue
        used = _columns(name, parts, open_source)
        if used is None:
            lower(definition.sql, dialect=DIALECT, sources=found.by_text)  # says where
            raise UnknownTableError.named(str(name), [*found.schemas, *views])
        kinds = tuple((column.name, column.type) for column in used)
        columns = _frozen(kinds, definition.columns_of.get(str(name)))
        by_name = {column.name: column for column in used}
        found.schemas[str(name)] = [by_name[name] for name, _ in columns]
        found.relations[parts] = Relation(str(name), columns)
    return found


def _frozen(
    columns: tuple[tuple[str, str], ...], known: tuple[str, ...] | None
) -> tuple[tuple[str, str], ...]:
    """The columns that were there at creation, in the order of then."""
    if known is None:
        return columns
    kinds = dict(columns)
    return tuple((name, kinds[name]) for name in known if name in kinds)


def _meaning(definition: ViewDefinition, spark: SparkSession, tables: _Tables) -> Meaning:
    """What Spark says of the text; asked once for a text, the columns that it reads and settings."""
    columns = {
        parts: tuple((name, kind or "void") for name, kind in relation.columns)
        for parts, relation in tables.relations.items()
    }
    key = meaning_key(definition.sql, columns, definition.settings)
    known = known_meaning(key, definition)
    if known is not None:
        return known
    try:
        found = Judge(spoken(definition.sql), spark, columns).meaning()
    except DefinitionError as refused:
        if refused.code == REFUSED:
            # Our own words for what is wrong point at its place.
            lower(definition.sql, dialect=DIALECT, sources=tables.by_text)
        raise
    return remember(key, found)


def _lowered(definition: ViewDefinition, tables: _Tables, meaning: Meaning) -> Lowered:
    """The definition's algebra; without one where we read it otherwise than Spark does."""
    publics = [name for name, _ in meaning.columns]
    try:
        found = lower(
            definition.sql,
            dialect=DIALECT,
            sources=tables.by_text,
            kept=meaning.kept,
            outputs=publics,
        )
    except DefinitionError as error:
        if isinstance(error, UnsupportedSQLError) and error.feature in ALWAYS_REFUSED:
            raise
        reason = _not_ours(definition, error)
        empty = Lowered(None, (), (), (), (), frozenset(), definition.sql)
        return _without_algebra(empty, meaning, reason)
    if found.root is None:
        return _without_algebra(found, meaning)
    if len(found.outputs) != len(publics):
        message = f"Spark finds {len(publics)} columns, we find {len(found.outputs)}"
        reason = Reason(
            ReasonCode.TRANSLATION_DIFFERS.value, message, place_of(None, definition.sql)
        )
        return _without_algebra(found, meaning, reason)
    differs = any(reason.code == ReasonCode.TRANSLATION_DIFFERS for reason in meaning.reasons)
    if differs or (meaning.kept and spoken(definition.sql) != definition.sql):
        return _without_algebra(found, meaning)
    reasons = _merged(found.reasons, (*meaning.reasons, *_collations(definition, meaning)))
    return replace(found, reasons=reasons)


def _not_ours(definition: ViewDefinition, error: DefinitionError) -> Reason:
    """Why a text that Spark accepts has no algebra."""
    where = error.where or place_of(None, definition.sql)
    if not isinstance(error, UnsupportedSQLError):
        code = ReasonCode.TRANSLATION_DIFFERS
    elif error.feature == TOO_LARGE:
        return Reason(ReasonCode.TOO_LARGE.value, str(error), where)
    else:
        code = ReasonCode.UNSUPPORTED_EXPRESSION
    return Reason(code.value, f"Spark accepts it, and we do not: {error}", where)


def _collations(definition: ViewDefinition, meaning: Meaning) -> list[Reason]:
    """A reason for each column whose equal values can be different texts."""
    return [
        Reason(
            ReasonCode.COLLATION.value,
            f'column "{name}" has a collation that makes different texts equal',
            place_of(None, definition.sql),
        )
        for name, kind in meaning.columns
        if " collate " in kind.lower()
    ]


def _without_algebra(lowered: Lowered, meaning: Meaning, *reasons: Reason) -> Lowered:
    """The definition as its text alone, with the columns that Spark gives it."""
    seen: set[str] = set()
    for name, _ in meaning.columns:
        if name.lower() in seen:
            message = f'the output name "{name}" occurs twice'
            raise UnsupportedSQLError("duplicate_column", message, hint="give one of them an alias")
        seen.add(name.lower())
    return replace(
        lowered,
        root=None,
        outputs=tuple((name, name) for name, _ in meaning.columns),
        reasons=_merged(lowered.reasons, (*meaning.reasons, *reasons)),
    )


def _merged(one: Sequence[Reason], other: Sequence[Reason]) -> tuple[Reason, ...]:
    """Each reason once: a clock that both have found is one reason."""
    codes = {reason.code for reason in one}
    clock = ReasonCode.TIME_FUNCTION.value
    return (*one, *(item for item in other if item.code != clock or clock not in codes))


def _types_differ(definition: ViewDefinition) -> Reason:
    message = "Spark gives our own words for it other types, or does not accept them"
    code = ReasonCode.TRANSLATION_DIFFERS.value
    return Reason(code, message, place_of(None, definition.sql))


def _text(definition: ViewDefinition, tables: _Tables, views: Mapping[str, CompiledView]) -> str:
    """The user's text with marks for tables, and views as their own SELECT over their storage."""

    def relation(name: str) -> str:
        parent = views.get(name)
        if parent is None:
            return f"{MARK}{name}{MARK}"
        return f"({public_sql(parent, f'{MARK}{parent.storage_name}{MARK}')})"

    return filled(anchored(spoken(definition.sql), DIALECT, tables.written), relation)


def _stored(view: CompiledView, open_source: Open) -> list[Used]:
    """The columns of a parent's storage table; as they will be, where it is not made yet."""
    try:
        return _used(open_source(view.storage_name))
    except GrebeError:  # not made yet, or broken: its own refresh says so, or makes another one
        return [Used(column.name, column.id, column.type) for column in view.stored.columns]


def fits_parents(view: CompiledView, views: Mapping[str, CompiledView]) -> bool:
    """False when the definition of a parent changed since the view was compiled."""
    names = {name for name, _ in view.sources}
    return all(views[name].storage_name in names for name in view.parents if name in views)


def fits_sources(view: CompiledView, pins: Mapping[TableName, Pinned]) -> bool:
    """False when a column that the view reads has another id, name or type by now.

    So it is when one of those that `*` means came back.
    """
    given = {name: pin.head.schema for name, pin in pins.items()}
    kept, seen = view.definition.columns_of, dict(view.seen)
    return all(
        all(_has(given[name], item) for item in used)
        and all(item in seen[name] for item in kept.get(str(name), ()) if item in given[name].names)
        for name, used in view.sources
        if name in given
    )


def _has(schema: Schema, item: Used) -> bool:
    column = schema.by_id().get(item.id)
    return column is not None and (column.name, column.type) == (item.name, item.type)


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


def _over_storage(lowered: Lowered, views: Mapping[str, CompiledView]) -> Lowered:
    """The definition with views replaced by their own SELECT over their storage tables."""
    if lowered.root is None:
        return lowered
    root = expanded(lowered.root, {name: view.as_parent for name, view in views.items()})
    tables = sorted({node.table for node in walk(root) if isinstance(node, Scan)})
    return replace(lowered, root=root, tables=tuple(tables))


def _try(
    definition: ViewDefinition,
    analysis: Analysis,
    lowered: Lowered,
    parents: tuple[str, ...],
    meaning: Meaning,
) -> CompiledView | Reason:
    """The compiled view, or why Spark accepts the user's text and not what we make of it."""
    try:
        found = _compile(definition, analysis, lowered, parents, meaning)
    except DefinitionError as error:
        grown = isinstance(error, UnsupportedSQLError) and error.feature == TOO_LARGE
        if lowered.root is None or not (grown or error.code == REFUSED):
            raise
        if grown:
            return _not_ours(definition, error)
        found = None
    return _types_differ(definition) if found is None else found


def _compile(
    definition: ViewDefinition,
    analysis: Analysis,
    lowered: Lowered,
    parents: tuple[str, ...],
    meaning: Meaning,
) -> CompiledView | None:
    """The compiled view; None when its columns are not of the types that Spark gives the text."""
    lowered = _as_spark_spells(lowered, meaning)
    plan = make_plan(lowered, analysis.types(lowered.root))
    publics = [public for _, public in lowered.outputs]
    kinds = [kind for _, kind in meaning.columns]
    if lowered.root is not None and not _alike(analysis.columns(plan.definition), kinds):
        return None
    columns = tuple(zip(publics, kinds, strict=True))
    used = used_columns(plan, analysis.schemas)
    sources = tuple((analysis.names[table], tuple(items)) for table, items in used.items())
    built = kinds if lowered.root is None else analysis.columns(plan.build)
    found = list(zip(plan.shape.columns, built, strict=True))
    _refuse_unstorable(found)
    stored = Schema("0", tuple(Column(i, name, kind) for i, (name, kind) in enumerate(found, 1)))
    partitions = stored_partitions(definition.partitioned_by, plan)
    clustered = stored_order(definition.clustered_by, plan)
    seen = tuple(
        (analysis.names[table], tuple(item.name for item in analysis.schemas[table]))
        for table in used
    )
    return CompiledView(
        definition, plan, columns, stored, sources, parents, partitions, clustered, seen=seen
    )


_FIELD: Final = re.compile(r"(`(?:[^`]|``)*`|[A-Za-z_][A-Za-z0-9_]*):")


def _alike(ours: Sequence[str], said: Sequence[str]) -> bool:
    """True for equal types, whatever the fields inside them are called: casts go by position."""
    return [_FIELD.sub("", kind) for kind in ours] == [_FIELD.sub("", kind) for kind in said]


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
                detail=str(error).strip().split("\n", maxsplit=1)[0],
                code=REFUSED,
                where=place_of(None, self.text),
            ) from error
        return [type_text(item.dataType) for item in fields]

    def now(self, leaf: Leaf) -> str:
        """A relation without rows that has a source's columns: no table has to be opened."""
        if isinstance(leaf, Scan):
            return f"{self.empty(leaf.table)} AS {made('source')}"
        if isinstance(leaf, Verbatim):
            return relation_of(leaf, DIALECT, self.empty)
        raise InternalError.broken(f"{type(leaf).__name__} in a definition")

    def empty(self, table: str) -> str:
        """No rows, with the columns of a source."""
        columns = (f"CAST(NULL AS {c.type}) AS {quote(c.name)}" for c in self.schemas[table])
        return f"(SELECT {', '.join(columns)} WHERE FALSE)"


def _as_spark_spells(lowered: Lowered, meaning: Meaning) -> Lowered:
    """The outputs with capitals as Spark gives them: `PIVOT … IN (NULL)` makes a column `null`."""
    said = [name for name, _ in meaning.columns]
    outputs = lowered.outputs
    if [name.lower() for _, name in outputs] != [name.lower() for name in said]:
        return lowered
    return replace(
        lowered, outputs=tuple((own, name) for (own, _), name in zip(outputs, said, strict=True))
    )


def _refuse_unstorable(columns: Sequence[tuple[str, str]]) -> None:
    """Nothing, or the error for a column that no format has a type for."""
    for name, kind in columns:
        if "interval" in kind:
            raise DefinitionError(
                f'column "{plain(name)}" is an {kind}, which no table can hold',
                hint="store its parts, for example with extract(), or as text",
                code="type-not-stored",
            )
