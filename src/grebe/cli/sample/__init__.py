"""The project that `grebe init` writes: it runs as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from grebe.errors import ConfigError

_HERE = Path(__file__).parent
_NAMES = {"gitignore.txt": ".gitignore", "README.txt": "README.md", "settings.txt": "grebe.toml"}


def write_sample(folder: Path) -> list[Path]:
    """The files written, relative to the folder; nothing when one of them exists already.

    Raises:
        ConfigError: something is in the way, or the folder cannot be written to.
    """
    files = dict(_files())
    taken = [name for name in files if (folder / name).exists()]
    if taken:
        raise ConfigError(
            f"{folder / taken[0]} exists already",
            hint="choose another folder: grebe init my-project",
        )
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be written to", detail=str(error), hint="choose another folder"
        ) from error
    return sorted(files)


def _files() -> Iterator[tuple[Path, str]]:
    for file in sorted(_HERE.rglob("*")):
        if file.suffix in (".sql", ".txt"):
            shown = file.relative_to(_HERE)
            yield Path(_NAMES.get(shown.name, str(shown))), file.read_text(encoding="utf-8")
