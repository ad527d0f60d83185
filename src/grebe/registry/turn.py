"""A turn: the right to refresh some views, kept while it lasts, and what became of it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Final

from grebe.errors import RegistryError
from grebe.registry.records import Lease, RunRecord

if TYPE_CHECKING:
    from grebe.registry.journal import Registry

SECONDS: Final = 60.0
"""After this time without a sign of life another program may take over."""


def owner_of(run_id: str) -> str:
    """Who runs, in words that help to find him."""
    return f"{socket.gethostname()}:{os.getpid()}:{run_id}"


@dataclass
class Turn:
    """Leases on views while a block runs; runs are begun with it and ended by `finish`."""

    registry: Registry
    views: Sequence[str]
    """Parents before children."""
    run_id: str
    parents: Mapping[str, Collection[str]] = field(default_factory=dict)
    trigger: str = "manual"
    seconds: float = SECONDS
    leases: dict[str, Lease] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    """Views that somebody else is refreshing, and who that is."""
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Turn:
        owner = owner_of(self.run_id)
        left: set[str] = set()
        for view in self.views:
            # Who refreshes a view refreshes what reads it, too: that is left to him.
            if not left.isdisjoint(self.parents.get(view, ())):
                left.add(view)
                continue
            lease = self.registry.acquire(view, owner, self.seconds)
            if lease is None:
                other = self.registry.holder(view)
                self.held[view] = other.owner if other else "somebody who just left"
                left.add(view)
                continue
            self.leases[view] = lease
            self.registry.begin(RunRecord(self.run_id, view, self.trigger, owner))
        self._thread = threading.Thread(target=self._keep, name="grebe-leases", daemon=True)
        self._thread.start()
        return self

    def finish(self, run: RunRecord) -> None:
        """Write down how the run of one view ended, and let go of it.

        A journal that fails now harms nobody: the view's own table knows what happened.
        """
        try:
            self.registry.finish(run)
            lease = self.leases.pop(run.view, None)
            if lease is not None:
                self.registry.release(lease)
        except RegistryError:
            self.leases.pop(run.view, None)

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        for lease in self.leases.values():
            try:
                self.registry.release(lease)
            except RegistryError:
                return

    def _keep(self) -> None:
        while not self._over.wait(self.seconds / 3):
            for lease in list(self.leases.values()):
                try:
                    self.registry.renew(lease)
                except RegistryError:
                    break
