"""A test of the tests: each rule that is broken on purpose is caught by a history or a guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from formats.delta.tables import Folder, check
from grebe.errors import GrebeError
from grebe.formats.delta import rows, window
from grebe.formats.delta.actions import AddedFile, Commit
from grebe.formats.delta.labels import DeltaLabel
from grebe.formats.delta.log import Log
from grebe.formats.weights import FileWeights
from grebe.model import Version

ROWS = [(number, "abc"[number % 3], number / 2) for number in range(12)]


def lives(path: Path) -> None:
    """A history with and without a feed in which every rule has something to do."""
    for number, feed in enumerate(({}, {"enableChangeDataFeed": "true"})):
        folder = Folder.create(path / str(number), partitioned=["grp"], **feed)
        versions = [folder.append(*ROWS), folder.append((1, "a", 0.5), (1, "a", 0.5))]
        versions += [folder.compact(), folder.update("id = 1", x="9.0"), folder.delete("id = 2")]
        versions += [folder.append((77, None, 0.0)), folder.restore(versions[0])]
        versions += [folder.append((78, "b", 0.0)), folder.compact()]
        source = folder.source()
        for after in versions:
            for upto in versions:
                if after != upto:
                    check(folder, after, upto, source)


def _no_compaction(
    commit: Commit, live: Mapping[Any, AddedFile], *, data_change: bool
) -> list[AddedFile]:
    return [file for file in commit.adds if file.key not in live]


def _only_adds(found: Any, commit: Commit, live: Mapping[Any, AddedFile], sign: int) -> None:
    found.copy(window._added(commit, live, data_change=True), sign)


def _one_direction(found: Any, commit: Commit, live: Mapping[Any, AddedFile], sign: int) -> None:
    KEPT(found, commit, live, 1)


def _late(self: Log, after: int, upto: int) -> Any:
    return (self.commit(version) for version in range(after, upto))


def _state_of_the_end(before: Any, now: Any) -> Any:
    found = window._Sum()
    found.copy(now.files.values(), 1)
    return found


KEPT = window._add_commit
MUTATIONS: list[tuple[Any, str, Callable[..., Any] | Mapping[str, int]]] = [
    (window, "_added", _no_compaction),
    (window, "_add_commit", _only_adds),
    (window, "_add_commit", _one_direction),
    (window, "_end_to_end", _state_of_the_end),
    (rows, "_SIGNS", {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": 1}),
    (rows, "_SIGNS", {"insert": 1, "update_postimage": 1, "delete": 1, "update_preimage": -1}),
    (Log, "commits", _late),
    (FileWeights, "removed", lambda self: 0),
]


def test_the_history_holds(tmp_path: Path) -> None:
    lives(tmp_path)


@pytest.mark.parametrize(("place", "name", "broken"), MUTATIONS, ids=range(len(MUTATIONS)))
def test_a_broken_rule_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, broken: Any
) -> None:
    monkeypatch.setattr(place, name, broken)
    with pytest.raises((AssertionError, GrebeError)):
        lives(tmp_path)


def test_positions_are_not_counted_twice() -> None:
    """The smallest case of a vector: a file less its deleted rows, added and taken away again."""
    file = AddedFile("f", 1, {}, None, True, None, 5)
    weights: FileWeights[AddedFile] = FileWeights(file)
    weights.add(1, BitMap64([1]))
    weights.add(-1, BitMap64())
    assert (weights.added(), weights.removed()) == (0, 1)


def test_a_label_is_read_as_it_was_written() -> None:
    label = DeltaLabel("r", 3, "{}", Version("2"))  # type: ignore[arg-type]
    text = label.text().replace('"', '\\"')
    commit = Commit("/t", 4, "4.json", f'{{"commitInfo":{{"userMetadata":"{text}"}}}}'.encode())
    assert DeltaLabel.of(commit) == label
    for other in ("null", "5", '"text"', '"[1]"', '"{}"', '"{\\"grebe\\":2}"', '"{"'):
        foreign = Commit("/t", 4, "4", f'{{"commitInfo":{{"userMetadata":{other}}}}}'.encode())
        assert DeltaLabel.of(foreign) is None
