"""Notices: edges become messages in an outbox, and any copy sends them; runs never wait for that."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import subprocess
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from grebe.config.settings_model import Sink
from grebe.registry import activity_rows, notice_rows
from grebe.registry.notice_rows import NoticeRow
from grebe.scheduler.due import MARGIN
from grebe.scheduler.wishes import percentile
from grebe.secrets import masked

if TYPE_CHECKING:
    import sqlalchemy as sa

    from grebe.project.workspace import Workspace
    from grebe.registry.activity_rows import ActivityRow
    from grebe.scheduler.due import Decision
    from grebe.scheduler.member_end import MemberEnd
    from grebe.scheduler.turn import Sight

LOG: Final = "log"
SECONDS: Final = 10.0
"""How long a receiver may take."""
SIGNATURE: Final = "X-Grebe-Signature"
log = logging.getLogger("grebe.notices")


class NoticeBoard:
    """Writes notices down, once for each edge, and sends what waits."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        sinks = workspace.settings.scheduler.notices
        self.sinks = {LOG: Sink(LOG), **{f"{item.name}": item for item in sinks}}

    def edges(
        self, sight: Sight, found: Mapping[str, Decision], rows: Mapping[str, ActivityRow]
    ) -> None:
        """Tell of views that are late now, or no longer, and of lags that cannot be kept."""
        now = sight.moment.now
        for name, item in found.items():
            wish, row = sight.wishes[name], rows.get(name)
            if row is None:
                continue
            was, edges = dict(row.edges), dict(row.edges)
            told: list[tuple[str, float, str]] = []
            late = wish.lag is not None and item.staleness(now) > wish.lag
            if late and "late" not in was and item.since is not None and wish.lag is not None:
                edges["late"] = item.since + wish.lag
                text = f"{name} shows what was {item.staleness(now):.0f} s ago; {wish.lag:.0f} s are allowed"
                told.append(("late", edges["late"], text))
            if not late and "late" in was:
                told.append(("in-time", edges.pop("late"), f"{name} is in time again"))
            takes = percentile(row.durations) * MARGIN if row.durations else 0.0
            hard = wish.lag is not None and takes > wish.lag
            if hard and "lag-unreachable" not in was:
                edges["lag-unreachable"] = now
                text = f"{name} takes {takes:.0f} s, and may be {wish.lag:.0f} s old"
                told.append(("lag-unreachable", now, text))
            elif not hard:
                edges.pop("lag-unreachable", None)
            if edges != was:
                self._write_edges(row, edges, told)

    def _write_edges(
        self, row: ActivityRow, edges: Mapping[str, float], told: list[tuple[str, float, str]]
    ) -> None:
        with self.workspace.registry.database.writing() as connection:
            if activity_rows.edge(connection, row, edges):
                for kind, since, text in told:
                    self.put(connection, row.view, kind, since, text)

    def after_run(
        self,
        connection: sa.Connection,
        before: ActivityRow,
        after: ActivityRow,
        end: MemberEnd,
        now: float,
    ) -> None:
        """Tell that a view fails, or no longer is tried."""
        if after.suspended is not None and before.suspended is None:
            self.put(connection, after.view, "suspended", now, after.suspended)
        elif after.failures and not before.failures:
            self.put(connection, after.view, "failing", now, end.says)

    def differs(self, connection: sa.Connection, view: str, end: MemberEnd, now: float) -> None:
        """Tell that a view is not what its query says."""
        self.put(connection, view, "differs", now, end.says)

    def put(self, connection: sa.Connection, view: str, kind: str, since: float, text: str) -> None:
        """Keep a message for every sink that asked for its kind."""
        body = json.dumps(
            {"view": view, "kind": kind, "since": since, "text": masked(text),
             "project": str(self.workspace.settings.folder.name)}
        )  # fmt: skip
        for sink in self.sinks.values():
            if not sink.kinds or kind in sink.kinds:
                notice_rows.write(connection, NoticeRow(view, kind, since, sink.name, body))

    def send(self) -> int:
        """Send what waits; how many arrived."""
        database = self.workspace.registry.database
        with database.writing() as connection:
            waiting = notice_rows.claim(connection, list(self.sinks))
        arrived = 0
        for row in waiting:
            try:
                deliver(self.sinks[row.sink], row)
            except Exception as error:  # whatever a receiver does, it is tried again
                log.warning("a notice did not arrive at %s: %s", row.sink, masked(str(error)))
                with database.writing() as connection:
                    notice_rows.failed(connection, row.number, min(900.0, 2.0**row.attempts))
                continue
            arrived += 1
            with database.writing() as connection:
                notice_rows.sent(connection, row.number)
        return arrived


def deliver(sink: Sink, row: NoticeRow) -> None:
    """Give one message to where it goes; whatever goes wrong is raised."""
    if sink.webhook is not None:
        request = urllib.request.Request(
            sink.webhook,
            data=row.body.encode(),
            headers={"Content-Type": "application/json", SIGNATURE: signature(sink, row.body)},
            method="POST",
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            answer.read(1)
    elif sink.command:
        subprocess.run(
            sink.command, input=row.body.encode(), timeout=SECONDS, check=True, capture_output=True
        )
    else:
        log.warning("%s", json.loads(row.body)["text"])


def signature(sink: Sink, body: str) -> str:
    """What the receiver computes too: HMAC-SHA256 of the body, with the secret that both know."""
    if sink.secret is None:
        return ""
    return "sha256=" + hmac.new(sink.secret.encode(), body.encode(), hashlib.sha256).hexdigest()
