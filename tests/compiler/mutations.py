"""Rules broken on purpose: a law that does not notice one of these proves nothing.

A mutation replaces a piece of one module's text. The functions of the running module get the code
of the changed text, so that everybody who imported them runs the broken rule, and get their own
code back afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final

ROOM = "grebe.compiler"


@dataclass(frozen=True, slots=True)
class Mutation:
    """What is broken where, and the trees of `laws.trees` whose law must notice."""

    what: str
    module: str
    before: str
    after: str
    trees: tuple[str, ...]
    law: str = "delta"


def _delta(what: str, module: str, before: str, after: str, *trees: str) -> Mutation:
    return Mutation(what, f"delta.{module}", before, after, trees)


def _apply(what: str, module: str, before: str, after: str, *trees: str) -> Mutation:
    return Mutation(what, module, before, after, trees, law="apply")


EQUALS = '__import__("grebe.compiler.algebra.scalar", fromlist=["equals"]).equals'

INSERTED = """__import__("grebe.compiler.algebra.nodes", fromlist=["Filter"]).Filter(
    of.change(node.input),
    __import__("grebe.compiler.algebra.scalar", fromlist=["build"]).build('"__grebe_weight" > 0'),
)"""

ABOVE_HAVING = """__import__("grebe.compiler.delta.restrict", fromlist=["x"]).restrict_columns(
    of.change(node.input),
    __import__("grebe.compiler.delta.weighted", fromlist=["x"]).keys_of(
        __import__("grebe.compiler.delta.weighted", fromlist=["x"]).plus(
            Filter(of.new(node.input), node.predicate)
        ),
        node.input.keys,
    ),
    node.input.keys,
)"""

MUTATIONS: Final = (
    # inner joins
    _delta("the old version where the new one belongs", "join",
           "before = [of.new(part)", "before = [of.old(part)", "inner/two"),
    _delta("the new version where the old one belongs", "join",
           "after = [of.old(part)", "after = [of.new(part)", "inner/two"),
    _delta("a dropped term", "join",
           "for place in range(len(node.parts)))", "for place in range(1, len(node.parts)))",
           "inner/three"),
    _delta("the last term of a self join dropped", "join",
           "for place in range(len(node.parts)))", "for place in range(len(node.parts) - 1))",
           "inner/self"),
    _delta("an unpinned read", "rules",
           "return self._at(node, At.OLD)", "return self._at(node, At.NEW)", "inner/two"),
    # semi, anti and mark joins
    _delta("the old right side for new left rows", "keyed_joins",
           "for at in (of.new, of.old))", "for at in (of.old, of.old))", "semi", "left"),
    _delta("the new right side for rows that were there", "keyed_joins",
           "for at in (of.new, of.old))", "for at in (of.new, of.new))", "anti", "left"),
    _delta("left rows that a change touches, counted twice", "keyed_joins",
           "restrict(of.old(node.left)", "restrict(of.new(node.left)", "semi", "left"),
    _delta("touched left rows not taken away", "keyed_joins",
           'build("-:w", w=column(WEIGHT))', 'build("0 * :w", w=column(WEIGHT))', "semi", "left"),
    _delta("touched left rows forgotten", "keyed_joins",
           "arrived = summed(changed, touched)", "arrived = changed",
           "anti", "left"),
    _delta("the right side only for left rows that changed", "keyed_joins",
           "Distinct(Projection(arrived,", "Distinct(Projection(changed,", "semi", "left"),
    _delta("the groups that were picked for new left rows", "keyed_joins",
           "right = restrict(of.new(node.right)", "right = restrict(of.old(node.right)",
           "semi/picked groups"),
    _delta("groups for the touched keys of the wrong side", "keyed_joins",
           "keys(node.left, _named(mine for _, mine in ties))",
           "keys(node.right, _named(theirs for theirs, _ in ties))",
           "semi/picked groups"),
    _delta("new left rows that meet picked groups, forgotten", "keyed_joins",
           "*filter(None, [met]),", "", "semi/picked groups"),
    Mutation("the old right side for new left rows, by value", "delta.mark",
           "return [(delta, of.new(node.right))]", "return [(delta, of.old(node.right))]",
           ("semi/non-equi",), law="alone"),
    Mutation("the sign of rows that found a match", "delta.semi",
           'entering = ":copies" if not node.anti else "-:copies"', 'entering = "-:copies"',
           ("semi/non-equi",), law="alone"),
    Mutation("the sign of rows that lost their last match", "delta.semi",
           'leaving = "-:copies" if not node.anti else ":copies"', 'leaving = "-:copies"',
           ("anti/non-equi",), law="alone"),
    _delta("left rows at the new version, counted twice", "mark",
           "near(of.old(node.left), delta, node.on)", "near(of.new(node.left), delta, node.on)",
           "mark"),
    _delta("old marks forgotten", "mark",
           "return summed(*arrived, gone, come)", "return summed(*arrived, come)", "mark"),
    _delta("marks compared without regard to NULL", "mark",
           "NOT (:b IS NOT DISTINCT FROM :a)", ":b <> :a", "mark"),
    _delta("unknown taken for false", "mark",
           "COALESCE(:theta, TRUE)", "COALESCE(:theta, FALSE)", "mark"),
    # outer joins
    _delta("rows without a match forgotten", "outer",
           "parts.append(_unmatched(node, node.left, node.right, of))", "pass", "full"),
    _delta("the right side of a FULL join forgotten", "outer",
           "parts.append(_unmatched(node, node.right, node.left, of))", "pass", "full"),
    _delta("matched rows extended by NULL", "outer", "anti=True", "anti=False", "full"),
    # set operations
    _delta("keys of both sides added up together", "setops",
           "touched = [keys_of(delta, node.names) for delta in deltas]",
           "touched = [keys_of(UnionAll(tuple(deltas), deltas[0].columns), node.names)]",
           "set/except"),
    _delta("EXCEPT ALL below zero", "setops",
           "CASE WHEN :l > :r THEN :l - :r ELSE 0 END", ":l - :r", "set/except_all"),
    _delta("EXCEPT without its right side", "setops",
           "CASE WHEN :l > 0 AND :r = 0 THEN 1 ELSE 0 END", "CASE WHEN :l > 0 THEN 1 ELSE 0 END",
           "set/except"),
    _delta("the larger count of INTERSECT ALL", "setops",
           "CASE WHEN :l < :r THEN :l ELSE :r END", "CASE WHEN :l > :r THEN :l ELSE :r END",
           "set/intersect_all"),
    _delta("UNION by counts", "setops",
           "CASE WHEN :l + :r > 0 THEN 1 ELSE 0 END", "(:l + :r)", "set/union"),
    _delta("the change added to the new count, not taken from it", "setops",
           'taken = build("-:w", w=weight)', 'taken = build(":w", w=weight)', "distinct"),
    _delta("a branch dropped", "union",
           "for branch in node.branches)", "for branch in node.branches[:1])", "union all"),
    _apply("a branch that forgets the type of the whole", "algebra.coercion",
           "return own is not None and not types.equal(own, kind)", "return False",
           "union all/coerced"),
    _apply("rows of the new version for both", "bind.shared_reads",
           "return found.named(_scan(node).at)", "return found.named(At.NEW)", "full/chain", "aggregate/over left"),
    # aggregates below the root
    _delta("empty groups shown", "aggregate",
           'alive = build(":n > 0"', 'alive = build(":n IS NOT NULL"', "aggregate/linear"),
    _delta("the sign of a count's change", "aggregate",
           'moved = "0" if when == "new" else "-:w"', 'moved = "0" if when == "new" else ":w"',
           "aggregate/linear"),
    _delta("the sign of a sum's change", "aggregate",
           "WHEN :w > 0 THEN {call.minus} ELSE :x", "WHEN :w > 0 THEN {call.minus} ELSE -:x",
           "aggregate/linear"),
    _delta("AVG and COUNT(x) by COUNT(*)", "aggregate",
           'known = build(":x IS NOT NULL", x=call.argument)', 'known = build("1 = 1")',
           "aggregate/linear"),
    _delta("the SUM of nothing as 0", "linear_aggregates",
           'return build(f"CASE WHEN :n > 0 THEN {shown} END", n=n, s=s)',
           'return build("COALESCE(:s, 0)", n=n, s=s)', "aggregate/linear"),
    _delta("the state at the old version", "aggregate",
           "rows = of.new(node.input)", "rows = of.old(node.input)", "aggregate/linear"),
    # affected keys
    _delta("the old rows of touched keys not taken away", "recompute",
           "minus(replace(node, input=old))", "minus(replace(node, input=new))", "window/rank"),
    _delta("keys of the rows that are there now", "recompute",
           "keys = _touched(node.input, names, of)",
           "keys = keys_of(plus(new), names)", "window/rank", "aggregate/extrema"),
    _delta("keys of inserted rows only", "recompute",
           "keys = _touched(node.input, names, of)",
           f"keys = keys_of({INSERTED}, names)", "window/rank"),
    _delta("keys of one side of a join only", "touch",
           "for place in range(len(node.parts))", "for place in range(1)",
           "aggregate/extrema over join"),
    _delta("keys of the left side of a join only", "touch",
           "both = (self.rows(node.left, outputs), changed_right)",
           "both = (self.rows(node.left, outputs),) * 2", "aggregate/extrema over left"),
    _delta("keys of inserted rows only, of groups", "aggregate",
           "rows = restrict_columns(rows, keys_of(delta, node.keys), node.keys)",
           "delta = Filter(delta, build(':w > 0', w=column(WEIGHT)));"
           " rows = restrict_columns(rows, keys_of(delta, node.keys), node.keys)",
           "aggregate/linear"),
    _delta("keys taken above HAVING", "filter",
           "below = of.change(node.input)", f"below = {ABOVE_HAVING}", "aggregate/filter above"),
    _delta("a deletion weighed as an insertion", "weighted",
           "return weighted(node, node.columns, number(-1))",
           "return weighted(node, node.columns, number(1))", "top-k/per group"),
    _delta("keys compared with = instead of null-safely", "restrict",
           "all_of(same(item, column(key)) for item, key in pairs)",
           f"all_of({EQUALS}(item, column(key)) for item, key in pairs)", "aggregate/extrema"),
    Mutation("keys pushed into a nullable side by its own column", "delta.restrict",
           "return _full(node, keys, pairs)\n    mine = _within(pairs, node.left.columns)\n"
           "    across = across_pairs(mine, node.on, node.right.columns)",
           "return _full(node, keys, pairs)\n    mine = _within(pairs, node.left.columns)\n"
           "    across = _within(pairs, node.right.columns)",
           ("aggregate/over left by a nullable key",), law="alone"),
    _delta("a row kept although its array is empty", "unnest",
           "replace(node, input=", "replace(node, outer=not node.outer, input=", "unnest"),
    # expressions on pairs of rows that never existed
    Mutation("an expression before consolidation", "delta.projection",
             "if any(can_raise(item.ast, of.types) for _, item in node.outputs):", "if not node.outputs:",
             ("raises/project",), law="raise"),
    Mutation("a predicate before consolidation", "delta.filter",
             "if can_raise(node.predicate.ast, of.types):", "if node is None:",
             ("raises/filter",), law="raise"),
    Mutation("a left row that is gone beside a right row that is new", "delta.mark",
             "    if not is_risky(node.on, node.inputs, of.types):\n        return [(delta",
             "    if node.on:\n        return [(delta", ("raises/anti",), law="raise"),
    Mutation("an old left row that is gone beside a right row that is new", "delta.mark",
             "    if not is_risky(node.on, node.inputs, of.types):\n        rows",
             "    if node.on:\n        rows", ("raises/mark",), law="raise"),
    Mutation("an argument before consolidation", "delta.aggregate",
             "if any(can_raise(call.argument.ast, of.types) for call in linear):", "if not linear:",
             ("raises/aggregate",), law="raise"),
    Mutation("a key of rows that the query drops", "delta.restrict",
             "found = ((forgiving(item), key)", "found = ((item, key)",
             ("raises/key",), law="raise"),
    # writing
    _apply("stored copies forgotten", "write.bag", "CAST(SUM(:s + :n) AS BIGINT)",
           "CAST(SUM(:n) AS BIGINT)", "union all"),
    _apply("copies that stay not written again", "write.touched_rows",
           "THEN :after - :before ELSE :after END", "THEN :after - :before ELSE 0 END",
           "union all/same"),
    _apply("a MIN kept although it was net-deleted", "write.groups",
           ':out IS NOT NULL AND :out {sign} :old', ':out IS NOT NULL AND 1 = 0 AND :out {sign} :old',
           "aggregate/extrema"),
    _apply("the sign of a stored sum's change", "write.groups",
           "ELSE {gone} END", "ELSE {come} END", "aggregate/linear"),
    _apply("stored COUNT(x) and AVG by COUNT(*)", "write.groups",
           "CASE WHEN :x IS NULL THEN 0 ELSE :w END", ":w", "aggregate/linear"),
    _apply("groups that became empty kept", "write.groups",
           "CASE WHEN :n = 0 THEN 'delete'", "CASE WHEN 1 = 0 THEN 'delete'", "aggregate/linear"),
    _apply("a group's change not consolidated", "write.groups",
           "narrow = Consolidate(narrow)",
           "narrow = Projection(below, (*passed(used), (WEIGHT, column(WEIGHT))))",
           "aggregate/extrema over join"),
    _apply("touched keys read at the old version", "write.replace",
           "fresh = restrict(of.new(shape.node)", "fresh = restrict(of.old(shape.node)",
           "window/rank"),
    _apply("an outer join with nothing as nothing", "bind.prune",
           "return empty[0] and (empty[1] or not node.full)", "return any(empty)", "left", "full"),
)  # fmt: skip


@contextmanager
def broken(mutation: Mutation) -> Iterator[None]:
    """The compiler with one rule broken."""
    module = import_module(f"{ROOM}.{mutation.module}")
    changed = _changed(module, mutation)
    kept = {name: value for name, value in vars(module).items() if _is_constant(name, value)}
    swaps = list(_swaps(module, changed))
    for function, code in swaps:
        function.__code__ = code[1]
    for name in kept:
        setattr(module, name, getattr(changed, name))
    try:
        yield
    finally:
        for function, code in swaps:
            function.__code__ = code[0]
        for name, value in kept.items():
            setattr(module, name, value)


def _changed(module: ModuleType, mutation: Mutation) -> ModuleType:
    file = Path(module.__file__ or "")
    text = file.read_text()
    if text.count(mutation.before) != 1:
        raise LookupError(
            f"{mutation.what}: {mutation.before!r} is not in {file.name} exactly once"
        )
    fresh = ModuleType(module.__name__)
    fresh.__file__ = module.__file__
    exec(compile(text.replace(mutation.before, mutation.after), str(file), "exec"), vars(fresh))
    return fresh


def _is_constant(name: str, value: object) -> bool:
    return not name.startswith("__") and isinstance(value, (str, int, dict, tuple, frozenset))


def _swaps(
    module: ModuleType, changed: ModuleType
) -> Iterator[tuple[FunctionType, tuple[CodeType, CodeType]]]:
    for name, value in vars(module).items():
        other = getattr(changed, name, None)
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, FunctionType) and isinstance(other, FunctionType):
            yield value, (value.__code__, other.__code__)
        elif isinstance(value, type) and isinstance(other, type):
            yield from _swaps_of_class(value, other)


def _swaps_of_class(
    mine: type, other: type
) -> Iterator[tuple[FunctionType, tuple[CodeType, CodeType]]]:
    for name, value in vars(mine).items():
        pair = (_function(value), _function(vars(other).get(name)))
        if pair[0] and pair[1] and len(pair[0].__code__.co_freevars) == 0:
            yield pair[0], (pair[0].__code__, pair[1].__code__)


def _function(value: object) -> FunctionType | None:
    found = getattr(value, "fget", None) or getattr(value, "__func__", value)
    return found if isinstance(found, FunctionType) else None
