"""Every name that the compiler makes up has the prefix, in every text that it writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compiler.laws.databases import WILD_FLOATS, draw, tables_of
from compiler.laws.engine import Database, one_case
from compiler.laws.plans import lowered, planned
from compiler.test_golden import PAIRS
from compiler.test_hard_views import views
from compiler.tpc import open_benchmark, sources_of, texts_of
from grebe.compiler.algebra.known_types import Types, scan_types
from grebe.compiler.algebra.nodes import At, Named, Node, Scan, walk
from grebe.compiler.algebra.parent_views import Parent, expanded
from grebe.compiler.algebra.rewriting import pinned
from grebe.compiler.algebra.root import strip
from grebe.compiler.bind import DeltaFacts, bind
from grebe.compiler.bind.shared_reads import read_once, read_twice
from grebe.compiler.bind.sizes import SideSizes
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.lower import Lowered, Relation, lower
from grebe.compiler.plan.refresh_plan import RefreshPlan
from grebe.compiler.plan.strategy import make_plan
from grebe.compiler.write.steps import Step
from grebe.sql_text import made, quote
from made_names import strangers, words_of


@pytest.fixture(scope="module")
def database() -> Database:
    return one_case(Database.of(draw(77, cases=3, cycles=1)).at(1), 0, prefix="")


@pytest.fixture(scope="module")
def wild() -> Database:
    drawn = draw(78, cases=3, cycles=1, tables=tables_of(WILD_FLOATS))
    return one_case(Database.of(drawn).at(1), 0, prefix="")


def steps_of(plan: RefreshPlan) -> Iterator[Step]:
    """The steps as they are planned, and bound to several facts."""
    yield from (*plan.steps, *plan.appending)
    sizes = SideSizes(dict.fromkeys(plan.tables, 10**7), dict.fromkeys(plan.tables, 1), 10)
    yield from bind(plan, DeltaFacts(frozenset(), False, {}, sizes))


def texts_of_plan(plan: RefreshPlan) -> Iterator[str]:
    """Everything that is written of a plan."""
    nodes: list[Node] = [pinned(plan.definition, At.NEW), plan.build, plan.public]
    for step in steps_of(plan):
        both = read_twice(step.node)
        nodes += [step.node, read_once(step.node, both), *(item.rows for item in both)]
    for node in dict.fromkeys(nodes):
        yield emit(node, plan.dialect, lambda leaf: table(leaf, plan.dialect))


def table(leaf: Leaf, dialect: str) -> str:
    """The table behind a leaf, by a name that grebe gave it."""
    match leaf:
        case Scan():
            return quote(made(f"{leaf.at}_{leaf.table}"), dialect)
        case Named():
            return quote(made(f"step_{leaf.step}"), dialect)
    return quote(made(type(leaf).__name__.lower()), dialect)


def check(plan: RefreshPlan, sql: str) -> int:
    """Read every text of a plan; how many there are."""
    scans = [node for node in walk(plan.definition) if isinstance(node, Scan)]
    columns = {source for scan in scans for _, source in scan.pairs}
    publics = {public for _, public in plan.outputs}
    known = words_of(sql, plan.dialect) | columns | publics | set(plan.shape.columns)
    if not plan.is_incremental:  # what would be stored is named as if it were
        known |= set(strip(plan.definition)[1].columns)
    texts = list(texts_of_plan(plan))
    for text in texts:
        assert not strangers(text, plan.dialect, known), text
    return len(texts)


def as_spark(sql: str, sources: dict[str, Relation]) -> RefreshPlan | None:
    """The plan for Spark as far as the types of columns tell, where the text is also Spark's."""
    try:
        one = lower(sql, dialect="spark", sources=sources)
    except Exception:
        return None
    return None if one.root is None else _planned(one, sources)


def _planned(one: Lowered, sources: dict[str, Relation]) -> RefreshPlan:
    assert one.root is not None
    known = {item.name: dict(item.columns) for item in sources.values()}
    types = {name: {k: str(v) for k, v in columns.items()} for name, columns in known.items()}
    return make_plan(one, Types("spark", scan_types(one.root, types)))


SOURCES = {
    "r": Relation(
        "r", (("a", "int"), ("b", "int"), ("x", "int"), ("f", "double"), ("s", "string"))
    ),
    "s": Relation("s", (("a", "int"), ("c", "int"), ("y", "decimal(10,2)"), ("k", "boolean"))),
    "t": Relation("t", (("c", "int"), ("d", "date"), ("z", "bigint"), ("l", "array<int>"))),
}


def test_golden_views(database: Database) -> None:
    texts = 0
    for place, pair in enumerate(PAIRS.values()):
        plan = as_spark(pair.query, SOURCES) if place % 3 else None
        plan = plan or planned(lowered(pair.query, database), database)
        texts += check(plan, pair.query)
    assert texts >= 5 * len(PAIRS)


@pytest.mark.parametrize("file", ["hard_views.sql", "wild_views.sql"])
def test_hard_views(database: Database, wild: Database, file: str) -> None:
    held = wild if file.startswith("wild") else database
    for sql in views(file)[::3]:
        check(planned(lowered(sql, held), held), sql)


@pytest.mark.parametrize("name", ["tpch", "tpcds"])
def test_benchmark_queries(name: str) -> None:
    connection = open_benchmark(name, 0)
    sources, texts = sources_of(connection), texts_of(connection, name)
    chosen = [sql for number, sql in texts.items() if name == "tpch" or number % 12 == 0]
    for sql in chosen:
        one = lower(sql, dialect="duckdb", sources=sources)
        assert one.root is not None
        kinds = {item.name: {k: str(v) for k, v in item.columns} for item in sources.values()}
        check(make_plan(one, Types("duckdb", scan_types(one.root, kinds))), sql)


def test_views_over_views(database: Database) -> None:
    above = "SELECT a, MAX(x) AS m, COUNT(*) AS n, AVG(f) AS g FROM r GROUP BY a"
    parent = planned(lowered(above, database), database)
    shown = Relation("v", (("a", "int"), ("m", "int"), ("n", "bigint"), ("g", "double")))
    sql = "SELECT one.a, SUM(two.m) AS m, MIN(two.g) AS g FROM v AS one JOIN v AS two USING (a) GROUP BY one.a"
    one = lower(sql, dialect="duckdb", sources={"v": shown})
    assert one.root is not None
    root = expanded(one.root, {"v": Parent("storage", parent.public, parent.outputs)})
    plan = make_plan(
        Lowered(root, one.outputs, ("storage",), (), (), one.features, sql), Types("duckdb")
    )
    assert check(plan, sql) > 5


def test_an_old_alias_is_found() -> None:
    assert strangers("SELECT `a` FROM (SELECT `a` FROM `__grebe_t`) AS q", "spark", {"a"}) == {"q"}
    assert strangers("SELECT transform(a, x -> x) AS `a` FROM `__grebe_t`", "spark", {"a"}) == {"x"}
    assert strangers("WITH c AS (SELECT 1 AS id) SELECT id FROM c", "duckdb", ()) == {"c", "id"}
