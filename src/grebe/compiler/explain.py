"""A plan in words: another reader of the same steps, so explain cannot say what is not done."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from grebe.compiler.algebra.nodes import (
    Aggregate,
    At,
    Filter,
    InnerJoin,
    MarkJoin,
    Node,
    OuterJoin,
    Projection,
    Scan,
    SemiJoin,
    SetOperation,
    Stored,
    TopK,
    Unnest,
    Values,
    Verbatim,
    Windowed,
    walk,
)
from grebe.compiler.algebra.root import strip
from grebe.compiler.bind import DeltaFacts, bind
from grebe.compiler.delta import LAWS
from grebe.compiler.delta.linear_aggregates import linear_calls
from grebe.compiler.emit import Leaf, emit
from grebe.compiler.plan.refresh_plan import RefreshPlan, Strategy
from grebe.compiler.text.verbatim import shown
from grebe.compiler.write import groups
from grebe.compiler.write.steps import (
    AppendStep,
    CheckStep,
    Compute,
    MergeStep,
    OverwriteStep,
    ReadBoth,
    Step,
)
from grebe.model import Reason
from grebe.sql_text import plain

_WRITTEN: Final = {
    Strategy.GROUPS: "write.groups",
    Strategy.REPLACE: "write.replace",
    Strategy.BAG: "write.bag",
}
"""Where the root's change is found by the way it is stored."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the definition: what it is, its law, what the law needs, and how it is kept.

    ``reasons`` says why this very operator keeps the view from being incremental.
    """

    name: str
    detail: str
    rule: str
    law: str
    needs: str
    kept: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class StepText:
    """One step of the plan: what it does and its SQL."""

    kind: str
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything a person may want to know of a plan before it runs."""

    incremental: bool
    strategy: str
    fingerprint: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    hidden: tuple[str, ...]
    operators: tuple[Operator, ...]
    steps: tuple[StepText, ...]
    reasons: tuple[Reason, ...]
    notes: tuple[str, ...]
    public: str

    def to_dict(self) -> dict[str, object]:
        """The explanation as plain values, ready for JSON."""
        return {
            "incremental": self.incremental,
            "strategy": self.strategy,
            "fingerprint": self.fingerprint,
            "tables": list(self.tables),
            "columns": list(self.columns),
            "hidden": list(self.hidden),
            "operators": [
                {
                    "name": item.name,
                    "detail": item.detail,
                    "rule": item.rule,
                    "law": item.law,
                    "needs": item.needs,
                    "kept": list(item.kept),
                    "reasons": [_reason(reason) for reason in item.reasons],
                }
                for item in self.operators
            ],
            "steps": [
                {"kind": step.kind, "name": step.name, "sql": step.sql} for step in self.steps
            ],
            "reasons": [_reason(reason) for reason in self.reasons],
            "notes": list(self.notes),
            "public": self.public,
        }

    def __str__(self) -> str:
        kept = f"incremental, by {self.strategy}" if self.incremental else "full refresh only"
        lines = [f"{kept}  (fingerprint {self.fingerprint[:8]})"]
        lines += [f"  because: {reason}" for reason in self.reasons]
        lines += [f"  note:    {note}" for note in self.notes]
        lines.append(f"sources: {', '.join(self.tables) or 'none'}")
        if self.hidden:
            lines.append(f"hidden:  {', '.join(self.hidden)}")
        lines.append("operators:")
        for item in self.operators:
            lines.append(f"  {item.name} {item.detail}".rstrip())
            lines.append(f"    rule {item.rule}: {item.law}")
            lines.append(f"    needs: {item.needs}")
            lines += [f"    {line}" for line in item.kept]
            lines += [f"    not incremental: {reason}" for reason in item.reasons]
        for number, step in enumerate(self.steps, 1):
            lines.append(f"step {number}: {step.kind} {step.name}".rstrip())
            lines += [f"    {line}" for line in step.sql.splitlines()]
        lines.append("readers see:")
        lines += [f"    {line}" for line in self.public.splitlines()]
        return "\n".join(lines)


def _reason(reason: Reason) -> dict[str, object]:
    """A reason as plain values; a place counts from 1."""
    return {
        "code": str(reason.code),
        "message": reason.message,
        "line": reason.where.line if reason.where else None,
        "column": reason.where.column if reason.where else None,
    }


def bound_steps(plan: RefreshPlan, facts: DeltaFacts | None = None) -> tuple[Step, ...]:
    """The steps that a refresh begins with: all of them, as far as they are known before it reads."""
    if not plan.is_incremental:
        return plan.full
    return bind(plan, DeltaFacts() if facts is None else facts)


def explain(plan: RefreshPlan, facts: DeltaFacts | None = None) -> Explanation:
    """What the plan will do and why.

    Args:
        plan: the plan.
        facts: what is known of the change; without them every source is taken to have changed.
    """
    return Explanation(
        incremental=plan.is_incremental,
        strategy=plan.strategy,
        fingerprint=plan.fingerprint,
        tables=plan.tables,
        columns=tuple(public for _, public in plan.outputs),
        hidden=plan.shape.hidden,
        operators=tuple(
            _operator(node, plan) for node in walk(plan.definition) if type(node) in LAWS
        ),
        steps=tuple(step_text(step, plan.dialect) for step in bound_steps(plan, facts)),
        reasons=plan.reasons,
        notes=plan.notes,
        public=emit(plan.public, plan.dialect, leaf_name),
    )


