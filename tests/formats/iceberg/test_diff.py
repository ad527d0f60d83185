"""The pure difference of two states, against a model that lists every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from grebe.formats.iceberg.diff import Step, needed_deletes, weigh
from grebe.formats.iceberg.manifests import POSITION_DELETES, DataFile, DeleteFile, LiveFiles
from grebe.formats.weights import FileWeights

ROWS = 4
PARTITION = (0, "[]")


def data_file(number: int, sequence: int) -> DataFile:
    return DataFile(f"f{number}", "parquet", 0, {}, ROWS, 100, sequence, {}, encrypted=False)


def delete_file(
    number: int, sequence: int, referenced: str | None, *, vector: bool = False
) -> DeleteFile:
    return DeleteFile(
        content=POSITION_DELETES,
        path=f"d{number}",
        format="puffin" if vector else "parquet",
        partition_key=PARTITION,
        records=1,
        size=10,
        sequence=sequence,
        referenced=referenced,
        offset=4 if vector else None,
        length=5 if vector else None,
        encrypted=False,
    )


Contents = dict[str, dict[str, set[int]]]
"""Delete file -> data file -> positions."""

positions = st.frozensets(st.integers(0, ROWS - 1))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Contents, LiveFiles, LiveFiles]:
    """Two states over the same few files, with deletes of every kind, stale ones included."""
    files = [data_file(n, draw(st.integers(1, 3))) for n in range(3)]
    contents: Contents = {}
    deletes: list[DeleteFile] = []
    for number in range(4):
        referenced = draw(st.sampled_from([None, "f0", "f1", "f2", "gone"]))
        vector = referenced is not None and draw(st.booleans())
        deletes.append(delete_file(number, draw(st.integers(1, 4)), referenced, vector=vector))
        targets = ["f0", "f1", "f2", "gone"] if referenced is None else [referenced]
        contents[f"d{number}"] = {t: set(draw(positions)) for t in targets}
    states = []
    for _ in range(2):
        live = [file for file in files if draw(st.booleans())]
        states.append(LiveFiles.of(live, [d for d in deletes if draw(st.booleans())]))
    return contents, states[0], states[1]


def rows(state: LiveFiles, contents: Contents) -> Counter[tuple[str, int]]:
    """The specification, row by row: sequence numbers, partitions, vectors before files."""
    found: Counter[tuple[str, int]] = Counter()
    for file in state.data:
        applying = [
            delete
            for delete in state.deletes
            if delete.sequence >= file.sequence and delete.referenced in (None, file.path)
        ]
        vectors = [delete for delete in applying if delete.offset is not None]
        gone = {p for d in (vectors or applying) for p in contents[d.path].get(file.path, set())}
        found.update((file.path, position) for position in range(ROWS) if position not in gone)
    return found


def expand(weights: FileWeights) -> dict[tuple[str, int], int]:
    out = {(weights.file.path, position): weights.base for position in range(ROWS)}
    for weight, marked in weights.marks.items():
        for position in marked:
            out[weights.file.path, position] += weight
    return {key: weight for key, weight in out.items() if weight}


@given(worlds())
def test_the_difference_is_that_of_the_rows(
    world: tuple[Contents, LiveFiles, LiveFiles],
) -> None:
    check_difference(world)


def check_difference(world: tuple[Contents, LiveFiles, LiveFiles]) -> None:
    contents, before, after = world
    steps = [Step(1, before, after)]
    loaded = {delete.path for delete in needed_deletes(steps)}

    def deleted(file: DataFile, live: LiveFiles) -> BitMap64:
        found = BitMap64()
        for delete in live.deletes_of(file):
            assert delete.path in loaded
            found |= BitMap64(contents[delete.path].get(file.path, set()))
        return found

    weights = weigh(steps, deleted)
    expected = rows(after, contents)
    expected.subtract(rows(before, contents))
    expected = Counter({row: weight for row, weight in expected.items() if weight})
    found: Counter[tuple[str, int]] = Counter()
    for touched in weights.touched():
        found.update(expand(touched))
        assert not touched.is_zero
    assert found == expected
    assert weights.total() == sum(expected.values())
    assert sum(w.added() for w in weights.touched()) == sum(w for w in expected.values() if w > 0)


@given(worlds(), worlds())
def test_steps_add_up_and_cancel(
    one: tuple[Contents, LiveFiles, LiveFiles], two: tuple[Contents, LiveFiles, LiveFiles]
) -> None:
    contents, before, after = one
    _, middle, _ = two

    def deleted(file: DataFile, live: LiveFiles) -> BitMap64:
        found = BitMap64()
        for delete in live.deletes_of(file):
            found |= BitMap64(contents[delete.path].get(file.path, set()))
        return found

    def found(steps: list[Step]) -> dict[tuple[str, int], int]:
        return {k: v for w in weigh(steps, deleted).touched() for k, v in expand(w).items()}

    whole = found([Step(1, before, after)])
    assert found([Step(1, before, middle), Step(1, middle, after)]) == whole
    detour = [Step(1, before, after), Step(1, before, middle), Step(-1, before, middle)]
    assert found(detour) == whole


def _ignoring_sequence(self: LiveFiles, file: DataFile) -> tuple[DeleteFile, ...]:
    own = [d for d in self.deletes if d.referenced in (None, file.path)]
    vectors = [delete for delete in own if delete.is_vector]
    return tuple(vectors or own)


def _vectors_and_files(self: LiveFiles, file: DataFile) -> tuple[DeleteFile, ...]:
    return tuple(
        d for d in self.deletes if d.sequence >= file.sequence and d.referenced in (None, file.path)
    )


def _only_named(self: LiveFiles, file: DataFile) -> tuple[DeleteFile, ...]:
    return tuple(
        d for d in self.deletes if d.referenced == file.path and d.sequence >= file.sequence
    )


def _without_deletes(self: FileWeights, sign: int, deleted: BitMap64) -> None:
    self.base += sign


def _flipped(self: FileWeights, sign: int, deleted: BitMap64) -> None:
    self.base += sign
    self.marks = {sign: deleted} if deleted else {}


@pytest.mark.parametrize(
    ("broken", "name", "mutant"),
    [
        (LiveFiles, "deletes_of", _ignoring_sequence),
        (LiveFiles, "deletes_of", _vectors_and_files),
        (LiveFiles, "deletes_of", _only_named),
        (FileWeights, "add", _without_deletes),
        (FileWeights, "add", _flipped),
    ],
)
def test_a_broken_rule_is_caught(
    monkeypatch: pytest.MonkeyPatch, broken: type, name: str, mutant: Callable[..., object]
) -> None:
    monkeypatch.setattr(broken, name, mutant)

    @settings(max_examples=500, database=None, phases=[Phase.generate])
    @given(worlds())
    def law(world: tuple[Contents, LiveFiles, LiveFiles]) -> None:
        check_difference(world)

    with pytest.raises(AssertionError):
        law()
