"""The storage table of a view, made empty; it is filled by the first refresh."""

from __future__ import annotations

from grebe.engine.compiled_view import CompiledView
from grebe.engine.public import kept_properties
from grebe.errors import GrebeError, StepFailedError
from grebe.formats.base import Storage
from grebe.formats.storage_errors import disk_trouble, failed
from grebe.model import RunId


def make_storage(view: CompiledView, storage: Storage) -> None:
    """Nothing when there is one already.

    Raises:
        StepFailedError: the catalog does not make it, or what is there cannot be read.
    """
    try:
        storage.create(view.stored, kept_properties(view), view.partitions)
    except GrebeError:
        raise
    except Exception as error:  # Spark's own, the catalog's, and those of the wire below them
        if disk_trouble(error):
            raise failed(view.storage_name, RunId("create"), "make it", error) from error
        raise StepFailedError(
            f'the storage table of view "{view.name}" cannot be made or read',
            detail=str(error).split("\n", maxsplit=1)[0],
            hint=f"look at {view.storage_name} in its catalog",
            step="create",
        ) from error
