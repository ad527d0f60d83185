"""Nodes to SQL text, for Spark and for DuckDB.

The text is a function of the tree alone: relations that are used more than once become common
table expressions in the order in which they are needed, everything else is nested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from grebe.compiler.algebra import try_casts
from grebe.compiler.algebra.function_names import SINGLE
from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    At,
    Consolidate,
    Distinct,
    Empty,
    Filter,
    InnerJoin,
    MarkJoin,
    Named,
    Node,
    OuterJoin,
    Projection,
    Repeat,
    Scan,
    SemiJoin,
    SetKind,
    SetOperation,
    Small,
    Stored,
    TopK,
    UnionAll,
    Unnest,
    Values,
    Verbatim,
    Windowed,
    walk,
)
from grebe.compiler.algebra.scalar import (
    TRUE,
    Scalar,
    all_of,
    build,
    conjuncts_of,
    never_null,
    true_only,
)
from grebe.errors import InternalError
from grebe.sql_text import PREFIX, made, quote

Leaf = Scan | Stored | Named | Verbatim
Names = Callable[[Leaf], str]
"""The SQL text that reads the table behind a leaf, e.g. a time-travel clause."""


_TWO_ROWS: Final = "scalar subquery returned more than one row"
_OWN_FUNCTIONS: Final = {
    SINGLE: {
        "spark": f"CASE WHEN COUNT(*) > 1 THEN RAISE_ERROR('{_TWO_ROWS}') ELSE ANY_VALUE({{0}}) END",
        "duckdb": f"CASE WHEN COUNT(*) > 1 THEN ERROR('{_TWO_ROWS}') ELSE ANY_VALUE({{0}}) END",
    },
    made("within"): {"spark": "TRUE", "duckdb": "TRUE"},
    made("hash"): {"spark": "XXHASH64({0})", "duckdb": "HASH({0})"},
}

_FEW: Final = 2

_SET_WORDS: Final = {
    SetKind.UNION: "UNION",
    SetKind.EXCEPT: "EXCEPT",
    SetKind.EXCEPT_ALL: "EXCEPT ALL",
    SetKind.INTERSECT: "INTERSECT",
    SetKind.INTERSECT_ALL: "INTERSECT ALL",
}


def emit(node: Node, dialect: str, names: Names) -> str:
    """The SQL text of a tree."""
    writer = _Writer(dialect, names, _shared(node), _has_row_ids(node, dialect))
    body = writer.query(node)
    if not writer.tables:
        return body
    tables = ",\n".join(f"{name} AS (\n{text}\n)" for name, text in writer.tables)
    return f"WITH {tables}\n{body}"


def _has_row_ids(root: Node, dialect: str) -> bool:
    """True when some column is called like DuckDB's own of every table."""
    return dialect == "duckdb" and any(
        name.lower() == "rowid" for node in walk(root) for name in node.columns
    )


def _shared(root: Node) -> frozenset[str]:
    """Digests of the relations that more than one other relation reads."""
    uses: Counter[str] = Counter()
    seen: set[str] = set()
    stack = [root]
    while stack:
        current = stack.pop()
        uses[current.digest] += 1
        if isinstance(current, MarkJoin):
            uses[current.right.digest] += 1  # its text holds the right side twice
        if current.digest not in seen:
            seen.add(current.digest)
            stack.extend(reversed(current.inputs))
    return frozenset(digest for digest, count in uses.items() if count > 1)


