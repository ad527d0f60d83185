"""Expressions: every name replaced by the column it means, every part checked against the list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from grebe.compiler.algebra.functions import aggregate_kind, function_name, refusal, survives
from grebe.compiler.algebra.scalar import Scalar
from grebe.compiler.lower.context import Context
from grebe.compiler.lower.laterals import Laterals, operand
from grebe.compiler.lower.pending import Kind, Pending
from grebe.compiler.lower.scope import AmbiguousNameError, Environment, FoundColumn, Scope
from grebe.compiler.lower.spelling import respelled
from grebe.compiler.lower.star_arguments import has_star, starred, with_columns
from grebe.compiler.lower.trees import mapped
from grebe.compiler.parser.opaque import holes_of, opaque
from grebe.compiler.parser.spans import Span, span_of
from grebe.compiler.parser.tokens import Word, pieces_of, words_of
from grebe.compiler.reasons import ReasonCode
from grebe.errors import AmbiguousColumnError, UnknownColumnError
from grebe.sql_text import made

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


@dataclass(slots=True)
class Resolver:
    """Resolves the expressions of one SELECT.

    ``aliases`` are the outputs named so far, ``alias_first`` says that they win over columns.
    """

    context: Context
    environment: Environment
    scope: Scope
    pending: dict[str, Pending] = field(default_factory=dict)
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    windows: Mapping[str, exp.Window] = field(default_factory=dict)
    alias_first: bool = False
    generators: bool = False
    """True while functions that give several rows are allowed."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Those of the functions around an expression, with the names that they get."""
    laterals: Laterals = field(init=False)
    """Outputs that later ones read."""
    known: dict[str, str] = field(default_factory=dict)
    """Placeholders of subqueries by their text, so that equal ones are joined once."""

    def __post_init__(self) -> None:
        self.laterals = Laterals(self.context.fresh)

    def scalar(self, tree: exp.Expr) -> Scalar:
        """The resolved expression."""
        return Scalar.of(self.tree(tree))

    def tree(self, tree: exp.Expr) -> exp.Expr:
        """A new tree over internal columns."""
        if self.context.kept and span_of(tree) in self.context.kept:
            return kept_as_written(self, tree)
        inside = _is_below_outputs(tree)
        tree = respelled(tree, self.context.dialect)
        special = self.special(tree)
        if special is not None:
            return special
        if aggregate_kind(tree) is None and not inside:
            return self.checked(tree)
        before = self.alias_first, self.laterals.open
        self.alias_first = self.alias_first and aggregate_kind(tree) is None
        self.laterals.open = self.laterals.open and not inside
        built = self.checked(tree)
        self.alias_first, self.laterals.open = before
        return built

    def special(self, tree: exp.Expr) -> exp.Expr | None:
        """What is more than a function of its parts; None for everything else."""
        match tree:
            case exp.Column():
                return self.column(tree)
            case exp.Query() | exp.Exists() | exp.In() | exp.Binary():
                return self.with_query(tree)

            case exp.Window():
                return self.window(tree)
            case exp.Lambda():
                return self.function(tree)
            case exp.Not() if self.context.dialect == "spark":
                return self.negated(tree)
            case exp.TryCast() if self.context.dialect == "spark" and not tree.args.get("safe"):
                # The parser says TRY_CAST for every cast of this dialect; only some are.
                return self.checked(_cast(tree))
            case exp.Explode() if self.generators:
                return self.rebuilt(tree)
            case exp.Placeholder() | exp.Parameter():
                self.context.stop("parameter", "a definition has no parameters", tree)
        return None

    def with_query(self, tree: exp.Expr) -> exp.Expr | None:
        """The column that stands for a test of a subquery, or for its value."""
        if self.is_test_of_truth(tree):
            return self.truth(tree)
        if isinstance(tree, exp.Query):
            return self.placeholder(Kind.SCALAR, _query(tree))
        if isinstance(tree, exp.Exists) and isinstance(tree.this, exp.Query):
            return self.placeholder(Kind.EXISTS, _query(tree.this))
        if isinstance(tree, exp.In) and tree.args.get("query") is not None:
            return self.membership(tree)
        if isinstance(tree, exp.Binary):
            quantifier = _quantifier(tree.expression)
            return None if quantifier is None else self.quantified(tree, quantifier)
        return None

    def checked(self, tree: exp.Expr) -> exp.Expr:
        spark = self.context.dialect == "spark"
        if spark and isinstance(tree, (exp.Cast, exp.Nullif)) and _tests(tree):
            message = "what Spark makes of an unknown IN depends on what it is cast to"
            self.context.refuse(ReasonCode.TRANSLATION_DIFFERS, message, tree)
            return exp.null()
        problems = tree.error_messages()
        if problems:
            name = function_name(tree)
            self.context.invalid(f'"{name}" is not complete', tree, hint=problems[0])
        found = refusal(tree, self.context.dialect)
        if found is not None:
            expressible = found.code in (ReasonCode.TIME_FUNCTION, ReasonCode.COLLATION)
            expressible = expressible and survives(tree, self.context.dialect)
            self.context.refuse(found.code, found.message, tree, expressible=expressible)
            for child in tree.iter_expressions():
                self.tree(child)
            if not expressible:
                return exp.null()
        return self.rebuilt(tree)

    def rebuilt(self, tree: exp.Expr) -> exp.Expr:
        """The same kind of node with resolved children."""
        if isinstance(tree, (exp.Func, exp.Distinct)) and has_star(tree):
            tree = self.without_star(tree)
        if isinstance(tree, exp.Struct):
            return self.struct(tree)
        return mapped(tree, self.compared if isinstance(tree, _COMPARISONS) else self.child)

    def without_star(self, tree: exp.Expr) -> exp.Expr:
        """The call with a star among its arguments written out."""
        scope = self.scope
        built = with_columns(tree, lambda star: starred(scope, star))
        if built is None:
            message = "a star in this place has no rule"
            self.context.refuse(ReasonCode.UNSUPPORTED_EXPRESSION, message, tree)
            return exp.null()
        return built

    def struct(self, tree: exp.Struct) -> exp.Expr:
        """The struct with the user's names for its fields, whatever the columns are called here."""
        built = mapped(tree, self.child)
        fields = []
        for item, value in zip(tree.expressions, list(built.expressions), strict=True):
            named = isinstance(item, exp.Column) and isinstance(value, exp.Column)
            if named and value.name != item.name:
                name = exp.to_identifier(item.name, quoted=True)
                value = exp.PropertyEQ(this=name, expression=value.copy())
            fields.append(value)
        built.set("expressions", fields)
        return built

    def compared(self, tree: exp.Expr) -> exp.Expr:
        """A side of a comparison; a comparison among them keeps its own parentheses."""
        built = self.child(tree)
        return exp.paren(built, copy=False) if isinstance(built, _COMPARISONS) else built

    def function(self, tree: exp.Lambda) -> exp.Expr:
        """A function as an argument, its parameters under names that no column has."""
        outer = self.parameters
        own = [made(f"x{len(outer) + place}") for place, _ in enumerate(tree.expressions)]
        names = [item.name.lower() for item in tree.expressions]
        self.parameters = {**outer, **dict(zip(names, own, strict=True))}
        body = self.child(tree.this)
        self.parameters = outer
        arguments = [exp.to_identifier(name) for name in own]
        return exp.Lambda(**{**tree.args, "this": body, "expressions": arguments})

    def child(self, tree: exp.Expr) -> exp.Expr:
        parameter = self.parameters.get(tree.name.lower()) if self.parameters else None
        if parameter and isinstance(tree, exp.Identifier) and is_parameter(tree):
            return exp.to_identifier(parameter)
        leaf = (exp.Identifier, exp.Literal, exp.DataType, exp.Var, exp.Null, exp.Boolean, exp.Star)
        return tree.copy() if isinstance(tree, leaf) else self.tree(tree)

    def column(self, tree: exp.Column) -> exp.Expr:
        if isinstance(tree.this, exp.Star):
            message = "a star cannot stand inside this expression"
            self.context.refuse(ReasonCode.UNSUPPORTED_EXPRESSION, message, tree)
            return exp.null()
        parts = tuple(part.name for part in tree.parts)
        parameter = self.parameters.get(parts[0].lower())
        if parameter:
            return with_fields(exp.to_identifier(parameter), parts[1:])
        bare = parts[0].lower() if len(parts) == 1 else None
        if bare is not None and self.alias_first and bare in self.aliases:
            return operand(self.laterals.inlined(self.aliases[bare]))
        found = self.find(parts, tree, own=self.context.dialect == "spark")
        if found is not None:
            return column_tree(found, tree)
        alias = self.aliases.get(parts[0].lower())
        if alias is not None:  # to Spark nearer than a column of the query around this one
            return with_fields(self.laterals.read(parts[0].lower(), alias), parts[1:])
        found = self.find(parts, tree)
        if found is not None:
            return column_tree(found, tree)
        if any(scope.is_open for scope in self.scope.around()):
            return exp.null()
        known = sorted({name for scope in self.scope.around() for name, _ in scope.star})
        where = self.context.where(tree)
        raise UnknownColumnError.named(".".join(parts), known, where=where)

    def find(
        self, parts: tuple[str, ...], tree: exp.Column, *, own: bool = False
    ) -> FoundColumn | None:
        """The column that a name means; a table around it before a column of unknown type.

        ``own``: of this query alone, and of none around it.
        """
        scopes = [self.scope] if own else list(self.scope.around())
        found = self.found(parts, tree, self.context.is_nested, scopes)
        if found is None and len(parts) > 1:
            return self.found(parts, tree, self.context.may_be_nested, scopes)
        return found

    def found(
        self,
        parts: tuple[str, ...],
        tree: exp.Column,
        has_fields: Callable[[str], bool],
        scopes: Sequence[Scope],
    ) -> FoundColumn | None:
        for scope in scopes:
            try:
                found = scope.find(parts, has_fields)
            except AmbiguousNameError:
                name = ".".join(parts)
                raise AmbiguousColumnError(
                    f'column "{name}" is ambiguous',
                    detail="several tables in scope have it",
                    hint="write the table's name before it",
                    where=self.context.where(tree),
                ) from None
            if found is not None:
                return found
        return None

    def membership(self, tree: exp.In) -> exp.Expr:
        query = tree.args["query"]
        if not isinstance(query, exp.Query):
            self.context.refuse(
                ReasonCode.UNSUPPORTED_EXPRESSION, "IN over this expression has no rule", tree
            )
            return exp.null()
        mark = self.placeholder(Kind.MATCH, _query(query), self.operands(tree.this))
        return known(mark, otherwise=False) if self.context.dialect == "spark" else mark

    def negated(self, tree: exp.Not) -> exp.Expr | None:
        """NOT over tests of subqueries as Spark has it.

        Spark says FALSE where IN or NOT IN of a subquery is unknown, after it has moved NOT inside
        AND and OR.
        """
        inner = tree.this.unnest()
        if isinstance(inner, exp.In) and inner.args.get("query") is not None:
            mark = self.placeholder(
                Kind.MATCH, _query(inner.args["query"]), self.operands(inner.this)
            )
            return exp.Not(this=known(mark, otherwise=True))
        if isinstance(inner, exp.Not) and inner.find(exp.In):
            return self.tree(inner.this)
        if isinstance(inner, exp.Connector) and any(
            i.args.get("query") for i in inner.find_all(exp.In)
        ):
            sides = [
                exp.Not(this=exp.paren(side.copy())) for side in (inner.this, inner.expression)
            ]
            turned = exp.Or if isinstance(inner, exp.And) else exp.And
            return exp.paren(self.tree(turned(this=sides[0], expression=sides[1])), copy=False)
        return None

    def is_test_of_truth(self, tree: exp.Expr) -> bool:
        """True for a test of a subquery that is compared with TRUE or FALSE."""
        return self.context.dialect == "spark" and _truth(tree) is not None

    def truth(self, tree: exp.Expr) -> exp.Expr:
        """The test itself, or its negation: Spark makes that of a comparison with a constant.

        So unknown is FALSE in `(x IN (…)) = FALSE`, and TRUE in `(x IN (…)) <=> FALSE`.
        """
        test, wanted = _truth(tree) or (tree, True)
        plain = test.copy() if wanted else exp.Not(this=exp.paren(test.copy(), copy=False))
        return self.tree(plain)

    def operands(self, tree: exp.Expr) -> tuple[Scalar, ...]:
        plain = tree.unnest()
        parts = plain.expressions if isinstance(plain, exp.Tuple) else [plain]
        return tuple(self.scalar(part) for part in parts)

    def quantified(self, tree: exp.Binary, quantifier: exp.Any | exp.All) -> exp.Expr:
        query = quantifier.this
        if isinstance(query, exp.Paren):
            query = query.unnest()
        if not isinstance(query, exp.Query):
            if isinstance(tree, (exp.Like, exp.ILike)) and isinstance(query, exp.Tuple):
                return self.checked(tree)
            message = "ANY and ALL are known over subqueries only"
            self.context.refuse(ReasonCode.UNSUPPORTED_EXPRESSION, message, tree)
            return exp.null()
        if not isinstance(tree, _COMPARISONS):
            message = f"{type(tree).__name__.upper()} with ANY or ALL has no rule"
            self.context.refuse(ReasonCode.UNSUPPORTED_EXPRESSION, message, tree)
            return exp.null()
        operands = self.operands(tree.this)
        every = isinstance(quantifier, exp.All)
        mark = self.placeholder(
            Kind.MATCH, _query(query), operands, compare=type(tree), negated=every
        )
        return exp.Not(this=mark) if every else mark

    def placeholder(
        self,
        kind: Kind,
        query: exp.Query,
        operands: tuple[Scalar, ...] = (),
        *,
        compare: type[exp.Binary] = exp.EQ,
        negated: bool = False,
    ) -> exp.Expr:
        """The column that stands for a subquery's value until it is joined."""
        text = query.sql(comments=False)
        spelled = (kind.value, text, compare.__name__, str(negated), *(o.text for o in operands))
        key = "\x1f".join(spelled)
        if key not in self.known:
            hint = "value" if kind is Kind.SCALAR else "matches"
            name = self.context.fresh(made(hint))
            self.known[key] = name
            inside = self.environment.inside(self.scope)
            self.pending[name] = Pending(name, kind, query, inside, operands, compare, negated)
            self.context.features.add("subquery")
        return quoted(self.known[key])

    def window(self, tree: exp.Window) -> exp.Expr:
        """The call with its named window written out."""
        whole = tree
        if tree.args.get("alias") is not None:
            whole = self.unnamed(tree)
        built = self.checked(whole)
        built.meta.update(tree.meta)
        return built

    def unnamed(self, tree: exp.Window) -> exp.Window:
        name = tree.text("alias").lower()
        base = self.windows.get(name)
        if base is None:
            self.context.invalid(f'window "{name}" does not exist', tree)
        if base.args.get("alias") is not None:
            base = self.unnamed(base)
        parts = dict(tree.args)
        parts.pop("alias")
        for key in ("partition_by", "order", "spec"):
            parts[key] = parts.get(key) or base.args.get(key)
        return exp.Window(**{key: _copied(value) for key, value in parts.items()})


