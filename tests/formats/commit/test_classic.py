"""The same commit through a classic session, beside writers of a Connect server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from formats.commit.client import Client, arrow
from formats.commit.lake import Lake, Server, Table, frontier
from grebe import config
from grebe.errors import CheckFailedError, ConflictError, StepFailedError
from grebe.formats.base import Append, Merge, Rows
from grebe.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def classic(server: Server, spark: SparkSession) -> SparkSession:
    """A session of this process's own Spark that sees the server's catalog."""
    return open_session(config.load(server.folder, {}), spark)


@pytest.fixture
def here(table: Table, classic: SparkSession) -> Table:
    """The table as the classic session sees it."""
    lake = Lake(table.lake.folder, classic)
    return Table(lake, table.name, lake.storage(table.name))


def test_a_classic_session_commits_and_is_fenced(
    here: Table, client: Callable[[int], Client]
) -> None:
    first = [Append(Rows(arrow=arrow([[1, "a", 1], [2, "b", 2]])))]
    here.storage.commit(first, frontier("r1"), here.storage.position())
    changes = [[1, "x", 2, "update"], [2, None, None, "delete"], [3, "c", 3, "insert"]]
    for large, run in ((False, "r2"), (True, "r3")):
        rows = arrow(changes, actions=True)
        merge = Merge(Rows(arrow=rows), ("k",), 1, 1, target_is_large=large)
        done = here.storage.commit([merge], frontier(run), here.storage.position())
        assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (1, 1, 1)
        changes[1][0] = 3
    planned = here.storage.position()
    writer = client(0)
    writer.ask("position", here.name)
    assert "version" in writer.ask("commit", here.name, run="r4", kind="append", rows=[[4, "d", 4]])
    with pytest.raises(ConflictError):
        here.storage.commit(first, frontier("late"), planned)
    assert here.rows() == [(1, "x", 2), (3, "c", 3), (4, "d", 4)]


def test_errors_of_a_classic_session_are_typed(here: Table) -> None:
    first = [Append(Rows(sql="SELECT 1L AS k, 'a' AS v, 1L AS n"))]
    here.storage.commit(first, frontier("r1"), here.storage.position())
    before = here.storage.position()
    failing = [Append(Rows(sql="SELECT raise_error('boom') AS v, 1L AS k, 1L AS n"))]
    with pytest.raises(StepFailedError, match="cannot write"):
        here.storage.commit(failing, frontier("r2"), before)
    rows = arrow([[1, "x", 1, "update"], [1, "y", 1, "update"]], actions=True)
    with pytest.raises(CheckFailedError):
        here.storage.commit([Merge(Rows(arrow=rows), ("k",), 1, 0)], frontier("r3"), before)
    here.storage.commit([], frontier("r4"), before)
    assert here.storage.position().row_version == before.row_version
    assert here.refs() == {"main", "grebe_frontier"}