@dataclass(slots=True)
class _Writer:
    dialect: str
    names: Names
    shared: frozenset[str]
    has_row_ids: bool = False
    """A table then stands in a SELECT of its own, which gives its columns and nothing else."""
    tables: list[tuple[str, str]] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)
    aliases: int = 0
    small: list[str] = field(default_factory=list)
    """Relations of the SELECT being written that go to every worker."""

    def quote(self, name: str) -> str:
        return quote(name, self.dialect)

    def aliased(self, own: str, name: str) -> str:
        return self.quote(own) if own == name else f"{self.quote(own)} AS {self.quote(name)}"

    def scalar(self, item: Scalar) -> str:
        return _spelled(item.ast, self.dialect).sql(self.dialect, comments=False)

    def list_of(self, names: Sequence[str]) -> str:
        return ", ".join(self.quote(name) for name in names)

    def alias(self) -> str:
        self.aliases += 1
        return f"{PREFIX}q{self.aliases}"

    def relation(self, node: Node) -> str:
        """The text of a relation inside FROM."""
        if isinstance(node, Small):
            text = self.relation(node.input)
            self.small.append(text.rsplit(" ", maxsplit=1)[-1])
            return text
        if node.digest in self.shared and not isinstance(node, Leaf):
            if node.digest not in self.written:
                body = self.query(node)
                name = f"{PREFIX}c{len(self.tables) + 1}"
                self.tables.append((name, body))
                self.written[node.digest] = name
            return self.written[node.digest]
        if isinstance(node, (Stored, Named)) and not self.has_row_ids:
            return self.names(node)
        return f"(\n{_indent(self.query(node))}\n) AS {self.alias()}"

    def query(self, node: Node) -> str:
        """The SELECT of a relation."""
        method = _SPELLINGS.get(type(node))
        if method is None:
            raise InternalError.broken(f"no SQL for {type(node).__name__}")
        return method(self, node)

    def leaf(self, node: Stored | Named | Verbatim) -> str:
        return f"SELECT {self.list_of(node.columns)} FROM {self.names(node)}"

    def through(self, node: Small) -> str:
        return self.query(node.input)

    def empty(self, node: Empty) -> str:
        return f"SELECT {self.list_of(node.columns)} FROM {self.relation(node.like)} WHERE FALSE"

    def distinct(self, node: Distinct) -> str:
        return f"SELECT DISTINCT {self.list_of(node.columns)} FROM {self.relation(node.input)}"

    def union_all(self, node: UnionAll) -> str:
        return self.stack(node.branches, node.names, "UNION ALL")

    def set_operation(self, node: SetOperation) -> str:
        return self.stack((node.left, node.right), node.names, _SET_WORDS[node.kind])

    def scan(self, node: Scan) -> str:
        items = [self.aliased(source, name) for name, source in node.pairs]
        if node.at is At.DELTA:
            items.append(self.quote(WEIGHT))
        return f"SELECT {', '.join(items)} FROM {self.names(node)}"

    def values(self, node: Values) -> str:
        rows = ", ".join(f"({', '.join(self.scalar(item) for item in row)})" for row in node.rows)
        columns = self.list_of(node.names)
        return f"SELECT {columns} FROM (VALUES {rows}) AS {self.alias()}({columns})"

    def block(self, node: Node) -> str:
        """One SELECT … FROM … WHERE for a projection, the filters below it and a join below those."""
        items = self.list_of(node.columns)
        source = node
        if isinstance(node, Projection):
            items = self.items(node.outputs)
            source = node.input
        predicates: list[str] = []
        while isinstance(source, Filter) and self.is_open(source, node):
            predicates.insert(0, self.scalar(source.predicate))
            source = source.input
        outside, self.small = self.small, []
        relation, where = self.source(source, node)
        text = f"SELECT {self.hint()}{items} FROM {relation}"
        self.small = outside
        tests = [*where, *(item for item in predicates if item != "TRUE")]
        return f"{text}\nWHERE {_conjunction(tests)}" if tests else text

    def hint(self) -> str:
        if not self.small or self.dialect != "spark":
            return ""
        return f"/*+ BROADCAST({', '.join(self.small)}) */ "

    def is_open(self, node: Node, root: Node) -> bool:
        """True when a relation may be written into the SELECT that reads it."""
        return node is root or node.digest not in self.shared

    def source(self, node: Node, root: Node) -> tuple[str, list[str]]:
        """The text behind FROM, and conditions that belong into WHERE."""
        if isinstance(node, InnerJoin) and self.is_open(node, root):
            return self.inner(node)
        if isinstance(node, SemiJoin) and not node.anti and self.is_open(node, root):
            parts = self.or_unknown(node)
            if parts:
                right = node.right.input if isinstance(node.right, Small) else node.right
                return self.relation(node.left), [self.perhaps(parts, self.relation(right))]
        if isinstance(node, (OuterJoin, SemiJoin)) and self.is_open(node, root):
            return self.binary(node), []
        if isinstance(node, Scan) and all(name == source for name, source in node.pairs):
            return self.names(node), []
        return self.relation(node), []

    def items(self, outputs: Sequence[tuple[str, Scalar]]) -> str:
        return ", ".join(
            self.quote(name)
            if item.column == name
            else f"{self.scalar(item)} AS {self.quote(name)}"
            for name, item in outputs
        )

    def inner(self, node: InnerJoin) -> tuple[str, list[str]]:
        """Joins in an order that conditions connect; each conjunct as soon as it can be asked."""
        first, *others = _connected(node)
        bound = set(first.columns)
        ready, waiting = _split(node.on, bound)
        where = [self.scalar(item) for item in ready]
        text = self.relation(first)
        for part in others:
            bound.update(part.columns)
            ready, waiting = _split(waiting, bound)
            on = _conjunction([self.scalar(item) for item in ready])
            word = f"JOIN {self.relation(part)} ON {on}" if ready else None
            text += f"\n{word or 'CROSS JOIN ' + self.relation(part)}"
        if waiting:
            raise InternalError.broken("a join condition reads a column that no part has")
        return text, where

    def binary(self, node: OuterJoin | SemiJoin) -> str:
        left, right = self.relation(node.left), self.relation(node.right)
        return f"{left}\n{self.word(node)} {right} ON {self.scalar(self.condition(node))}"

    def condition(self, node: OuterJoin | SemiJoin) -> Scalar:
        """The condition of a join, in the form that the engine knows a fast way for.

        Spark hashes NOT IN of one value when its condition is `x = y OR (x = y) IS NULL`, as it
        writes that itself; anything else that is TRUE where the equality is unknown is a loop.
        """
        parts = self.or_unknown(node) if isinstance(node, SemiJoin) and node.anti else None
        return node.on if parts is None else build(":p OR :p IS NULL", p=parts.equal)

    def or_unknown(self, node: SemiJoin | MarkJoin) -> Compared | None:
        """The sides of a condition that is TRUE where its one equality is unknown: NOT IN.

        Spark hashes an equality, and loops over all pairs for anything around it.
        """
        tree = (true_only(node.on) or node.on).ast.unnest()
        if self.dialect != "spark" or not isinstance(tree, exp.Coalesce):
            return None
        if len(tree.expressions) != 1 or tree.expressions[0] != exp.true():
            return None
        return compared(Scalar.of(tree.this.unnest()), node.left.columns, node.right.columns)

    def perhaps(self, parts: Compared, right: str) -> str:
        """True where a row is equal, or may be: each of the ways on its own."""
        equal = f"EXISTS (SELECT 1 FROM {right} WHERE {self.scalar(parts.equal)})"
        return f"({equal} OR {self.unknown(parts, right)})"

    def unknown(self, parts: Compared, right: str) -> str:
        """True where an equality with some row is unknown: a NULL on either side."""
        theirs = f"EXISTS (SELECT 1 FROM {right} WHERE {self.scalar(parts.right)} IS NULL)"
        mine = f"{self.scalar(parts.left)} IS NULL AND EXISTS (SELECT 1 FROM {right})"
        return f"({theirs} OR ({mine}))"

    def word(self, node: OuterJoin | SemiJoin) -> str:
        if isinstance(node, OuterJoin):
            return "FULL OUTER JOIN" if node.full else "LEFT JOIN"
        kind = "ANTI" if node.anti else "SEMI"
        return f"LEFT {kind} JOIN" if self.dialect == "spark" else f"{kind} JOIN"

    def mark(self, node: MarkJoin) -> str:
        right = self.relation(node.right)
        known = true_only(node.on)
        parts = self.or_unknown(node)
        found = f"EXISTS (SELECT 1 FROM {right} WHERE {self.test(known or node.on)})"
        value = found if known else self.three_valued(node, right, found)
        value = self.perhaps(parts, right) if parts else value
        columns = self.list_of(node.left.columns)
        left = self.relation(node.left)
        return f"SELECT {columns}, {value} AS {self.quote(node.name)} FROM {left}"

    def test(self, condition: Scalar) -> str:
        """The condition inside EXISTS.

        DuckDB 1.5 loses matches when an equality stands beside two comparisons there, so it gets
        the comparisons as one.
        """
        parts = conjuncts_of(condition)
        loose = [part for part in parts if not isinstance(part.ast, (exp.EQ, exp.NullSafeEQ))]
        if self.dialect != "duckdb" or len(loose) < _FEW or len(loose) == len(parts):
            return self.scalar(condition)
        tight = [self.scalar(part) for part in parts if part not in loose]
        return " AND ".join([*tight, f"COALESCE({self.scalar(all_of(loose))}, FALSE)"])

    def three_valued(self, node: MarkJoin, right: str, found: str) -> str:
        """Plain equalities stay outside IS NULL, where a hash join can use them."""
        sure, unsure = never_null(node.on)
        sides = node.left.columns, node.right.columns
        parts = compared(all_of(unsure), *sides) if self.dialect == "spark" and not sure else None
        if parts:
            perhaps = self.unknown(parts, right)
            return f"CASE WHEN {found} THEN TRUE WHEN {perhaps} THEN NULL ELSE FALSE END"
        unknown = f"({self.scalar(all_of(unsure))}) IS NULL"
        test = " AND ".join([*(self.scalar(item) for item in sure), unknown])
        perhaps = f"EXISTS (SELECT 1 FROM {right} WHERE {test})"
        return f"CASE WHEN {found} THEN TRUE WHEN {perhaps} THEN NULL ELSE FALSE END"

    def stack(self, branches: Sequence[Node], names: Sequence[str], word: str) -> str:
        parts = []
        for branch in branches:
            pairs = zip(branch.columns, names, strict=True)
            items = ", ".join(self.aliased(own, name) for own, name in pairs)
            parts.append(f"SELECT {items} FROM {self.relation(branch)}")
        return f"\n{word}\n".join(parts)

    def aggregate(self, node: Aggregate) -> str:
        calls = [f"{self.scalar(call)} AS {self.quote(name)}" for name, call in node.calls]
        items = ", ".join([*(self.kept(key, node.signed) for key in node.keys), *calls])
        text = f"SELECT {items} FROM {self.relation(node.input)}"
        return text + self.groups(node.keys, node.signed)

    def kept(self, key: str, signed: Sequence[str]) -> str:
        """A column that rows are added up by, as it was: Spark groups by 0.0 where it finds -0.0."""
        name = self.quote(key)
        return f"ANY_VALUE({name}) AS {name}" if key in signed else name

    def groups(self, keys: Sequence[str], signed: Sequence[str]) -> str:
        """The clause that adds rows up; by the text, too, of what may be equal and not the same."""
        kind = "STRING" if self.dialect == "spark" else "VARCHAR"
        texts = [f"CAST({self.quote(key)} AS {kind})" for key in signed]
        return f"\nGROUP BY {', '.join([*map(self.quote, keys), *texts])}" if keys else ""

    def window(self, node: Windowed) -> str:
        calls = [f"{self.scalar(call)} AS {self.quote(name)}" for name, call in node.calls]
        items = ", ".join([self.list_of(node.input.columns), *calls])
        return f"SELECT {items} FROM {self.relation(node.input)}"

    def topk(self, node: TopK) -> str:
        columns = self.list_of(node.columns)
        order = ", ".join(
            f"{self.quote(item.column)} {'DESC' if item.descending else 'ASC'}"
            f" NULLS {'FIRST' if item.nulls_first else 'LAST'}"
            for item in node.order
        )
        if not node.partition:
            text = f"SELECT {columns} FROM {self.relation(node.input)}\nORDER BY {order}"
            text += "" if node.limit is None else f"\nLIMIT {node.limit}"
            return text + (f"\nOFFSET {node.offset}" if node.offset else "")
        over = f"PARTITION BY {self.list_of(node.partition)} ORDER BY {order}"
        place = self.quote(made("place"))
        ranked = (
            f"SELECT {columns}, ROW_NUMBER() OVER ({over}) AS {place}"
            f" FROM {self.relation(node.input)}"
        )
        bounds = [f"{place} > {node.offset}"]
        if node.limit is not None:
            bounds.append(f"{place} <= {node.offset + node.limit}")
        return (
            f"SELECT {columns} FROM (\n{_indent(ranked)}\n) AS {self.alias()}"
            f"\nWHERE {' AND '.join(bounds)}"
        )

    def unnest(self, node: Unnest) -> str:
        """Row by row, so it is spelled as each engine's own lateral form."""
        names = (*((node.position,) if node.position else ()), *node.names)
        columns = self.list_of(node.columns)
        relation = self.relation(node.input)
        collection = self.scalar(node.collection)
        if self.dialect == "spark":
            call = "posexplode" if node.position else "explode"
            outer = "OUTER " if node.outer else ""
            view = f"LATERAL VIEW {outer}{call}({collection}) {self.alias()}"
            return f"SELECT {columns} FROM {relation}\n{view} AS {self.list_of(names)}"
        if len(node.names) == 2:
            entries = self.alias()
            key, value = (self.quote(name) for name in node.names)
            entry = f"{entries}.{made('entry')}"
            body = (
                f"SELECT {entry}.key AS {key}, {entry}.value AS {value}"
                f" FROM (SELECT UNNEST(map_entries({collection})) AS {made('entry')}) AS {entries}"
            )
        else:
            items = [f"UNNEST({collection}) AS {self.quote(node.names[0])}"]
            if node.position:
                ordinal = f"generate_subscripts({collection}, 1) - 1"
                items.insert(0, f"{ordinal} AS {self.quote(node.position)}")
            body = f"SELECT {', '.join(items)}"
        join = "LEFT JOIN" if node.outer else "JOIN"
        return (
            f"SELECT {columns} FROM {relation}\n{join} LATERAL ({body}) AS {self.alias()} ON TRUE"
        )

    def consolidate(self, node: Consolidate) -> str:
        weight = self.quote(WEIGHT)
        total = f"CAST(SUM({weight}) AS BIGINT)"
        columns = [name for name in node.columns if name != WEIGHT]
        items = ", ".join(
            f"{total} AS {weight}" if name == WEIGHT else self.kept(name, node.signed)
            for name in node.columns
        )
        text = f"SELECT {items} FROM {self.relation(node.input)}"
        return f"{text}{self.groups(columns, node.signed)}\nHAVING SUM({weight}) <> 0"

    def repeat(self, node: Repeat) -> str:
        weight = self.quote(WEIGHT)
        sign = f"CAST(CASE WHEN {weight} > 0 THEN 1 ELSE -1 END AS BIGINT) AS {weight}"
        items = ", ".join(sign if name == WEIGHT else self.quote(name) for name in node.columns)
        relation = self.relation(node.input)
        if self.dialect == "spark":
            steps = f"explode(sequence(1, abs({weight})))"
            step = self.quote(made("step"))
            return f"SELECT {items} FROM {relation}\nLATERAL VIEW {steps} {self.alias()} AS {step}"
        # In the list, not LATERAL: DuckDB would join the rows with their own distinct weights.
        step = f"UNNEST(range(abs({weight}))) AS {self.quote(made('step'))}"
        inner = _indent(f"SELECT {items}, {step} FROM {relation}")
        return f"SELECT {self.list_of(node.columns)} FROM (\n{inner}\n) AS {self.alias()}"


