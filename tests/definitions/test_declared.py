"""The form of a declarative definition: every rule has a code, and names the field at fault."""

from __future__ import annotations

import pytest

from grebe.compiler.text.declarative.declared import declared
from grebe.compiler.text.declarative.links import Link
from grebe.compiler.text.declarative.sql import statement_of
from grebe.errors import DeclarationError

OK = {"$type": "V", "$from": "orders"}

BAD = [
    (None, "INVALID_DEFINITION", ""),
    ([], "INVALID_DEFINITION", ""),
    ("SELECT 1", "INVALID_DEFINITION", ""),
    ({}, "MISSING_FROM", "$from"),
    ({"$type": "V"}, "MISSING_FROM", "$from"),
    ({"$from": "orders"}, "INVALID_NAME", "$type"),
    ({"$type": "", "$from": "orders"}, "INVALID_NAME", "$type"),
    ({"$type": 7, "$from": "orders"}, "INVALID_NAME", "$type"),
    ({"$type": "a b", "$from": "orders"}, "INVALID_NAME", "$type"),
    ({"$type": "x'; DROP TABLE y; --", "$from": "orders"}, "INVALID_NAME", "$type"),
    ({"$type": "orders", "$from": "orders"}, "INVALID_FROM", "$from"),
    ({**OK, "$from": ""}, "INVALID_FROM", "$from"),
    ({**OK, "$from": None}, "INVALID_FROM", "$from"),
    ({**OK, "$from": ["orders"]}, "INVALID_FROM", "$from"),
    ({**OK, "$from": "orders; DROP"}, "INVALID_FROM", "$from"),
    ({**OK, "$form": "x"}, "INVALID_DIRECTIVE", "$form"),
    ({**OK, "from": "x"}, "INVALID_DIRECTIVE", "from"),
    ({**OK, "$projection": "oltap"}, "INVALID_PROJECTION", "$projection"),
    ({**OK, "$projection": None}, "INVALID_PROJECTION", "$projection"),
    ({**OK, "$expand": "customer"}, "INVALID_EXPAND", "$expand"),
    ({**OK, "$expand": [7]}, "INVALID_EXPAND", "$expand[0]"),
    ({**OK, "$expand": ["customer", ""]}, "INVALID_EXPAND", "$expand[1]"),
    ({**OK, "$expand": ["a.b.c.d"]}, "INVALID_EXPAND", "$expand[0]"),
    ({**OK, "$expand": ["a", "a"]}, "INVALID_EXPAND", "$expand[1]"),
    ({**OK, "$flatten": ["customer"]}, "INVALID_FLATTEN", "$flatten"),
    ({**OK, "$flatten": {"customer": ""}}, "INVALID_FLATTEN", "$flatten.customer"),
    ({**OK, "$flatten": {"customer": 7}}, "INVALID_FLATTEN", "$flatten.customer"),
    ({**OK, "$flatten": {"a": "x", "b": "x"}}, "INVALID_FLATTEN", "$flatten.b"),
    ({**OK, "$filter": {}}, "INVALID_FILTER", "$filter"),
    ({**OK, "$filter": "total > 5"}, "INVALID_FILTER", "$filter"),
    ({**OK, "$filter": {"total": {"$above": 5}}}, "INVALID_FILTER", "$filter.total"),
    ({**OK, "$filter": {"total": [1]}}, "INVALID_FILTER", "$filter.total"),
    ({**OK, "$filter": {"$or": []}}, "INVALID_FILTER", "$filter.$or"),
    ({**OK, "$filter": {"total": {"$in": []}}}, "INVALID_FILTER", "$filter.total"),
    ({**OK, "$filter": {"total": {"$exists": 1}}}, "INVALID_FILTER", "$filter.total"),
    ({**OK, "$filter": {"a b": 1}}, "INVALID_FILTER", "$filter.a b"),
    ({**OK, "$select": "total"}, "INVALID_SELECT", "$select"),
    ({**OK, "$select": {"a b": "total"}}, "INVALID_SELECT", "$select.a b"),
    ({**OK, "$select": ["total"], "$groupBy": ["status"]}, "INVALID_SELECT", "$select"),
    ({**OK, "$unnest": ["items"]}, "INVALID_UNNEST", "$unnest"),
    ({**OK, "$groupBy": []}, "INVALID_GROUP_BY", "$groupBy"),
    ({**OK, "$groupBy": "status"}, "INVALID_GROUP_BY", "$groupBy"),
    ({**OK, "$groupBy": ["status", "status"]}, "INVALID_GROUP_BY", "$groupBy[1]"),
    ({**OK, "$groupBy": [{"fortnight": "$day"}]}, "INVALID_GROUP_BY", "$groupBy[0]"),
    ({**OK, "$groupBy": [{"day": "day"}]}, "INVALID_GROUP_BY", "$groupBy[0]"),
    ({**OK, "$groupBy": [{"day": "$a", "hour": "$a"}]}, "INVALID_GROUP_BY", "$groupBy[0]"),
    ({**OK, "$compute": ["n"]}, "INVALID_COMPUTE", "$compute"),
    ({**OK, "$compute": {"n": "$count"}}, "INVALID_COMPUTE", "$compute.n"),
    ({**OK, "$compute": {"n": {}}}, "INVALID_COMPUTE", "$compute.n"),
    ({**OK, "$compute": {"n": {"$count": "*", "$sum": "x"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({**OK, "$compute": {"n": {"$median": "x"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({**OK, "$compute": {"n": {"$sum": "*"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({**OK, "$compute": {"n": {"$first": "x"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({**OK, "$compute": {"n": {"$sum": "x", "$by": "y"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({**OK, "$compute": {"a-b": {"$count": "*"}}}, "INVALID_COMPUTE", "$compute.a-b"),
    ({**OK, "$refresh": "hourly"}, "INVALID_REFRESH", "$refresh"),
    ({**OK, "$refresh": {"moed": "manual"}}, "INVALID_REFRESH", "$refresh.moed"),
    ({**OK, "$refresh": {"mode": "often"}}, "INVALID_REFRESH_MODE", "$refresh.mode"),
    ({**OK, "$refresh": {"mode": "scheduled"}}, "MISSING_SCHEDULE", "$refresh.schedule"),
    ({**OK, "$refresh": {"mode": "scheduled", "schedule": "soon"}}, "INVALID_SCHEDULE", "$refresh.schedule"),
    ({**OK, "$refresh": {"mode": "scheduled", "schedule": 7}}, "INVALID_SCHEDULE", "$refresh.schedule"),
    ({**OK, "$refresh": {"mode": "manual", "schedule": "0 * * * *"}}, "INVALID_SCHEDULE", "$refresh.schedule"),
    ({**OK, "$refresh": {"mode": "scheduled", "schedule": "0 * * * *", "timezone": "Mars"}}, "INVALID_TIMEZONE", "$refresh.timezone"),
    ({**OK, "$refresh": {"timezone": "Mars"}}, "INVALID_TIMEZONE", "$refresh.timezone"),
    ({**OK, "$refresh": {"strategy": "merge"}}, "INVALID_STRATEGY", "$refresh.strategy"),
    ({**OK, "$refresh": {"gracePeriod": "a while"}}, "INVALID_GRACE_PERIOD", "$refresh.gracePeriod"),
    ({**OK, "$refresh": {"retention": 7}}, "INVALID_RETENTION", "$refresh.retention"),
    ({**OK, "$refresh": {"backend": "paper"}}, "INVALID_BACKEND", "$refresh.backend"),
    ({**OK, "$filter": {"$not": None}}, "INVALID_FILTER", "$filter"),
    ({**OK, "$filter": {"$and": [None]}}, "INVALID_FILTER", "$filter"),
    ({**OK, "$filter": {"$or": [{}]}}, "INVALID_FILTER", "$filter"),
    ({**OK, "$filter": {"id": {}}}, "INVALID_FILTER", "$filter.id"),
    ({**OK, "$filter": {"id": {"$gt": None}}}, "INVALID_FILTER", "$filter.id"),
    ({**OK, "$filter": {"id": float("nan")}}, "INVALID_FILTER", "$filter.id"),
    ({**OK, "$filter": {"id": {"$in": [1, float("inf")]}}}, "INVALID_FILTER", "$filter.id"),
    ({**OK, "$filter": {"$and": [{"id": [1]}]}}, "INVALID_FILTER", "$filter.id"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "code", "field"), BAD)
def test_F191_every_rule_has_a_code_and_names_its_field(
    spec: object, code: str, field: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        declared(spec)
    assert (caught.value.feature, caught.value.field) == (code, field)
    assert caught.value.code == code.lower().replace("_", "-")


TABLES = {
    "orders": {
        "id": "bigint",
        "customer": "bigint",
        "status": "string",
        "total": "decimal(10,2)",
        "createdAt": "timestamp",
        "items": "array<struct<product:bigint,price:decimal(10,2),note:string>>",
        "tags": "array<string>",
    },
    "customers": {"id": "bigint", "name": "string", "tier": "string", "address": "bigint"},
    "addresses": {"id": "bigint", "city": "string", "country": "bigint"},
    "countries": {"id": "bigint", "name": "string"},
    "products": {"id": "bigint", "title": "string", "category": "bigint"},
    "categories": {"id": "bigint", "label": "string"},
    "payments": {"order": "bigint", "amount": "decimal(10,2)"},
}
LINKS = {
    "orders": {
        "customer": Link("customers", "customer", "id"),
        "payments": Link("payments", "id", "order", many=True),
    },
    "customers": {"address": Link("addresses", "address", "id")},
    "addresses": {"country": Link("countries", "country", "id")},
    "orders.items": {"product": Link("products", "product", "id")},
    "products": {"category": Link("categories", "category", "id")},
}

UNRESOLVED = [
    ({"$expand": ["buyer"]}, "INVALID_EXPAND", "$expand[0]"),
    ({"$expand": ["status"]}, "INVALID_EXPAND", "$expand[0]"),
    ({"$expand": ["customer.name"]}, "INVALID_EXPAND", "$expand[0]"),
    ({"$flatten": {"customer": "buyer"}}, "INVALID_FLATTEN", "$flatten.customer"),
    ({"$expand": ["customer", "customer.address"], "$flatten": {"customer": "a", "customer.address": "a_x", "items": "y"}}, "INVALID_FLATTEN", "$flatten.items"),
    ({"$compute": {"id": {"$count": "items"}}}, "INVALID_COMPUTE", "$compute.id"),
    ({"$compute": {"n": {"$count": "total"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({"$compute": {"n": {"$sum": "items.prize"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({"$compute": {"n": {"$sum": "items.note"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({"$compute": {"n": {"$stddev": "items.price"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({"$compute": {"n": {"$sum": "payments"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({"$groupBy": ["stauts"]}, "INVALID_GROUP_BY", "$groupBy[0]"),
    ({"$groupBy": ["customer.teir"]}, "INVALID_GROUP_BY", "$groupBy[0]"),
    ({"$groupBy": [{"day": "$status"}]}, "INVALID_GROUP_BY", "$groupBy[0]"),
    ({"$groupBy": ["items.product"]}, "INVALID_GROUP_BY", "$groupBy[0]"),
    ({"$groupBy": ["status"], "$compute": {"n": {"$sum": "items.price"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({"$groupBy": ["status"], "$compute": {"n": {"$sum": "payments.amount"}}}, "INVALID_COMPUTE", "$compute.n"),
    ({"$filter": {"stauts": "x"}}, "INVALID_FILTER", "$filter.stauts"),
    ({"$select": ["stauts"]}, "INVALID_SELECT", "$select"),
    ({"$select": {"a": "status", "A": "total"}}, "INVALID_SELECT", "$select"),
    ({"$unnest": "status"}, "INVALID_UNNEST", "$unnest"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "code", "field"), UNRESOLVED)
def test_F194_names_that_lead_nowhere_are_refused(
    spec: dict[str, object], code: str, field: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        statement_of({**OK, **spec}, LINKS, TABLES.__getitem__)
    assert (caught.value.feature, caught.value.field) == (code, field)


def names(spec: dict[str, object]) -> list[str]:
    """The output names of a definition."""
    import sqlglot

    text = statement_of({**OK, **spec}, LINKS, TABLES.__getitem__).query
    return sqlglot.parse_one(text, read="spark").named_selects


def test_F194_one_two_and_three_levels_are_expanded() -> None:
    own = list(TABLES["orders"])
    assert names({"$expand": ["customer"]}) == [
        *own,
        *(f"customer_{n}" for n in TABLES["customers"]),
    ]
    deep = names({"$expand": ["customer.address.country"]})
    assert deep == [*own, "customer_address_country_id", "customer_address_country_name"]
    assert "items_product_category_label" in names({"$expand": ["items.product.category"]})


def test_F195_the_longest_renamed_path_counts() -> None:
    spec = {
        "$expand": ["customer", "customer.address"],
        "$flatten": {"customer": "buyer", "customer.address": "shipping"},
    }
    found = names(spec)
    assert "buyer_name" in found
    assert "shipping_city" in found
    assert not [name for name in found if name.startswith(("customer_", "buyer_address_"))]


def test_F195_a_renamed_field_may_not_take_the_name_of_another() -> None:
    tables = {**TABLES, "orders": {**TABLES["orders"], "buyer_name": "string"}}
    with pytest.raises(DeclarationError) as caught:
        statement_of(
            {**OK, "$expand": ["customer"], "$flatten": {"customer": "buyer"}},
            LINKS,
            tables.__getitem__,
        )
    assert caught.value.feature == "INVALID_FLATTEN"


def test_F192_the_projection_changes_the_layout_and_not_the_query() -> None:
    made = {
        kind: statement_of({**OK, "$projection": kind}, LINKS, TABLES.__getitem__)
        for kind in ("olap", "oltp", "both")
    }
    assert len({item.query for item in made.values()}) == 1
    assert len({(item.properties, item.partitioned_by) for item in made.values()}) == 3
    assert made["olap"].partitioned_by == ("days(`createdAt`)",)


def test_F202_refresh_options_become_settings_of_the_view() -> None:
    found = statement_of(
        {
            **OK,
            "$refresh": {
                "mode": "scheduled",
                "schedule": "0 2 * * *",
                "timezone": "Europe/Oslo",
                "gracePeriod": "15m",
                "retention": "7d",
                "backend": "iceberg",
            },
        },
        LINKS,
        TABLES.__getitem__,
    )
    assert found.schedule == "CRON '0 2 * * *' AT TIME ZONE 'Europe/Oslo'"
    assert (found.lag, found.timing.grace) == (None, "15m")
    assert found.using == "iceberg"
    assert dict(found.properties)["history.expire.max-snapshot-age-ms"] == "604800000"


def test_F236_key_order_and_spelled_defaults_do_not_count() -> None:
    from grebe.config import load
    from grebe.project.read_definition import digest_of

    one = {"$type": "V", "$from": "orders", "$expand": ["customer"], "$compute": {"n": {"$count": "items"}}}  # fmt: skip
    two = {"$compute": {"n": {"$count": "items"}}, "$projection": "both", "$expand": ["customer"], "$from": "orders", "$refresh": {"mode": "streaming"}, "$type": "V"}  # fmt: skip
    other = {**one, "$filter": {"status": "done"}}
    digests = [
        digest_of(statement_of(item, LINKS, TABLES.__getitem__), load())
        for item in (one, two, other)
    ]
    assert digests[0] == digests[1] != digests[2]


def test_F273_hostile_values_are_only_values() -> None:
    import sqlglot

    text = "x' OR 1=1; DROP TABLE orders; -- \\"
    query = statement_of(
        {**OK, "$select": ["id"], "$filter": {"status": {"$in": [text]}}},
        LINKS,
        TABLES.__getitem__,
    ).query
    (tree,) = sqlglot.parse(query, read="spark")
    assert tree is not None
    assert [item.name for item in tree.find_all(sqlglot.exp.Literal)] == [text]