def is_parameter(tree: exp.Identifier) -> bool:
    """True for a name that stands where a value could: not for that of a field, say."""
    match tree.parent:
        case exp.Dot() | exp.Alias():
            return tree.arg_key == "this"
        case exp.PropertyEQ() | exp.Kwarg():
            return tree.arg_key == "expression"
        case exp.Column() | exp.ColumnDef() | exp.TableAlias():
            return False
    return True


def kept_as_written(resolver: Resolver, tree: exp.Expr) -> exp.Expr:
    """The user's characters, with the columns that they name as internal ones.

    A name that no relation in scope has is none: it may be a unit, or a parameter of a lambda.
    """
    context, whole = resolver.context, span_of(tree)
    found = holes_of(tree, whole, _is_call) if whole is not None else None
    if whole is None or found is None:
        context.refuse(ReasonCode.TRANSLATION_DIFFERS, "its columns cannot be told", tree)
        return exp.null()
    holes: list[tuple[Span, exp.Expr]] = []
    for span, part in found:
        try:
            holes.append((span, resolver.tree(part)))
        except UnknownColumnError:
            if not isinstance(part, exp.Column):
                raise
    around = {name.lower() for scope in resolver.scope.around() for name, _ in scope.star}
    for word in words_of(context.text, whole, context.dialect):
        if _may_be_column(word, around) and not any(s.holds(word.span) for s, _ in holes):
            message = f'what "{word.name}" means in it cannot be told'
            context.refuse(ReasonCode.TRANSLATION_DIFFERS, message, tree)
            return exp.null()
    pieces = pieces_of(context.text, whole, [span for span, _ in holes], context.dialect)
    return opaque(pieces, [part for _, part in holes])


