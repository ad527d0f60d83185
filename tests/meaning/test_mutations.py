"""A parser that misreads: caught when a view is made, and by verify when nobody looked then."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp

from evidence import FOLDER, current_commit
from grebe.compiler.lower.translation import Judgement
from grebe.compiler.parser import parse
from grebe.config import Settings, ViewSettings
from grebe.engine import meaning as known
from grebe.engine import spark_judge as judge
from grebe.engine.compiled_view import ViewDefinition
from grebe.engine.engine import Engine
from grebe.errors import CheckFailedError, GrebeError, InternalError
from grebe.model import Check, Outcome, Policy
from meaning.harness import Rows, same
from meaning.mutations import MUTATIONS, TABLES, Mistake, Mutation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SCHEMA = "misread"
SOME = tuple(MUTATIONS)[::10]
"""What `make test` takes; the long suites take all."""
_numbers = count()


@pytest.fixture(scope="module")
def plain(spark: SparkSession) -> SparkSession:
    """A session of its own, over the tables of the queries."""
    spark.sql(f"CREATE NAMESPACE lake.{SCHEMA}")
    for name, (columns, rows) in TABLES.items():
        spark.sql(f"CREATE TABLE lake.{SCHEMA}.{name} ({columns}) USING iceberg")
        spark.sql(f"INSERT INTO lake.{SCHEMA}.{name} VALUES {rows}")
    session = spark.newSession()
    session.sql("USE lake")
    return session


def plant(patch: pytest.MonkeyPatch, mistake: Mistake) -> None:
    """Every tree that the parser gives has the mistake."""
    given: Callable[..., list[exp.Expr]] = parse._trees
    patch.setattr(known, "_known", {})

    def misread(*arguments: object) -> list[exp.Expr]:
        trees = given(*arguments)
        for tree in trees:
            mistake(tree)
        return trees

    patch.setattr(parse, "_trees", misread)


def unjudge(patch: pytest.MonkeyPatch) -> None:
    """Nobody asks Spark whether it reads the same, or remembers what it said."""
    patch.setattr(known, "_known", {})
    patch.setattr(judge, "judged", lambda *_: Judgement())


def made(engine: Engine, settings: Settings, mutation: Mutation) -> tuple[str, GrebeError | None]:
    """The name of a view that was defined and built, and what stopped it."""
    name = f"{SCHEMA}.v{next(_numbers)}"
    definition = ViewDefinition(settings.resolve(name), mutation.sql.format(s=SCHEMA), Policy.AUTO)
    try:
        engine.add(engine.compile(definition))
        (result,) = engine.refresh([name])
    except GrebeError as error:
        return name, error
    if result.outcome is Outcome.FAILED:
        assert isinstance(result.error, GrebeError), result
        return name, result.error
    return name, None


def is_right(spark: SparkSession, plain: SparkSession, name: str, mutation: Mutation) -> bool:
    """Whether a view shows what plain Spark answers to the text."""
    found = Rows.of(spark.table(f"lake.{name}"))
    wanted = Rows.of(plain.sql(mutation.sql.format(s=SCHEMA)))
    return (
        found.schema == wanted.schema
        and len(found.values) == len(wanted.values)
        and all(map(same, found.values, wanted.values))
    )


def caught(
    spark: SparkSession,
    plain: SparkSession,
    settings: Settings,
    mutation: Mutation,
) -> str:
    """Who caught a mistake when the view was made, and verify when it was made all the same."""
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, mutation.mistake)
        checked = replace(settings, views=ViewSettings(Check.ALWAYS))
        name, error = made(Engine(checked, spark), settings, mutation)
        if error is None:
            assert is_right(spark, plain, name, mutation), "nobody saw it"
            by = "characters kept"
        else:
            assert not isinstance(error, InternalError), error.explain()
            by = error.code
        unjudge(patch)
        unchecked = replace(settings, views=ViewSettings(Check.NEVER))
        engine = Engine(unchecked, spark)
        name, error = made(engine, settings, mutation)
        assert error is None, error.explain() if error else ""
        assert not is_right(spark, plain, name, mutation), "it is no mistake over these rows"
        with pytest.raises(CheckFailedError):
            engine.verify(name)
    return by


@pytest.mark.parametrize("name", SOME)
def test_a_misreading_is_caught_twice(
    spark: SparkSession, plain: SparkSession, project: Settings, name: str
) -> None:
    assert caught(spark, plain, project, MUTATIONS[name]) in (
        "characters kept",
        "first-build-differs",
    )


@pytest.mark.laws
@pytest.mark.timeout(0)
def test_every_misreading_is_caught_twice(
    spark: SparkSession, plain: SparkSession, project: Settings
) -> None:
    assert len(MUTATIONS) >= 25
    found: dict[str, str] = {}
    missed: dict[str, str] = {}
    for name, item in MUTATIONS.items():
        try:
            found[name] = caught(spark, plain, project, item)
        except (AssertionError, pytest.fail.Exception) as error:
            missed[name] = str(error).split("\n", maxsplit=1)[0]
    assert not missed
    document = {
        "commit": current_commit(),
        "mutations": len(found),
        "caught at creation by": dict(Counter(found.values())),
        "caught by verify": len(found),
        "each": {name: [MUTATIONS[name].kind, by] for name, by in found.items()},
    }
    (FOLDER / "misreadings.json").write_text(json.dumps(document, indent=1) + "\n")
