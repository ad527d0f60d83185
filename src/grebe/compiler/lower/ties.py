"""Window calls and rows that are equal in ORDER BY: which calls depend on their order, and how."""

from __future__ import annotations

from enum import StrEnum

from sqlglot import exp

from grebe.compiler.algebra.functions import AggregateKind, aggregate_kind, unwrapped

_POSITIONAL = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead)
_PICKING = (exp.FirstValue, exp.LastValue, exp.NthValue, exp.First, exp.Last, exp.AnyValue)
_PEERS = (exp.Rank, exp.DenseRank, exp.CumeDist, exp.PercentRank)


class Ties(StrEnum):
    """What must be done about rows that are equal in ORDER BY."""

    NOTHING = "nothing"
    """The value is the same in any order."""
    ORDER = "order"
    """More sort keys make the order total; the frame means the same in it."""
    LAST_PEER = "last peer"
    """The frame ends with the last equal row: take its value in the total order."""
    FIRST_PEER = "first peer"
    """The frame begins with the first equal row: take its value in the total order."""
    REFUSE = "refuse"


def ties_of(tree: exp.Window) -> Ties:
    """What a call needs so that equal rows cannot change its value."""
    function = unwrapped(tree.this)
    if isinstance(function, _PEERS):
        return Ties.NOTHING
    if isinstance(function, _POSITIONAL):
        return Ties.ORDER
    if not depends_on_order(function):
        return Ties.ORDER if has_rows_frame(tree) else Ties.NOTHING
    if whole_partition(tree) or has_rows_frame(tree):
        return Ties.ORDER
    return _in_range_frame(tree, function)


def depends_on_order(function: exp.Expr) -> bool:
    """True when the function's value depends on the order of its rows, not only on which."""
    if isinstance(function.this, exp.Order):
        return False
    return isinstance(function, _PICKING) or aggregate_kind(function) in (
        AggregateKind.COLLECTION,
        AggregateKind.ANY,
    )


def _in_range_frame(tree: exp.Window, function: exp.Expr) -> Ties:
    start, end = frame_ends(tree)
    plain = not isinstance(tree.this, exp.IgnoreNulls)
    if plain and start == "UNBOUNDED" and isinstance(function, (exp.FirstValue, exp.First)):
        return Ties.ORDER
    if plain and end == "UNBOUNDED" and isinstance(function, (exp.LastValue, exp.Last)):
        return Ties.ORDER
    if (start, end) == ("UNBOUNDED", "CURRENT ROW"):
        return Ties.LAST_PEER
    if (start, end) == ("CURRENT ROW", "UNBOUNDED"):
        return Ties.FIRST_PEER
    return Ties.REFUSE


def frame_ends(tree: exp.Window) -> tuple[str, str]:
    """Where the frame begins and ends, as words."""
    spec = tree.args.get("spec")
    if spec is None:
        end = "UNBOUNDED" if tree.args.get("order") is None else "CURRENT ROW"
        return "UNBOUNDED", end
    if spec.args.get("exclude"):
        return "", ""
    start, end = spec.args.get("start"), spec.args.get("end")
    return _word(start), _word(end) if end is not None else "CURRENT ROW"


def _word(value: object) -> str:
    return value.upper() if isinstance(value, str) else ""


def has_rows_frame(tree: exp.Window) -> bool:
    """True for a ROWS frame that is not simply the whole partition."""
    spec = tree.args.get("spec")
    if spec is None or whole_partition(tree):
        return False
    return str(spec.args.get("kind") or "").upper() == "ROWS"


def whole_partition(tree: exp.Window) -> bool:
    """True when every row's frame is its whole partition."""
    return frame_ends(tree) == ("UNBOUNDED", "UNBOUNDED")


def rows_frame(start: str, end: str) -> exp.WindowSpec:
    """ROWS BETWEEN start AND end, for the words UNBOUNDED and CURRENT ROW."""
    return exp.WindowSpec(
        kind="ROWS",
        start=start,
        start_side="PRECEDING" if start == "UNBOUNDED" else None,
        end=end,
        end_side="FOLLOWING" if end == "UNBOUNDED" else None,
    )
