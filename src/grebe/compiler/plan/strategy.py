"""How the root is written: which node is stored, what is hidden in it, and by which strategy.

`root` says which node that is. An aggregate or a DISTINCT is stored with its state; what was
stripped becomes the public SELECT.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from grebe.compiler.algebra.coercion import coerced
from grebe.compiler.algebra.facts import is_monotone, noise, read_whole
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import (
    Aggregate,
    Distinct,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    SemiJoin,
    Stored,
    Verbatim,
    Windowed,
    walk,
)
from grebe.compiler.algebra.origins import origin
from grebe.compiler.algebra.root import Stripped, reapplied, strip
from grebe.compiler.algebra.scalar import Scalar, column, passed
from grebe.compiler.algebra.signed_zeros import told_apart, unsteady_columns
from grebe.compiler.budget import limited
from grebe.compiler.delta import Rules, rules
from grebe.compiler.delta.restrict import across_columns, equal_columns
from grebe.compiler.delta.touch import Untouchable
from grebe.compiler.lower import Lowered
from grebe.compiler.plan.refresh_plan import RefreshPlan, Strategy, fingerprint_of
from grebe.compiler.plan.staging import staged
from grebe.compiler.reasons import ReasonCode
from grebe.compiler.write import bag, groups
from grebe.compiler.write import replace as replacing
from grebe.compiler.write.probe import proof, tried
from grebe.compiler.write.steps import Shape, Step
from grebe.compiler.write.touched_rows import CHECKSUM, checksum
from grebe.model import Reason
from grebe.sql_text import plain


@dataclass(frozen=True, slots=True)
class _Draft:
    """A strategy with what it stores, shows and does."""

    strategy: Strategy
    shape: Shape
    public: Node
    steps: tuple[Step, ...] = ()
    appending: tuple[Step, ...] = ()


def make_plan(lowered: Lowered, types: Types) -> RefreshPlan:
    """The plan of a lowered definition, whatever can be maintained of it.

    Raises:
        UnsupportedSQLError: what would have to be written down for it is too large.
    """
    with limited():
        return _plan(lowered, types)


def _plan(lowered: Lowered, types: Types) -> RefreshPlan:
    root = lowered.root or Verbatim(lowered.sql, tuple(name for name, _ in lowered.outputs))
    root = coerced(root, types)
    unsteady = unsteady_columns(root, types)
    of = rules(types, unsteady)
    reasons = [*lowered.reasons, *_own_reasons(root, types), *_uncomparable(root, types)]
    draft = None if reasons else _incremental(root, of)
    if draft is None:
        reasons = reasons or [_NO_KEY]
        draft = _overwriting(root)
    proven = proof(draft.public, types) if types.dialect == "spark" else None
    stored = of.new(draft.shape.node)
    plan = RefreshPlan(
        types=types,
        definition=root,
        outputs=lowered.outputs,
        tables=lowered.tables,
        strategy=draft.strategy,
        shape=draft.shape,
        build=stored if proven is None else Filter(stored, proven),
        public=draft.public,
        steps=staged(_same(_tried(draft.steps, proven), unsteady), types.dialect),
        appending=staged(_same(draft.appending, unsteady), types.dialect),
        reasons=tuple(reasons),
        notes=(*lowered.notes, *map(_whole, read_whole(root))),
        laws=tuple(of.applied.items()),
    )
    return replace(plan, fingerprint=fingerprint_of(plan))


def _tried(steps: tuple[Step, ...], proven: Scalar | None) -> tuple[Step, ...]:
    return steps if proven is None else tuple(tried(step, proven) for step in steps)


def _same(steps: tuple[Step, ...], unsteady: frozenset[str]) -> tuple[Step, ...]:
    """The steps, in which rows that are equal and not the same are told apart."""
    return tuple(replace(step, node=told_apart(step.node, unsteady)) for step in steps)


def _incremental(root: Node, of: Rules) -> _Draft | None:
    """The draft of the first strategy that fits, or None when a value has no key."""
    stripped, core = strip(root)
    if isinstance(core, Distinct):
        core = Aggregate(core.input, core.columns, ())
    if isinstance(core, Aggregate):
        return _grouped(core, stripped, of)
    for scope, node in _scopes(core, of.types):
        with suppress(Untouchable):
            return _replacing(core, stripped, scope, node, of)
    return _by_value(core, stripped, root, of) if noise(core, of.types).silent else None


def _grouped(core: Aggregate, stripped: Sequence[Stripped], of: Rules) -> _Draft | None:
    layout = groups.layout_of(core, of.types)
    public = reapplied(stripped, groups.visible(layout))
    with suppress(Untouchable):
        steps = groups.steps(layout, of)
        return _Draft(Strategy.GROUPS, groups.shape_of(layout), public, steps)
    return None


def _by_value(core: Node, stripped: Sequence[Stripped], root: Node, of: Rules) -> _Draft:
    hidden = tuple(name for name in core.columns if name not in root.columns)
    shape = Shape(core, hidden)
    public = reapplied(stripped, Stored(core.columns))
    growing = bag.appending(shape, of) if is_monotone(core) else ()
    return _Draft(Strategy.BAG, shape, public, bag.steps(shape, of), growing)


def _overwriting(root: Node) -> _Draft:
    names = tuple((name, plain(name)) for name in root.columns)
    if all(own == stored for own, stored in names):
        return _Draft(Strategy.OVERWRITE, Shape(root, ()), Stored(root.columns))
    shape = Shape(Projection(root, tuple((stored, column(own)) for own, stored in names)), ())
    shown = tuple((own, column(stored)) for own, stored in names)
    return _Draft(Strategy.OVERWRITE, shape, Projection(Stored(shape.columns), shown))


def _replacing(
    core: Node, stripped: Sequence[Stripped], scope: tuple[str, ...], shown: Node, of: Rules
) -> _Draft:
    values = tuple(plain(name) for name in shown.columns)
    outputs = ((plain(name), column(name)) for name in shown.columns)
    summed = Projection(shown, (*outputs, (CHECKSUM, checksum(shown.columns))))
    hidden = (*(name for name in values if name not in core.columns), CHECKSUM)
    shape = Shape(summed, hidden, tuple(plain(name) for name in scope))
    public = reapplied(stripped, Projection(Stored(shape.columns), passed(core.columns)))
    return _Draft(Strategy.REPLACE, shape, public, replacing.steps(shape, of))


def _scopes(core: Node, types: Types) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Keys by which the rows of a root could be replaced, with the root that shows them."""
    noisy = not noise(core, types).silent
    top = core
    while isinstance(top, (Projection, Filter)):
        top = top.input
    if isinstance(top, Windowed):
        candidates: list[tuple[str, ...]] = [top.partition]
    elif noisy:
        candidates = _noisy_keys(core, types)
    else:
        return
    for keys in dict.fromkeys(candidates):
        shown = exposed(core, keys) if keys else None
        if shown is not None:
            yield keys, shown


