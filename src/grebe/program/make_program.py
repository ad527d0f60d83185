"""compile_ivm: a view's SELECT in, the SQL program that keeps it in DuckLake out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from re import compile as pattern
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra.known_types import Types, scan_types
from grebe.compiler.lower import Lowered, Relation, lower
from grebe.compiler.lower.scope import RESERVED, dotted
from grebe.compiler.lower.translation import Difference, judged
from grebe.compiler.parser.parse import DIALECTS, parse, place_of
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.plan.strategy import make_plan
from grebe.compiler.reasons import ReasonCode, feature_of
from grebe.compiler.text.references import base_tables
from grebe.errors import UnsupportedSQLError
from grebe.model import Policy, Reason
from grebe.program.assemble import Program, used_columns
from grebe.program.naming import Naming
from grebe.program.program_sources import (
    Options,
    ProgramSource,
    Schemas,
    TablePlace,
    check_used,
    checked_options,
    located,
)
from grebe.program.program_view import MaterializedView
from grebe.program.spark_program import SparkProgram
from grebe.program.used_names import WINDOW_MESSAGE, Reader

Judge = Callable[[str, str], bool]
"""True when a text means to the engine what the user's text means."""

_SPELLINGS: Final = {"incremental_strict": Policy.STRICT, "incremental strict": Policy.STRICT}
_WORD: Final = pattern(r"[A-Za-z_]\w*")


def compile_ivm(  # noqa: PLR0913 - the signature is the documented one
    view_sql: str,
    *,
    dialect: str = "duckdb",
    naming: Naming | None = None,
    mv_catalog: str = "dl",
    mv_schema: str = "main",
    sources: Options | None = None,
    schemas: Schemas | None = None,
    policy: str = "strict",
    judge: Judge | None = None,
) -> MaterializedView:
    """The program of a view: everything that creates, fills, maintains and reads it.

    Args:
        view_sql: one SELECT.
        dialect: the dialect of the definition and of the program: duckdb, or spark, whose
            programs get the versions of their sources from the caller (`pinned`).
        naming: what the program calls its tables and hidden columns.
        mv_catalog: the DuckLake catalog of the view and its cursors.
        mv_schema: their schema.
        sources: catalog and schema of the tables that live elsewhere.
        schemas: column types by table. Without them a type is unknown, and a changed group is
            read again where exact arithmetic would need its type.
        policy: ``strict`` refuses what cannot be maintained, at compile and at run time;
            ``incremental`` refuses it at compile time only; ``auto`` recomputes instead;
            ``full`` always recomputes.
        judge: tells whether two texts are the same query to the engine; what is not said to be
            read as the engine reads it is kept in the characters of ``view_sql``.
            `grebe.program.same_to` makes one of a connection.

    Raises:
        UnsupportedSQLError: the view cannot be maintained; ``feature`` says what stops it.
        DefinitionError: the text is not a query over tables.
        ValueError: an unknown dialect or policy, or options that name no table of the view.
    """
    chosen = _policy(policy)
    _check_dialect(dialect, view_sql)
    options = checked_options(sources)
    place = TablePlace(mv_catalog, mv_schema)
    found = _sources(view_sql, dialect, place, options, schemas)
    lowered = _lowered(view_sql, dialect, found, judge)
    _check_stars(view_sql, dialect, lowered)
    tables = {s.key: {name: kind for name, kind in s.columns if kind} for s in found}
    types = Types(dialect, scan_types(lowered.root, tables) if lowered.root else {})
    plan = _planned(_in_own_words(lowered, view_sql), types, chosen)
    used = used_columns(found, plan)
    if dialect == "spark":
        return SparkProgram(plan, lowered, types, used, place, naming or Naming()).view()
    return Program(plan, lowered, types, used, place, naming or Naming(), chosen).view()


def _check_dialect(dialect: str, view_sql: str) -> None:
    if dialect not in DIALECTS:
        raise ValueError(f'dialect "{dialect}" is not known; known: {", ".join(DIALECTS)}')
    if dialect == "spark" and RESERVED in view_sql:
        message = f'"{RESERVED}" is how the program calls its own things'
        raise UnsupportedSQLError("reserved_name", message, hint="use other names and texts")


def _check_reserved(tree: exp.Expr, sql: str) -> None:
    """No name of the definition, also none of a table or an alias, is one that a program makes."""
    for item in tree.find_all(exp.Identifier):
        if item.name.lower().startswith(RESERVED):
            message = f'the name "{item.name}" begins with the reserved prefix'
            raise UnsupportedSQLError("reserved_name", message, where=place_of(item, sql))


def _check_keys(tree: exp.Expr, sql: str) -> None:
    """Raise for MAP {1: …}, which the parser reads and cannot write."""
    for item in tree.find_all(exp.PropertyEQ):
        if not isinstance(item.this, exp.Identifier) and not item.this.is_string:
            message = "a MAP literal whose keys are no texts has no rule"
            hint = "write map([keys], [values])"
            raise UnsupportedSQLError("expression", message, hint=hint, where=place_of(item, sql))


def _policy(text: str) -> Policy:
    low = text.lower()
    if low in _SPELLINGS:
        return _SPELLINGS[low]
    if low not in set(Policy):
        known = ", ".join(Policy)
        raise ValueError(f'policy "{text}" is not known; known: {known}')
    return Policy(low)


