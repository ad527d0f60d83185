"""The journal beside a run: who may write, what began, how it ended. Saves work, never correctness.

Every call may fail without harm: a registry that cannot be reached is told once and then left out.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from grebe.engine.result import RefreshResult
from grebe.errors import LeaseHeldError, RegistryError
from grebe.registry.records import Counts, Lease, RunRecord, SourceRecord
from grebe.secrets import masked

if TYPE_CHECKING:
    from grebe.compiler.plan.cost import Past
    from grebe.registry import Registry

SECONDS = 60.0
"""How long a lease lasts without being renewed: what a killed run costs the next one."""

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Leases:
    """The leases of one run and its entries in the journal; does nothing without a registry."""

    registry: Registry | None
    owner: str
    trigger: str = "manual"
    seconds: float = SECONDS
    only_looks: bool = False
    """Nothing is taken and nothing is written down; what happened before can be asked."""
    held: dict[str, Lease] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)
    keeper: threading.Thread | None = None

    def acquire(self, views: Iterable[str]) -> set[str]:
        """Take the leases of some views; those that somebody else holds."""
        if self.registry is None or self.only_looks:
            return set()
        taken: set[str] = set()
        for view in sorted(views):
            lease, known = self._ask(lambda r, v=view: r.acquire(v, self.owner, self.seconds))  # type: ignore[misc]
            if lease is not None:
                with self.guard:
                    self.held[view] = lease
            elif known:
                taken.add(view)
        if self.held and self.keeper is None:
            self.keeper = threading.Thread(target=self._keep, name="grebe-lease", daemon=True)
            self.keeper.start()
        return taken

    def release(self, view: str) -> None:
        """Let others write a view."""
        with self.guard:
            lease = self.held.pop(view, None)
        if lease is not None:
            self._ask(lambda r: r.release(lease))

    def close(self) -> None:
        """Release whatever is still held."""
        self.over.set()
        for view in list(self.held):
            self.release(view)
        if self.keeper is not None:
            self.keeper.join()

    def past(self, view: str) -> tuple[Past, ...]:
        """What earlier runs of a view cost."""
        found, _ = self._ask(lambda r: r.past(view))
        return found or ()

    def begin(self, view: str, run_id: str) -> None:
        """Write down that a run begins."""
        if not self.only_looks:
            self._ask(lambda r: r.begin(RunRecord(run_id, view, self.trigger, self.owner)))

    def finish(self, result: RefreshResult) -> None:
        """Write down how a run ended."""
        record = RunRecord(
            result.run_id,
            str(result.view),
            self.trigger,
            self.owner,
            outcome=result.outcome,
            reasons=result.reasons,
            counts=Counts(result.rows_in, result.rows_out),
            seconds=result.seconds,
            frontier_json=result.frontier.to_json() if result.frontier else None,
            error=masked(str(result.error)) if result.error else None,
            steps_json=json.dumps([step.to_dict() for step in result.steps])
            if result.steps
            else None,
            cost=result.cost,
        )
        if not self.only_looks:
            self._ask(lambda r: r.finish(record))

    def see(self, sources: Iterable[SourceRecord]) -> None:
        """Write down which versions of sources the run reads."""
        if not self.only_looks:
            self._ask(lambda r: r.see_sources(sources))

    def _keep(self) -> None:
        """Renew what is held, as long as the run lasts."""
        while not self.over.wait(self.seconds / 3):
            with self.guard:
                held = dict(self.held)
            for view, lease in held.items():
                renewed, _ = self._ask(lambda r, item=lease: r.renew(item))  # type: ignore[misc]
                with self.guard:
                    if renewed is not None and view in self.held:
                        self.held[view] = renewed

    def _ask(self, question: Callable[[Registry], T]) -> tuple[T | None, bool]:
        """The registry's answer, and whether it gave one."""
        if self.registry is None:
            return None, False
        try:
            return question(self.registry), True
        except RegistryError as error:
            log.warning("the registry cannot be used: %s", error.explain())
            return None, False


@contextmanager
def hold(registry: Registry, names: Sequence[str], seconds: float = SECONDS) -> Iterator[None]:
    """Hold the right to write views while they are removed, renewed for as long as that takes.

    Raises:
        LeaseHeldError: somebody refreshes one of them.
        RegistryError: nobody can say who holds it.
    """
    owner = owner_of(f"drop-{uuid.uuid4().hex[:8]}")
    leases = Leases(registry, owner, seconds=seconds)
    try:
        taken = leases.acquire(names)
        if taken:
            raise LeaseHeldError(
                f'view "{min(taken)}" is being refreshed',
                hint="wait for it to end, then try again",
            )
        if set(names) - leases.held.keys():
            raise RegistryError("the registry gives no lease", hint="run the command again")
        yield
    finally:
        leases.close()


def owner_of(run_id: str) -> str:
    """Who holds a lease: this process, for this run."""
    return f"{socket.gethostname()}/{os.getpid()}/{run_id}"


def run_of(owner: str) -> str:
    """The run that a lease was taken for.

    >>> run_of("host/7/abc")
    'abc'
    """
    return owner.rpartition("/")[2]
