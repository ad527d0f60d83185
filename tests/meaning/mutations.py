"""Mistakes of a parser, one of each class: a tree that says something else than the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp, parse_one

Node = TypeVar("Node", bound=exp.Expr)
Mistake = Callable[[exp.Expr], None]

TABLES = {
    "p": (
        "id INT, g INT, a INT, b INT, x DECIMAL(8,2), s STRING, d TIMESTAMP",
        "(1, 1, 5, 2, 1.25, 'ab', TIMESTAMP'2024-02-29 13:02:03'), (2, 1, -7, 3, 2.55, 'a_b', NULL),"
        " (3, 2, 2, NULL, -3.75, \"O'Brien\", TIMESTAMP'1999-12-31 23:59:59'),"
        " (4, 2, 2, 9, NULL, 'OBrien', TIMESTAMP'2024-01-01 00:00:00'), (4, 2, 2, 9, NULL, 'OBrien',"
        " TIMESTAMP'2024-01-01 00:00:00'), (5, NULL, 0, 1, 10.10, NULL, TIMESTAMP'2020-06-15 06:00:00')",
    ),
    "q": ("id INT, a INT, t STRING", "(1, 6, 'x'), (2, NULL, 'y'), (2, 3, 'y'), (9, 5, 'z')"),
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """A query, the class of the mistake, and the mistake."""

    kind: str
    sql: str
    mistake: Mistake


def first(tree: exp.Expr, kind: type[Node], place: int = 0) -> Node | None:
    """One of the nodes of a kind; none in trees of other texts."""
    found = list(tree.find_all(kind))
    return found[place] if len(found) > place else None


def change(kind: type[Node], how: Callable[[Node], object], place: int = 0) -> Mistake:
    """A mistake at one node of a kind."""

    def mistake(tree: exp.Expr) -> None:
        node = first(tree, kind, place)
        if node is not None:
            how(node)

    return mistake


def swap(kind: type[Node], other: str, place: int = 0) -> Mistake:
    """A mistake that puts another expression in the place of one."""

    def replace(node: Node) -> None:
        node.replace(parse_one(other, dialect="spark"))

    return change(kind, replace, place)


def without(key: str) -> Callable[[exp.Expr], object]:
    """Leaves out a part of a node."""
    return lambda node: node.set(key, None)


def shorter(node: exp.Expr) -> None:
    """Leaves out the last of the arguments."""
    node.set("expressions", node.expressions[:-1])


def sides(node: exp.Expr) -> None:
    """Puts the two sides in the place of each other."""
    one, two = node.this.copy(), node.expression.copy()
    node.set("this", two)
    node.set("expression", one)


def become(kind: type[exp.Expr]) -> Callable[[exp.Expr], object]:
    """Makes another operator of the same sides."""
    return lambda node: node.replace(kind(this=node.this.copy(), expression=node.expression.copy()))


def unsigned(node: exp.Expr) -> None:
    """Takes the sign away."""
    node.replace(node.this.copy())


def regrouped(node: exp.Expr) -> None:
    """`a + b * c` is read as `(a + b) * c`."""
    inner = node.expression
    left = type(node)(this=node.this.copy(), expression=inner.this.copy())
    made = type(inner)(this=exp.Paren(this=left), expression=inner.expression.copy())
    node.replace(made)


def no_distinct(node: exp.Expr) -> None:
    node.set("distinct", None)


def conjunct(node: exp.And) -> None:
    """Only one of two conditions is left."""
    node.replace(node.this.copy())


def exchanged(node: exp.Select) -> None:
    """Two items of the SELECT list change their expressions, not their names."""
    one, two = node.expressions[1], node.expressions[2]
    left, right = one.this.copy(), two.this.copy()
    one.set("this", right)
    two.set("this", left)


MUTATIONS = {
    "argument-coalesce": Mutation(
        "a dropped argument", "SELECT id, coalesce(b, a, 77) AS v FROM {s}.p",
        change(exp.Coalesce, lambda n: n.set("expressions", [])),
    ),
    "argument-concat": Mutation(
        "a dropped argument", "SELECT id, concat(s, '-', 'end') AS v FROM {s}.p",
        change(exp.Concat, shorter),
    ),
    "argument-round": Mutation(
        "a dropped argument", "SELECT id, CAST(round(x, 1) AS DOUBLE) AS v FROM {s}.p",
        change(exp.Round, without("decimals")),
    ),
    "argument-distinct": Mutation(
        "a dropped argument", "SELECT g, count(DISTINCT a, s) AS v FROM {s}.p GROUP BY g",
        change(exp.Distinct, lambda n: n.set("expressions", n.expressions[:1])),
    ),
    "argument-filter": Mutation(
        "a dropped argument", "SELECT g, sum(a) FILTER (WHERE a > 2) AS v FROM {s}.p GROUP BY g",
        change(exp.Filter, unsigned),
    ),
    "argument-in": Mutation(
        "a dropped argument", "SELECT id FROM {s}.p WHERE a IN (5, 2)", change(exp.In, shorter),
    ),
    "argument-else": Mutation(
        "a dropped argument", "SELECT id, CASE WHEN a > 2 THEN 1 ELSE 0 END AS v FROM {s}.p",
        change(exp.Case, without("default")),
    ),
    "sign-minus": Mutation("a lost sign", "SELECT id, -a AS v FROM {s}.p", change(exp.Neg, unsigned)),
    "sign-literal": Mutation("a lost sign", "SELECT id FROM {s}.p WHERE a > -7", change(exp.Neg, unsigned)),
    "sign-difference": Mutation(
        "a lost sign", "SELECT id, a - b AS v FROM {s}.p", change(exp.Sub, become(exp.Add))
    ),
    "sign-not": Mutation(
        "a lost sign", "SELECT id FROM {s}.p WHERE NOT (a = 2)", change(exp.Not, unsigned)
    ),
    "sign-not-exists": Mutation(
        "a lost sign", "SELECT id FROM {s}.p WHERE NOT EXISTS (SELECT 1 FROM {s}.q WHERE q.id = p.id)",
        change(exp.Not, unsigned),
    ),
    "pattern-date": Mutation(
        "a changed pattern", "SELECT id, date_format(d, 'yyyy-MM') AS v FROM {s}.p",
        swap(exp.Literal, "'yyyy-mm'"),
    ),
    "pattern-like": Mutation(
        "a changed pattern", "SELECT id FROM {s}.p WHERE s LIKE 'a%'", swap(exp.Literal, "'a_'")
    ),
    "pattern-quote": Mutation(
        "a changed pattern", "SELECT id FROM {s}.p WHERE s = \"O'Brien\"", swap(exp.Literal, "'OBrien'")
    ),
    "pattern-number": Mutation(
        "a changed pattern", "SELECT id, x * 1.10 AS v FROM {s}.p", swap(exp.Literal, "1.01")
    ),
    "precedence-times": Mutation(
        "a swapped precedence", "SELECT id, a + b * id AS v FROM {s}.p", change(exp.Add, regrouped)
    ),
    "precedence-or": Mutation(
        "a swapped precedence", "SELECT id FROM {s}.p WHERE a = 5 OR b = 9 AND id > 3",
        change(exp.Or, regrouped),
    ),
    "order-of-sets": Mutation(
        "a swapped precedence",
        "SELECT id FROM {s}.p EXCEPT SELECT id FROM {s}.q",
        change(exp.Except, sides),
    ),
    "order-of-sides": Mutation(
        "a swapped precedence",
        "SELECT id, a - id AS v FROM {s}.p",
        change(exp.Sub, sides),
    ),
    "column-other": Mutation(
        "a pruned column", "SELECT id, a AS v, b AS w FROM {s}.p", change(exp.Select, exchanged)
    ),
    "column-group": Mutation(
        "a pruned column", "SELECT g, max(id) AS v FROM {s}.p GROUP BY g, a", change(exp.Group, shorter)
    ),
    "column-partition": Mutation(
        "a pruned column",
        "SELECT id, row_number() OVER (PARTITION BY g, a ORDER BY id, s) AS v FROM {s}.p",
        change(exp.Window, lambda n: n.set("partition_by", n.args["partition_by"][:1])),
    ),
    "column-distinct": Mutation(
        "a pruned column", "SELECT DISTINCT id, a FROM {s}.p", change(exp.Select, no_distinct)
    ),
    "scope-table": Mutation(
        "a wrong scope", "SELECT p.id, q.a AS v FROM {s}.p JOIN {s}.q ON p.id = q.id",
        change(exp.Column, lambda n: n.set("table", exp.to_identifier("p")), 1),
    ),
    "scope-correlated": Mutation(
        "a wrong scope", "SELECT id FROM {s}.p WHERE EXISTS (SELECT 1 FROM {s}.q WHERE q.a = p.a + 1)",
        change(exp.Column, lambda n: n.set("table", exp.to_identifier("p")), 1),
    ),
    "scope-derived": Mutation(
        "a wrong scope", "SELECT k.v AS v FROM (SELECT id, a AS v, b AS w FROM {s}.p) AS k",
        change(exp.Select, exchanged, 1),
    ),
    "join-kind": Mutation(
        "a changed clause", "SELECT p.id, q.t FROM {s}.p LEFT JOIN {s}.q ON p.id = q.id",
        change(exp.Join, without("side")),
    ),
    "union-all": Mutation(
        "a changed clause", "SELECT id FROM {s}.p UNION ALL SELECT id FROM {s}.q",
        change(exp.Union, lambda n: n.set("distinct", True)),
    ),
    "where-half": Mutation(
        "a changed clause", "SELECT id FROM {s}.p WHERE a > 0 AND b > 2", change(exp.And, conjunct)
    ),
    "where-lost": Mutation(
        "a changed clause", "SELECT id FROM {s}.p WHERE a > 0", change(exp.Select, without("where"))
    ),
    "having-lost": Mutation(
        "a changed clause", "SELECT g, count(*) AS n FROM {s}.p GROUP BY g HAVING count(*) > 1",
        change(exp.Select, without("having")),
    ),
    "descending": Mutation(
        "a changed clause", "SELECT id, rank() OVER (PARTITION BY g ORDER BY a DESC) AS v FROM {s}.p",
        change(exp.Ordered, lambda n: n.set("desc", False)),
    ),
    "frame": Mutation(
        "a changed clause",
        "SELECT id, s, count(*) OVER (PARTITION BY g ORDER BY id, s ROWS BETWEEN 1 PRECEDING AND CURRENT"
        " ROW) AS v FROM {s}.p",
        change(exp.WindowSpec, lambda n: n.set("start", exp.Literal.number(2))),
    ),
    "comparison": Mutation(
        "a changed operator", "SELECT id FROM {s}.p WHERE a <= 2", change(exp.LTE, become(exp.LT))
    ),
    "null-safe": Mutation(
        "a changed operator", "SELECT id, b <=> NULL AS v FROM {s}.p", change(exp.NullSafeEQ, become(exp.EQ))
    ),
    "division": Mutation(
        "a changed operator", "SELECT id, CAST(a DIV 2 AS DOUBLE) AS v FROM {s}.p", change(exp.IntDiv, become(exp.Div))
    ),
    "function": Mutation(
        "a changed operator", "SELECT g, max(a) AS v FROM {s}.p GROUP BY g",
        change(exp.Max, lambda n: n.replace(exp.Min(this=n.this.copy()))),
    ),
    "count": Mutation(
        "a changed operator", "SELECT g, count(b) AS v FROM {s}.p GROUP BY g",
        change(exp.Count, lambda n: n.set("this", exp.Star())),
    ),
    "cast": Mutation(
        "a changed operator", "SELECT id, CAST(CAST(x AS DECIMAL(8,1)) AS DOUBLE) AS v FROM {s}.p",
        change(exp.Cast, lambda n: n.set("to", exp.DataType.build("DECIMAL(8,0)")), 1),
    ),
}  # fmt: skip
