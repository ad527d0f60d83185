"""The house stands: no circle of modules, and one meaning for each name of a module or class."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import grebe
from formats.in_memory.catalog import create
from grebe import known_formats
from grebe.compiler.text.statement import read_statement
from grebe.config import load
from grebe.engine.extras import missing
from grebe.engine.place import moved_from
from grebe.engine.tables import Tables
from grebe.errors import GrebeError
from grebe.known_formats import KNOWN, KnownFormat
from grebe.model import Column, TableName
from grebe.project.vacuum import kept_for
from grebe.spark.jars import coordinates
from grebe.spark.session import session_conf
from tools.house_figures import (
    circle,
    classes_of_one_name,
    figures,
    imported,
    modules_of_one_name,
    trees,
)

PACKAGE = Path(grebe.__file__).parent
FORMATS = PACKAGE / "formats"


@cache
def house() -> dict[str, ast.Module]:
    """Every module of the package, read once."""
    return trees()


def test_no_module_imports_itself_through_others() -> None:
    assert circle(house()) == []


@pytest.mark.parametrize(
    "text",
    [
        "from house.two import thing",
        "def later():\n    import house.two",
        "if TYPE_CHECKING:\n    from house import two",
    ],
)
def test_every_kind_of_import_closes_a_circle(text: str, tmp_path: Path) -> None:
    package = tmp_path / "house"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text(text)
    (package / "two.py").write_text("")
    assert circle(trees(package)) == []
    (package / "two.py").write_text("from house.one import thing")
    assert {"house.one", "house.two"} <= set(circle(trees(package)))


def test_no_table_format_knows_another() -> None:
    """A folder below `formats/` is one; what they share knows none of them."""
    known = house()
    folders = {f"grebe.formats.{path.name}" for path in FORMATS.iterdir() if path.is_dir()}
    assert folders >= {known_format.module.rpartition(".")[0] for known_format in KNOWN}

    def folder(module: str) -> str:
        return next((name for name in folders if f"{module}.".startswith(f"{name}.")), "shared")

    crossing = {
        (name, other)
        for name, tree in known.items()
        if name.startswith("grebe.formats.")
        for other in imported(name, tree, known)
        if folder(other) not in ("shared", folder(name))
    }
    assert crossing == set()
    outside = {
        (name, other)
        for name, tree in known.items()
        if not name.startswith("grebe.formats.")
        for other in imported(name, tree, known)
        if folder(other) != "shared"
    }
    assert outside == set(), "they ask `table_format`, by the name that the settings say"


def test_a_new_format_is_a_folder_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is `tests/formats/in_memory`; whatever asks a format for something asks that one too.

    `tests/engine/test_new_format.py` refreshes a view over it.
    """
    asked = "CREATE MATERIALIZED VIEW v USING memory AS SELECT 1 AS one"
    (tmp_path / "grebe.toml").write_text(
        '[catalogs.mem]\nformat = "memory"\nroot = "rows"\ntype = "volatile"\n'
    )
    for call in (lambda: load(tmp_path), lambda: read_statement(asked)):
        with pytest.raises(GrebeError, match="memory"):
            call()
    line = KnownFormat("memory", "formats.in_memory.spec")
    monkeypatch.setattr(known_formats, "KNOWN", (*KNOWN, line))
    settings = load(tmp_path)
    name = TableName("mem", "shop", "orders")
    table = create(str(tmp_path / "rows"), name, Column(1, "id", "bigint"))
    version = table.write(pa.table({"id": [1, 2, 2]}))
    assert Tables(settings).source(name, no_spark).head().version == version
    assert read_statement(asked).using == "memory"
    assert "org.example:volatile:1.0" in coordinates()
    assert ("volatile", "memory") in missing(settings)
    assert session_conf(settings)["spark.volatile.mem"] == "rows"
    assert kept_for({"volatile.seconds": "60"}) == timedelta(minutes=1)
    assert moved_from(settings) is None


def no_spark() -> Any:
    raise AssertionError("Spark was started")


def test_no_two_modules_have_one_name() -> None:
    assert modules_of_one_name(house()) == {}
    told = [
        "grebe.api",
        "grebe.api.run",
        "grebe.cli.run",
        "grebe.formats.a.log",
        "grebe.formats.b.log",
    ]
    assert modules_of_one_name(told) == {"run": {"grebe.api.run", "grebe.cli.run"}}


