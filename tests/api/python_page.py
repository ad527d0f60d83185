"""The reference of the Python API, written from signatures and docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).resolve().parents[2] / "src"
WIDTH = 100
EVERYWHERE = ("rows", "to_dict", "from_dict")
"""What every result has, said once."""
SECTIONS = (
    (
        "Projects and views",
        "`grebe.open(folder)` is `Project.open`. A project is a context manager; `project[name]` is a view.",
        ("Project", "View"),
    ),
    (
        "Results",
        "What projects and views answer. Lists of them print as a table, also in a notebook; `to_dict()` gives plain values.",
        (
            "Results", "RefreshResult", "StepRun", "StepsRan", "Statuses", "Status", "Plans", "RefreshPreview",
            "PlannedWindow", "Explained", "Readiness", "Runs", "RunRecord", "Report", "Verdicts", "Verdict", "Dag", "Retention", "Needed",
            "Vacuumed", "Recovered", "Adoption",
        ),
    ),
    (
        "Values",
        "The nouns that arguments and results are made of.",
        ("Policy", "Outcome", "State", "TableName", "Window", "Frontier", "SourcePoint", "Reason"),
    ),
    (
        "Programs for DuckLake",
        "`compile_ivm` and what goes with it, from `grebe` or `grebe.program`; the runner is `grebe.program.Views`. More: [DuckLake programs](../ducklake-programs.md).",
        (
            "compile_ivm", "MaterializedView", "Views", "Maintained", "Naming", "same_to", "load_extensions",
            "pending_maintenance_sql", "PendingMaintenance", "safe_to_expire_sql", "SnapshotSafety",
        ),
    ),
    (
        "Queries over pinned versions",
        "Text in, text out. More: [pinned queries](../pinned-queries.md).",
        (
            "rewrite_query_with_snapshots", "prepare_refresh_query", "add_affected_keys_filter",
            "create_composite_key_in_clause",
        ),
    ),
    ("Errors", "Every exception is a `GrebeError`; the whole tree is in [errors](errors.md).", ("GrebeError",)),
)  # fmt: skip


def python_page() -> str:
    """Every public class and function, in the order in which a reader meets them."""
    lines = [
        "# Python API",
        "",
        "Written by `GREBE_GOLDEN=write pytest tests/api/test_pages.py` from signatures and docstrings.",
        "",
    ]
    homes = _homes()
    for title, text, names in SECTIONS:
        lines += [f"## {title}", "", text, ""]
        for name in names:
            (home,) = homes[name]
            lines += _entry(name, importlib.import_module(home))
    return "\n".join(lines).rstrip() + "\n"


def _homes() -> dict[str, list[str]]:
    """The modules with a class or a function of that name."""
    found: dict[str, list[str]] = {}
    for file in sorted((SOURCE / "grebe").rglob("*.py")):
        module = ".".join(file.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.setdefault(node.name, []).append(module)
    return found


def _entry(name: str, module: ModuleType) -> list[str]:
    nodes = ast.parse(inspect.getsource(module)).body
    node = next(item for item in nodes if getattr(item, "name", None) == name)
    lines = [f"### {name}", ""]
    if isinstance(node, ast.FunctionDef):
        return [*lines, *_fenced(_signature(node)), *_docstring(node)]
    assert isinstance(node, ast.ClassDef)
    lines += _docstring(node)
    lines += _fields(node)
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and _is_shown(item):
            lines += [f"#### {name}.{item.name}", "", *_fenced(_signature(item)), *_docstring(item)]
    return lines


def _is_shown(node: ast.FunctionDef) -> bool:
    decorators = {ast.unparse(item) for item in node.decorator_list}
    hidden = node.name.startswith("_") or node.name in EVERYWHERE
    return not hidden and "overload" not in decorators


def _fields(node: ast.ClassDef) -> list[str]:
    """Fields and members, with the sentence that stands below each."""
    lines = []
    for item, after in zip(node.body, [*node.body[1:], None], strict=True):
        name = _field_name(item)
        if name is None or name.startswith("_"):
            continue
        text = f"- `{ast.unparse(item).split(' = field(')[0]}`"
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text += f": {_joined(str(after.value.value))}"
        lines.append(text)
    return [*lines, ""] if lines else []


def _field_name(item: ast.stmt) -> str | None:
    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
        return item.target.id
    if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
        return item.targets[0].id
    return None


def _signature(node: ast.FunctionDef) -> str:
    """One line, or one per argument; a property is its name and type."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if any(ast.unparse(item).endswith("property") for item in node.decorator_list):
        return f"{node.name}: {ast.unparse(node.returns) if node.returns else 'object'}"
    given = node.args
    ours = [arg for arg in (*given.posonlyargs, *given.args) if arg.arg not in ("self", "cls")]
    arguments = ast.unparse(
        ast.arguments(
            [], ours, given.vararg, given.kwonlyargs, given.kw_defaults, given.kwarg, given.defaults
        )
    )
    parts = [
        re.sub(r"^(\w+: .+?)=", r"\1 = ", part) for part in re.split(r", (?=\*|\w+: )", arguments)
    ]
    line = f"{node.name}({', '.join(parts)}){returns}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{node.name}(", *(f"    {part}," for part in parts), f"){returns}"])


def _fenced(text: str) -> list[str]:
    return ["```python", text, "```", ""]


def _docstring(node: ast.ClassDef | ast.FunctionDef) -> list[str]:
    """Google's sections as lists."""
    lines: list[str] = []
    for part in (ast.get_docstring(node) or "").split("\n\n"):
        title, _, rest = part.partition("\n")
        if title in ("Args:", "Raises:", "Returns:", "Attributes:"):
            items = re.split(r"\n(?=    \S)", "\n" + rest)[1:]
            lines += [title, "", *(_item(item) for item in items), ""]
        else:
            lines += [_joined(part), ""]
    return lines


def _item(text: str) -> str:
    name, separator, rest = _joined(text).partition(": ")
    return f"- `{name}`: {rest}" if separator else f"- {name}"


def _joined(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")
