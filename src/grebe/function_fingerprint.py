"""A digest of what a Python function does: equal in all processes, another one when it is edited.

Comments, docstrings and layout do not count; neither do decorators. What counts is the function's
own text, that of every function and class of the same package that it reaches, and the values that
it holds: defaults, closures, constants of its module. Installed packages count by name alone.
"""

from __future__ import annotations

import ast
import dis
import inspect
import re
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from hashlib import sha256
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from grebe.errors import DefinitionError

_SIMPLE: Final = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis))
_DEEPEST: Final = 60


def function_fingerprint(function: object, name: str, said: tuple[str, ...] = ()) -> str:
    """The digest of a function, or of a class whose objects are called.

    Args:
        function: what is called.
        name: what it is known by, for the error.
        said: what else makes its results others, such as the type that it gives.

    Raises:
        DefinitionError: it holds something whose meaning cannot be read.
    """
    walk = _Walk(name)
    walk.add(function, 0)
    return sha256("\x1f".join([*said, *walk.texts]).encode()).hexdigest()


class _Walk:
    """What was found of a function and all that it reaches."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.texts: list[str] = []
        self.seen: set[int] = set()
        self.home = ""

    def add(self, item: object, depth: int) -> None:
        item = inspect.unwrap(item) if callable(item) else item
        if depth > _DEEPEST:
            raise self._unreadable("what it holds is nested too deeply")
        if isinstance(item, (staticmethod, classmethod)):
            return self.add(item.__func__, depth + 1)
        if isinstance(item, (FunctionType, type)):
            self.home = self.home or _home(item)
            return self._code(item, depth)
        if isinstance(item, ModuleType):
            return self.texts.append(f"module {item.__name__}")
        if inspect.isbuiltin(item) or inspect.ismethoddescriptor(item):
            return self.texts.append(f"builtin {getattr(item, '__qualname__', item)}")
        return self._value(item, depth)

    def _code(self, item: FunctionType | type, depth: int) -> None:
        if not self._is_own(item):
            self.texts.append(f"installed {item.__module__}.{item.__qualname__}")
            return
        if id(item) in self.seen:
            return
        self.seen.add(id(item))
        self.texts.append(self._text(item))
        if isinstance(item, type):
            self._members(item, depth)
        else:
            self._holds(item, depth)

    def _members(self, item: type, depth: int) -> None:
        """What a class holds and reaches; the text of its methods stands in its own."""
        for base in item.__mro__[1:-1]:
            self.add(base, depth + 1)
        for key, value in sorted(vars(item).items()):
            held = value.fget if isinstance(value, property) else value
            held = held.__func__ if isinstance(held, (staticmethod, classmethod)) else held
            if isinstance(held, FunctionType):
                self._holds(held, depth)
            elif not key.startswith(("__", "_abc_")) and not isinstance(held, type):
                self.texts.append(f"member {key}")
                self.add(held, depth + 1)

    def _holds(self, item: FunctionType, depth: int) -> None:
        """The values that a function takes along, and what it uses by name."""
        for default in (item.__defaults__ or (), sorted((item.__kwdefaults__ or {}).items())):
            self._value(default, depth + 1)
        names = dict.fromkeys(_used(item.__code__, _ALL))
        there = item.__globals__
        wanted = dict.fromkeys(_used(item.__code__, _GLOBAL))
        found = {name: there[name] for name in wanted if name in there}
        cells = zip(item.__code__.co_freevars, item.__closure__ or (), strict=False)
        found.update({name: cell.cell_contents for name, cell in cells if name != "__class__"})
        for key, value in sorted(found.items()):
            if value is not item:
                self.texts.append(f"name {key}")
                self._reached(value, names, depth + 1)

    def _reached(self, value: object, names: dict[str, None], depth: int) -> None:
        """A value that is used by name; of a module of our own the members that are named."""
        own = isinstance(value, ModuleType) and self._is_ours(value.__name__)
        if not own:
            return self.add(value, depth)
        for key in sorted(names):
            if key in vars(value):
                self.texts.append(f"member {key}")
                self._reached(vars(value)[key], names, depth + 1)
        return None

    def _value(self, item: object, depth: int) -> None:
        if depth > _DEEPEST:
            raise self._unreadable("what it holds is nested too deeply")
        if isinstance(item, _SIMPLE):
            self.texts.append(f"{type(item).__name__} {item!r}")
        elif isinstance(item, (list, tuple)):
            self.texts.append(f"{type(item).__name__} of {len(item)}")
            for part in item:
                self.add(part, depth + 1)
        elif isinstance(item, (set, frozenset)):
            self._unordered(item, depth)
        elif isinstance(item, dict):
            self.texts.append(f"dict of {len(item)}")
            for key, value in item.items():
                self.add(key, depth + 1)
                self.add(value, depth + 1)
        else:
            self._object(item, depth)

    def _object(self, item: Any, depth: int) -> None:  # noqa: ANN401
        kind = type(item)
        if isinstance(item, re.Pattern):
            self.texts.append(f"re {item.pattern!r} {item.flags}")
        elif kind.__module__.split(".")[0] in _STANDARD_VALUES:
            self.texts.append(f"{kind.__qualname__} {item!r}")
        elif isinstance(getattr(item, "fingerprint", None), str):
            self.texts.append(f"function {item.fingerprint}")
        else:
            raise self._unreadable(f"it holds a value of type {kind.__name__}")

    def _unordered(self, items: set[Any] | frozenset[Any], depth: int) -> None:
        found = []
        for part in items:
            inner = _Walk(self.name)
            inner.home, inner.seen = self.home, self.seen
            inner.add(part, depth + 1)
            found.append("\x1e".join(inner.texts))
        self.texts.append(f"set {sorted(found)}")

    def _text(self, item: FunctionType | type) -> str:
        try:
            lines = textwrap.dedent(inspect.getsource(item))
            tree = ast.parse(lines)
        except (OSError, TypeError, SyntaxError) as error:
            if isinstance(item, FunctionType) and item.__name__ == "<lambda>":
                return _of_code(item.__code__)
            raise self._unreadable(f"the text of {item.__qualname__} cannot be read") from error
        return ast.dump(_bare(tree), annotate_fields=False)

    def _is_own(self, item: FunctionType | type) -> bool:
        return self._is_ours(item.__module__ or "__main__")

    def _is_ours(self, module: str) -> bool:
        """True for modules of the same package, and for what a person wrote beside it."""
        if module.split(".")[0] == self.home:
            return True
        if module == "builtins" or module.split(".")[0] in sys.stdlib_module_names:
            return False
        file = getattr(sys.modules.get(module), "__file__", None)
        return file is None or not is_installed(file)

    def _unreadable(self, why: str) -> DefinitionError:
        return DefinitionError(
            f'what function "{self.name}" does cannot be told from its text',
            detail=why,
            hint=f'@grebe.udf(version="1"), and another version whenever "{self.name}" gives other'
            " results",
            code="function-without-version",
        )


_STANDARD_VALUES: Final = {"datetime", "decimal", "uuid", "enum", "fractions", "pathlib"}


def _home(item: FunctionType | type) -> str:
    return (item.__module__ or "__main__").split(".")[0]


def is_installed(file: str) -> bool:
    """True for a file of the standard library, or of a package that was installed."""
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")}
    return any(file.startswith(f"{place}/") for place in places if place)


_GLOBAL: Final = frozenset(["LOAD_GLOBAL", "LOAD_NAME"])
_ALL: Final = _GLOBAL | {"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM", "IMPORT_NAME"}


def _used(code: CodeType, how: frozenset[str]) -> Iterator[str]:
    """The names that a function uses in one of these ways, those of functions inside it too."""
    for step in dis.get_instructions(code):
        if step.opname in how:
            yield str(step.argval)
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _used(item, how)


def _of_code(code: CodeType) -> str:
    inner = [_of_code(item) for item in code.co_consts if isinstance(item, CodeType)]
    plain = [repr(item) for item in code.co_consts if not isinstance(item, CodeType)]
    return repr((code.co_code.hex(), plain, code.co_names, inner))


def _bare(tree: ast.Module) -> ast.Module:
    """The tree without docstrings and decorators."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            node.decorator_list = []
            first = node.body[0] if node.body else None
            is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if is_text and isinstance(first.value.value, str):  # type: ignore[union-attr]
                node.body = node.body[1:] or [ast.Pass()]
    return tree
