"""Upsert groups: an aggregate at the root keeps its state in the stored rows.

Law: per touched group, ``state after = state stored + change`` for counts and exact sums; a stored
MIN or MAX is kept unless a row that holds it was net-deleted, then the group is read again at the
new version; any other aggregate is read again for every touched group. A group exists iff its row
count is above zero.
Needs: all groups stored (HAVING is applied on read), with a row count and a checksum.
Falls back when: never; an input that depends on order only makes every aggregate be read again.
Proof: no count below zero, no state left in an empty group, checksum right, recount equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from grebe.compiler.algebra.facts import noise
from grebe.compiler.algebra.functions import aggregate_kind
from grebe.compiler.algebra.known_types import Types
from grebe.compiler.algebra.nodes import (
    WEIGHT,
    Aggregate,
    Consolidate,
    Filter,
    Named,
    Node,
    OuterJoin,
    Projection,
    Repeat,
    Stored,
    UnionAll,
    Values,
)
from grebe.compiler.algebra.raising import can_raise
from grebe.compiler.algebra.scalar import (
    TRUE,
    Scalar,
    all_of,
    build,
    column,
    null_like,
    number,
    passed,
    same,
)
from grebe.compiler.delta import Rules
from grebe.compiler.delta.linear_aggregates import Linear, linear_call
from grebe.compiler.delta.restrict import restrict, restrict_columns
from grebe.compiler.delta.touch import Touch
from grebe.compiler.delta.weighted import consolidated, key_name
from grebe.compiler.write.steps import COPIES, CheckStep, Compute, MergeStep, Shape, Step
from grebe.compiler.write.touched_rows import CHECKSUM, checksum
from grebe.model import ACTION
from grebe.sql_text import made, plain

COUNT = made("n")
_EXISTED, _BAD, _MOVED = made("existed"), made("bad"), made("moved")
_RECOUNT = made("recount")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the calls of an aggregate are kept: which state columns, and how each is maintained."""

    node: Aggregate
    linear: tuple[tuple[str, Linear], ...]
    extremes: tuple[tuple[str, Scalar], ...]
    reread: tuple[tuple[str, Scalar], ...]
    """Calls without a cheaper rule: their groups are read again."""
    types: Types

    @property
    def sums(self) -> tuple[tuple[str, Scalar, str], ...]:
        """State column, argument and type of every running sum, each argument once."""
        found = {
            f"{call.state}_s": (call.argument, _state_type(call, self.types))
            for _, call in self.linear
            if call.needs_sum
        }
        return tuple((name, argument, kind) for name, (argument, kind) in found.items())

    @property
    def counts(self) -> tuple[tuple[str, Scalar], ...]:
        """State column and argument of every running count other than that of the rows."""
        found = {f"{call.state}_n": call.argument for _, call in self.linear if not _is_rows(call)}
        return tuple(found.items())

    @property
    def values(self) -> tuple[str, ...]:
        """The stored columns that hold a value as readers see it."""
        return tuple(name for name, _ in (*self.extremes, *self.reread))

    @property
    def state(self) -> tuple[str, ...]:
        """All stored columns apart from the keys and the checksum."""
        sums = tuple(name for name, _, _ in self.sums)
        counts = tuple(name for name, _ in self.counts)
        return (COUNT, *counts, *sums, *self.values)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the storage table."""
        return (*self.node.keys, *self.state, CHECKSUM)


def layout_of(node: Aggregate, types: Types) -> Layout:
    """The cheapest exact way to keep every call."""
    noisy = not noise(node.input, types).silent
    linear: list[tuple[str, Linear]] = []
    extremes: list[tuple[str, Scalar]] = []
    reread: list[tuple[str, Scalar]] = []
    for name, call in node.calls:
        simple = None if noisy else linear_call(call, types)
        if simple is not None:
            linear.append((name, simple))
        elif not noisy and isinstance(call.ast, (exp.Min, exp.Max)):
            extremes.append((plain(name), call))
        else:
            reread.append((plain(name), call))
    return Layout(node, tuple(linear), tuple(extremes), tuple(reread), types)


def _is_rows(call: Linear) -> bool:
    return call.argument == number(1)


def _state_type(call: Linear, types: Types) -> str:
    exact = types.exact(call.argument)
    if exact is None or (exact.integer and types.dialect == "duckdb"):
        return "HUGEINT"
    return f"DECIMAL(38, {exact.scale})"


def shape_of(layout: Layout) -> Shape:
    """The stored definition: every group with its state."""
    node = layout.node
    calls: list[tuple[str, Scalar]] = [(COUNT, build("COUNT(*)"))]
    calls += [(name, build("COUNT(:x)", x=argument)) for name, argument in layout.counts]
    calls += [(name, _summed(argument, kind)) for name, argument, kind in layout.sums]
    calls += [*layout.extremes, *layout.reread]
    groups: Node = Aggregate(node.input, node.keys, tuple(calls), node.where)
    if not node.keys:
        groups = Filter(groups, build(":n > 0", n=column(COUNT)))
    outputs = (*passed((*node.keys, *layout.state)), (CHECKSUM, checksum(layout.state)))
    shown = {plain(name) for name in node.columns}
    hidden = tuple(name for name in layout.columns if name not in shown)
    return Shape(Projection(groups, outputs), hidden, node.keys)


def _summed(argument: Scalar, kind: str) -> Scalar:
    return build(f"CAST(COALESCE(SUM(CAST(:x AS {kind})), 0) AS {kind})", x=argument)


def visible(layout: Layout) -> Node:
    """The aggregate's own columns over the stored rows."""
    node = layout.node
    linear = dict(layout.linear)
    shown: list[tuple[str, Scalar]] = []
    for name, call in node.calls:
        kept = linear.get(name)
        if kept is None:
            value = column(plain(name))
        else:
            count = COUNT if _is_rows(kept) else f"{kept.state}_n"
            value = kept.visible(count, f"{kept.state}_s")
        shown.append((name, value if node.keys else _never_missing(value, call, layout.types)))
    stored: Node = Stored(layout.columns)
    if not node.keys:
        # Without GROUP BY there is always one row, also when nothing is stored.
        one = Values((made("one"),), ((number(1),),))
        stored = OuterJoin(one, stored, TRUE)
    return Projection(stored, (*passed(node.keys), *shown))