_SPELLINGS: Final[dict[type[Node], Callable[..., str]]] = {
    Scan: _Writer.scan,
    Stored: _Writer.leaf,
    Named: _Writer.leaf,
    Verbatim: _Writer.leaf,
    Values: _Writer.values,
    Empty: _Writer.empty,
    Filter: _Writer.block,
    Projection: _Writer.block,
    InnerJoin: _Writer.block,
    OuterJoin: _Writer.block,
    SemiJoin: _Writer.block,
    MarkJoin: _Writer.mark,
    UnionAll: _Writer.union_all,
    SetOperation: _Writer.set_operation,
    Distinct: _Writer.distinct,
    Aggregate: _Writer.aggregate,
    Windowed: _Writer.window,
    TopK: _Writer.topk,
    Unnest: _Writer.unnest,
    Consolidate: _Writer.consolidate,
    Repeat: _Writer.repeat,
    Small: _Writer.through,
}


@dataclass(frozen=True, slots=True)
class Compared:
    """An equality between two relations."""

    equal: Scalar
    left: Scalar
    right: Scalar


def compared(condition: Scalar, left: Sequence[str], right: Sequence[str]) -> Compared | None:
    """The sides of one equality, each over one relation alone; None for anything else."""
    tree = condition.ast.unnest()
    if not isinstance(tree, exp.EQ):
        return None
    equal = Scalar.of(exp.paren(tree.copy(), copy=False))
    for mine, theirs in ((tree.this, tree.expression), (tree.expression, tree.this)):
        one, two = Scalar.of(mine.copy()), Scalar.of(theirs.copy())
        if one.columns <= set(left) and two.columns <= set(right) and two.columns:
            return Compared(equal, one, two)
    return None


