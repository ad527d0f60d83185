"""A project that was copied or moved, made one of the folder that it lies in.

Everything that names a file of the former folder is written anew to name the one that lies here; the
former folder is neither read nor written. The place is written down last: killed before that, the
project is as moved as before, and adopting it again goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from grebe.config import CatalogSettings, Settings, Site
from grebe.engine.place import embedded, is_there, moved_from, stray_of, write_site
from grebe.errors import ConfigError, LeaseHeldError
from grebe.formats.failpoints import reach
from grebe.formats.files import local_path
from grebe.formats.moved_folders import Move, MovedTables

PLACES = ("adopt.locked", "adopt.written", "adopt.pointed", "adopt.moved", "adopt.settled")


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was made to lie where the project lies."""

    folder: Path
    former: tuple[Path, ...] = ()
    """Where it lay; nothing when it already was at home."""
    tables: tuple[str, ...] = ()
    files: int = 0
    problems: tuple[str, ...] = ()


def adopt(settings: Settings) -> Adopted:
    """What was changed; of a project that lies where its tables say, nothing.

    Raises:
        ConfigError: the settings name the former folder, or tables lie half inside and half outside.
        LeaseHeldError: a run that was begun before the folder was moved goes on.
    """
    former = moved_from(settings)
    if former is None:
        return Adopted(settings.folder)
    with _alone(settings):
        reach("adopt.locked")
        _refuse_former_settings(settings, former)
        _refuse_torn(settings, former)
        _free_leases(settings, former)
        done, seen = MovedTables(), [former]
        while True:
            for form, place in embedded(settings):
                done.add(form.adopt(place, Move(str(seen[-1]), place.folder)))
                reach("adopt.moved")
            # Adopted, killed and moved once more, it names more than one folder.
            other = stray_of(settings)
            if other is None or other in seen:
                break
            seen.append(other)
        first = settings.site.first if settings.site else former
        write_site(settings, Site(settings.folder, first))
        reach("adopt.settled")
    tables = tuple(sorted(set(done.tables)))
    return Adopted(settings.folder, tuple(seen), tables, done.files, tuple(done.problems))


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """One at a time, whichever process it is in."""
    import fcntl

    try:
        stream = (settings.home / "adopt.lock").open("w")
    except OSError as error:
        raise ConfigError(
            f'folder "{settings.home}" cannot be written to',
            detail=error.strerror,
            hint="change its permissions; what is only read is better read where it was",
        ) from error
    with stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _refuse_former_settings(settings: Settings, former: Path) -> None:
    """Nothing, unless grebe.toml itself says where the project lay."""
    for catalog in settings.catalogs:
        for key, location in (("root", catalog.root), ("uri", _file_of(catalog))):
            path = Path(location) if location else None
            if path and path.is_relative_to(former) and not path.is_relative_to(settings.folder):
                raise ConfigError(
                    f"key catalogs.{catalog.name}.{key} names the former place of the project",
                    detail=f'it is "{path}", and the project lies in "{settings.folder}"',
                    hint=f'write {key} = "{path.relative_to(former)}", which is one of the folder',
                    code="project-moved",
                )


def _file_of(catalog: CatalogSettings) -> str | None:
    """The file that a uri names; None for anything else."""
    path = (catalog.uri or "").removeprefix("jdbc:").removeprefix("ducklake:")
    return path.removeprefix("sqlite:").partition("?")[0] if "://" not in path else None


def _refuse_torn(settings: Settings, former: Path) -> None:
    """Nothing, unless a list of tables lies inside of the folder and its tables outside, or reverse."""
    inside = {place.catalog for _, place in embedded(settings)}
    for catalog in settings.catalogs:
        root = local_path(catalog.root) if catalog.root else None
        if root is None or catalog.name in inside or not catalog.format.names_paths:
            continue
        if Path(root).is_relative_to(settings.folder):
            raise ConfigError(
                f'tables of catalog "{catalog.name}" lie in the folder, their list elsewhere',
                detail="the list names files of the former folder, and is not only this project's",
                hint="move the folder back, or give the catalog a root outside of it",
                code="project-moved",
            )
    if not is_there(former):
        return
    for form, place in embedded(settings):
        for table in form.outside(place, Move(str(former), place.folder)):
            raise ConfigError(
                f'what catalog "{place.catalog}" lists lies outside of the folder: {table}',
                detail=f'it belongs to the project in "{former}", which is still there',
                hint="give this project a catalog of its own in grebe.toml",
                code="project-moved",
            )


def _free_leases(settings: Settings, former: Path) -> None:
    """Leases in a copied registry are those of the original's runs; in a moved one they may live."""
    from grebe.registry import Registry

    scheme = "sqlite:///"
    url = settings.registry_url
    file = Path(url.removeprefix(scheme))
    if not url.startswith(scheme) or not file.is_relative_to(settings.folder) or not file.exists():
        return
    with Registry.open(url) as registry:
        if is_there(former):
            registry.free_all()
            return
        for lease in registry.held():
            raise LeaseHeldError(
                f'view "{lease.view}" is being refreshed by {lease.owner}',
                detail="the run was begun before the folder was moved",
                hint=f"wait until it is over, {lease.seconds:.0f} s if it is dead, and adopt again",
            )
