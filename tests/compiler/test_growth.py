"""What a compile costs grows with the text: long chains, outputs read by outputs, CTEs read twice."""

from __future__ import annotations

import pytest
from sqlglot import exp

from compiler.databases import SOURCES, bag, connect, emitted, lowered
from compiler.laws.compositions import check_query
from compiler.laws.databases import draw
from compiler.laws.engine import Database
from grebe.compiler.algebra.known_types import Types, scan_types
from grebe.compiler.algebra.raising import can_raise
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.algebra.try_casts import forgiving
from grebe.compiler.budget import limited, spend
from grebe.compiler.emit import emit
from grebe.compiler.lower import Lowered, Relation, laterals, lower
from grebe.compiler.lower.translation import judged, words
from grebe.compiler.parser.chains import LONG, balance, chain, links
from grebe.compiler.parser.parse import parse
from grebe.compiler.plan.strategy import make_plan
from grebe.errors import DefinitionError, UnknownColumnError, UnsupportedSQLError

THOUSANDS = 1000
WIDE = {"w": Relation("w", tuple((f"c{place}", "INT") for place in range(500)))}


def joined(terms: list[str], word: str) -> str:
    return f" {word} ".join(terms)


def values(sql: str, seed: int) -> tuple[object, object]:
    """The rows of a text and of the tree that it becomes, by DuckDB."""
    connection = connect(seed)
    return bag(connection.execute(sql).fetchall()), bag(
        connection.execute(emitted(lowered(sql))).fetchall()
    )


