"""F010: the package as `pip install grebe` brings it: a wheel, its own dependencies, no Spark."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent.parent
_BUILD = "import sys; from flit_core import buildapi; print(buildapi.build_wheel(sys.argv[1]))"
_ABSENT = ("pyspark", "pyarrow", "pandas", "duckdb", "pyiceberg", "deltalake", "psycopg")
_IMPORTED = """
import sys; before = set(sys.modules); import grebe; print(*sorted(set(sys.modules) - before))
"""
_USED = f"""
import importlib.util, sys
print([name for name in {_ABSENT!r} if importlib.util.find_spec(name)])
import grebe
print(grebe.__file__.startswith(sys.prefix))
view = grebe.compile_ivm("SELECT g, SUM(x) AS s FROM t GROUP BY g", schemas={{"t": {{"g": "INT", "x": "INT"}}}})
print(view.strategy, view.maintain[0], view.maintain[-1])
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and exactly what its metadata asks for.

    The packages are links to those of this environment: nothing is fetched.
    """
    folder = tmp_path_factory.mktemp("installed")
    built = subprocess.run(
        [sys.executable, "-c", _BUILD, str(folder)],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    wheel = folder / built.stdout.strip().splitlines()[-1]
    venv.create(folder / "env")
    scheme = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    packages = Path(sysconfig.get_path("purelib", "venv", scheme))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    metadata = next(packages.glob("grebe-*.dist-info"))
    asked = Distribution.at(metadata).requires or []
    for needed in _closure(asked):
        _link(needed, packages)
    return folder / "env" / "bin" / "python"


def _closure(asked: list[str]) -> list[Distribution]:
    """The distributions that some requirements bring, without extras."""
    found: dict[str, Distribution] = {}
    open_ = [Requirement(text) for text in asked]
    while open_:
        requirement = open_.pop()
        is_wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if is_wanted and requirement.name not in found:
            here = distribution(requirement.name)
            found[requirement.name] = here
            open_ += [Requirement(text) for text in here.requires or []]
    return list(found.values())


def _link(needed: Distribution, packages: Path) -> None:
    files = needed.files or []
    for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
        target = packages / top
        if not target.exists():
            target.symlink_to(Path(str(needed.locate_file(top))))


def _said(python: Path, code: str) -> list[str]:
    done = subprocess.run(
        [python, "-c", code], cwd=python.parent, env={}, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_F010_compiling_needs_neither_spark_nor_duckdb(python: Path) -> None:
    assert _said(python, _USED) == ["[]", "True", "upsert groups BEGIN COMMIT"]


def test_F010_importing_brings_the_names_and_nothing_that_takes_time(python: Path) -> None:
    """What it brings is counted, not timed: errors and nouns, none of the libraries, no room of the package."""
    found = set(_said(python, _IMPORTED)[0].split())
    assert {name for name in found if name.partition(".")[0] == "grebe"} <= {
        "grebe", "grebe.errors", "grebe.model", "grebe.secrets", "grebe.sql_text"
    }  # fmt: skip
    assert {name.partition(".")[0] for name in found} - sys.stdlib_module_names == {"grebe"}
    assert len(found) < 150
