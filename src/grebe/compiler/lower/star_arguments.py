"""A star among the arguments of a call: every column in scope, in its place."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from grebe.compiler.lower.scope import Columns, Scope


def has_star(tree: exp.Expr) -> bool:
    """True when an argument of the call is a star; COUNT(*) counts rows and has none."""
    if isinstance(tree, exp.Count) and isinstance(tree.this, exp.Star):
        return False
    return any(_is_star(child) for child in tree.iter_expressions())


def _is_star(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Star) or (
        isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)
    )


def starred(scope: Scope, star: exp.Expr) -> list[exp.Column] | None:
    """The columns that a star means, as a user would write them; None when that is not known."""
    bare = star.this if isinstance(star, exp.Column) else star
    if any(bare.args.values()) or scope.is_open:
        return None
    if isinstance(star, exp.Star):
        return _columns(scope.star, ())
    parts = star.parts if isinstance(star, exp.Column) else []
    qualifier = tuple(part.name for part in parts[:-1])
    lowered = tuple(part.lower() for part in qualifier)
    sources = [source for source in scope.sources if source.answers(lowered)]
    if len(sources) != 1:
        return None
    return _columns(sources[0].columns, qualifier)


def _columns(pairs: Columns, qualifier: tuple[str, ...]) -> list[exp.Column] | None:
    names = [name for name, _ in pairs]
    if len({name.lower() for name in names}) < len(names):
        return None  # two of one name: neither can be named
    parts = [exp.to_identifier(part, quoted=True) for part in qualifier]
    keys = ("table", "db", "catalog")
    return [
        exp.Column(
            this=exp.to_identifier(name, quoted=True),
            **{key: part.copy() for key, part in zip(keys, reversed(parts), strict=False)},
        )
        for name in names
    ]


def with_columns(
    tree: exp.Expr, columns: Callable[[exp.Expr], list[exp.Column] | None]
) -> exp.Expr | None:
    """The call with its stars replaced by columns; None when it cannot hold them."""
    arguments: dict[str, object] = {}
    rest: list[exp.Expr] = []
    for key, value in tree.args.items():
        if isinstance(value, list):
            arguments[key] = _expanded(value, columns)
            if arguments[key] is None:
                return None
        elif isinstance(value, exp.Expr) and _is_star(value):
            found = columns(value)
            if not found or "expressions" not in tree.arg_types:
                return None
            arguments[key], rest = found[0], [*found[1:]]
        else:
            arguments[key] = value.copy() if isinstance(value, exp.Expr) else value
    if rest:
        behind = arguments.get("expressions")
        arguments["expressions"] = [*rest, *(behind if isinstance(behind, list) else [])]
    built = type(tree)(**arguments)
    built.meta.update(tree.meta)
    return built


def _expanded(
    items: list[object], columns: Callable[[exp.Expr], list[exp.Column] | None]
) -> list[object] | None:
    made: list[object] = []
    for item in items:
        if isinstance(item, exp.Expr) and _is_star(item):
            found = columns(item)
            if found is None:
                return None
            made.extend(found)
        else:
            made.append(item.copy() if isinstance(item, exp.Expr) else item)
    return made