CHAINS = {
    "or": ("OR", lambda i: f"x = {i % 5}" if i % 7 else "s > NULL"),
    "and": ("AND", lambda i: f"x <> {i + 2}" if i % 11 else "(x IS NULL OR x < 99)"),
    "mixed": ("OR", lambda i: f"x = {i % 400} AND k <> {i}"),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("seed", [2])
def test_a_flat_condition_of_thousands_of_terms_keeps_its_rows(name: str, seed: int) -> None:
    """With terms that are unknown for some rows, and for every row."""
    word, term = CHAINS[name]
    sql = f"SELECT k, x FROM r WHERE {joined([term(i) for i in range(THOUSANDS)], word)}"
    expected, found = values(sql, seed)
    assert found == expected


@pytest.mark.parametrize("negated", ["NOT", ""])
def test_a_flat_condition_with_a_subquery_among_its_terms(negated: str) -> None:
    """NOT is moved inside for each of them; NULL among the terms makes all of it unknown."""
    terms = [f"x = {i}" for i in range(5, 400)]
    terms[200:200] = ["x IN (SELECT y FROM t WHERE t.k = 1)", "k = NULL"]
    sql = f"SELECT k, x FROM r WHERE {negated} ({joined(terms, 'OR')})"
    for seed in range(6):
        expected, found = values(sql, seed)
        assert found == expected


@pytest.mark.parametrize(
    "sql",
    [
        "x" + "".join(f" {'-+'[i % 2]} {i}" for i in range(900)),
        "x" + "".join(f" - (k - {i})" for i in range(400)),
        "x + (" + joined([f"k - {i}" for i in range(100)], "-") + ") - 3",
    ],
)
def test_a_flat_sum_is_read_from_the_left(sql: str) -> None:
    for seed in range(3):
        expected, found = values(f"SELECT k, {sql} AS v FROM r", seed)
        assert found == expected


def test_a_flat_concatenation_keeps_its_order_and_its_nulls() -> None:
    terms = [f"'{i}'" if i % 50 else "COALESCE(s, '-')" for i in range(900)]
    for ends in ("", " || s"):
        expected, found = values(f"SELECT {joined(terms, '||')}{ends} AS v FROM r", 4)
        assert found == expected


def test_a_long_chain_is_shallow_and_its_text_is_the_same() -> None:
    text = "a" + "".join(f" {'-+'[i % 3 == 0]} b{i}" for i in range(LONG * 40))
    tree = parse(f"SELECT {text} AS v FROM t", "spark")
    (item,) = tree.expressions
    assert item.this.sql("spark") == text
    assert max(node.depth for node in tree.walk()) < 20
    assert [operand.sql() for _, operand in links(item.this)][:2] == ["a", "b0"]


def test_short_chains_stay_as_the_parser_built_them() -> None:
    tree = parse("SELECT a - b - c AS v FROM t", "spark")
    before = repr(tree)
    balance(tree)
    assert repr(tree) == before


def test_the_judge_is_shown_a_chain_without_a_bracket_per_term() -> None:
    """Brackets that nest as deep as the chain is long, or that group it otherwise, would differ."""
    terms = [f"a * {i}" for i in range(200)]
    tree = parse(f"SELECT {joined(terms, '-')} AS v FROM t", "spark").expressions[0].this
    said = words(tree, "")
    assert said == joined([f"({term})" for term in terms], "-")


def test_the_judge_finds_one_term_among_thousands_in_few_questions() -> None:
    terms = [f"x = {i}" for i in range(1000)]
    terms[617] = "log10(x) = 3"
    text = f"SELECT x FROM t WHERE {joined(terms, 'OR')}"
    asked: list[str] = []

    def same(ours: str) -> bool:
        asked.append(ours)
        return "LOG(10" not in ours

    found = judged(text, parse(text, "spark"), same)
    assert [span.of(text) for span in found.kept] == ["log10(x)"]
    assert found.differences == ()
    assert len(asked) < 60


def test_the_width_of_a_long_sum_is_counted_from_the_left() -> None:
    """Forty decimals of one digit need forty digits on the way; halves of them would need six."""
    exact = Types("spark", {'"d"': "decimal(1,0)"})
    for terms, raises in ((30, False), (45, True)):
        one = lower(
            f"SELECT {joined(['d'] * terms, '+')} AS v FROM t",
            sources={"t": Relation("t", (("d", "decimal(1,0)"),))},
        )
        assert one.root is not None
        (_, item), *_ = one.root.outputs  # type: ignore[attr-defined]
        assert can_raise(item.ast, exact) is raises


def test_a_long_sum_has_no_form_that_gives_null_instead_of_an_error() -> None:
    tree = parse(f"SELECT {joined(['d'] * 100, '-')} AS v FROM t", "spark").expressions[0].this
    assert forgiving(Scalar.of(tree.copy())) is None


def test_a_conjunction_of_many_conditions_is_shallow() -> None:
    tree = chain(exp.And, [exp.column(f"c{i}") for i in range(1000)])
    assert tree.sql() == joined([f"c{i}" for i in range(1000)], "AND")
    assert max(node.depth for node in tree.walk()) < 15


# Outputs that other outputs read.


@pytest.fixture(params=[0, laterals.SHORT], ids=["columns", "written again"])
def short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Every such output gets a column, or the long ones only."""
    monkeypatch.setattr(laterals, "SHORT", request.param)
    return int(request.param)


LATERAL = {
    "a chain": "SELECT x + k AS a, a + a AS b, b + a AS c, c * b AS d FROM r",
    "a column of the source wins": "SELECT x + 1 AS k, k + 1 AS v, x + 2 AS n, n + k AS m FROM r",
    "only those before": "SELECT y + 1 AS z, z + 1 AS q FROM t",
    "the first of two": "SELECT u.a + 1 AS v FROM (SELECT x AS a, a + 1 AS b FROM r) AS u",
    "a condition": "SELECT x + 1 AS a, a + 1 AS b FROM r WHERE x > 0",
    "a subquery's operand": "SELECT x + 1 AS a, a IN (SELECT y FROM t) AS b, a * 2 AS c FROM r",
    "distinct": "SELECT DISTINCT x % 2 AS a, a + a AS b FROM r",
    "sorted": "SELECT x + 1 AS a, a + a AS b, k FROM r ORDER BY b, a, k LIMIT 3",
    "sorted by place": "SELECT x + k AS a, a + a AS b FROM r ORDER BY 2, 1 LIMIT 3",
    "aggregates": "SELECT k, SUM(x) + 1 AS a, a * 2 AS b, a + b AS c FROM r GROUP BY k",
    "aggregates of all": "SELECT SUM(x) AS a, COUNT(*) + a AS b, a + b AS c FROM r",
    "a key": "SELECT x % 2 AS a, COUNT(*) AS n, n + a AS m FROM r GROUP BY a",
    "all keys": "SELECT x % 2 AS a, a + 1 AS b, COUNT(*) AS n, n + n AS m FROM r GROUP BY ALL",
    "having": "SELECT k, SUM(x) + 0 AS a, a + a AS b FROM r GROUP BY k HAVING b > 2 AND a < 9",
    "having of a subquery": "SELECT k, SUM(x) + 0 AS a, a + 1 AS b FROM r GROUP BY k"
    " HAVING a IN (SELECT y FROM t)",
    "a window over one": "SELECT k, x + 1 AS a, SUM(a + a) OVER (PARTITION BY a % 2) AS s FROM r",
    "one over a window": "SELECT k, SUM(x) OVER (PARTITION BY k) AS a, a + a AS b, b - a AS c FROM r",
    "a window in order": "SELECT k, x + 1 AS a, RANK() OVER (PARTITION BY k ORDER BY a DESC) AS p,"
    " p + a AS q FROM r",
    "a window over an aggregate": "SELECT k, SUM(x) + 1 AS a, a + 1 AS c, SUM(SUM(x)) OVER"
    " (PARTITION BY k % 2) AS w, w - a AS d FROM r GROUP BY k",
    "qualify": "SELECT k, x + 1 AS a, RANK() OVER (PARTITION BY k ORDER BY x) + 0 AS p, p + 1 AS q"
    " FROM r QUALIFY p < 2",
    "below a join": "SELECT q.b, t.y FROM (SELECT k, x + 1 AS a, a + a AS b FROM r) AS q"
    " JOIN t ON q.b = t.y WHERE q.a > 1",
}  # fmt: skip


@pytest.mark.parametrize("name", LATERAL)
def test_an_output_is_read_by_others(name: str, short: int) -> None:
    for seed in range(8):
        expected, found = values(LATERAL[name], seed)
        assert found == expected, emitted(lowered(LATERAL[name]))


def test_an_output_behind_is_no_name(short: int) -> None:
    with pytest.raises(UnknownColumnError):
        lowered("SELECT a + 1 AS b, x + 1 AS a FROM r")


@pytest.mark.parametrize("call", ["SUM(b) OVER (PARTITION BY k)", "SUM(x) OVER (PARTITION BY b)"])
def test_a_window_inside_of_a_window_is_none_through_a_name_either(call: str, short: int) -> None:
    with pytest.raises(DefinitionError, match="inside another one"):
        lowered(f"SELECT k, SUM(x) OVER (PARTITION BY k) AS a, a + a AS b, {call} AS c FROM r")


@pytest.fixture(scope="module")
def laws() -> Database:
    return Database.of(draw(91, cases=60, cycles=2))


LAWFUL = [
    "SELECT x + b AS v, v + v AS w, w * v AS u FROM r WHERE x > 0",
    "SELECT a, SUM(x) + 1 AS v, v + v AS w, w - v AS u FROM r GROUP BY a",
    "SELECT a, x + 1 AS v, SUM(v + v) OVER (PARTITION BY a) AS w, w + v AS u FROM r",
]


@pytest.mark.parametrize("sql", LAWFUL)
def test_changes_of_outputs_that_others_read(sql: str, short: int, laws: Database) -> None:
    assert check_query(laws, sql, cases=60, cycles=2, alone=range(2)).incremental


# Growth, in characters: those do not depend on the machine.


def plan_of(sql: str, sources: dict[str, Relation]) -> tuple[Lowered, int]:
    """The lowered text, and the characters of everything that is written for it."""
    one = lower(sql, sources=sources)
    if one.root is None:
        raise AssertionError(one.reasons)
    types = Types("spark", scan_types(one.root, {n: dict(r.columns) for n, r in sources.items()}))
    plan = make_plan(one, types)

    def leaf(item: object) -> str:
        return str(getattr(item, "table", None) or getattr(item, "step", "stored"))

    texts = [emit(node, "spark", leaf) for node in (plan.build, plan.public)]
    return one, sum(map(len, [*texts, *(emit(step.node, "spark", leaf) for step in plan.steps)]))


def outputs(count: int) -> str:
    chain_ = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(count))
    return f"SELECT x + k AS a0, {chain_} FROM r"


def grouped_outputs(count: int) -> str:
    chain_ = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(count))
    return f"SELECT k, SUM(x) AS a0, {chain_} FROM r GROUP BY k"


def either(count: int) -> str:
    return f"SELECT k FROM r WHERE {joined([f'x = {i}' for i in range(count)], 'OR')}"


def all_of(count: int) -> str:
    return f"SELECT k FROM r WHERE {joined([f'x <> {i}' for i in range(count)], 'AND')}"


def glued(count: int) -> str:
    return f"SELECT k, {joined(['s'] * count, '||')} AS v FROM r"


def total(count: int) -> str:
    return f"SELECT k, {joined(['x'] * count, '+')} AS v FROM r"


GROWTH = {
    "or": (either, 500, 2.6),
    "and": (all_of, 500, 2.6),
    "||": (glued, 500, 2.6),
    "+": (total, 500, 2.6),
    "outputs": (outputs, 30, 4.2),
}
"""Spark's plan of outputs that read outputs hands on all columns at every level, as ours does."""


@pytest.mark.parametrize("name", GROWTH)
def test_twice_the_text_is_about_twice_the_work(name: str) -> None:
    text, size, most = GROWTH[name]
    sources = {**SOURCES, "r": Relation("r", (("k", "INT"), ("x", "INT"), ("s", "STRING")))}
    _, small = plan_of(text(size), sources)
    _, large = plan_of(text(2 * size), sources)
    assert large / small < most, (small, large)


def twice(levels: int) -> str:
    steps = "".join(
        f", q{i + 1} AS (SELECT a.* FROM q{i} AS a JOIN q{i} AS b ON a.c0 = b.c1)"
        for i in range(levels)
    )
    return f"WITH q0 AS (SELECT * FROM w){steps} SELECT * FROM q{levels}"


@pytest.mark.parametrize("levels", [12, 40])
def test_what_doubles_with_every_level_is_refused_before_it_is_built(levels: int) -> None:
    with pytest.raises(UnsupportedSQLError) as caught:
        plan_of(twice(levels), WIDE)
    assert caught.value.feature == "too_large"


def test_a_few_levels_are_kept() -> None:
    _, size = plan_of(twice(4), WIDE)
    assert size < 1_000_000


def test_a_key_that_means_too_much_is_refused() -> None:
    chain_ = ", ".join(f"a{i} + a{i} AS a{i + 1}" for i in range(30))
    with pytest.raises(UnsupportedSQLError) as caught:
        lowered(f"SELECT x + k AS a0, {chain_}, COUNT(*) AS n FROM r GROUP BY ALL")
    assert caught.value.feature == "too_large"


def test_what_is_made_outside_of_a_compile_is_not_counted() -> None:
    spend(10**12)
    with limited(10):
        spend(10)
        with pytest.raises(UnsupportedSQLError):
            spend(1)