def _never_missing(value: Scalar, call: Scalar, types: Types) -> Scalar:
    kind = aggregate_kind(call.ast)
    if kind == "count":
        return build("COALESCE(:v, 0)", v=value)
    if kind == "ordered collection" and types.dialect == "spark":
        return build("COALESCE(:v, ARRAY())", v=value)
    return value


def steps(layout: Layout, of: Rules) -> tuple[Step, ...]:
    """Touched groups with their stored state, the proof, re-read groups, and one merge."""
    touched = _Touched(layout, of)
    named = Named("touched", touched.columns)
    rows = Named("rows", (*layout.columns, ACTION, COPIES, _RECOUNT))
    planned: list[Step] = [
        Compute("touched", touched.node()),
        CheckStep(
            "states", Filter(named, touched.impossible()), "a stored group contradicts its rows"
        ),
    ]
    columns = passed((*layout.columns, ACTION, COPIES))
    if not touched.rereads:
        return (*planned, MergeStep(Projection(touched.rows(named), columns), layout.node.keys))
    wrong = build(":again <> :n", again=column(_RECOUNT), n=column(COUNT))
    planned += [
        Compute("rows", touched.rows(named)),
        CheckStep("recount", Filter(rows, wrong), "a stored row count is not the group's"),
    ]
    return (*planned, MergeStep(Projection(rows, columns), layout.node.keys))


