"""Old versions of views go by themselves, after a refresh and within what anybody still needs.

Without this a view that is refreshed every minute drags along all its versions: each one makes the table's
metadata longer, and every commit writes that again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from grebe.api.changes import leased
from grebe.api.standing import NEVER, Look
from grebe.api.upkeep import bound_of
from grebe.api.written import Written
from grebe.errors import LeaseHeldError
from grebe.model import TableName

if TYPE_CHECKING:
    from grebe.api.project import Project

KEPT: Final = timedelta(days=7)
"""How long versions are kept where the table's own settings do not say it."""
ASKED: Final = "grebe.expired-before"
"""The property that says up to when versions were last asked to go."""

log = logging.getLogger(__name__)


def expire_old(project: Project, names: Iterable[str]) -> None:
    """Remove what nobody asked to keep of views that were just written; a failure harms nobody."""
    look = project.look()
    views: Mapping[str, Written] = {}
    for name in names:
        try:
            views = views or project.written()
            facts = views[name].facts
            storage = facts.storage if facts else None
            wanted = outlived(storage, look, datetime.now(UTC)) if storage else None
            if storage is None or wanted is None:
                continue
            until, holding = bound_of(storage, views, look, wanted)
            with leased(project, [views[name].key]):
                if until != NEVER:
                    project.tables.expire(storage, lambda: project.spark, until)
                project.tables.keep(storage, lambda: project.spark, {ASKED: wanted.isoformat()})
            if holding:
                log.info('old versions of view "%s" are kept for %s', name, ", ".join(holding))
        except LeaseHeldError:
            log.debug('view "%s" is written by somebody else, who will look after it', name)
        except Exception:  # the rows are right either way; the next refresh looks again
            log.warning('old versions of view "%s" stay', name, exc_info=True)


def outlived(storage: TableName, look: Look, now: datetime) -> datetime | None:
    """Up to when versions should go; None: there are none, or it is too early to ask again.

    Where one history is that of all tables of a catalog, versions are other people's, too: those go by
    `vacuum` alone.
    """
    if look.tables.one_history(storage):
        return None
    said = look.head(storage).retention
    kept = KEPT if said is None else said
    wanted = now - kept
    asked = (look.tables.properties(storage, look.session) or {}).get(ASKED)
    if asked and wanted - datetime.fromisoformat(asked) < kept / 2:
        return None  # by halves: a statement for every version would cost more than it saves
    found = look.tables.version_at(storage, wanted, look.session)
    return wanted if found is not None else None