def test_no_two_public_classes_have_one_name() -> None:
    assert classes_of_one_name(house()) == {}
    told = {name: ast.parse("class Run: ...\nclass _Own: ...") for name in ("a.b", "a.c")}
    assert classes_of_one_name(told) == {"Run": ["a.b", "a.c"]}


def test_the_figures_of_the_house() -> None:
    """What `docs/development.md` prints a table of."""
    found = figures(PACKAGE)
    assert found["a circle of imports, lazy ones and those for types counted"] == "none"
    assert (
        found["names that two modules have"] == found["names that two public classes have"] == "0"
    )
    assert int(found["files"]) > 300
    page = (Path(__file__).parent.parent / "docs" / "development.md").read_text("utf-8")
    assert [name for name in found if f"| {name} |" not in page] == []


FORMER_MODULES = frozenset(
    [
        "nearby",
        "nearly",
        "both",
        "cut",
        "written",
        "changes",
        "shown",
        "texts",
        "builder",
        "planning",
        "forgiving",
        "pull",
        "push",
        "lowered",
        "held",
        "calls",
        "matched",
        "opening",
        "guards",
        "refusals",
        "moments",
        "parts",
        "making",
        "tiny",
        "classes",
        "whole",
        "narrow",
        "spread",
        "near",
    ]
)
FORMER_NAMES = frozenset(
    [
        "Nearby",
        "Near",
        "Cut",
        "Look",
        "Written",
        "Shown",
        "Face",
        "Opener",
        "IcebergTables",
        "DeltaTables",
        "ParquetTables",
        "DuckLakeTables",
        "hush",
        "plant",
        "doomed",
        "lent",
        "sided",
    ]
)
"""Names that had several meanings, or none."""


def test_former_names_are_gone() -> None:
    known = house()
    assert not {name.rpartition(".")[2] for name in known} & FORMER_MODULES
    made = {
        node.name
        for tree in known.values()
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    }
    assert not made & FORMER_NAMES


CLOCKS = {"time", "perf_counter", "perf_counter_ns", "process_time", "monotonic", "getloadavg"}
MAY_LOOK_AT_A_CLOCK = {
    "evidence.py": "a long run ends after its minutes",
    "cli/test_killed.py": "kills are spread over the time that a refresh takes",
    "formats/commit/lake.py": "what others do is waited for",
}


