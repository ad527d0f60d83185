"""Trees built by hand: every operator alone and next to those it meets, one law each."""

from __future__ import annotations

from typing import Final

from compiler.laws.databases import tables_of
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    Order,
    OuterJoin,
    Projection,
    Scan,
    SemiJoin,
    SetKind,
    SetOperation,
    TopK,
    UnionAll,
    Unnest,
    Windowed,
)
from grebe.compiler.algebra.scalar import NULL, Scalar, build, column


def scan(table: str, mark: str | None = None) -> Scan:
    """A source with its columns under names of their own: `r_a`, or `m_a` with a mark."""
    names = tables_of()[table].types
    return Scan(table, tuple((f"{mark or table}_{name}", name) for name in names))


def sql(text: str) -> Scalar:
    return build(text)


def only(node: Node, *names: str) -> Projection:
    return Projection(node, tuple((name, column(name)) for name in names))


def aggregate(node: Node, keys: tuple[str, ...], **calls: str) -> Aggregate:
    return Aggregate(node, keys, tuple((name, sql(text)) for name, text in calls.items()))


def window(node: Node, partition: tuple[str, ...], **calls: str) -> Windowed:
    over = ", ".join(partition)
    named = tuple(
        (name, sql(text.replace("@", f"PARTITION BY {over}" if over else "")))
        for name, text in calls.items()
    )
    return Windowed(node, partition, named)


def ordered(node: Node) -> tuple[Order, ...]:
    return tuple(
        Order(name, descending=place % 2 == 1, nulls_first=place % 3 == 0)
        for place, name in enumerate(node.columns)
    )


R, S, T, R2 = scan("r"), scan("s"), scan("t"), scan("r", "r2")
R_S = InnerJoin((R, S), (sql("r_a = s_a"),))
LEFT = OuterJoin(R, S, sql("r_a = s_a"))
FULL = OuterJoin(R, S, sql("r_a = s_a"), full=True)
PAIR_R = only(R, "r_a", "r_b")
PAIR_S = only(S, "s_a", "s_c")
PAIR_T = only(T, "t_c", "t_z")
GROUPS_T = Filter(aggregate(T, ("t_c",), n="COUNT(*)"), sql("n > 1"))
LINEAR = {
    "n": "COUNT(*)",
    "nx": "COUNT(r_x)",
    "sx": "SUM(r_x)",
    "ax": "AVG(r_x)",
}

JOINS: Final = {
    "inner/two": R_S,
    "inner/three": InnerJoin((R, S, T), (sql("r_a = s_a"), sql("s_c = t_c"))),
    "inner/self": InnerJoin((R, R2), (sql("r_a = r2_b"),)),
    "inner/non-equi": InnerJoin((R, S), (sql("r_x < s_c"),)),
    "inner/cross": InnerJoin((only(R, "r_a"), only(S, "s_c")), ()),
    "inner/null-safe": InnerJoin((R, S), (sql("r_a <=> s_a"), sql("r_x <> s_c"))),
    "inner/expression above": Projection(
        R_S, (("q", sql("10 / NULLIF(r_x - s_c, 0)")), ("k", column("s_a")))
    ),
    "left": LEFT,
    "left/residual": OuterJoin(R, S, sql("r_a = s_a AND r_x < s_c")),
    "left/non-equi": OuterJoin(R, S, sql("r_x < s_c")),
    "left/one-sided on": OuterJoin(R, S, sql("r_a = s_a AND r_x > 1")),
    "left/chain": OuterJoin(LEFT, T, sql("s_c = t_c")),
    "left/nest": OuterJoin(R, OuterJoin(S, T, sql("s_c = t_c")), sql("r_a = s_a")),
    "left/where nullable": Filter(LEFT, sql("s_a IS NULL")),
    "left/null-safe": OuterJoin(R, S, sql("r_a <=> s_a")),
    "full": FULL,
    "full/non-equi": OuterJoin(R, S, sql("r_x < s_c"), full=True),
    "full/chain": OuterJoin(FULL, T, sql("s_c = t_c"), full=True),
    "full/left": OuterJoin(FULL, T, sql("r_b = t_c")),
    "inner over left": InnerJoin((LEFT, T), (sql("s_c = t_c"),)),
}

