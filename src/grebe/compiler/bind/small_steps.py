"""Which steps are small: computed by DuckDB on the driver instead of by a statement of Spark's.

A step is small when everything that it reads is on the driver already, or can be read there, and is few
bytes together, and when every expression in it gives the same bits in both engines. Otherwise it says why
it is not. What both engines can do is decided in `small_expressions`, type by type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from grebe import thresholds
from grebe.compiler.algebra.nodes import (
    At,
    Empty,
    MarkJoin,
    Named,
    Node,
    OuterJoin,
    Scan,
    SemiJoin,
    Stored,
    walk,
)
from grebe.compiler.algebra.scalar import TRUE, Scalar, conjuncts_of, true_only
from grebe.compiler.bind.small_expressions import Kinds
from grebe.compiler.bind.small_kinds import NotSmallError, SmallKind, kind_of
from grebe.compiler.bind.small_relations import SmallLeaf, Translator
from grebe.compiler.write.steps import AppendStep, CheckStep, Compute, MergeStep, ReadBoth, Step


class AtHand(Protocol):
    """What is known of the rows that a step reads."""

    @property
    def utc(self) -> bool:
        """Whether the session's clock is that of UTC."""
        ...

    def types_of(self, leaf: SmallLeaf) -> Mapping[str, str]:
        """Spark's types of its columns."""
        ...

    def bytes_of(self, leaf: SmallLeaf) -> int | None:
        """How large its rows are; None where they cannot come to the driver."""
        ...


@dataclass(frozen=True, slots=True)
class SmallStep:
    """A step as DuckDB runs it."""

    step: Step
    kinds: Kinds
    """The types that Spark gives its columns."""
    hashes: Mapping[str, tuple[SmallKind, ...]]
    """The functions that give Spark's hash of some types, by name."""


def small_step(step: Step, known: AtHand) -> SmallStep | str:
    """The step for DuckDB, or why it is left to Spark."""
    if not isinstance(step, (Compute, ReadBoth, CheckStep, AppendStep, MergeStep)):
        return "all rows are computed"
    try:
        _check_pairs(step.node)
        _check_size(step.node, known)
        translator = Translator(lambda leaf: kinds_of(leaf, known), known.utc)
        found = translator.relation(step.node)
    except NotSmallError as reason:
        return str(reason)
    return SmallStep(replace(step, node=found.node), found.kinds, translator.hashes)


def leaves_of(node: Node) -> tuple[SmallLeaf, ...]:
    """What a relation reads; of a relation without rows only the types are wanted."""
    found: dict[str, SmallLeaf] = {}
    seen: set[str] = set()
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if item.digest in seen or isinstance(item, Empty):
            continue
        seen.add(item.digest)
        if isinstance(item, (Scan, Stored, Named)):
            found[item.digest] = item
        waiting.extend(item.inputs)
    return tuple(found.values())


def kinds_of(leaf: SmallLeaf, known: AtHand) -> Mapping[str, SmallKind]:
    """The types of the columns that a leaf reads.

    Raises:
        NotSmallError: one of them is not known.
    """
    types = known.types_of(leaf)
    wanted = [own for _, own in leaf.pairs] if isinstance(leaf, Scan) else leaf.columns
    missing = [name for name in wanted if name not in types]
    if missing:
        raise NotSmallError(f"the type of {missing[0]} is not known")
    return {name: kind_of(types[name]) for name in wanted}


def _check_size(node: Node, known: AtHand) -> None:
    total = 0
    for leaf in leaves_of(node):
        size = known.bytes_of(leaf)
        if size is None:
            raise NotSmallError(f"{_word(leaf)} cannot be read on the driver")
        total += size
    if total > thresholds.SMALL_BYTES:
        raise NotSmallError(f"{total >> 20} MB are read, more than {thresholds.SMALL_BYTES >> 20}")


def _word(leaf: SmallLeaf) -> str:
    match leaf:
        case Scan(at=At.DELTA):
            return f"the change of {leaf.table}"
        case Scan():
            return leaf.table
        case Named():
            return f"step {leaf.step}"
    return "the view's rows"


def _check_pairs(node: Node) -> None:
    """Nothing where each join has an equality, by which rows are found without a look at all pairs."""
    for item in walk(node):
        if isinstance(item, (SemiJoin, MarkJoin, OuterJoin)) and not _has_key(item.on):
            raise NotSmallError("a join that compares all pairs")


def _has_key(on: Scalar) -> bool:
    on = true_only(on) or on
    parts = conjuncts_of(on)
    return on == TRUE or any(isinstance(item.ast, (exp.EQ, exp.NullSafeEQ)) for item in parts)
