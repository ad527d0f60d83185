"""Random views over random histories, run as programs on a real DuckLake and compared each time.

Two ways to a pair (view, history). *Alone*: a generated text over one database, compiled as a
person would. *Batched*: the same algebra over many databases at once, told apart by a case id, so
that one program maintains as many histories as there are cases.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import duckdb

from compiler.laws.databases import CASE, CASES, History, draw, tables_of
from compiler.laws.generator import generate
from compiler.laws.plans import batched
from grebe import MaterializedView, compile_ivm, safe_to_expire_sql
from grebe.compiler.algebra.known_types import Types, scan_types
from grebe.compiler.algebra.nodes import Scan
from grebe.compiler.emit import emit
from grebe.compiler.lower import Lowered, Relation, lower
from grebe.compiler.lower.scope import dotted
from grebe.compiler.parser.parse import parse
from grebe.compiler.plan.strategy import make_plan
from grebe.compiler.text.references import base_tables
from grebe.errors import GrebeError
from grebe.model import Policy
from grebe.program.assemble import Program, used_columns
from grebe.program.duckdb_text import ident
from grebe.program.program_sources import ProgramSource, TablePlace
from programs.histories import advance, create
from programs.hostile import Disguise
from programs.lake import KINDS, Lake, Named, maintain, set_up

CATALOGS = ("dl", "dx")
CYCLES = 2


def alone(folder: Path, seed: int, views: int) -> Counter[str]:
    """Some generated views over one history; gives what was counted."""
    rng = Random(seed)
    counts: Counter[str] = Counter()
    disguise = Disguise(seed)
    lake, history, places = _begin(folder, disguise, rng, cases=1)
    made: list[tuple[MaterializedView, str]] = []
    for table, place in places.items():
        if table != CASES:
            lake.run(
                f"CREATE VIEW {ident('memory', 'main', table)} AS FROM {ident(place, 'main', table)}"
            )
    for number in range(views):
        sql = disguise.query(generate(seed * 1000 + number).sql)
        if not _is_planned(lake, sql):
            counts["without oracle"] += 1
            continue
        view = _compiled(sql, f"v{number}", history, places, rng)
        counts["refused" if view is None else "pairs"] += 1
        if view is not None:
            set_up(lake, view)
            made.append((view, sql))
    for cycle in range(CYCLES):
        counts["maintenance"] += advance(lake, history, cycle, places, rng, batched=False)
        for view, sql in made:
            maintain(lake.con, view)
            _same(lake, view.query_mv, sql, f"seed {seed}\n{sql}")
            counts["checks"] += 1
        _expire(lake, rng)
    lake.run(*(f"DROP VIEW {ident('memory', 'main', table)}" for table in places if table != CASES))
    lake.close()
    return counts


def _is_planned(lake: Lake, sql: str) -> bool:
    """False for a query that DuckDB itself cannot plan: there is nothing to compare with."""
    try:
        lake.run(f"EXPLAIN {sql}")
    except duckdb.NotImplementedException:
        return False
    return True


def _begin(
    folder: Path, disguise: Disguise, rng: Random, *, cases: int
) -> tuple[Lake, History, dict[str, str]]:
    kind = KINDS[disguise.seed % len(KINDS)]
    lake = Lake(folder, kind, CATALOGS)
    tables = disguise.over(tables_of())
    history = draw(disguise.seed, cases=cases, cycles=CYCLES, tables=tables)
    places = {name: rng.choice(CATALOGS) for name in (*history.tables, CASES)}
    create(lake, history, places, batched=cases > 1)
    return lake, history, places


def _compiled(
    sql: str, name: str, history: History, places: dict[str, str], rng: Random
) -> MaterializedView | None:
    used = {table.name for table in base_tables(parse(sql, "duckdb"))}
    try:
        return compile_ivm(
            sql,
            naming=Named(name),
            sources={table: {"catalog": places[table]} for table in sorted(used)},
            schemas={dotted((name,)): table.types for name, table in history.tables.items()},
            policy=rng.choice(("strict", "auto")),
        )
    except GrebeError:
        return None


def _same(lake: Lake, shown: str, truth: str, title: str) -> None:
    one, other = f"SELECT * FROM ({shown})", f"SELECT * FROM ({truth})"
    found = lake.rows(f"{one} EXCEPT ALL {other}"), lake.rows(f"{other} EXCEPT ALL {one}")
    assert found == ([], []), title


def _expire(lake: Lake, rng: Random) -> None:
    """Expiry at the bound that the program states, sometimes."""
    if rng.random() < 0.5:
        return
    for catalog, bound, _ in lake.rows(safe_to_expire_sql(["dl"], CATALOGS)):
        found = lake.rows(
            f"SELECT snapshot_id FROM ducklake_snapshots('{catalog}') WHERE snapshot_id < {bound}"
        )
        versions = [row[0] for row in found]
        if versions:
            lake.con.execute(f"CALL ducklake_expire_snapshots('{catalog}', versions => {versions})")


def together(folder: Path, seed: int, cases: int) -> Counter[str]:
    """One generated view over many histories at once; gives what was counted."""
    rng = Random(seed)
    disguise = Disguise(seed)
    one = maintainable(disguise)
    if one is None:
        return Counter(refused=1)
    lake, history, places = _begin(folder, disguise, rng, cases=cases)
    lowered = batched(one)
    view = _program(lowered, _types(history), places)
    set_up(lake, view)
    counts = Counter(pairs=cases)
    for cycle in range(CYCLES):
        counts["maintenance"] += advance(lake, history, cycle, places, rng, batched=True)
        maintain(lake.con, view)
        _same(lake, view.query_mv, _truth(lowered, places), f"seed {seed}\n{one.sql}")
        counts["checks"] += 1
        _expire(lake, rng)
    lake.close()
    return counts


def maintainable(disguise: Disguise) -> Lowered | None:
    """A generated view that has an algebra and can be maintained, also over a batch."""
    tables = disguise.over(tables_of())
    sources = {
        dotted((name,)): Relation(name, tuple(table.types.items()))
        for name, table in tables.items()
    }
    sql = disguise.query(generate(disguise.seed).sql)
    try:
        found = lower(sql, dialect="duckdb", sources=sources)
    except GrebeError:
        return None
    if found.root is None or found.reasons:
        return None
    plan = make_plan(batched(found), Types("duckdb", {}))
    return found if plan.steps else None


def _types(history: History) -> dict[str, dict[str, str]]:
    tables = {name: {CASE: "INTEGER", **table.types} for name, table in history.tables.items()}
    return {**tables, CASES: {CASE: "INTEGER"}}


def _program(
    lowered: Lowered, tables: dict[str, dict[str, str]], places: dict[str, str]
) -> MaterializedView:
    if lowered.root is None:
        raise AssertionError("nothing to arrange")
    types = Types("duckdb", scan_types(lowered.root, tables))
    plan = make_plan(lowered, types)
    found = [
        _Local(places[name], "main", name, name, tuple(tables[name].items()), number)
        for number, name in enumerate(lowered.tables, 1)
    ]
    used = used_columns(found, plan)
    place = TablePlace("dl", "main")
    return Program(plan, lowered, types, used, place, Named("mv"), Policy.STRICT).view()


class _Local(ProgramSource):
    """A source whose scans carry the bare name of the table."""

    __slots__ = ()

    @property
    def key(self) -> str:
        return self.table


def _truth(lowered: Lowered, places: dict[str, str]) -> str:
    """The definition itself over the tables as they are now."""
    if lowered.root is None:
        raise AssertionError("nothing to compare with")

    def names(leaf: object) -> str:
        if not isinstance(leaf, Scan):
            raise AssertionError(leaf)
        return ident(places[leaf.table], "main", leaf.table)

    return emit(lowered.root, "duckdb", names)