def clocks(tree: ast.Module) -> set[str]:
    """The functions of `time`, and of the machine's load, that a module calls."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {
        call.attr
        for call in calls
        if isinstance(call, ast.Attribute)
        and isinstance(call.value, ast.Name)
        and call.value.id in ("time", "os")
        and call.attr in CLOCKS
    }


def test_no_test_measures_time() -> None:
    """Seconds depend on who else is at the machine: tests count work, benchmarks measure."""
    tests = Path(__file__).parent
    found = {
        str(file.relative_to(tests)): clocks(ast.parse(file.read_text("utf-8")))
        for file in tests.rglob("*.py")
    }
    assert {
        name: used for name, used in found.items() if used and name not in MAY_LOOK_AT_A_CLOCK
    } == {}
    assert all(found[name] for name in MAY_LOOK_AT_A_CLOCK)


NO_THRESHOLDS = {
    "spark/jars.py": {"WHOLE"},  # what the locked jars weigh
    "compiler/algebra/coercion.py": {"_INT_RANGE"},
    "compiler/algebra/scalar.py": {"LONGEST"},  # what a text may hold: more is refused
    "compiler/budget.py": {"LIMIT"},
    "compiler/lower/laterals.py": {"MOST"},
    "compiler/text/affected_keys.py": {"_MOST_KEYS"},
    "compiler/bind/small_expressions.py": {"_BIGINT_LIMIT", "_INT_LIMIT", "_LARGE", "_MOST_DOUBLE"},
    "compiler/parser/parse.py": {"_DEEPEST"},  # how deep a text may be nested
    "engine/announcer.py": {"QUEUED"},  # what is kept for a listener that is slow
    "engine/meaning.py": {"_MOST"},  # answers that are remembered
    "engine/verify.py": {"_BUCKETS"},
    "formats/delta/log.py": {"KEPT_COMMITS"},
    "formats/delta/stats.py": {"_CUT_OFF"},
    "formats/ducklake/versions.py": {"_REMEMBERED"},
    "formats/iceberg/avro.py": {"SYNC_BYTES"},
    "formats/iceberg/deletes.py": {"_CHECKSUM_BYTES"},
    "formats/iceberg/manifests.py": {"_PATH_FIELD"},
    "formats/iceberg/moving.py": {"_FILE_PATH"},
}
"""Numbers that are no sizes which decide how something is done: ids, limits of what is accepted, lengths of a format."""
SIZES = re.compile(r"_(ROWS|BYTES|FILES|SHARE)$")
LARGE = 1000
DECIDE = ("compiler", "engine", "formats", "project", "spark")
"""The rooms that decide how something is done."""


def numbers(tree: ast.Module) -> set[str]:
    """The constants of a module that are large, or named as a size."""
    found = set()
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            value = number(node.value)
            if isinstance(target, ast.Name) and value is not None:
                found |= {target.id} if value >= LARGE or SIZES.search(target.id) else set()
    return found


def number(node: ast.expr) -> float | None:
    """The value of an expression over numbers alone."""
    if any(not isinstance(part, CALCULATION) for part in ast.walk(node)):
        return None
    value = eval(compile(ast.Expression(node), "constant", "eval"), {"__builtins__": {}})
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


CALCULATION = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)


def test_every_threshold_stands_with_the_others() -> None:
    found = {
        str(file.relative_to(PACKAGE)): numbers(ast.parse(file.read_text("utf-8")))
        for file in PACKAGE.rglob("*.py")
        if file.relative_to(PACKAGE).parts[0] in DECIDE
    }
    assert {
        name: sorted(sizes - NO_THRESHOLDS.get(name, set()))
        for name, sizes in found.items()
        if sizes - NO_THRESHOLDS.get(name, set())
    } == {}, "a size that a decision rests on belongs to thresholds.py, with what was measured"
    assert all(found[name] >= sizes for name, sizes in NO_THRESHOLDS.items())
    assert numbers(ast.parse("MOST = 64 << 10\nFEW_ROWS: Final = 3\nWORD = 7\n")) == {
        "MOST",
        "FEW_ROWS",
    }


QUOTES = ("'", '"', "`")
MAY_QUOTE = {
    "sql_text.py": "the one place",
    "project/dag.py": "Graphviz, which is no SQL",
    "web/metrics.py": "Prometheus' labels",
}


def quotes_by_hand(tree: ast.Module) -> list[int]:
    """The lines where a quote inside of a text is doubled or escaped, or a name is put between two."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            values = [item.value for item in node.args if isinstance(item, ast.Constant)]
            doubles = (
                len(values) == 2 and values[0] in QUOTES and str(values[1]).endswith(values[0])
            )
            lines += [node.lineno] * (node.func.attr == "replace" and doubles)
        elif isinstance(node, ast.JoinedStr):
            lines += [node.lineno] * _is_between_backquotes(node.values)
    return lines


def _is_between_backquotes(parts: Sequence[ast.expr]) -> bool:
    """Whether f-string puts a value right between two backquotes; what is said to people has its own."""
    texts = [part.value if isinstance(part, ast.Constant) else None for part in parts]
    return any(
        str(before).endswith("`") and texts[at] is None and str(after).startswith("`")
        for at, (before, after) in enumerate(zip(texts, texts[2:], strict=False), start=1)
        if before is not None and after is not None
    )


def test_names_and_texts_are_quoted_in_one_place() -> None:
    found = {
        str(file.relative_to(PACKAGE)): quotes_by_hand(ast.parse(file.read_text("utf-8")))
        for file in PACKAGE.rglob("*.py")
    }
    assert {name: lines for name, lines in found.items() if lines and name not in MAY_QUOTE} == {}
    assert found["sql_text.py"]
    for text in ('x.replace("\'", "\'\'")', "f'SELECT `{name}` FROM t'", "x.replace('`', '``')"):
        assert quotes_by_hand(ast.parse(text)), text


def test_views_are_ordered_in_one_place() -> None:
    """Neither graphlib elsewhere, nor a second function of such a name."""
    users, makers = set(), set()
    for name, tree in house().items():
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                users |= {name} if "graphlib" in names else set()
            elif isinstance(node, ast.FunctionDef) and re.search(
                r"topolog|^levels$|^descendants$", node.name
            ):
                makers.add(f"{name}.{node.name}")
    assert users == {"grebe.view_graph"}
    assert all(maker.startswith("grebe.view_graph.") for maker in makers), makers
