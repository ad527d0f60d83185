"""Which window calls depend on the order of rows that are equal in ORDER BY."""

from __future__ import annotations

from sqlglot import exp

from grebe.compiler.functions import AggregateKind, aggregate_kind, unwrapped

_POSITIONAL = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead)
_PICKING = (exp.FirstValue, exp.LastValue, exp.NthValue, exp.First, exp.Last)
_PEERS = (exp.Rank, exp.DenseRank, exp.CumeDist, exp.PercentRank)


def needs_tie_break(tree: exp.Window) -> bool:
    """True when equal rows must be told apart for the call to have one value."""
    function = unwrapped(tree.this)
    if isinstance(function, _PEERS):
        return False
    if isinstance(function, (*_POSITIONAL, *_PICKING)):
        return True
    if has_rows_frame(tree):
        return True
    return aggregate_kind(function) is AggregateKind.COLLECTION and whole_partition(tree)


def has_rows_frame(tree: exp.Window) -> bool:
    """True for ROWS BETWEEN … frames that do not simply take the whole partition."""
    spec = tree.args.get("spec")
    return spec is not None and spec.text("kind").upper() == "ROWS" and not whole_partition(tree)


def whole_partition(tree: exp.Window) -> bool:
    """True when every row's frame is its whole partition."""
    spec = tree.args.get("spec")
    if spec is None:
        return tree.args.get("order") is None
    ends = spec.text("start").upper(), spec.text("end").upper()
    return ends == ("UNBOUNDED", "UNBOUNDED")
