"""Magics for notebooks: `%load_ext grebe`, then `%%grebe view shop.daily` over SQL, and `%grebe status`.

`%grebe open FOLDER` chooses the project; without it, it is the one of the current folder.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from grebe.errors import DefinitionError, GrebeError

if TYPE_CHECKING:
    from grebe.api import Project

USAGE: Final = (
    "%%grebe view NAME [--lag TIME] [--policy POLICY], with SQL below; "
    "%grebe open FOLDER | status | plan | refresh | history | dag | explain VIEW | verify [VIEW]"
)
_ASKED: Final[dict[str, Callable[[Project, list[str]], object]]] = {
    "status": lambda project, names: project.status(names or None),
    "plan": lambda project, names: project.plan(names or None),
    "refresh": lambda project, names: project.refresh(names or None),
    "history": lambda project, names: project.history(names or None),
    "dag": lambda project, names: project.dag(names or None),
    "verify": lambda project, names: project.verdicts(names or None),
    "explain": lambda project, names: project.explain(names[0]),
}


class Magics:
    """The words after `%grebe`, and the project that they mean."""

    def __init__(self, shell: Any) -> None:  # noqa: ANN401  IPython is none of our dependencies
        self.shell = shell
        self.project: Project | None = None

    def __call__(self, line: str, cell: str | None = None) -> object:
        """The answer to one magic; an error is told in its own words, without a stack."""
        try:
            return self._answer(line, cell)
        except GrebeError as error:
            print_error(f"error [{error.code}]: {error.explain()}")
            return None

    def _answer(self, line: str, cell: str | None) -> object:
        verb, *words = shlex.split(line) or [""]
        if verb == "open":
            return self._open(words[0] if words else ".")
        if verb == "view":
            return self._view(words, cell)
        if verb not in _ASKED or (verb == "explain" and not words):
            raise DefinitionError(f'"%grebe {line}" means nothing', hint=USAGE, code="usage")
        return _ASKED[verb](self._opened(), words)

    def _open(self, folder: str) -> Project:
        import grebe

        if self.project is not None:
            self.project.close()
        self.project = grebe.open(folder, spark=self._spark())
        self.shell.push({"project": self.project})
        return self.project

    def _opened(self) -> Project:
        return self.project or self._open(".")

    def _spark(self) -> Any:  # noqa: ANN401  a session of either kind
        """The notebook's own session, if it has one under its usual name."""
        found = self.shell.user_ns.get("spark")
        return found if type(found).__name__ == "SparkSession" else None

    def _view(self, words: list[str], cell: str | None) -> object:
        names = [word for word in words if not word.startswith("--")]
        options = _options(words)
        names = [name for name in names if name not in options.values()]
        if len(names) != 1 or not (cell or "").strip():
            raise DefinitionError("a view needs a name and SQL below it", hint=USAGE, code="usage")
        project = self._opened()
        view = project.create_view(
            names[0],
            cell or "",
            lag=options.get("lag"),
            policy=options.get("policy"),
            schedule=options.get("schedule"),
            build=False,
            replace=True,
        )
        return view.plan()


def _options(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        if word.startswith("--"):
            name, _, value = word.removeprefix("--").partition("=")
            following = words[place + 1] if place + 1 < len(words) else ""
            if name not in ("lag", "policy", "schedule") or not (value or following):
                raise DefinitionError(f'option "{word}" means nothing', hint=USAGE, code="usage")
            found[name] = value or following
    return found


def print_error(text: str) -> None:
    """A message where a notebook shows errors."""
    import sys

    sys.stderr.write(text + "\n")


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401  IPython is none of our dependencies
    """What `%load_ext grebe` calls."""
    shell.register_magic_function(Magics(shell), "line_cell", "grebe")
