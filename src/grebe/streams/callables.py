"""Functions of people, by name: imported, and told from others by what they say."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grebe.errors import DeclarationError
from grebe.function_fingerprint import function_fingerprint
from grebe.streams.definition import StreamDefinition
from grebe.streams.row_making import Functions


def load_functions(definition: StreamDefinition, folder: str) -> Functions:
    """The functions that a definition names; the project's folder is looked into as well.

    Raises:
        DeclarationError: one cannot be imported.
    """

    def load(name: object, code: str, at: str) -> Callable[..., Any] | None:
        return load_function(name, code, at, folder) if isinstance(name, str) else None

    return Functions(
        load(definition.filter, "INVALID_FILTER", "$filter"),
        load(definition.transform, "INVALID_TRANSFORM", "$transform"),
    )


def load_function(name: str, code: str, at: str, folder: str) -> Callable[..., Any]:
    """The function of that name."""
    look_in(folder)
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module of a person may raise whatever it likes
        text = f'"{name}" cannot be imported: {type(error).__name__}: {error}'
        hint = f"run `python -c 'import {module}'` in the project's folder"
        raise DeclarationError(code, at, text, hint=hint) from error
    if not callable(found) or isinstance(found, type):
        raise DeclarationError(code, at, f'"{name}" is not a function')
    function: Callable[..., Any] = found
    return function


def look_in(folder: str) -> None:
    """Modules that lie in the project's folder can be imported, too."""
    if folder and str(Path(folder)) not in sys.path:
        sys.path.append(str(Path(folder)))


def definition_digest(definition: StreamDefinition, folder: str) -> str:
    """What tells a definition from another one, its functions' sources included."""
    sources = {}
    for name in definition.functions:
        at = "$filter" if name == definition.filter else "$transform"
        code = "INVALID_FILTER" if at == "$filter" else "INVALID_TRANSFORM"
        sources[name] = function_fingerprint(load_function(name, code, at, folder), name)
    return definition.digest(sources)
