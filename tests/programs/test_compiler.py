"""F001-F013: the pure compiler, its options, its result and its errors."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

import grebe
from grebe import MaterializedView, Naming, UnsupportedSQLError, compile_ivm
from grebe.errors import AmbiguousColumnError, DefinitionError, SqlSyntaxError
from grebe.program.used_names import WINDOW_MESSAGE

SCHEMAS = {
    "orders": {"id": "INTEGER", "customer_id": "INTEGER", "amount": "DECIMAL(10,2)"},
    "customers": {"id": "INTEGER", "name": "VARCHAR", "region": "VARCHAR"},
}
JOINED = (
    "SELECT c.region, SUM(o.amount) AS total FROM orders o"
    " JOIN customers c ON o.customer_id = c.id GROUP BY c.region"
)


def test_F001_two_processes_give_the_same_bytes() -> None:
    code = (
        "import json, grebe;"
        f"print(json.dumps(grebe.compile_ivm({JOINED!r}).to_dict(), sort_keys=True))"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1] == json.dumps(compile_ivm(JOINED).to_dict(), sort_keys=True) + "\n"


def test_F002_signature_and_default_names() -> None:
    parameters = inspect.signature(compile_ivm).parameters
    assert [name for name, p in parameters.items() if p.kind is not p.KEYWORD_ONLY] == ["view_sql"]
    assert parameters["dialect"].default == "duckdb"
    view = compile_ivm("SELECT g FROM t")
    assert '"dl"."main"."mv"' in view.create_mv
    assert '"dl"."main"."_ivm_cursors"' in view.create_cursors_table
    with pytest.raises(TypeError):
        compile_ivm("SELECT g FROM t", colour="red")  # type: ignore[call-arg]


ACCEPTED = {
    "SELECT g FROM t": "t",
    "select g from t;": "t",
    "SELECT g FROM t -- a comment": "t",
    "/* one */ SELECT g FROM t /* two */": "t",
    'SELECT "g" FROM "t"': "t",
    'SELECT "two words" AS w FROM "a table"': "a table",
    "SELECT T.G FROM t AS T": "t",
    "(SELECT g FROM t)": "t",
    "SELECT g\n\nFROM t\n": "t",
    "WITH a AS (SELECT g FROM t) SELECT g FROM a": "t",
    "SELECT g FROM dl.main.t": "dl.main.t",
    "SELECT g FROM main.t": "main.t",
    "SELECT g FROM dl.t": "dl.t",
}
REFUSED = {
    "": SqlSyntaxError,
    "SELECT FROM WHERE": SqlSyntaxError,
    "SELECT g FROM t; SELECT g FROM t": UnsupportedSQLError,
    "DELETE FROM t": UnsupportedSQLError,
    "CREATE TABLE a AS SELECT 1": UnsupportedSQLError,
    "INSERT INTO t VALUES (1)": UnsupportedSQLError,
    "SELECT 1 AS one": UnsupportedSQLError,
    "SELECT (g FROM t": SqlSyntaxError,
}


def test_F003_there_are_twenty_inputs() -> None:
    assert len(ACCEPTED) + len(REFUSED) >= 20


@pytest.mark.parametrize("sql", ACCEPTED)
def test_F003_input_is_read(sql: str) -> None:
    view = compile_ivm(sql)
    assert view.base_tables == {ACCEPTED[sql]: "dl"}


@pytest.mark.parametrize("sql", REFUSED)
def test_F003_input_is_refused_with_its_place(sql: str) -> None:
    with pytest.raises(REFUSED[sql]) as caught:
        compile_ivm(sql)
    assert isinstance(caught.value, DefinitionError)
    assert caught.value.where is not None or getattr(caught.value, "feature", "") == "no_table"


def test_F003_a_qualified_name_is_not_prefixed_again() -> None:
    view = compile_ivm("SELECT g FROM other.raw.t", mv_catalog="dl")
    assert view.sources == ("other.raw.t",)
    assert '"other"."raw"."t" AS __grebe_source AT' in view.create_mv


def test_F004_unknown_dialect() -> None:
    with pytest.raises(ValueError, match="dialect"):
        compile_ivm("SELECT g FROM t", dialect="cobol")
    assert compile_ivm("SELECT g FROM t", dialect="spark").maintain


def test_F006_options_of_sources() -> None:
    view = compile_ivm(JOINED, sources={"orders": {"catalog": "sales"}, "customers": {}})
    assert view.sources == ("dl.main.customers", "sales.main.orders")
    with pytest.raises(ValueError, match="not a table of the view"):
        compile_ivm(JOINED, sources={"nothing": {"catalog": "sales"}})
    with pytest.raises(ValueError, match="unknown field"):
        compile_ivm(JOINED, sources={"orders": {"database": "sales"}})


def test_F007_result_is_a_value_that_can_be_stored() -> None:
    one, two = compile_ivm(JOINED), compile_ivm(JOINED)
    assert one == two
    assert one != replace(one, view_sql="SELECT 1")
    assert json.loads(json.dumps(one.to_dict()))["base_tables"] == {
        "customers": "dl",
        "orders": "dl",
    }
    assert compile_ivm("SELECT a.g FROM t a JOIN t b ON a.g = b.g").base_tables == {"t": "dl"}
    assert isinstance(one, grebe.IVMPlan)


class Own(Naming):
    def mv_table(self) -> str:
        return "sales_by_region"

    def cursors_table(self) -> str:
        return "positions"

    def aux_column(self, purpose: str) -> str:
        return f"hidden_{purpose}"


def test_F008_a_subclass_renames_everything() -> None:
    view = compile_ivm("SELECT g, SUM(x) AS s FROM t GROUP BY g", naming=Own())
    text = json.dumps(view.to_dict())
    assert "sales_by_region" in text
    assert "hidden_count" in text
    assert "_ivm_" not in text
    for sql in (
        grebe.safe_to_expire_sql(["dl"], ["dl"], Own()),
        grebe.pending_maintenance_sql(["dl"], Own()),
    ):
        assert "positions" in sql
        assert "_ivm_" not in sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g AS _ivm_count, SUM(x) AS s FROM t GROUP BY g",
        "SELECT g AS rowid FROM t",
        "SELECT __grebe_x FROM t",
    ],
)
def test_F008_a_name_that_is_taken_is_a_typed_error(sql: str) -> None:
    with pytest.raises(UnsupportedSQLError) as caught:
        compile_ivm(sql)
    assert caught.value.feature == "reserved_name"


def test_F009_error_has_feature_and_message() -> None:
    error = UnsupportedSQLError("limit", "a message")
    assert (error.feature, error.message, str(error)) == ("limit", "a message", "a message")
    assert isinstance(error, Exception)


def test_F010_root_exports() -> None:
    for name in (
        "compile_ivm", "IVMPlan", "MaterializedView", "Naming", "UnsupportedSQLError",
        "safe_to_expire_sql", "SnapshotSafety", "pending_maintenance_sql", "PendingMaintenance",
    ):  # fmt: skip
        assert getattr(grebe, name) is not None
        assert name in grebe.__all__
    assert grebe.IVMPlan is MaterializedView


def test_F010_compiling_loads_neither_spark_nor_duckdb() -> None:
    code = (
        "import sys, grebe; grebe.compile_ivm('SELECT g FROM t');"
        "print([m for m in ('pyspark', 'duckdb', 'pyarrow', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("sql", "features"),
    [
        ("SELECT g FROM t", {"select"}),
        ("SELECT g FROM t WHERE g > 1", {"select", "where"}),
        ("SELECT DISTINCT g FROM t", {"select", "distinct"}),
        ("SELECT g, SUM(x) AS s FROM t GROUP BY g", {"select", "group_by", "sum"}),
        (JOINED, {"select", "join", "group_by", "sum"}),
    ],
)
def test_F012_features_are_exact(sql: str, features: set[str]) -> None:
    assert compile_ivm(sql).features == features


def test_F013_spaces_case_and_comments_change_nothing() -> None:
    one = compile_ivm("SELECT g, SUM(x) AS s FROM t WHERE x > 1 GROUP BY g")
    two = compile_ivm("select  G, sum(X) as S\nfrom T -- why\nwhere x>1 group by g;")
    assert one.view_sql == two.view_sql
    assert compile_ivm("SELECT g FROM t").definition == compile_ivm("select g  from t").definition
    assert one.definition != compile_ivm("SELECT g, SUM(x) AS s FROM t GROUP BY g").definition


def test_F035_unqualified_columns_need_schemas() -> None:
    sql = "SELECT region, amount FROM orders JOIN customers ON customer_id = customers.id"
    with pytest.raises(AmbiguousColumnError) as caught:
        compile_ivm(sql)
    assert caught.value.hint is not None
    assert "schemas" in caught.value.hint
    assert compile_ivm(sql, schemas=SCHEMAS).features == {"select", "join"}
    with pytest.raises(AmbiguousColumnError):
        compile_ivm("SELECT id FROM orders, customers", schemas=SCHEMAS)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g + 1 AS k, COUNT(*) AS n FROM t GROUP BY k",
        "SELECT a FROM t NATURAL JOIN u",
    ],
)
def test_F035_what_two_readings_fit_is_refused(sql: str) -> None:
    with pytest.raises(AmbiguousColumnError):
        compile_ivm(sql)


def test_F035_star_needs_schemas() -> None:
    for sql in ("SELECT * FROM orders", "SELECT o.* FROM orders o"):
        with pytest.raises(UnsupportedSQLError) as caught:
            compile_ivm(sql)
        assert caught.value.feature == "select_star"
        assert '"customer_id"' in compile_ivm(sql, schemas=SCHEMAS).query_mv


def test_F044_recursion_is_refused() -> None:
    sql = "WITH RECURSIVE n AS (SELECT g FROM t UNION SELECT g + 1 FROM n WHERE g < 3) SELECT g FROM n"
    for text in (sql, f"SELECT g FROM ({sql}) AS q"):
        with pytest.raises(UnsupportedSQLError) as caught:
            compile_ivm(text)
        assert caught.value.feature == "recursive_cte"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT *, ROW_NUMBER() OVER (ORDER BY x) AS n FROM t",
        "SELECT g, SUM(x) OVER () AS s FROM t",
        "SELECT g FROM (SELECT g, RANK() OVER (ORDER BY x) AS n FROM t) AS q WHERE n < 3",
        "SELECT g, x FROM t QUALIFY ROW_NUMBER() OVER (ORDER BY x) = 1",
    ],
)
def test_F045_window_without_partition_is_refused_in_these_words(sql: str) -> None:
    with pytest.raises(UnsupportedSQLError) as caught:
        compile_ivm(sql)
    assert caught.value.feature == "window_function"
    assert str(caught.value) == WINDOW_MESSAGE
    assert WINDOW_MESSAGE == "Window functions are not supported for incremental maintenance"


def test_F047_limit_without_order_is_refused() -> None:
    with pytest.raises(UnsupportedSQLError) as caught:
        compile_ivm("SELECT g, x FROM t LIMIT 2")
    assert caught.value.feature == "limit"


@pytest.mark.parametrize("call", ["now()", "current_date", "random()", "uuid()"])
def test_F048_what_is_not_deterministic_is_refused(call: str) -> None:
    for policy in ("strict", "auto"):
        with pytest.raises(UnsupportedSQLError) as caught:
            compile_ivm(f"SELECT g, {call} AS r FROM t WHERE g > 1", policy=policy)
        assert caught.value.feature == "non_deterministic"
    if call in ("now()", "current_date"):
        assert (
            compile_ivm(f"SELECT g, {call} AS r FROM t", policy="full").strategy == "full_refresh"
        )


@pytest.mark.parametrize(
    ("policy", "eligible", "ineligible"),
    [
        ("auto", "upsert groups", "full_refresh"),
        ("incremental", "upsert groups", None),
        ("incremental_strict", "upsert groups", None),
        ("strict", "upsert groups", None),
        ("full", "full_refresh", "full_refresh"),
    ],
)
def test_F051_policies(policy: str, eligible: str, ineligible: str | None) -> None:
    good = "SELECT g, SUM(x) AS s FROM t GROUP BY g"
    bad = "SELECT g, SUM(x) OVER () AS s FROM t"
    assert compile_ivm(good, policy=policy).strategy == eligible
    if ineligible is None:
        with pytest.raises(UnsupportedSQLError):
            compile_ivm(bad, policy=policy)
    else:
        view = compile_ivm(bad, policy=policy)
        assert view.strategy == ineligible
        assert "window-without-partition" in str(view.fallback_reason)
    with pytest.raises(ValueError, match="policy"):
        compile_ivm(good, policy="sometimes")


def test_F064_no_two_plans_share_their_features() -> None:
    empty = MaterializedView("", "", "", [], [], {})
    assert empty.features is not MaterializedView("", "", "", [], [], {}).features


def test_F071_explain_says_strategy_sources_features_and_steps() -> None:
    text = compile_ivm(JOINED).explain()
    assert text.splitlines()[:3] == [
        "dl.main.mv: upsert groups",
        "  sources:  dl.main.customers, dl.main.orders",
        "  features: group_by, join, select, sum",
    ]
    assert "  1  BEGIN" in text
    bad = compile_ivm("SELECT g, SUM(x) OVER () AS s FROM t", policy="auto").explain()
    assert "because: " in bad
    assert "window-without-partition" in bad


def test_F273_names_and_literals_are_quoted() -> None:
    class Odd(Naming):
        def mv_table(self) -> str:
            return 'it\'s "odd"'

    view = compile_ivm(
        'SELECT "a b" AS "it\'s" FROM "my \'t\'"',
        naming=Odd(),
        mv_catalog="my lake",
    )
    assert '"my lake"."main"."it\'s ""odd"""' in view.create_mv
    assert "'my ''t'''" in view.maintain[1]
