"""Writes the lock files anew (`make lock`): requirements/*.lock and src/grebe/spark/jars.lock.

Needs the network, and uv, which it installs into a folder that is thrown away again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
# Versions and hashes only: where packages come from is the reader's own setting.
OPTIONS = (
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-annotate",
    "--no-header",
    "--quiet",
    "--upgrade",
)
ONLY_WHEN_MISSING = "java"
"""The extra that set-up installs only on a machine without Java."""


def main() -> None:
    """Resolves both sets, then the jars."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [
        name for name in project["optional-dependencies"] if name not in (ONLY_WHEN_MISSING, "all")
    ]
    chosen = [word for name in extras for word in ("--extra", name)]
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        uv = Path(scratch) / "bin" / "uv"
        run([Path(scratch) / "bin" / "pip", "install", "--quiet", "uv"])
        compile_ = [uv, "pip", "compile", *OPTIONS]
        run([*compile_, "pyproject.toml", *chosen, "--group", "dev", "-o", FOLDER / "all.lock"])
        java = Path(scratch) / "java.in"
        java.write_text("\n".join(project["optional-dependencies"][ONLY_WHEN_MISSING]))
        run([*compile_, java, "-o", FOLDER / "java.lock"])
    run([sys.executable, ROOT / "tools" / "lock_jars.py"])


def run(command: list[str | Path]) -> None:
    """Runs one command in the project's folder, and stops when it fails."""
    subprocess.run([os.fspath(word) for word in command], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
