"""Whatever JSON is given as a definition: a statement that parses, or a typed error."""

from __future__ import annotations

import sqlglot
from hypothesis import example, given, settings
from hypothesis import strategies as st

from definitions.test_declared import LINKS, TABLES
from grebe.compiler.lower import Relation, lower
from grebe.compiler.text.declarative.declared import AGGREGATES, BUCKETS, COMPARISONS, DIRECTIVES
from grebe.compiler.text.declarative.paths import named_tables
from grebe.compiler.text.declarative.sql import statement_of
from grebe.errors import (
    AmbiguousColumnError,
    DefinitionError,
    GrebeError,
    UnknownColumnError,
    UnknownTableError,
)
from grebe.sql_text import made

PATHS = (
    "id", "status", "total", "createdAt", "items", "items.price", "items.product", "tags", "customer",
    "customer.name", "customer.address.country", "payments", "payments.amount", "nowhere", "*", "a b", "",
    "base", "s", "order", "element", "payments.m", "customer.group", "__element_items",
)  # fmt: skip
paths = st.sampled_from(PATHS)
plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), paths,
    st.sampled_from(["'; --", "\\", "`", "nan", "$createdAt", "replace", "manual", "7d"]),
)  # fmt: skip
junk = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
comparisons = st.dictionaries(
    st.sampled_from(COMPARISONS), st.one_of(plain, st.lists(plain, max_size=3)), max_size=2
)
conditions = st.recursive(
    st.dictionaries(paths, st.one_of(plain, comparisons), max_size=2),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["$and", "$or"]), st.lists(inner, max_size=2), max_size=1),
        st.dictionaries(st.just("$not"), st.one_of(inner, st.none()), max_size=1),
    ),
    max_leaves=4,
)
aggregates = st.dictionaries(st.sampled_from([*AGGREGATES, "$by"]), paths, max_size=2)
groups = st.one_of(
    paths,
    st.dictionaries(st.sampled_from(BUCKETS), paths.map("${}".format), max_size=2),
)
SHAPES = {
    "$type": st.sampled_from(["v", "main.v", "orders"]),
    "$projection": st.sampled_from(["olap", "oltp", "both"]),
    "$from": st.sampled_from(["orders", "customers", "payments", "nothing"]),
    "$expand": st.lists(paths, max_size=2),
    "$flatten": st.dictionaries(paths, paths, max_size=2),
    "$filter": conditions,
    "$select": st.one_of(st.lists(paths, max_size=3), st.dictionaries(paths, paths, max_size=2)),
    "$unnest": paths,
    "$groupBy": st.lists(groups, max_size=2),
    "$compute": st.dictionaries(paths, aggregates, max_size=2),
    "$refresh": st.dictionaries(
        st.sampled_from(["mode", "schedule", "timezone", "strategy", "gracePeriod", "retention"]),
        plain,
        max_size=2,
    ),
}
assert set(SHAPES) == set(DIRECTIVES)


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, object]:
    """Mostly well formed, so that what lies behind the first check is reached too."""
    spec: dict[str, object] = {"$type": "v", "$from": "orders"}
    for key in draw(st.lists(st.sampled_from(DIRECTIVES), max_size=4, unique=True)):
        is_junk = draw(st.integers(0, 9)) == 0
        spec[key] = draw(junk if is_junk else SHAPES[key])
    return spec


HOSTILE = {
    "base": "STRUCT<id: BIGINT, customer_id: BIGINT>",
    "element": "ARRAY<INT>",
    "s": "INT",
    **dict.fromkeys(("m", "j1", "e0", "order", "group", "key", "all", "__element_items"), "INT"),
}
"""Columns of every table that are called like what the text itself calls something."""


def columns(name: str) -> dict[str, str]:
    if name not in TABLES:
        raise UnknownTableError(name)
    return {**TABLES[name], **HOSTILE}


@settings(max_examples=200, deadline=None)
@given(st.one_of(definitions(), junk))
@example({"$type": "v", "$from": "orders", "$filter": {"customer": None}})
@example({"$type": "v", "$from": "orders", "$select": ["customer"]})
@example({"$type": "v", "$from": "orders", "$compute": {"n": {"$count": "payments"}}})
@example({"$type": "v", "$from": "orders", "$unnest": "items"})
@example({"$type": "v", "$from": "orders", "$select": ["customer"], "$expand": ["customer"]})
def test_F191_whatever_is_given_is_a_statement_or_a_typed_error(spec: object) -> None:
    try:
        found = statement_of(spec, LINKS, columns)
    except GrebeError as error:
        assert error.message
        return
    tree = sqlglot.parse_one(found.query, read="spark")
    assert isinstance(spec, dict)
    if spec.get("$filter"):
        assert tree.args.get("where") is not None  # no condition is dropped
    _names_its_tables(spec, tree)
    _is_understood(found.query)


def _names_its_tables(spec: object, tree: sqlglot.exp.Expr) -> None:
    """The tables that are known without looking at any are those that the query reads."""
    from grebe.compiler.text.declarative.declared import declared

    read = {item.name for item in tree.find_all(sqlglot.exp.Table)}
    assert read == set(named_tables(declared(spec), LINKS))


def _is_understood(query: str) -> None:
    """Every name of the text means one column of the tables, whatever those are called."""
    sources = {name: Relation(name, tuple(columns(name).items())) for name in TABLES}
    try:
        lower(query, dialect="spark", sources=sources)
    except (UnknownColumnError, AmbiguousColumnError) as error:
        raise AssertionError(query) from error
    except DefinitionError:
        return


def test_the_source_is_not_taken_for_a_column_at_the_end_of_a_link() -> None:
    """The rows at the end of the link have a struct of that name, with a field of that name."""
    spec = {"$type": "v", "$from": "orders", "$compute": {"n": {"$count": "payments"}}}
    query = statement_of(spec, LINKS, columns).query
    assert f"= {made('base')}." in query
    assert "FROM `orders` AS base" in statement_of(spec, LINKS, lambda name: TABLES[name]).query
