"""Builds what a release consists of: wheel, sdist, a list of components (CycloneDX), a list of licences.

`make package` writes them to `dist/`. Nothing is fetched: what the lock files name is read from this environment.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path

from flit_core import buildapi

ROOT = Path(__file__).resolve().parent.parent
LOCKED = re.compile(r"^([a-z0-9._-]+)==([\w.]+)", re.MULTILINE)
JAR = re.compile(r"^([0-9a-f]{64})  ([^_\s]+)_(.+)-(\d[\w.]*)\.jar$", re.MULTILINE)


def main(folder: Path) -> None:
    """Everything, in one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [buildapi.build_wheel(str(folder)), buildapi.build_sdist(str(folder))]
    for name, text in (("sbom.cdx.json", components()), ("licenses.md", licences())):
        (folder / name).write_text(text, encoding="utf-8")
        made.append(name)
    for name in made:
        print(folder / name)


def packages() -> list[tuple[str, str]]:
    """Every locked package with its version."""
    return sorted(LOCKED.findall((ROOT / "requirements" / "all.lock").read_text(encoding="utf-8")))


def jars() -> list[tuple[str, str, str, str]]:
    """Every locked jar: its sum, group, name and version."""
    lock = ROOT / "src" / "grebe" / "spark" / "jars.lock"
    return JAR.findall(lock.read_text(encoding="utf-8"))


def components() -> str:
    """The list of components, as CycloneDX 1.6."""
    found: list[dict[str, object]] = [
        {
            "type": "library",
            "name": name,
            "version": number,
            "purl": f"pkg:pypi/{name}@{number}",
            **licence_of(name),
        }
        for name, number in packages()
    ]
    found += [
        {
            "type": "library",
            "group": group,
            "name": name,
            "version": number,
            "purl": f"pkg:maven/{group}/{name}@{number}",
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }
        for digest, group, name, number in jars()
    ]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "library", "name": "grebe", "version": version("grebe")}
        },
        "components": found,
    }
    return json.dumps(document, indent=2) + "\n"


def licence_of(package: str) -> dict[str, object]:
    """What a package says of its licence; nothing where it is not installed here."""
    said = said_licence(package)
    return {"licenses": [{"license": {"name": said}}]} if said else {}


def said_licence(package: str) -> str:
    """The licence of a package in a few words: its expression, its classifier, or the first line of its text."""
    try:
        known = metadata(package)
    except PackageNotFoundError:
        return ""
    if known.get("License-Expression"):
        return str(known["License-Expression"])
    classified = [
        line.rpartition(" :: ")[2]
        for line in known.get_all("Classifier") or ()
        if line.startswith("License ::")
    ]
    first = str(known.get("License") or "").strip().partition("\n")[0]
    return "; ".join(classified) or first[:80]


def licences() -> str:
    """A table of packages and licences; one that is not installed here says so."""
    lines = ["# Licences", "", "| package | version | licence |", "|---|---|---|"]
    lines += [
        f"| {name} | {number} | {said_licence(name) or 'not installed here'} |"
        for name, number in packages()
    ]
    lines += ["", "Jars, fetched at the first start of Spark, are in `NOTICE`.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
