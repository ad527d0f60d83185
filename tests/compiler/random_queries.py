"""Random queries over the tables of `databases`: joins, subqueries and aggregates in any nest."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

COLUMNS = {"r": ("k", "x"), "t": ("k", "y"), "u": ("y", "z")}
COMPARISONS = ("=", "=", "=", "<>", "<", ">", "<=", ">=")


@dataclass
class Generator:
    """Writes queries whose columns are all integers."""

    rng: random.Random
    aliases: int = 0
    kinds: set[str] = field(default_factory=set)

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def alias(self) -> str:
        self.aliases += 1
        return f"a{self.aliases}"

    def query(self, depth: int, outer: list[str], width: int = 0) -> str:
        """A query with ``width`` columns (0: any number), named c1, c2, …"""
        columns = width or self.rng.randint(1, 3)
        if depth > 0 and self.chance(0.15):
            word = self.pick(
                "UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"
            )
            one = self.select(depth - 1, outer, columns)
            return f"({one}) {word} ({self.select(depth - 1, outer, columns)})"
        return self.select(depth, outer, columns)

    def select(self, depth: int, outer: list[str], width: int) -> str:
        source, columns = self.source(depth, outer)
        where = f" WHERE {self.predicate(depth, columns, outer)}" if self.chance(0.7) else ""
        roll = self.rng.random()
        if roll < 0.25:
            return self.grouped(depth, source, columns, outer, where, width)
        if roll < 0.35 and depth > 0:
            return self.windowed(source, columns, where, width)
        distinct = "DISTINCT " if self.chance(0.15) else ""
        items = [self.value(depth, columns, outer) for _ in range(width)]
        return f"SELECT {distinct}{self.named(items)} FROM {source}{where}"

    def named(self, items: list[str]) -> str:
        return ", ".join(f"{item} AS c{i + 1}" for i, item in enumerate(items))

    def grouped(
        self, depth: int, source: str, columns: list[str], outer: list[str], where: str, width: int
    ) -> str:
        keys = self.rng.sample(columns, min(len(columns), self.rng.randint(0, width)))
        keys = keys[:width]
        if keys and self.chance(0.2):
            keys[0] = f"{keys[0]} + 1"
        calls = [self.call(columns) for _ in range(width - len(keys))]
        grouping = ", ".join(keys)
        if keys and self.chance(0.15):
            grouping = f"{self.pick('ROLLUP', 'CUBE')} ({grouping})"
        having = ""
        if self.chance(0.3):
            having = f" HAVING {self.call(columns)} {self.pick(*COMPARISONS)} {self.number()}"
            if depth > 0 and self.chance(0.3):
                having += (
                    f" OR {self.call(columns)} IN ({self.query(depth - 1, keys_only(keys), 1)})"
                )
        by = f" GROUP BY {grouping}" if keys else ""
        items = self.named([*keys, *calls]) if keys or calls else "COUNT(*) AS c1"
        return f"SELECT {items} FROM {source}{where}{by}{having if by or calls else ''}"

    def call(self, columns: list[str]) -> str:
        column = self.rng.choice(columns)
        name = self.pick("SUM", "MIN", "MAX", "COUNT", "COUNT DISTINCT", "COUNT *")
        if name == "COUNT *":
            return "COUNT(*)"
        if name == "COUNT DISTINCT":
            return f"COUNT(DISTINCT {column})"
        condition = f" FILTER (WHERE {self.rng.choice(columns)} > 0)" if self.chance(0.2) else ""
        return f"{name}({column}){condition}"

    def windowed(self, source: str, columns: list[str], where: str, width: int) -> str:
        items = []
        for _ in range(width):
            partition, order = self.rng.choice(columns), self.rng.choice(columns)
            call = self.pick("RANK()", "DENSE_RANK()", f"SUM({order})", "COUNT(*)", f"MAX({order})")
            items.append(f"{call} OVER (PARTITION BY {partition} ORDER BY {order})")
        return f"SELECT {self.named(items)} FROM {source}{where}"

    def source(self, depth: int, outer: list[str]) -> tuple[str, list[str]]:
        text, columns = self.relation(depth, outer)
        for _ in range(self.pick("0", "0", "1", "1", "2").count("1") + (self.chance(0.1))):
            other, more = self.relation(depth, outer)
            kind = self.pick("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")
            on = ""
            if kind != "CROSS JOIN":
                one, two = self.rng.choice(columns), self.rng.choice(more)
                on = f" ON {one} = {two}"
                if self.chance(0.3):
                    on += f" AND {self.comparison(columns + more)}"
            text, columns = f"{text} {kind} {other}{on}", columns + more
        return text, columns

    def relation(self, depth: int, outer: list[str]) -> tuple[str, list[str]]:
        alias = self.alias()
        if depth > 0 and self.chance(0.3):
            width = self.rng.randint(1, 2)
            inner = self.query(depth - 1, outer if self.chance(0.3) else [], width)
            return f"({inner}) AS {alias}", [f"{alias}.c{i + 1}" for i in range(width)]
        table = self.pick(*COLUMNS)
        return f"{table} AS {alias}", [f"{alias}.{name}" for name in COLUMNS[table]]

    def number(self) -> str:
        return str(self.rng.randint(0, 3))

    def operand(self, columns: list[str]) -> str:
        roll = self.rng.random()
        if roll < 0.75:
            return self.rng.choice(columns)
        return self.number() if roll < 0.9 else f"({self.rng.choice(columns)} + {self.number()})"

    def comparison(self, columns: list[str]) -> str:
        return f"{self.operand(columns)} {self.pick(*COMPARISONS)} {self.operand(columns)}"

    def predicate(self, depth: int, columns: list[str], outer: list[str]) -> str:
        roll = self.rng.random()
        if outer and roll < 0.35:
            return f"{self.rng.choice(columns)} {self.pick(*COMPARISONS)} {self.rng.choice(outer)}"
        if depth > 0 and roll < 0.65:
            return self.subquery_test(depth - 1, columns, outer)
        if depth > 0 and roll < 0.8:
            one, two = (self.predicate(depth - 1, columns, outer) for _ in range(2))
            return f"({one} {self.pick('AND', 'OR')} {two})"
        if roll < 0.85:
            return f"NOT ({self.comparison(columns)})"
        if roll < 0.9:
            return f"{self.rng.choice(columns)} IS {self.pick('', 'NOT ')}NULL"
        return self.comparison(columns)

    def subquery_test(self, depth: int, columns: list[str], outer: list[str]) -> str:
        visible = columns + (outer if self.chance(0.2) else [])
        inner = visible if self.chance(0.7) else []
        negation = self.pick("", "NOT ")
        match self.rng.randrange(5):
            case 0:
                return f"{negation}EXISTS ({self.query(depth, inner)})"
            case 1:
                return f"{self.operand(columns)} {negation}IN ({self.query(depth, inner, 1)})"
            case 2:
                two = f"({self.operand(columns)}, {self.operand(columns)})"
                return f"{two} {negation}IN ({self.query(depth, inner, 2)})"
            case 3:
                word = self.pick("ANY", "ALL")
                inside = self.query(depth, inner, 1)
                return f"{self.operand(columns)} {self.pick(*COMPARISONS)} {word} ({inside})"
            case _:
                value = self.scalar(depth, inner)
                return f"{self.operand(columns)} {self.pick(*COMPARISONS)} {value}"

    def scalar(self, depth: int, outer: list[str]) -> str:
        """A subquery that always has at most one row."""
        source, columns = self.source(depth, outer)
        where = f" WHERE {self.predicate(depth, columns, outer)}" if self.chance(0.9) else ""
        call = self.call(columns)
        value = call if self.chance(0.6) else f"COALESCE({call}, 7) + {self.number()}"
        having = f" HAVING {self.call(columns)} > 0" if self.chance(0.1) else ""
        return f"(SELECT {value} FROM {source}{where}{having})"

    def value(self, depth: int, columns: list[str], outer: list[str]) -> str:
        roll = self.rng.random()
        if outer and roll < 0.1:
            return f"{self.rng.choice(outer)} + {self.rng.choice(columns)}"
        if depth > 0 and roll < 0.3:
            return self.scalar(depth - 1, columns)
        if depth > 0 and roll < 0.4:
            test = self.subquery_test(depth - 1, columns, outer)
            return f"CASE WHEN {test} THEN 1 ELSE 0 END"
        if roll < 0.55:
            return f"COALESCE({self.operand(columns)}, -1)"
        return self.operand(columns)


def keys_only(keys: list[str]) -> list[str]:
    return [key for key in keys if "+" not in key]
