"""Expressions that nobody chose to fit: every form of a literal, pairs of operators, DuckDB's own examples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from re import compile as pattern

import duckdb

from grebe import GrebeError, MaterializedView, compile_ivm
from grebe.errors import InternalError
from grebe.program import same_to
from programs.lake import Lake, Named, maintain, roll_back, set_up

COLUMNS = {
    "i": "INTEGER", "j": "INTEGER", "x": "DOUBLE", "n": "DECIMAL(8,2)", "s": "VARCHAR",
    "d": "DATE", "ts": "TIMESTAMP", "b": "BOOLEAN", "l": "INTEGER[]",
}  # fmt: skip
ROWS = (
    "(1, 2, 0.1, 1.25, 'a', DATE '2024-02-29', TIMESTAMP '2024-02-29 12:34:56.789', TRUE, [1, 2])",
    "(NULL, 3, -2.5, NULL, 'O''Brien', DATE '1999-12-31', NULL, FALSE, [])",
    "(7, -3, NULL, -0.75, '', NULL, TIMESTAMP '1970-01-01 00:00:00', NULL, NULL)",
)
CHANGES = (
    "INSERT INTO dl.t VALUES (4, 4, 1e3, 9.99, 'x%y', DATE '2024-03-01',"
    " TIMESTAMP '2024-03-01 00:00:00', TRUE, [3])",
    "DELETE FROM dl.t WHERE i = 1 OR i IS NULL",
)
LITERALS = (
    *("1", "-1", "1_000_000", "0", "007", "1.5", ".5", "5.", "1e5", "1E-3", "1.5e+10", "1_0.0_1"),
    *("12345678901234567890", "123456789012345678901234567890.5", "0x1F", "0b101", "0o17"),
    *("'a'", "''", "''''", "'O''Brien'", "'a' 'b'", "'it''s \"q\"'", "'\\n'", "E'\\n'", "E'a\\'b'"),
    *("e'\\x41'", "E'\\u00e9'", "$$dollar $ quoted$$", "$tag$a $$ b$tag$", "'é日'", "U&'\\0041'"),
    *("x'AB'", "X'00ff'", "'\\xAB'::BLOB", "b'101'", "'101'::BIT", "TRUE", "false", "NULL"),
    *("DATE '2024-01-31'", "date '2024-01-31'", "'2024-01-31'::DATE", "CAST('2024-01-31' AS DATE)"),
    *(
        "TIME '10:00:00'",
        "TIMESTAMP '2024-01-31 10:00:00'",
        "TIMESTAMP '2024-01-31 10:00:00.123456'",
    ),
    *("TIMESTAMPTZ '2024-01-31 10:00:00+02'", "TIMESTAMP_S '2024-01-31 10:00:00'"),
    *("TIMESTAMP_NS '2024-01-31 10:00:00.123456789'", "DATE 'infinity'", "DATE 'epoch'"),
    *("INTERVAL 1 DAY", "INTERVAL '1' DAY", "INTERVAL '1 month 2 days'", "INTERVAL (i) MONTH"),
    *(
        "INTERVAL 1.5 HOUR",
        "INTERVAL '1-2' YEAR TO MONTH",
        "'2 weeks'::INTERVAL",
        "INTERVAL -3 DAYS",
    ),
    *("[1, 2, 3]", "[]", "ARRAY[1, 2]", "[1, NULL]", "{'a': 1, 'b c': 2}", "{a: 1}", "ROW(1, 'x')"),
    *("(1, 'x')", "MAP {'k': 1}", "MAP {1: [2]}", "[[1], [2, 3]]", "[x + 1 for x in l if x > 1]"),
    *(
        "'nan'::DOUBLE",
        "'inf'::FLOAT",
        "-0.0",
        "1::UTINYINT",
        "170141183460469231731687303715884105727",
    ),
    *("UUID 'eeccb8c5-9943-b2bb-bb5e-222f4e14b687'", "'abc'::VARCHAR(2)", "1::DECIMAL(4,2)"),
    *("'5'::INT", '"i"', "-1::VARCHAR", "-128::TINYINT", "- 5::INT", "'a'::VARCHAR || 'b'"),
)
UNARY = ("-{}", "+{}", "NOT {}", "~{}", "@{}", "{}::VARCHAR", "{} IS NULL", "{} IS NOT NULL", "{} ISNULL",
         "{} NOTNULL", "{} IS TRUE", "{} IS NOT FALSE", "{} IN (1, 2)", "{} NOT IN (1, NULL)",
         "{} BETWEEN 1 AND 3", "{} NOT BETWEEN 2 AND 5", "CASE WHEN {} THEN 1 END", "{} COLLATE NOCASE")  # fmt: skip
BINARY = ("+", "-", "*", "/", "//", "%", "^", "**", "&", "|", "<<", ">>", "||", "=", "==", "<>", "!=", "<", "<=",
          ">", ">=", "AND", "OR", "LIKE", "NOT LIKE", "ILIKE", "GLOB", "SIMILAR TO", "~~", "!~~", "~~*", "~",
          "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "^@")  # fmt: skip
_NAMED = pattern(r"(?<![\w.'\"])(-?\d+)(?![\w.'\"])")


def operator_pairs() -> list[str]:
    """Two operators without brackets, in both orders, over numbers and over texts."""
    found = [
        f"{a} {one} {b} {two} {c}"
        for one, two in product(BINARY, BINARY)
        for a, b, c in (("i", "j", "2"), ("s", "'a'", "s"))
    ]
    found += [
        text
        for wrap, sign in product(UNARY, BINARY)
        for text in (wrap.format(f"i {sign} j"), f"{wrap.format('i')} {sign} j")
    ]
    found += [one.format(two.format("i")) for one, two in product(UNARY, UNARY)]
    return found


def examples(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """What DuckDB gives as examples of its functions; also with a column for each whole number."""
    rows = connection.execute(
        "SELECT DISTINCT UNNEST(examples) FROM duckdb_functions() WHERE len(examples) > 0"
    ).fetchall()
    texts = sorted(str(row[0]) for row in rows)
    return [*texts, *(made for text in texts if (made := _NAMED.sub("i", text)) != text)]


@dataclass(slots=True)
class Corpus:
    """Views over one table, kept through two windows and compared with DuckDB's own answer."""

    lake: Lake
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        self.lake.run("DROP TABLE IF EXISTS dl.t", f"CREATE TABLE dl.t ({columns})")
        self.lake.run(f"INSERT INTO dl.t VALUES {', '.join(ROWS)}")

    def run(self, expressions: list[str]) -> None:
        """All expressions, a few dozen views at a time over the same two changes."""
        judge = same_to(self.lake.con)
        made: list[tuple[MaterializedView, str]] = []
        for number, expression in enumerate(expressions):
            sql = f"SELECT i, j, {expression} AS r FROM t"
            if not self._accepted(sql):
                self.counts["not for DuckDB"] += 1
                continue
            try:
                view = compile_ivm(
                    sql, schemas={"t": COLUMNS}, naming=Named(f"v{number}"), judge=judge
                )
                set_up(self.lake, view)
                made.append((view, sql))
            except InternalError as error:
                self.counts["crashed"] += 1
                self.wrong.append(f"{sql}: {error}")
            except GrebeError as error:
                feature = getattr(error, "feature", None) or error.code
                self.counts[f"refused: {feature}"] += 1
            except duckdb.Error as error:
                roll_back(self.lake.con)
                self._stopped(sql, error)
            except Exception as error:
                self.counts["crashed"] += 1
                self.wrong.append(f"{sql}: {type(error).__name__}: {error}")
        for change in CHANGES:
            self.lake.run(change)
            made = [pair for pair in made if self._kept(*pair)]
        self.counts["equal"] += len(made)
        for view, _ in made:
            self.lake.run(f"DROP TABLE {view.name}")
        self.lake.run("DROP TABLE IF EXISTS dl._ivm_cursors")

    def _accepted(self, sql: str) -> bool:
        self.lake.run('USE "dl"')
        try:
            self.lake.rows(sql)
        except (duckdb.Error, UnicodeDecodeError):
            return False
        finally:
            self.lake.run("USE memory")
        return True

    def _stopped(self, sql: str, error: duckdb.Error) -> None:
        """DuckLake has no such type, or the value cannot be kept: said at creation."""
        text = str(error)
        known = ("DuckLake", "a value would change", "not supported", "Unsupported", "child name")
        if any(word in text for word in known):
            self.counts["refused: storage"] += 1
        else:
            self.counts["crashed"] += 1
            self.wrong.append(f"{sql}: {text[:200]}")

    def _kept(self, view: MaterializedView, sql: str) -> bool:
        try:
            maintain(self.lake.con, view)
        except duckdb.Error as error:
            self.counts["crashed"] += 1
            self.wrong.append(f"{sql}: {str(error)[:200]}")
            return False
        self.lake.run('USE "dl"')
        one, two = f"SELECT * FROM ({view.query_mv})", f"SELECT * FROM ({sql})"
        try:
            same = not self.lake.rows(
                f"({one} EXCEPT ALL {two}) UNION ALL ({two} EXCEPT ALL {one})"
            )
        finally:
            self.lake.run("USE memory")
        if not same:
            self.counts["different"] += 1
            self.wrong.append(f"{sql}: other rows")
        return same
