"""Spark's classes, read and checked once: later starts map them from an archive, in two thirds of the time.

An archive belongs to one Java, one Spark and one class path. Java itself sees when it does not fit, and goes without;
only one that was cut off must not reach it. So a missing or damaged archive costs time, never more.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from grebe.config import cache_folder, load
from grebe.spark.jars import ensure_jars
from grebe.spark.java import Java, find_java

_KEPT = 3
"""An archive has 200 MB, and the environment that it was made for may be gone."""
_LIMIT_SECONDS = 300


def archive_file(java: Java, jars: Sequence[Path]) -> Path | None:
    """The archive that fits this Java, this Spark and these jars; None when there is none, or a damaged one."""
    kept = _kept(java, jars)
    return kept if kept is not None and kept.stat().st_size else None


def _kept(java: Java, jars: Sequence[Path]) -> Path | None:
    """What was made of these classes; an empty file says that this Java makes no archive."""
    name = f"{_key(java, jars)}-{{size}}.jsa"
    found = (cache_folder() / "classes").glob(name.format(size="*"))
    # Java dies of an archive that was cut off, so the name says how long it is.
    whole = (file for file in found if file.name == name.format(size=file.stat().st_size))
    return next(whole, None)


def archive_options(java: Java, jars: Sequence[Path]) -> str:
    """The words for Java that use the archive; none when there is none."""
    file = archive_file(java, jars)
    if file is None or any(sign.isspace() for sign in str(file)):  # the launcher splits at blanks
        return ""
    return f"-XX:SharedArchiveFile={file} -Xshare:auto -XX:+VerifySharedSpaces -Xlog:cds*=off"


def prepare(java: Java, jars: Sequence[Path]) -> Path | None:
    """The archive, made first if it is missing: once, in a Spark of its own. None when there can be none."""
    folder = cache_folder() / "classes"
    with suppress(OSError):  # a full or closed disk: Spark starts without it
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{_key(java, jars)}.lock"):
            if _kept(java, jars) is None:
                _make(java, folder, _key(java, jars))
                _forget_old(folder)
    return archive_file(java, jars)


def begin_to_prepare(java: Java, jars: Sequence[Path]) -> bool:
    """Make a missing archive in a process that nobody waits for; False when nothing is to be made."""
    if _kept(java, jars) is not None:
        return False
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GREBE_")}
    ours |= {"GREBE_CACHE": str(cache_folder()), "GREBE_SPARK__JAVA": str(java.home)}
    nice = ["nice", "-n", "19"] if shutil.which("nice") else []
    with suppress(OSError):  # it only would have saved time
        subprocess.Popen(
            [*nice, sys.executable, "-m", "grebe.spark.class_archive"],
            cwd=cache_folder(),
            env=ours,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return True
    return False


def _key(java: Java, jars: Sequence[Path]) -> str:
    import pyspark

    release = java.home / "release"
    # Spark's launcher follows links before it writes the class path.
    spark = Path(pyspark.__path__[0]).resolve()
    words = [str(java.home.resolve()), pyspark.__version__]
    # Java takes a jar for another one when its time is another, as after an installation in the same place.
    for jar in (*sorted((spark / "jars").glob("*.jar")), *jars):
        found = jar.stat() if jar.exists() else None
        words.append(f"{jar} {found.st_mtime_ns} {found.st_size}" if found else str(jar))
    key = hashlib.sha256("\n".join(words).encode())
    key.update(release.read_bytes() if release.is_file() else b"")
    return key.hexdigest()[:12]


def _make(java: Java, folder: Path, key: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder, prefix="make-") as scratch:
        draft = Path(scratch, "draft.jsa")
        option = f"-XX:ArchiveClassesAtExit={draft} -Xlog:cds*=off"
        Path(scratch, "grebe.toml").write_text(
            f'[spark.conf]\n"spark.driver.extraJavaOptions" = "{option}"\n', encoding="utf-8"
        )
        ours = {name: value for name, value in os.environ.items() if not name.startswith("GREBE_")}
        ours |= {"GREBE_CACHE": str(cache_folder()), "GREBE_SPARK__JAVA": str(java.home)}
        try:
            # Java writes the archive after Python is gone; it holds the pipe open until then.
            subprocess.run(
                [sys.executable, "-m", "grebe.spark.warm_up", scratch],
                env=ours,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return
        draft.touch()
        draft.replace(folder / f"{key}-{draft.stat().st_size}.jsa")


def _forget_old(folder: Path) -> None:
    files = sorted(folder.glob("*.jsa"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[_KEPT:]:
        file.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    """Makes the archive if it is missing; `--have` only looks."""
    settings = load()
    java = find_java(settings.spark.java)
    jars = ensure_jars(java, dict(settings.spark.conf))
    if "--have" in arguments:
        return 0 if _kept(java, jars) else 1
    made = prepare(java, jars)
    sys.stdout.write(f"{made or 'this Java makes no archive of classes'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
