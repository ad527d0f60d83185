"""A release: what is built holds the package and nothing else, and says what it stands on."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, str(ROOT / "tools" / "package.py"), str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_the_wheel_holds_the_package_alone(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"grebe", "grebe-0.1.0.dist-info"}
    for wanted in (
        "grebe/spark/jars.lock",
        "grebe/spark/log4j2.properties",
        "grebe/cli/sample/__init__.py",
        "grebe/integrations/ipython.py",
        "grebe-0.1.0.dist-info/entry_points.txt",
        "grebe-0.1.0.dist-info/licenses/LICENSE",
        "grebe-0.1.0.dist-info/licenses/NOTICE",
    ):
        assert wanted in names
    assert [name for name in names if "migrations/versions/v" in name]
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert "grebe-0.1.0/pyproject.toml" in archive.getnames()


def test_the_wheel_alone_imports_and_answers(dist: Path, tmp_path: Path) -> None:
    """Nothing of the repository is on the path: only the wheel, and installed packages."""
    (wheel,) = dist.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r});"
        "import grebe; from grebe.cli import main;"
        f"assert grebe.__file__.startswith({str(tmp_path)!r}), grebe.__file__;"
        "assert main(['init', 'shop']) == 0; assert main(['-C', 'shop', 'status']) == 0"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "never refreshed" in done.stdout


def test_every_component_is_named(dist: Path) -> None:
    document = json.loads((dist / "sbom.cdx.json").read_text())
    names = {item["name"] for item in document["components"]}
    assert {"sqlglot", "typer", "pyspark", "duckdb", "iceberg-spark-runtime-4.1_2.13"} <= names
    jars = [item for item in document["components"] if item["purl"].startswith("pkg:maven/")]
    lock = (ROOT / "src" / "grebe" / "spark" / "jars.lock").read_text().splitlines()
    assert len(jars) == len(lock)
    licences = (dist / "licenses.md").read_text()
    for name in PROJECT["dependencies"]:
        package = name.partition(">")[0]
        (line,) = [row for row in licences.splitlines() if row.startswith(f"| {package} ")]
        assert "not installed" not in line


def test_all_means_every_extra_but_a_java() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(everything.removeprefix("grebe[").removesuffix("]").split(","))
    assert named == set(extras) - {"all", "java"}