def leaf_name(leaf: Leaf) -> str:
    """How an explanation names a table: the source with the version it is read at."""
    match leaf:
        case Scan(at=At.QUERY):
            return leaf.table
        case Scan():
            near = f" near {leaf.near.column}" if leaf.near and leaf.near.kept else ""
            return f"{leaf.table}@{leaf.at}{near}"
        case Stored():
            return "stored"
        case Verbatim():
            return f"({shown(leaf.sql)})"
    return f"step:{leaf.step}"


def step_text(step: Step, dialect: str) -> StepText:
    """A step in words, with its SQL."""
    return StepText(*kind_and_name(step), emit(step.node, dialect, leaf_name))


def kind_and_name(step: Step) -> tuple[str, str]:
    """What a step does, and to what."""
    match step:
        case Compute():
            return "compute", step.name
        case ReadBoth():
            return "read both versions", step.name
        case CheckStep():
            return "check", f"{step.name}: no row, or {step.message}"
        case MergeStep():
            return "merge", f"on ({', '.join(step.on)})"
        case AppendStep():
            return "append", ""
        case OverwriteStep():
            return "overwrite", ""


def _operator(node: Node, plan: RefreshPlan) -> Operator:
    rule = _law_of(node, plan)
    parts = _rule_text(rule)
    where = getattr(node, "where", None)
    return Operator(
        name=type(node).__name__,
        detail=_detail(node),
        rule=rule,
        law=parts.get("Law", ""),
        needs=parts.get("Needs", ""),
        kept=_kept(node, plan) if isinstance(node, Aggregate) else (),
        reasons=tuple(item for item in plan.reasons if where and item.where == where),
    )


def _law_of(node: Node, plan: RefreshPlan) -> str:
    """The law by which the change of a node is found in this plan.

    An operator that no law was asked for is part of what is stored, or of what readers compute.
    """
    applied = dict(plan.laws).get(node.digest)
    if applied:
        return f"delta.{applied}"
    if plan.is_incremental and not isinstance(node, (Scan, Values, Filter, Projection)):
        return _WRITTEN[plan.strategy]
    return LAWS[type(node)].__module__.removeprefix("grebe.compiler.")


def _kept(node: Aggregate, plan: RefreshPlan) -> tuple[str, ...]:
    """How the calls of an aggregate are kept: at the root by stored state, below it without."""
    if not plan.is_incremental:
        return ()
    stored = plan.strategy is Strategy.GROUPS and node == strip(plan.definition)[1]
    if not stored:
        linear = linear_calls(node, plan.types) is not None
        how = "by the new rows and the change" if linear else "by the touched groups, read twice"
        return (f"kept {how}",)
    layout = groups.layout_of(node, plan.types)
    ways = (
        ("by stored counts and sums", [name for name, _ in layout.linear]),
        ("by the stored extreme, read again when it goes", [name for name, _ in layout.extremes]),
        ("by reading the touched groups again", [name for name, _ in layout.reread]),
    )
    texts = {plain(name): call.text for name, call in node.calls}
    return tuple(
        f"kept {how}: {', '.join(texts[plain(name)] for name in names)}"
        for how, names in ways
        if names
    )


def _rule_text(rule: str) -> dict[str, str]:
    """The parts of a rule's own documentation: Law, Needs, Falls back when, Example."""
    text = importlib.import_module(f"grebe.compiler.{rule}").__doc__ or ""
    parts: dict[str, str] = {}
    current = ""
    for line in text.splitlines():
        head, colon, rest = line.partition(":")
        if colon and head.split(" (")[0] in ("Law", "Needs", "Falls back when", "Example"):
            current = head.split(" (")[0]
            parts.setdefault(current, "")
            line = rest
        if current:
            parts[current] = f"{parts[current]} {line.strip()}".strip()
    return parts


def _detail(node: Node) -> str:
    detail = _DETAILS.get(type(node))
    return detail(node) if detail else ""


def _aggregate_detail(node: Aggregate) -> str:
    calls = ", ".join(call.text for _, call in node.calls)
    return f"by ({', '.join(node.keys)}): {calls}"


_DETAILS: Final[dict[type[Node], Callable[..., str]]] = {
    Scan: lambda node: node.table,
    Filter: lambda node: node.predicate.text,
    InnerJoin: lambda node: " AND ".join(item.text for item in node.on) or "cross",
    OuterJoin: lambda node: f"{'FULL' if node.full else 'LEFT'} ON {node.on.text}",
    SemiJoin: lambda node: f"{'anti' if node.anti else 'semi'} ON {node.on.text}",
    Aggregate: _aggregate_detail,
    Windowed: lambda node: f"partitioned by ({', '.join(node.partition)})",
    SetOperation: lambda node: str(node.kind),
    MarkJoin: lambda node: f"{node.name} ON {node.on.text}",
    Unnest: lambda node: node.collection.text,
    TopK: lambda node: (
        f"{node.limit} by ({', '.join(item.column for item in node.order)})"
        f" in each ({', '.join(node.partition)})"
    ),
}