@dataclass(frozen=True, slots=True)
class _Touched:
    layout: Layout
    of: Rules

    @property
    def noisy(self) -> bool:
        return not noise(self.layout.node.input, self.of.types).silent

    @property
    def rereads(self) -> bool:
        return bool(self.layout.extremes or self.layout.reread or self.noisy)

    @property
    def columns(self) -> tuple[str, ...]:
        summed = (_EXISTED, _BAD, _MOVED, COUNT, *self._names_of_sums())
        return (*self.layout.node.keys, *summed, *self._names_of_extremes())

    def _names_of_sums(self) -> tuple[str, ...]:
        sums = tuple(name for name, _, _ in self.layout.sums)
        return (*(name for name, _ in self.layout.counts), *sums)

    def _names_of_extremes(self) -> tuple[str, ...]:
        return tuple(
            _side(name, when) for name, _ in self.layout.extremes for when in ("old", "in", "out")
        )

    def node(self) -> Node:
        """One row per touched group: what is stored plus what changed."""
        keys = self.layout.node.keys
        moved = self._changed_by_touch() if self.noisy else self._changed()
        mine = tuple((key_name(key), column(key)) for key in keys)
        stored = restrict_columns(Stored(self.layout.columns), Projection(moved, mine), keys)
        both = UnionAll((self._stored_part(stored), self._moved_part(moved)), self.columns)
        calls = [(name, _sum(name, "BIGINT")) for name in (_EXISTED, _BAD, _MOVED, COUNT)]
        calls += [(name, _sum(name, "BIGINT")) for name, _ in self.layout.counts]
        calls += [(name, _sum(name, kind)) for name, _, kind in self.layout.sums]
        for name, call in self.layout.extremes:
            word = call.ast.key.upper()
            calls += [
                (_side(name, when), build(f"{word}(:x)", x=column(_side(name, when))))
                for when in ("old", "in", "out")
            ]
        groups = Aggregate(both, keys, tuple(calls))
        # So the stored rows may also be read whole, where that is cheaper than by their keys.
        return Filter(groups, build(":moved > 0", moved=column(_MOVED)))

    def _changed(self) -> Node:
        """The change of the input, added up per group; groups without a net change left out."""
        node = self.layout.node
        used = sorted(frozenset(node.keys).union(*(call.columns for _, call in node.calls)))
        below = self.of.change(node.input)
        if self._can_raise():
            below = consolidated(below)
        narrow: Node = Projection(below, (*passed(used), (WEIGHT, column(WEIGHT))))
        if self.layout.values:
            # Sums cancel by themselves; an extreme or a group to read must see the net change.
            narrow = Consolidate(narrow)
        weight = column(WEIGHT)
        calls = [(COUNT, build("CAST(SUM(:w) AS BIGINT)", w=weight))]
        calls += [
            (
                name,
                build(
                    "CAST(SUM(CASE WHEN :x IS NULL THEN 0 ELSE :w END) AS BIGINT)", x=x, w=weight
                ),
            )
            for name, x in self.layout.counts
        ]
        minus = {f"{call.state}_s": call.minus for _, call in self.layout.linear}
        calls += [(name, _signed(x, kind, minus[name])) for name, x, kind in self.layout.sums]
        for name, call in self.layout.extremes:
            word, x = call.ast.key.upper(), Scalar.of(call.ast.this.copy())
            calls += [
                (_side(name, "in"), build(f"{word}(CASE WHEN :w > 0 THEN :x END)", w=weight, x=x)),
                (_side(name, "out"), build(f"{word}(CASE WHEN :w < 0 THEN :x END)", w=weight, x=x)),
            ]
        moved: Node = Aggregate(Repeat(narrow), node.keys, tuple(calls))
        return moved if self.layout.reread else Filter(moved, self._moving())

    def _can_raise(self) -> bool:
        arguments = (
            item for _, call in self.layout.node.calls for item in call.ast.iter_expressions()
        )
        return any(can_raise(item, self.of.types) for item in arguments)

    def _moving(self) -> Scalar:
        tests = [build(":x <> 0", x=column(name)) for name in (COUNT, *self._names_of_sums())]
        for name, _ in self.layout.extremes:
            tests += [
                build(":x IS NOT NULL", x=column(_side(name, when))) for when in ("in", "out")
            ]
        return Scalar.of(exp.or_(*(item.copy() for item in tests), copy=False))

    def _changed_by_touch(self) -> Node:
        keys = tuple((key, column(key)) for key in self.layout.node.keys)
        found = Touch(self.of).keys(self.layout.node.input, keys) if keys else None
        if found is None:
            found = Values((made("one"),), ((number(1),),))
        return Projection(found, (*keys, (COUNT, number(0))))

    def _stored_part(self, stored: Node) -> Node:
        bad = build(
            "CASE WHEN :stored = :computed THEN 0 ELSE 1 END",
            stored=column(CHECKSUM),
            computed=checksum(self.layout.state),
        )
        extremes = [
            (_side(name, when), column(name) if when == "old" else null_like(column(name)))
            for name, _ in self.layout.extremes
            for when in ("old", "in", "out")
        ]
        kept = passed((COUNT, *self._names_of_sums()))
        keys = passed(self.layout.node.keys)
        return Projection(
            stored,
            (*keys, (_EXISTED, number(1)), (_BAD, bad), (_MOVED, number(0)), *kept, *extremes),
        )

    def _moved_part(self, moved: Node) -> Node:
        zero = number(0)
        kept = passed((COUNT, *self._names_of_sums()))
        extremes = [
            (
                _side(name, when),
                null_like(column(_side(name, "in")))
                if when == "old"
                else column(_side(name, when)),
            )
            for name, _ in self.layout.extremes
            for when in ("old", "in", "out")
        ]
        keys = passed(self.layout.node.keys)
        marks = ((_EXISTED, zero), (_BAD, zero), (_MOVED, number(1)))
        return Projection(moved, (*keys, *marks, *kept, *extremes))

    def impossible(self) -> Scalar:
        """What must not be: counts below zero, state in an empty group, an altered row."""
        n = column(COUNT)
        tests = [
            build(":n < 0", n=n),
            build(":bad > 0", bad=column(_BAD)),
            build(":e > 1", e=column(_EXISTED)),
        ]
        tests += [build(":x < 0 OR :x > :n", x=column(name), n=n) for name, _ in self.layout.counts]
        tests += [
            build(":n = 0 AND :x <> 0", n=n, x=column(name)) for name, _, _ in self.layout.sums
        ]
        for name, call in self.layout.extremes:
            out, old = column(_side(name, "out")), column(_side(name, "old"))
            beyond = "<" if isinstance(call.ast, exp.Min) else ">"
            tests.append(build(":out IS NOT NULL AND :old IS NULL", out=out, old=old))
            tests.append(build(f":out {beyond} :old", out=out, old=old))
        wrapped = [exp.paren(item.copy(), copy=False) for item in tests]
        return Scalar.of(exp.or_(*wrapped, copy=False))

    def rows(self, touched: Named) -> Node:
        """The rows to merge, with their new state."""
        again = self._read_again(touched)
        layout = self.layout
        joined: Node = touched
        if again is not None:
            on = all_of(same(column(key), column(_side(key, "again"))) for key in layout.node.keys)
            joined = OuterJoin(touched, again, on)
        count = (
            build("COALESCE(:again, 0)", again=column(_RECOUNT)) if self.noisy else column(COUNT)
        )
        outputs = [*passed(layout.node.keys), (COUNT, count), *passed(self._names_of_sums())]
        outputs += [(name, self._extreme(name, call)) for name, call in layout.extremes]
        outputs += [(name, column(_side(name, "again"))) for name, _ in layout.reread]
        recount = column(_RECOUNT) if again is not None else column(COUNT)
        outputs += [(_RECOUNT, recount), (_EXISTED, column(_EXISTED))]
        fresh = Projection(joined, tuple(outputs))
        alive = Filter(fresh, build(":n > 0 OR :e > 0", n=column(COUNT), e=column(_EXISTED)))
        action = build(
            "CASE WHEN :n = 0 THEN 'delete' WHEN :e > 0 THEN 'update' ELSE 'insert' END",
            n=column(COUNT),
            e=column(_EXISTED),
        )
        finished = (
            *passed((*layout.node.keys, *layout.state)),
            (CHECKSUM, checksum(layout.state)),
            (ACTION, action),
            (COPIES, column(_EXISTED)),
            (_RECOUNT, column(_RECOUNT)),
        )
        return Projection(alive, finished)

    def _read_again(self, touched: Named) -> Node | None:
        """Groups that must be read at the new version, each column under a name of its own."""
        if not self.rereads:
            return None
        node = self.layout.node
        wanted = touched if self.noisy else Filter(touched, self._must_read())
        keys = Projection(wanted, tuple((key_name(key), column(key)) for key in node.keys))
        pairs = [(column(key), key_name(key)) for key in node.keys]
        rows = restrict(self.of.new(node.input), keys, pairs)
        calls = (*self.layout.extremes, *self.layout.reread, (_RECOUNT, build("COUNT(*)")))
        groups: Node = Aggregate(rows, node.keys, calls)
        renamed = [
            (_side(name, "again"), column(name)) for name in (*node.keys, *self.layout.values)
        ]
        return Projection(groups, (*renamed, (_RECOUNT, column(_RECOUNT))))

    def _must_read(self) -> Scalar:
        alive = build(":n > 0", n=column(COUNT))
        if self.layout.reread:
            return alive
        lost = [exp.paren(_lost(name, call).copy()) for name, call in self.layout.extremes]
        return all_of([alive, Scalar.of(exp.or_(*lost, copy=False))])

    def _extreme(self, name: str, call: Scalar) -> Scalar:
        word = "LEAST" if isinstance(call.ast, exp.Min) else "GREATEST"
        if self.layout.reread:
            return column(_side(name, "again"))
        return build(
            f"CASE WHEN :lost THEN :again ELSE {word}(:old, :new) END",
            lost=_lost(name, call),
            again=column(_side(name, "again")),
            old=column(_side(name, "old")),
            new=column(_side(name, "in")),
        )


def _side(name: str, word: str) -> str:
    """The column beside another one that holds its value of before, among what came, and so on."""
    return made(f"{word}_{name}")


def _lost(name: str, call: Scalar) -> Scalar:
    """True when a net-deleted value reaches the stored extreme: it may have held it."""
    sign = "<=" if isinstance(call.ast, exp.Min) else ">="
    return build(
        f":out IS NOT NULL AND :out {sign} :old",
        out=column(_side(name, "out")),
        old=column(_side(name, "old")),
    )


def _signed(argument: Scalar, kind: str, minus: str) -> Scalar:
    come, gone = (form.replace(":x", f"CAST(:x AS {kind})") for form in (":x", minus))
    return build(
        f"CAST(COALESCE(SUM(CASE WHEN :w > 0 THEN {come} ELSE {gone} END), 0) AS {kind})",
        w=column(WEIGHT),
        x=argument,
    )


def _sum(name: str, kind: str) -> Scalar:
    return build(f"CAST(SUM(:x) AS {kind})", x=column(name))