def _is_below_outputs(tree: exp.Expr) -> bool:
    """True for a call whose arguments are computed before any output is."""
    if isinstance(tree, exp.Explode):
        return True
    if aggregate_kind(tree) is None:
        return False
    around = tree.parent
    while isinstance(around, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)):
        around = around.parent
    return not isinstance(around, exp.Window)


def _is_call(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Window) or aggregate_kind(tree) is not None


def _may_be_column(word: Word, around: set[str]) -> bool:
    return not word.is_call and not word.after_dot and word.name.lower() in around


def known(mark: exp.Expr, *, otherwise: bool) -> exp.Expr:
    """The test with an answer where it is unknown."""
    answer = exp.true() if otherwise else exp.false()
    return exp.Coalesce(this=mark, expressions=[answer])


def bare_mark(tree: exp.Expr, *, negated: bool) -> exp.Expr:
    """The test inside `known`, where a filter keeps the same rows without the answer."""
    if isinstance(tree, exp.Coalesce) and len(tree.expressions) == 1:
        answer = tree.expressions[0]
        if isinstance(answer, exp.Boolean) and bool(answer.this) is negated:
            return tree.this if isinstance(tree.this, exp.Expr) else tree
    return tree


def _tests(tree: exp.Expr) -> bool:
    """True when an IN over a subquery is somewhere in the expression, outside of other queries."""
    if isinstance(tree, exp.In) and tree.args.get("query") is not None:
        return True
    return not isinstance(tree, exp.Query) and any(_tests(item) for item in tree.iter_expressions())


