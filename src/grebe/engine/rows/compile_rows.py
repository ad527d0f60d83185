"""A compiled query becomes a row view: other columns are stored, and readers see those that are set."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import blake2b

from grebe.compiler.plan.refresh_plan import Strategy
from grebe.compiler.rows.row_definition import row_definition
from grebe.compiler.rows.row_layout import SUM, checked_layout
from grebe.compiler.write.steps import Shape
from grebe.engine.compiled_view import CompiledView
from grebe.errors import NotIncrementalError
from grebe.model import Column, Policy, Schema


def as_row_view(view: CompiledView) -> CompiledView:
    """The row view whose query was compiled; any other view as it is.

    Raises:
        DefinitionError: a name is taken, or a type cannot be an input.
    """
    if not view.definition.rows:
        return view
    definition = row_definition(json.loads(view.definition.rows))
    layout = checked_layout(definition, view.columns)
    clock = [reason for reason in view.plan.reasons if reason.code == "time-function"]
    if clock:
        raise NotIncrementalError(
            f'row view "{view.name}" reads the clock',
            clock,
            hint="keep the moment in a column of the source",
        )
    pairs = [*layout.stored, (SUM, "bigint")]
    stored = Schema("0", tuple(Column(n, name, kind) for n, (name, kind) in enumerate(pairs, 1)))
    outputs = tuple((name, name) for name in definition.outputs)
    mark = "\x1f".join([view.plan.fingerprint, definition.digest])
    plan = replace(
        view.plan,
        public=layout.public,
        outputs=outputs,
        shape=Shape(layout.public, ()),
        strategy=Strategy.ROWS,
        steps=(),
        appending=(),
        fingerprint=blake2b(mark.encode(), digest_size=16).hexdigest(),
    )
    return replace(view, plan=plan, columns=layout.columns, stored=stored, rows=layout)


def allows_only_full(policy: Policy) -> bool:
    """Whether a policy says that all rows are looked at each time."""
    return policy is Policy.FULL
