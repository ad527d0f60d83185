"""Old versions of views go: when somebody says so, and by themselves after a refresh.

Always within what anybody still needs. Without the latter a view that is refreshed every minute drags
along all its versions: each one makes the table's metadata longer, and every commit writes that again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from grebe.engine.heads import NEVER, Heads
from grebe.engine.lease import hold
from grebe.errors import DefinitionError, LeaseHeldError
from grebe.formats.table_format import table_formats
from grebe.model import TableName
from grebe.project.definitions import Definition
from grebe.project.retention import Vacuumed, bound_of, former_storages, needed_since
from grebe.stored_properties import KEYS

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace

KEPT: Final = timedelta(days=7)
"""How long versions are kept where nobody says it."""
ASKED: Final = KEYS["expired_before"]
"""The property that says up to when versions were last asked to go."""
SECONDS: Final = 30
"""Nobody waits longer for this after a refresh; the rest goes after the next one."""

log = logging.getLogger(__name__)


def vacuum(workspace: Workspace, view: Definition, retention: str, *, force: bool) -> Vacuumed:
    """Versions older than the retention removed, within what children still need.

    Tables of former definitions go with them, when the name showed another one by then.
    """
    from grebe.schedule import duration

    is_nothing = retention.strip().lower() in ("0", "0d", "0 days")
    length = timedelta(0) if is_nothing else duration(retention)
    if view.facts is None or view.facts.storage is None:
        raise DefinitionError(
            f'view "{view.name}" was never refreshed',
            hint=f"grebe refresh {view.name}",
            code="never-refreshed",
        )
    wanted = datetime.now(UTC) - length
    storage = view.facts.storage
    readers = {} if force else workspace.written()
    look = workspace.heads()
    since = needed_since(storage, look, wanted) if length else wanted
    until, holding = bound_of(storage, readers, look, since)
    former = former_storages(view, readers, look, wanted)
    # Also what the view itself needs holds: where one history is that of all, its own last commit.
    before = until if length or until < wanted else None
    with hold(workspace.registry, [view.key]):
        if until != NEVER:
            workspace.tables.expire(storage, workspace.session, before)
        for item in former:
            workspace.tables.remove(item, workspace.session)
    return Vacuumed(view.name, until, holding, tuple(former))


def expire_old(workspace: Workspace, names: Iterable[str]) -> None:
    """Remove what nobody asked to keep of views that were just refreshed; a failure harms nobody."""
    begun = time.monotonic()
    try:
        views = workspace.written()
    except Exception as error:  # the refresh itself is done, and must not be called a failure
        log.warning("old versions stay: %s", error)
        return
    for name in names:
        if time.monotonic() - begun > SECONDS:
            return
        try:
            _expire(workspace, views, name)
        except LeaseHeldError:
            log.debug('view "%s" is written by somebody else, who will look after it', name)
        except Exception as error:  # the rows are right either way; the next refresh looks again
            log.warning('old versions of view "%s" stay: %s', name, error)


def _expire(workspace: Workspace, views: Mapping[str, Definition], name: str) -> None:
    facts = views[name].facts
    storage = facts.storage if facts else None
    if storage is None or has_unknown_children(name, views):
        return
    wanted = outlived(storage, views[name].properties, workspace.heads(), datetime.now(UTC))
    if wanted is None:
        return
    with hold(workspace.registry, [views[name].key]):
        look = workspace.heads()  # nobody moves the view from here on
        since = needed_since(storage, look, wanted)
        until, holding = bound_of(storage, views, look, since)
        if until != NEVER:
            workspace.tables.expire(storage, look.session, until)
        workspace.tables.keep(storage, look.session, {ASKED: wanted.isoformat()})
    if holding:
        log.info('old versions of view "%s" are kept for %s', name, ", ".join(holding))


def has_unknown_children(name: str, views: Mapping[str, Definition]) -> bool:
    """Whether a view reads this one of which nobody knows where it stands."""
    return any(view.facts is None and name in view.parents_among(views) for view in views.values())


def outlived(
    storage: TableName, said: Iterable[tuple[str, str]], look: Heads, now: datetime
) -> datetime | None:
    """Up to when versions should go; None: there are none, or it is too early to ask again.

    Where one history is that of all tables of a catalog, versions are other people's, too: those go by
    `vacuum` alone.
    """
    if look.tables.one_history(storage):
        return None
    properties = look.tables.properties(storage, look.session) or {}
    kept = kept_for(properties, dict(said))
    if kept is None:
        return None
    wanted = now - kept
    asked = properties.get(ASKED)
    if asked and wanted - datetime.fromisoformat(asked) < kept / 2:
        return None  # by halves: a statement for every version would cost more than it saves
    found = look.tables.version_at(storage, wanted, look.session)
    return wanted if found is not None else None


def kept_for(*said: Mapping[str, str]) -> timedelta | None:
    """How long versions are kept, the longest that anybody says; None: for ever.

    >>> kept_for({}), kept_for({"history.expire.max-snapshot-age-ms": "1000"}, {"other": "1"})
    (datetime.timedelta(days=7), datetime.timedelta(seconds=1))
    >>> kept_for({"delta.deletedFileRetentionDuration": "as long as I like"})
    """
    read = {key: length for form in table_formats() for key, length in form.retention}
    lengths = [read[key](of[key]) for of in said for key in read if key in of]
    known = [length for length in lengths if length is not None and length < _LONGEST]
    if len(known) < len(lengths):
        return None
    return max(known, default=KEPT)


_LONGEST: Final = timedelta(days=365 * 1000)
"""More than this is for ever."""