def _truth(tree: exp.Expr) -> tuple[exp.Expr, bool] | None:
    """The test of a comparison with a constant, and whether it has to be TRUE."""
    if isinstance(tree, exp.In):
        listed = tree.expressions
        sides = [tree.this, *listed] if len(listed) == 1 else []
    elif isinstance(tree, (exp.EQ, exp.NEQ)):
        sides = [tree.this, tree.expression]
    else:
        return None
    plain = [side.unnest() for side in sides]
    values = [side for side in plain if isinstance(side, exp.Boolean)]
    others = [side for side in plain if not isinstance(side, exp.Boolean)]
    if len(values) != 1 or len(others) != 1 or not _tests(others[0]):
        return None
    return others[0], bool(values[0].this) is not isinstance(tree, exp.NEQ)


def _quantifier(tree: exp.Expr) -> exp.Any | exp.All | None:
    """The ANY or ALL on the right of a comparison; the parser takes some for functions."""
    if isinstance(tree, (exp.Any, exp.All)):
        return tree
    word = tree.name.lower() if isinstance(tree, exp.Anonymous) else ""
    if word not in ("all", "any", "some") or len(tree.expressions) != 1:
        return None
    inside = tree.expressions[0].unnest()
    if not isinstance(inside, exp.Query):
        return None
    return exp.All(this=inside.copy()) if word == "all" else exp.Any(this=inside.copy())