def _noisy_keys(core: Node, types: Types) -> list[tuple[str, ...]]:
    """Keys of noisy operators, also as the columns of a preserved side that equal them.

    Last, what inner joins equate: a key that all their parts share.
    """
    found: list[tuple[str, ...]] = []
    shared: list[tuple[str, ...]] = []
    equal: dict[str, str] = {}
    for node in walk(core):
        keys = node.keys if isinstance(node, Aggregate) else ()
        keys = node.partition if isinstance(node, Windowed) else keys
        if keys and not noise(node, types).silent:
            found += [keys, *((key,) for key in keys)]
        if isinstance(node, OuterJoin):
            equal.update(across_columns(node.on, node.right.columns))
        if isinstance(node, InnerJoin):
            groups = dict.fromkeys(equal_columns(node.on).values())
            shared += [(name,) for group in groups for name in sorted(group)]
    moved = [tuple(equal.get(key, key) for key in keys) for keys in found]
    return [*found, *moved, *shared]


def exposed(node: Node, names: Sequence[str]) -> Node | None:
    """The node with more columns of its inputs shown, or None when they cannot be."""
    missing = [name for name in names if name not in node.columns]
    if not missing:
        return node
    match node:
        case Projection():
            below = exposed(node.input, names)
            if below is None:
                return None
            return Projection(below, (*node.outputs, *passed(missing)))
        case Filter() | Windowed():
            below = exposed(node.input, names)
            return None if below is None else replace(node, input=below)
        case InnerJoin():
            return _exposed_join(node, names)
        case OuterJoin(full=False) | SemiJoin() | MarkJoin():
            below = exposed(node.left, names)
            return None if below is None else replace(node, left=below)
    return None


def _exposed_join(node: InnerJoin, names: Sequence[str]) -> Node | None:
    parts = list(node.parts)
    for name in names:
        if any(name in part.columns for part in parts):
            continue
        for place, part in enumerate(parts):
            shown = exposed(part, (name,))
            if shown is not None:
                parts[place] = shown
                break
        else:
            return None
    return InnerJoin(tuple(parts), node.on)


def _own_reasons(root: Node, types: Types) -> list[Reason]:
    """What only the algebra shows: the front finds everything that stands in the text."""
    cut = strip(root)[0]
    return [
        Reason(
            ReasonCode.ORDER_DEPENDENT_VALUE,
            "a value that depends on the order of rows decides which rows belong together",
            getattr(node, "where", None),
        )
        for node in noise(root, types).misused
        if node not in cut
    ]


def _uncomparable(root: Node, types: Types) -> list[Reason]:
    """Stored columns by whose values no row can be found again."""
    found = []
    for node in dict.fromkeys((root, strip(root)[1])):
        for name in node.columns:
            kind = types.of(column(name)) or types.of(origin(node, name).value)
            if kind and not types.comparable(kind):
                message = f'column "{name}" is a {kind.lower()}, which Spark cannot compare'
                found.append(Reason(ReasonCode.TYPE_WITHOUT_EQUALITY, message))
    return list(dict.fromkeys(found))


_NO_KEY: Final = Reason(
    ReasonCode.ORDER_DEPENDENT_VALUE,
    "a value that depends on the order of rows has no key by which its row is found again",
)


def _whole(node: Node) -> str:
    what = "an aggregate without GROUP BY" if isinstance(node, Aggregate) else "a global top-k"
    return f"{what} reads its whole input when that changes"