def _sources(
    sql: str, dialect: str, place: TablePlace, options: Options, schemas: Schemas | None
) -> list[ProgramSource]:
    """Every base table once, with its columns as far as they are known."""
    tree = parse(sql, dialect)
    _check_reserved(tree, sql)
    _check_keys(tree, sql)
    reader = Reader(sql)
    written = {
        tuple(part.name for part in table.parts): _spelled(table, dialect)
        for table in base_tables(tree)
    }
    known = _Known({name.lower(): columns for name, columns in (schemas or {}).items()}, written)
    if any(not known.columns(parts) for parts in written):
        reader.read(tree)
    merged: dict[str, ProgramSource] = {}
    for parts, spelled in sorted(written.items()):
        source = located(spelled, place, options)
        given = known.columns(parts)
        columns = tuple(given.items()) if given else _read(reader, parts, dialect)
        key = source.key.lower()
        merged[key] = _merge(merged.get(key), replace(source, columns=columns))
    check_used(options, written)
    if not merged:
        raise UnsupportedSQLError("no_table", "the view reads no table, so it never changes")
    return [replace(s, number=n) for n, (_, s) in enumerate(sorted(merged.items()), 1)]


def _spelled(table: exp.Table, dialect: str) -> tuple[str, ...]:
    """The parts of a name; DuckDB does not care for the case of one without quotes."""
    return tuple(
        part.name if dialect != "duckdb" or part.args.get("quoted") else part.name.lower()
        for part in table.parts
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """The columns that the caller gave, by the names that he wrote."""

    schemas: Schemas
    written: Collection[tuple[str, ...]]

    def columns(self, parts: tuple[str, ...]) -> dict[str, str]:
        """Those of a table; a bare name will do unless it is what another table is called."""
        others = {dotted(other).lower() for other in self.written if other != parts}
        for name in (dotted(parts).lower(), parts[-1].lower()):
            if name in self.schemas and name not in others:
                return dict(self.schemas[name])
        return {}


def _read(
    reader: Reader, parts: tuple[str, ...], dialect: str
) -> tuple[tuple[str, str | None], ...]:
    used = reader.used.get(parts, {})
    # Every DuckLake table has row ids, also when the query reads none of its columns.
    unique = {name.lower(): name for name in used} or {"rowid": "rowid"}
    if dialect == "duckdb":
        return tuple((name, None) for name in unique)
    return tuple((name, None) for name in unique.values())


def _merge(one: ProgramSource | None, other: ProgramSource) -> ProgramSource:
    if one is None:
        return other
    columns = {name.lower(): (name, kind) for name, kind in (*one.columns, *other.columns)}
    return replace(one, written=f"{one.written}\0{other.written}", columns=tuple(columns.values()))


def _lowered(
    sql: str, dialect: str, found: Sequence[ProgramSource], judge: Judge | None
) -> Lowered:
    relations = {
        name: Relation(source.key, source.columns)
        for source in found
        for name in source.written.split("\0")
    }
    if judge is None:
        return lower(sql, dialect=dialect, sources=relations)
    said = judged(sql, parse(sql, dialect), lambda text: judge(sql, text), dialect)
    lowered = lower(sql, dialect=dialect, sources=relations, kept=said.kept)
    if not said.differences:
        return lowered
    reasons = tuple(_differs(sql, item) for item in said.differences)
    return replace(lowered, root=None, reasons=(*lowered.reasons, *reasons))


def _differs(sql: str, found: Difference) -> Reason:
    written = found.span.of(sql)
    message = f"the engine reads {written!r} otherwise than {found.ours!r}, as it was understood"
    return Reason(ReasonCode.TRANSLATION_DIFFERS.value, message, place_of(None, sql))


def _in_own_words(lowered: Lowered, sql: str) -> Lowered:
    """A definition without an algebra is the user's own characters."""
    return lowered if lowered.root is not None else replace(lowered, sql=sql)


def _check_stars(sql: str, dialect: str, lowered: Lowered) -> None:
    """Raise for a star over columns that nobody knows: the view would have some of them only."""
    unknown = (ReasonCode.TABLE_FUNCTION, ReasonCode.DYNAMIC_PIVOT)
    found = [reason for reason in lowered.reasons if reason.code in unknown]
    tree = parse(sql, dialect)
    stars = (star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    if found and lowered.root is None and next(stars, None) is not None:
        message = f"a star stands for columns that are not known: {found[0].message}"
        feature = feature_of(ReasonCode(found[0].code))
        raise UnsupportedSQLError(feature, message, where=found[0].where, reasons=found)


def _planned(lowered: Lowered, types: Types, policy: Policy) -> RefreshPlan:
    plan = make_plan(lowered, types)
    clock = [r for r in plan.reasons if r.code == ReasonCode.TIME_FUNCTION]
    if clock and policy is not Policy.FULL:
        raise _refused(clock)
    if plan.reasons and policy in (Policy.STRICT, Policy.INCREMENTAL):
        raise _refused(plan.reasons)
    if policy is not Policy.FULL:
        return plan
    clocks = (f"shown as of the last maintain that found a change: {r.message}" for r in clock)
    return replace(plan, steps=(), notes=(*plan.notes, *clocks))


def _refused(reasons: Sequence[Reason]) -> UnsupportedSQLError:
    first = reasons[0]
    code = ReasonCode(first.code)
    message = first.message
    if code is ReasonCode.WINDOW_WITHOUT_PARTITION:
        message = WINDOW_MESSAGE
    detail = "; ".join(str(reason) for reason in reasons)
    hint = 'allow full refreshes with policy="auto"'
    feature = feature_of(code, _word_at(first))
    return UnsupportedSQLError(
        feature, message, detail=detail, hint=hint, where=first.where, reasons=reasons
    )


def _word_at(reason: Reason) -> str | None:
    where = reason.where
    if where is None or where.source is None:
        return None
    line = where.source.splitlines()[where.line - 1 : where.line]
    found = _WORD.match(line[0], where.column - 1) if line else None
    return found.group() if found else None
