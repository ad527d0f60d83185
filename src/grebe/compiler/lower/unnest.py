"""Rows from arrays and maps, and subqueries that read what stands before them in FROM."""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.lower.context import Context
from grebe.compiler.lower.frame import Frame
from grebe.compiler.lower.scope import Environment
from grebe.compiler.reasons import ReasonCode


def is_generator(tree: exp.Expr) -> bool:
    """True for an item of FROM that reads the items before it."""
    return isinstance(tree, (exp.Lateral, exp.Unnest))


def explode_view(
    context: Context, frame: Frame, tree: exp.Lateral, environment: Environment
) -> Frame:
    context.refuse(ReasonCode.TABLE_FUNCTION, "no rule", tree)
    return frame


def lateral_query(
    context: Context, frame: Frame, join: exp.Join, environment: Environment
) -> Frame:
    context.refuse(ReasonCode.TABLE_FUNCTION, "no rule", join)
    return frame


def unnest_item(context: Context, frame: Frame, join: exp.Join, environment: Environment) -> Frame:
    context.refuse(ReasonCode.TABLE_FUNCTION, "no rule", join)
    return frame


def explode_items(context: Context, block: object, items: object) -> None:
    """Nothing yet."""
