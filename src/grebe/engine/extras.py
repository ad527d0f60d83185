"""The optional packages that a project's catalogs need, looked for before anything is written."""

from __future__ import annotations

from importlib.util import find_spec

from grebe.config import Settings
from grebe.errors import MissingExtraError


def missing(settings: Settings) -> list[tuple[str, str]]:
    """Packages that the settings call for and that are not installed, with their extras."""
    needed = [("pyspark", "spark")]
    for catalog in settings.catalogs:
        needed += catalog.format.packages(catalog.uri or "")
    if settings.registry_url.startswith("postgres"):
        needed.append(("psycopg", "postgres"))
    return [item for item in dict.fromkeys(needed) if not _is_there(item[0])]


def require_extras(settings: Settings) -> None:
    """Nothing when every package is installed that the settings call for.

    Raises:
        MissingExtraError: one is not; the hint is the line that installs all that are missing.
    """
    found = missing(settings)
    if found:
        raise MissingExtraError.of(found[0][0], ",".join(sorted({extra for _, extra in found})))


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False