def _copied(value: object) -> object:
    if isinstance(value, exp.Expr):
        return value.copy()
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def _cast(tree: exp.TryCast) -> exp.Cast:
    """A plain cast with what it shares with a TRY_CAST."""
    known = exp.Cast.arg_types
    return exp.Cast(**{key: value for key, value in tree.copy().args.items() if key in known})


def _query(tree: exp.Expr) -> exp.Query:
    """The query inside its parentheses."""
    current = tree
    while isinstance(current, exp.Subquery) and not any(
        current.args.get(key) for key in ("order", "limit", "offset", "with_", "joins", "pivots")
    ):
        current = current.this
    if not isinstance(current, exp.Query):
        raise TypeError(type(current).__name__)
    return current


def quoted(name: str, like: exp.Expr | None = None) -> exp.Column:
    """The tree that reads one internal column, at the place of another tree."""
    identifier = exp.to_identifier(name, quoted=True)
    if like is not None:
        spot = like.this if isinstance(like, exp.Column) else like
        identifier.meta.update(spot.meta)
    return exp.Column(this=identifier)  # `exp.column` would copy what nobody else has


def column_tree(found: FoundColumn, tree: exp.Expr) -> exp.Expr:
    """The tree that reads a column and perhaps fields of it."""
    return with_fields(quoted(found.column, tree), found.fields)


def with_fields(tree: exp.Expr, fields: tuple[str, ...]) -> exp.Expr:
    """Struct fields read from a tree; in parentheses, so that nobody takes it for a table."""
    current = tree
    for name in fields:
        current = exp.Dot(
            this=exp.paren(current, copy=False), expression=exp.to_identifier(name, quoted=True)
        )
    return current
