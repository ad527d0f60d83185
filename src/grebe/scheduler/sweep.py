"""One sweep over what is due now, for cron and orchestrators: in this process, with its own Spark."""

from __future__ import annotations

from collections.abc import Sequence

from grebe.engine.result import RefreshResult
from grebe.project.workspace import Workspace
from grebe.scheduler.board import RegistryBoard
from grebe.scheduler.member_end import MemberEnd
from grebe.scheduler.run_groups import PlannedRun
from grebe.scheduler.turn import turn
from grebe.scheduler.work import Hand


class SweepHands:
    """Carries every run out at once; a view once at most."""

    def __init__(self, board: RegistryBoard, workspace: Workspace) -> None:
        self.board = board
        self.hand = Hand(workspace)
        self.done: set[str] = set()
        self.results: list[RefreshResult] = []

    def is_free(self, run: PlannedRun) -> bool:
        """Nobody else is at work."""
        return not self.done.intersection(run.names)

    def start(self, run: PlannedRun) -> None:
        """The run, from start to end."""
        self.done.update(run.names)
        if self.board.is_nothing(run):
            self.board.ended(run, [MemberEnd(name, "no_op") for name in run.names])
            return
        order = {"views": list(run.names), "trigger": str(run.members[-1].trigger)}
        try:
            found = self.hand.verify(order) if run.is_check else self.hand.refresh(order)
        except BaseException:
            self.board.give_back(run)
            raise
        ends = [
            MemberEnd(
                item["view"], item["outcome"], tuple(item["codes"]), item["says"],
                item.get("seconds", 0.0), item.get("run_id", ""),
            )
            for item in found
        ]  # fmt: skip
        self.results += self.hand.results
        self.hand.results = []
        self.board.ended(run, ends)


def sweep(workspace: Workspace, selection: Sequence[str] = ()) -> list[RefreshResult]:
    """The results of what was due, each view once at most; nothing is waited for."""
    board = RegistryBoard(workspace, selection)
    hands = SweepHands(board, workspace)
    while True:
        before = len(hands.done)
        turn(board, hands)
        if len(hands.done) == before:
            board.notices.send()
            return hands.results