MEMBERSHIP: Final = {
    "semi": SemiJoin(R, S, sql("r_a = s_a")),
    "semi/non-equi": SemiJoin(R, S, sql("r_x < s_c")),
    "semi/residual": SemiJoin(R, S, sql("r_a = s_a AND r_x <> s_c")),
    "anti": SemiJoin(R, S, sql("r_a = s_a"), anti=True),
    "anti/non-equi": SemiJoin(R, S, sql("r_x < s_c"), anti=True),
    "anti/not in": SemiJoin(R, S, sql("COALESCE(r_a = s_a, TRUE)"), anti=True),
    "anti/all": SemiJoin(R, S, sql("COALESCE(NOT (r_a > s_a), TRUE)"), anti=True),
    "anti/over join": SemiJoin(R_S, T, sql("s_c = t_c"), anti=True),
    "semi/over anti": SemiJoin(SemiJoin(R, S, sql("r_a = s_a"), anti=True), T, sql("r_b = t_c")),
    "semi/picked groups": SemiJoin(R_S, GROUPS_T, sql("s_c = t_c")),
    "semi/picked groups, residual": SemiJoin(R_S, GROUPS_T, sql("s_c = t_c AND r_x <> n")),
    "semi/picked groups, null-safe": SemiJoin(LEFT, GROUPS_T, sql("s_c <=> t_c")),
    "semi/picked groups of itself": SemiJoin(
        R_S,
        Filter(aggregate(R2, ("r2_a",), m="MAX(r2_x)"), sql("m > 1")),
        sql("r_a = r2_a"),
    ),
    "mark": MarkJoin(R, S, sql("r_a = s_a"), "m"),
    "mark/non-equi": MarkJoin(R, S, sql("r_x < s_c"), "m"),
    "mark/under or": Filter(MarkJoin(R, S, sql("r_a = s_a"), "m"), sql("m OR r_x > 1")),
    "mark/not": Filter(
        MarkJoin(R, S, sql("r_a = s_a"), "m"), sql("NOT m OR m IS NULL AND r_x = 1")
    ),
    "mark/correlated": MarkJoin(R, S, sql("r_a = s_a AND r_b <=> s_c"), "m"),
    "mark/twice": MarkJoin(MarkJoin(R, S, sql("r_a = s_a"), "m"), T, sql("r_b = t_c"), "m2"),
}

SETS: Final = {
    "union all": UnionAll((PAIR_R, PAIR_S), ("u", "v")),
    "union all/three": UnionAll((PAIR_R, PAIR_S, PAIR_T), ("u", "v")),
    "union all/same": UnionAll((PAIR_R, PAIR_R), ("u", "v")),
    "union all/coerced": Projection(
        UnionAll(
            (
                only(R, "r_a", "r_b"),
                Projection(S, (("s_t", sql("CAST(s_c AS TEXT)")), ("s_n", NULL))),
            ),
            ("u", "v"),
        ),
        (("size", sql("LENGTH(u)")), ("v", column("v"))),
    ),
    **{f"set/{kind}": SetOperation(kind, PAIR_R, PAIR_S, ("u", "v")) for kind in SetKind},
    **{
        f"set/{kind}/nested": SetOperation(
            kind, PAIR_R, SetOperation(SetKind.EXCEPT_ALL, PAIR_S, PAIR_T, ("p", "q")), ("u", "v")
        )
        for kind in SetKind
    },
    "distinct": Distinct(only(R, "r_a", "r_s")),
    "distinct/float": Distinct(only(R, "r_f")),
    "distinct/over join": Distinct(only(R_S, "r_b", "s_c")),
    "distinct/over union": Distinct(UnionAll((PAIR_R, PAIR_S), ("u", "v"))),
}

AGGREGATES: Final = {
    "aggregate/linear": aggregate(R, ("r_a",), **LINEAR),
    "aggregate/two keys": aggregate(R, ("r_a", "r_s"), **LINEAR),
    "aggregate/decimal": aggregate(S, ("s_a",), t="SUM(s_y)", m="AVG(s_y)", n="COUNT(s_y)"),
    "aggregate/float": aggregate(R, ("r_a",), t="SUM(r_f)", m="AVG(r_f)"),
    "aggregate/extrema": aggregate(R, ("r_a",), low="MIN(r_x)", high="MAX(r_s)", n="COUNT(*)"),
    "aggregate/distinct": aggregate(R, ("r_a",), d="COUNT(DISTINCT r_x)", e="SUM(DISTINCT r_x)"),
    "aggregate/filter": aggregate(
        R,
        ("r_a",),
        n="COUNT(*) FILTER(WHERE r_x > 1)",
        s2="SUM(r_x) FILTER(WHERE r_s = 'a')",
    ),
    "aggregate/boolean": aggregate(S, ("s_a",), e="LOGICAL_AND(s_k)", o="LOGICAL_OR(s_k)"),
    "aggregate/keys only": aggregate(R, ("r_a",)),
    "aggregate/filter above": Filter(aggregate(R, ("r_a",), **LINEAR), sql("sx > 2 AND n < 4")),
    "aggregate/over join": aggregate(R_S, ("s_c",), **LINEAR),
    "aggregate/extrema over left": aggregate(LEFT, ("r_b",), low="MIN(s_c)", high="MAX(r_x)"),
    "aggregate/extrema over join": aggregate(R_S, ("r_b",), low="MIN(s_c)", high="MAX(r_x)"),
    "aggregate/over left": aggregate(LEFT, ("r_b",), n="COUNT(s_c)", m="MAX(s_c)", c="COUNT(*)"),
    "aggregate/over left by a nullable key": aggregate(LEFT, ("s_c",), m="MAX(r_x)", c="COUNT(*)"),
    "aggregate/over full": aggregate(FULL, ("s_c",), **LINEAR),
    "aggregate/over aggregate": aggregate(
        aggregate(R, ("r_a", "r_b"), n="COUNT(*)", t="SUM(r_x)"),
        ("r_a",),
        deep="MAX(n)",
        wide="SUM(t)",
    ),
    "aggregate/over union": aggregate(
        UnionAll((PAIR_R, PAIR_S), ("u", "v")), ("u",), n="COUNT(v)", t="MIN(v)"
    ),
    "aggregate/over except": aggregate(
        SetOperation(SetKind.EXCEPT, PAIR_R, PAIR_S, ("u", "v")), ("u",), n="COUNT(*)"
    ),
    "aggregate/join above": InnerJoin((aggregate(R, ("r_a",), **LINEAR), S), (sql("r_a = s_a"),)),
    "aggregate/left above": OuterJoin(S, aggregate(R, ("r_a",), **LINEAR), sql("s_a = r_a")),
    "aggregate/spread": aggregate(R, ("r_a",), v="VAR_POP(r_x)", w="STDDEV_SAMP(r_x)"),
}

