"""Every code that the package can say, read from its text: where errors and reasons are made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SOURCE = TESTS.parent / "src" / "grebe"
FIRST = {
    "Reason": "code",
    "Refusal": "code",
    "refuse": "code",
    "UnsupportedSQLError": "feature",
    "stop": "feature",
    "unsupported": "feature",
}
"""Calls whose first argument is a code, and in which list it stands."""
_DECLARATION = re.compile(r"(?:INVALID|MISSING)_[A-Z_]+")
_STATEMENT = re.compile(r"\[([a-z]+(?:[-_][a-z]+)*)\] ")


@dataclass(frozen=True, slots=True)
class Said:
    """One place where a code is said; `code` is None when only a run can tell it."""

    kind: str
    code: str | None
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Module:
    """One file: its tree, its constants, and the constants that it takes from others."""

    file: str
    tree: ast.Module
    constants: dict[str, str] = field(default_factory=dict)
    taken: dict[str, tuple[str, str]] = field(default_factory=dict)


@cache
def said() -> tuple[Said, ...]:
    """All places of the package."""
    modules = {module.file: module for module in map(_module, sorted(SOURCE.rglob("*.py")))}
    return tuple(item for module in modules.values() for item in _said_in(module, modules))


def _module(path: Path) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = Module(path.relative_to(SOURCE).as_posix(), tree)
    for node in tree.body:
        name, value = _assigned(node)
        if name and isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.constants[name] = value.value
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grebe."):
            file = "/".join((node.module or "").split(".")[1:]) + ".py"
            found.taken.update({a.asname or a.name: (file, a.name) for a in node.names})
    return found


def _assigned(node: ast.AST) -> tuple[str | None, ast.expr | None]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            return name, value
    return None, None


def _said_in(module: Module, modules: dict[str, Module]) -> Iterator[Said]:
    for kind, node, scope in _places(module.tree):
        for code in _values(node, scope, module, modules):
            yield Said(kind, code, module.file, ast.unparse(node))
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=ast.Name(id="ReasonCode"), attr=name):
                yield Said("code", name.lower().replace("_", "-"), module.file, name)
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        if module.file.startswith("program/"):
            for code in _STATEMENT.findall(node.value):
                yield Said("code", code, module.file, node.value)
        declares = "/declarative/" in module.file or module.file.startswith("streams/")
        if declares and _DECLARATION.fullmatch(node.value):
            yield Said("declaration", node.value, module.file, node.value)


def _places(tree: ast.Module) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """Each expression that is a code, and the function or class that it stands in."""
    owner = {
        child: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        name, value = _assigned(node)
        if name == "code" and value is not None and isinstance(owner.get(node), ast.ClassDef):
            yield "code", value, owner[node]
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        called = node.func.id if isinstance(node.func, ast.Name) else called
        scope = owner.get(node, tree)
        yield from (("code", item.value, scope) for item in node.keywords if item.arg == "code")
        if called in FIRST and node.args:
            yield FIRST[called], node.args[0], scope


def _values(
    node: ast.expr, scope: ast.AST, module: Module, modules: dict[str, Module]
) -> list[str | None]:
    match node:
        case ast.Constant(value=str(value)):
            return [value]
        case ast.IfExp(body=one, orelse=other):
            return [c for item in (one, other) for c in _values(item, scope, module, modules)]
        case ast.Attribute(value=ast.Name(id="ReasonCode"), attr=name):
            return [name.lower().replace("_", "-")]
        case ast.Attribute(value=inner, attr="value"):
            return _values(inner, scope, module, modules)
        case ast.Name(id=name) if name in module.constants:
            return [module.constants[name]]
        case ast.Name(id=name) if name in module.taken:
            file, there = module.taken[name]
            return [modules[file].constants[there]]
        case ast.Name(id=name):
            pairs = [_assigned(item) for item in ast.walk(scope)]
            local = [value for target, value in pairs if target == name and value is not None]
            return [c for item in local for c in _values(item, scope, module, modules)] or [None]
    return [None]


@cache
def classes() -> dict[str, set[str]]:
    """The names of the exceptions that have a code by themselves."""
    found: dict[str, set[str]] = {}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for item in node.body if isinstance(node, ast.ClassDef) else ():
                name, value = _assigned(item)
                if name == "code" and isinstance(value, ast.Constant):
                    found.setdefault(str(value.value), set()).add(node.name)
    return found


@cache
def strings_of_tests() -> tuple[frozenset[str], str]:
    """What the tests name: whole texts and names, and all that is in longer texts."""
    whole: set[str] = set()
    longer: list[str] = []
    for file in sorted(TESTS.rglob("*.py")):
        if file.parent.name == "codes":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
                longer.append(node.value)
            elif isinstance(node, ast.Name):
                whole.add(node.id)
            elif isinstance(node, ast.Attribute):
                whole |= {ast.unparse(node), node.attr}
    return frozenset(whole), "\n".join(longer)
