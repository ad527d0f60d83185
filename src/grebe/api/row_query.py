"""The builder of row views: rows of a table or query, columns of them, functions over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from sqlglot import exp

from grebe.compiler.parser.parse import parse
from grebe.compiler.rows.row_definition import FunctionUse, RowDefinition
from grebe.errors import DefinitionError, NotBuiltError, RowViewError, UnknownColumnError
from grebe.sql_text import quote, quote_path
from grebe.udf import FunctionKind, RowFunction

if TYPE_CHECKING:
    from grebe.api.view import View

PLAIN: Final = "Materialized views only support plain queries (where, select)"
Selected = str | RowFunction | tuple[RowFunction, Mapping[str, str]]
_NOT_PLAIN: Final = (
    (exp.AggFunc, "an aggregate"),
    (exp.Window, "a window function"),
    (exp.Subquery, "a subquery"),
    (exp.Select, "a subquery"),
    (exp.Exists, "a subquery"),
    (exp.Explode, "a function that makes rows"),
    (exp.Star, "a star"),
)


class MakesViews(Protocol):
    """A project, as far as the builder knows it."""

    def create_materialized_view(
        self, name: str, query: RowQuery, *, with_no_data: bool = True
    ) -> View:
        """A row view from a query."""


@dataclass(frozen=True)
class RowQuery:
    """Which rows and columns a row view has. Every method gives another query."""

    relation: str
    is_query: bool = False
    known: Callable[[], Sequence[str]] | None = field(default=None, repr=False, compare=False)
    conditions: tuple[str, ...] = ()
    selected: tuple[tuple[str, Selected], ...] | None = None
    count: int | None = None
    skipped: int = 0
    keys: tuple[str, ...] = ()

    def search(self, query: object = None) -> RowQuery:
        """The same rows: a search by words or vectors has no rows that can be kept."""
        if query is not None:
            raise RowViewError(
                PLAIN,
                detail="a search by words or vectors is none",
                hint="search(None), then where(…)",
                code="query-not-plain",
            )
        return self

    def where(self, condition: Any) -> RowQuery:  # noqa: ANN401  whatever is given is looked at
        """Only the rows for which a condition of SQL is true; NULL is not."""
        if not isinstance(condition, str) or not condition.strip():
            raise RowViewError(
                f"a condition is SQL text, not {condition!r}",
                hint="where(\"lang = 'en'\"); a function's values are filtered in a view on top",
                code="query-not-plain",
            )
        _refuse_unlike(condition, "where")
        return replace(self, conditions=(*self.conditions, condition))

    def select(self, columns: Sequence[str | RowFunction] | Mapping[str, Selected]) -> RowQuery:
        """The columns: names, expressions of SQL, functions, or functions with their inputs."""
        if isinstance(columns, str) or not isinstance(columns, (Sequence, Mapping)):
            raise RowViewError(
                f"a select is a list or a mapping, not {type(columns).__name__}",
                hint='select(["id", embed]) or select({"vector": embed})',
                code="query-not-plain",
            )
        if isinstance(columns, Mapping):
            pairs = tuple(columns.items())
        else:
            pairs = tuple((_named(item), item) for item in columns)
        if not pairs:
            raise RowViewError("a view without columns", hint="select some", code="row-definition")
        for name, item in pairs:
            if isinstance(item, str) and isinstance(columns, Mapping):
                _refuse_unlike(item, f'column "{name}"')
        return replace(self, selected=tuple((name, item) for name, item in pairs))

    def limit(self, count: int) -> RowQuery:
        """At most so many rows, the first in the order of the key, or of the rows' contents."""
        return replace(self, count=_whole("limit", count))

    def offset(self, count: int) -> RowQuery:
        """Without the first rows in that order."""
        return replace(self, skipped=_whole("offset", count))

    def key(self, *columns: str) -> RowQuery:
        """Columns that tell rows apart: a changed row keeps its id, and its other values."""
        if not columns:
            raise RowViewError("a key has no columns", hint='key("id")', code="row-definition")
        return replace(self, keys=columns)

    def shuffle(self, seed: int | None = None) -> RowQuery:
        """Not there yet."""
        raise NotBuiltError(
            f"shuffle({'' if seed is None else f'seed={seed}'}) is not there yet",
            hint="ORDER BY xxhash64(42, id) where the view is read",
        )

    def create_materialized_view(
        self, conn: MakesViews, view_name: str, *, with_no_data: bool = True
    ) -> View:
        """A view of this query in a project."""
        return conn.create_materialized_view(view_name, self, with_no_data=with_no_data)

    def definition(self) -> RowDefinition:
        """What is kept of the query, checked as far as that goes without Spark.

        Raises:
            DefinitionError: it cannot be kept.
        """
        known = self.known() if self.known else None
        selected = self.selected
        if selected is None:
            if known is None:
                raise RowViewError(
                    "a view without columns", hint="select some", code="row-definition"
                )
            selected = tuple((name, quote(name)) for name in known)
        made = _Made(known)
        for name, item in selected:
            made.add(name, item, by_name=isinstance(item, str) and item == name)
        uses = tuple(made.uses(selected))
        key = tuple(made.item_of(_path(name), name) for name in self.keys)
        return RowDefinition(
            self.relation,
            tuple(made.items),
            tuple(name for name, _ in selected),
            uses,
            " AND ".join(f"({item})" for item in self.conditions) or None,
            key,
            self.count,
            self.skipped,
            self.is_query,
        )