def _conjunction(predicates: Sequence[str]) -> str:
    return " AND ".join(predicates if len(predicates) == 1 else [f"({p})" for p in predicates])


def _connected(node: InnerJoin) -> list[Node]:
    """The parts, each after one that a condition ties it to where there is such an order."""
    ordered, waiting = [node.parts[0]], list(node.parts[1:])
    bound = set(node.parts[0].columns)
    while waiting:
        following = next((part for part in waiting if _is_tied(part, bound, node.on)), waiting[0])
        waiting.remove(following)
        ordered.append(following)
        bound.update(following.columns)
    return ordered


def _is_tied(part: Node, bound: set[str], on: Sequence[Scalar]) -> bool:
    own = set(part.columns)
    return any(
        item.columns & own and item.columns & bound and item.columns <= own | bound for item in on
    )


def _split(waiting: Sequence[Scalar], bound: set[str]) -> tuple[list[Scalar], list[Scalar]]:
    ready = [item for item in waiting if item.columns <= bound]
    return [item for item in ready if item != TRUE], [item for item in waiting if item not in ready]


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _spelled(ast: exp.Expr, dialect: str) -> exp.Expr:
    """The tree with grebe's own functions replaced by what the engine has for them."""
    if ast.find(exp.Anonymous, exp.Try) is None:
        return ast

    def replace(tree: exp.Expr) -> exp.Expr:
        if isinstance(tree, exp.Anonymous) and tree.name.lower() in _OWN_FUNCTIONS:
            arguments = ", ".join(item.sql(dialect) for item in tree.expressions)
            template = _OWN_FUNCTIONS[tree.name.lower()][dialect]
            return exp.maybe_parse(template.format(arguments), dialect=dialect)
        return tree

    return try_casts.spelled(ast.copy().transform(replace, copy=False), dialect)