GLOBAL: Final = {
    "global/linear": aggregate(R, (), **LINEAR),
    "global/extrema": aggregate(R, (), low="MIN(r_x)", d="COUNT(DISTINCT r_s)"),
    "global/float": aggregate(R, (), t="SUM(r_f)"),
    "global/over join": aggregate(R_S, (), **LINEAR),
    "global/cross above": InnerJoin((S, aggregate(R, (), **LINEAR)), ()),
    "top-k": TopK(R, (), ordered(R), 2),
    "top-k/offset": TopK(PAIR_R, (), ordered(PAIR_R), 2, 1),
    "top-k/over join": TopK(only(R_S, "r_x", "s_c"), (), ordered(only(R_S, "r_x", "s_c")), 3),
    "top-k/below join": InnerJoin((TopK(R, (), ordered(R), 2), S), (sql("r_a = s_a"),)),
}

WINDOWS: Final = {
    "window/rank": window(R, ("r_a",), k="RANK() OVER (@ ORDER BY r_x)"),
    "window/number": window(
        PAIR_R, ("r_a",), k="ROW_NUMBER() OVER (@ ORDER BY r_b)", p="LAG(r_b) OVER (@ ORDER BY r_b)"
    ),
    "window/sum": window(
        R, ("r_a", "r_s"), t="SUM(r_x) OVER (@)", c="COUNT(*) OVER (@ ORDER BY r_b)"
    ),
    "window/over join": window(R_S, ("s_c",), t="SUM(r_x) OVER (@)"),
    "window/filter above": Filter(
        window(R, ("r_a",), k="RANK() OVER (@ ORDER BY r_x)"), sql("k = 1")
    ),
    "window/chain": window(
        window(R, ("r_a",), k="RANK() OVER (@ ORDER BY r_x)"), ("r_b",), j="SUM(k) OVER (@)"
    ),
    "window/over aggregate": window(
        aggregate(R, ("r_a", "r_b"), n="COUNT(*)"), ("r_a",), k="RANK() OVER (@ ORDER BY n)"
    ),
    "top-k/per group": TopK(R, ("r_a",), ordered(R), 1),
    "top-k/per group, over left": TopK(LEFT, ("r_b",), ordered(LEFT), 2, 1),
}

LINEAR_ROWS: Final = {
    "filter": Filter(R, sql("r_x > 1 OR r_s IS NULL")),
    "project": Projection(
        R, (("k", sql("r_a + r_x")), ("t", sql("CASE WHEN r_x > 1 THEN r_s END")))
    ),
    "unnest": Unnest(T, column("t_l"), ("e",)),
    "unnest/outer": Unnest(T, column("t_l"), ("e",), outer=True),
    "unnest/position": Unnest(T, column("t_l"), ("e",), position="p"),
    "unnest/aggregate": aggregate(Unnest(T, column("t_l"), ("e",)), ("e",), n="COUNT(*)"),
}

TREES: Final[dict[str, Node]] = {
    **LINEAR_ROWS, **JOINS, **MEMBERSHIP, **SETS, **AGGREGATES, **WINDOWS,
}  # fmt: skip
"""Trees that mean the same in a batch, or whose batched form is a fair case of its own."""
