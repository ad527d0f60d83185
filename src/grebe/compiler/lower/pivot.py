"""PIVOT and UNPIVOT with the values written in the text."""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.lower.context import Context
from grebe.compiler.lower.frame import Frame
from grebe.compiler.lower.scope import Environment, Source
from grebe.compiler.reasons import ReasonCode


def pivoted(context: Context, frame: Frame, tree: exp.Expr, environment: Environment) -> Frame:
    """The relation turned by its PIVOT clauses."""
    context.refuse(ReasonCode.DYNAMIC_PIVOT, "PIVOT has no rule", tree)
    return Frame(frame.node, (Source((), (), open=True),), frame.star)