class _Made:
    """The columns that are read, each once."""

    def __init__(self, known: Sequence[str] | None) -> None:
        self.known = known
        self.items: list[tuple[str, str]] = []
        self.functions: list[tuple[str, RowFunction, tuple[tuple[str, str], ...]]] = []
        self.taken: set[str] = set()

    def add(self, name: Any, item: object, *, by_name: bool) -> None:  # noqa: ANN401
        if not isinstance(name, str) or not name:
            raise RowViewError(f"a column has no name {name!r}", code="row-definition")
        self.taken.add(name.lower())
        if isinstance(item, str):
            self.items.append((name, self._column(item) if by_name else item))
            return
        function, given = item if isinstance(item, tuple) and item else (item, None)
        if not isinstance(function, RowFunction):
            raise RowViewError(
                f'column "{name}" is computed by {type(function).__name__}',
                hint="decorate the function with @grebe.udf",
                code="row-definition",
            )
        if not function.deterministic:
            raise NotBuiltError(
                f'function "{function.name}" is not deterministic',
                detail="results that no two rows may share are not there yet",
                hint="give it an input that tells rows apart, such as an id",
            )
        self.functions.append((name, function, _inputs(name, function, given)))

    def uses(self, selected: Sequence[tuple[str, object]]) -> list[FunctionUse]:
        """The functions with the columns that they take."""
        found = []
        for name, function, inputs in self.functions:
            pairs = inputs
            if function.kind is FunctionKind.BATCH and not inputs:
                pairs = tuple((item, item) for item, value in selected if isinstance(value, str))
            if not pairs:
                raise RowViewError(
                    f'function "{function.name}" has no inputs',
                    hint=f'"{name}": ({function.name}, {{"a": "column"}})',
                    code="function-without-inputs",
                )
            items = tuple((word, self.item_of(self._column(path), path)) for word, path in pairs)
            found.append(FunctionUse(name, items, function.to_dict()))
        return found

    def item_of(self, text: str, path: str) -> str:
        """The name under which an expression is read; a further one where it is not yet."""
        for name, own in self.items:
            if own == text:
                return name
        name, number = path.split(".")[-1], 1
        while name.lower() in self.taken:
            number += 1
            name = f"{path.split('.')[-1]}_{number}"
        self.taken.add(name.lower())
        self.items.append((name, text))
        return name

    def _column(self, path: str) -> str:
        first = path.split(".")[0]
        names = [name.lower() for name in self.known or ()]
        if self.known is not None and path.lower() not in names and first.lower() not in names:
            raise UnknownColumnError.named(path, list(self.known))
        return quote(path) if path.lower() in names else _path(path)


def _inputs(name: str, function: RowFunction, given: object) -> tuple[tuple[str, str], ...]:
    """(parameter, column) of a function, as it or the select says."""
    if given is None:
        if function.kind is FunctionKind.BATCH:
            return ()
        columns = function.input_columns or function.parameters
        return tuple(zip(function.parameters, columns, strict=True))
    if not isinstance(given, Mapping) or not all(isinstance(item, str) for item in given.values()):
        raise RowViewError(
            f'the inputs of column "{name}" are no mapping of parameters to columns',
            hint=f'({function.name}, {{"{function.parameters[0]}": "column"}})',
            code="row-definition",
        )
    if function.kind is FunctionKind.BATCH:
        return tuple(given.items())
    unknown = [word for word in given if word not in function.parameters]
    if unknown:
        raise RowViewError(
            f'function "{function.name}" has no parameter "{unknown[0]}"',
            detail=f"parameters: {', '.join(function.parameters)}",
            code="row-definition",
        )
    return tuple((word, given.get(word, word)) for word in function.parameters)


def _named(item: object) -> str:
    """The name of a column in a list."""
    if isinstance(item, RowFunction):
        return item.name
    if isinstance(item, str):
        return item
    raise RowViewError(
        f"a list selects names and functions, not {item!r}",
        hint='give a mapping: {"name": "expression"}',
        code="query-not-plain",
    )


def _path(name: str) -> str:
    return quote_path(*name.split("."))


def _whole(word: str, count: Any) -> int:  # noqa: ANN401  whatever is given is looked at
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise RowViewError(
            f"{word} must be at least 0, not {count!r}", hint=f"{word}(100)", code="query-not-plain"
        )
    return count


def _refuse_unlike(text: str, where: str) -> None:
    """Nothing, unless an expression is more than one over the columns of its row."""
    tree: exp.Expr | None = None
    try:
        tree = parse(f"SELECT {text}", "spark")
    except DefinitionError as error:
        raise RowViewError(
            f"{where} is not an expression of SQL",
            detail=f"{text}: {error.message}",
            hint="write one expression over the columns of a row",
            code="query-not-plain",
        ) from None
    items = tree.expressions if isinstance(tree, exp.Select) else []
    extra = [
        key for key, value in tree.args.items() if value and key not in ("expressions", "kind")
    ]
    if len(items) != 1 or extra:
        raise RowViewError(
            PLAIN, detail=f"{where}: {text}", hint="one expression", code="query-not-plain"
        )
    for kind, words in _NOT_PLAIN:
        if items[0].find(kind):
            raise RowViewError(
                PLAIN,
                detail=f"{where} holds {words}: {text}",
                hint='project.query("SELECT …") keeps any query below the functions',
                code="query-not-plain",
            )
