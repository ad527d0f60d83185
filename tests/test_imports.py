"""The package keeps its promises about what it loads and what it never touches."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import grebe

PACKAGE = Path(grebe.__file__).parent
HEAVY = {"pyspark", "pyarrow", "pandas", "numpy", "duckdb", "deltalake", "pyiceberg", "sqlalchemy"}
# Gone over Spark Connect, so forbidden everywhere.
CLASSIC_ONLY = {
    "_jvm",
    "_jsc",
    "_jdf",
    "_jsparkSession",
    "_sc",
    "sparkContext",
    "rdd",
    "SparkContext",
}


def loaded_by(statement: str) -> set[str]:
    """The top-level modules in a fresh interpreter after one statement."""
    code = f"{statement}; import sys, json; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize("module", ["grebe", "grebe.errors", "grebe.model", "grebe.compiler"])
def test_import_loads_no_spark_and_no_engine(module: str) -> None:
    assert not loaded_by(f"import {module}") & HEAVY


def test_import_of_config_and_session_loads_no_spark() -> None:
    assert not loaded_by("import grebe.config, grebe.spark.session") & HEAVY


def test_compiler_depends_on_sqlglot_only() -> None:
    own = {"grebe", "sqlglot"}
    extra = loaded_by("import grebe.compiler") - loaded_by("import sqlglot") - own
    assert extra <= sys.stdlib_module_names


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_package_runs_over_connect(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert not (used | imported) & CLASSIC_ONLY


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_rooms_have_telling_names(file: Path) -> None:
    vague = {"utils", "helpers", "common", "manager", "service"}
    assert not vague & set(file.relative_to(PACKAGE).with_suffix("").parts)
