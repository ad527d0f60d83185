"""Prints how large the house is and how its rooms hang together (`python -m tools.house_figures [PACKAGE]`).

The table in `docs/development.md` compares two commits: `git archive COMMIT src/grebe | tar x -C FOLDER`, then
`python -m tools.house_figures FOLDER/src/grebe`.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "grebe"
Modules = Mapping[str, ast.Module]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def module_of(file: Path, package: Path = PACKAGE) -> str:
    """The full name of a file's module."""
    parts = (package.name, *file.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def trees(package: Path = PACKAGE) -> dict[str, ast.Module]:
    """Every module, read."""
    files = sorted(package.rglob("*.py"))
    return {module_of(file, package): ast.parse(file.read_text("utf-8")) for file in files}


def imported(name: str, tree: ast.Module, known: Mapping[str, object]) -> set[str]:
    """The modules that one imports: at its top, inside of functions, or for its types only."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {item if item in known else node.module for item in inner}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return (found & known.keys()) - {name}


def circle(modules: Modules) -> list[str]:
    """The modules of one circle of imports; none when there is none."""
    graph = {name: imported(name, tree, modules) for name, tree in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def modules_of_one_name(modules: Iterable[str]) -> dict[str, set[str]]:
    """Modules that share their last name.

    The formats tell the same story under the same names on purpose: those count once.
    """
    found: dict[str, set[str]] = defaultdict(set)
    names = set(modules)
    for module in names:
        is_room = any(other.startswith(f"{module}.") for other in names)
        if not is_room and not module.endswith(".__main__"):
            parts = module.split(".")
            inside = parts[1:2] == ["formats"] and len(parts) > 3
            found[parts[-1]].add("a format" if inside else module)
    return {name: same for name, same in found.items() if len(same) > 1}


def classes_of_one_name(modules: Modules) -> dict[str, list[str]]:
    """Public classes that share their name."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, tree in modules.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return {name: same for name, same in found.items() if len(same) > 1}


def figures(package: Path) -> dict[str, str]:
    """The figures of a package, by what they count."""
    modules = trees(package)
    files = sorted(package.rglob("*.py"))
    lines = [len(file.read_text("utf-8").splitlines()) for file in files]
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in modules.values()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    ]
    importers = Counter(
        other for name, tree in modules.items() for other in imported(name, tree, modules)
    )
    found = circle(modules)
    return {
        "files": f"{len(files)}",
        "lines": f"{sum(lines):,}",
        "longest file": f"{max(lines)} lines",
        "functions": f"{len(functions):,}",
        "lines of a function: median, 99th of 100": (
            f"{statistics.median(functions):.0f}, {statistics.quantiles(functions, n=100)[-1]:.0f}"
        ),
        "modules that one other imports": f"{sum(1 for count in importers.values() if count == 1)}",
        "a circle of imports, lazy ones and those for types counted": (
            f"of {len(found) - 1} modules" if found else "none"
        ),
        "names that two modules have": f"{len(modules_of_one_name(modules))}",
        "names that two public classes have": f"{len(classes_of_one_name(modules))}",
    }


def main(arguments: Sequence[str]) -> int:
    """Prints a row of a table for each figure, one column for every package."""
    packages = [Path(path).resolve() for path in arguments] or [PACKAGE]
    columns = [figures(package) for package in packages]
    for name in columns[0]:
        print(f"| {name} | {' | '.join(column[name] for column in columns)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
