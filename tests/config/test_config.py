"""grebe.toml and GREBE_* variables, as a person writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grebe.config import Settings, cache_folder, load, split_name
from grebe.errors import ConfigError, UnknownTableError
from grebe.model import TableName

TWO = """
[defaults]
catalog = "lake"
schema = "sales"

[catalogs.lake]
format = "iceberg"
root = "warehouse"

[catalogs.files]
format = "delta"
root = "tables"
"""


def written(folder: Path, text: str, **variables: str) -> Settings:
    (folder / "grebe.toml").write_text(text)
    return load(folder, variables)


def refused(folder: Path, text: str, **variables: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        written(folder, text, **variables)
    return caught.value


def test_without_a_file_the_embedded_default(tmp_path: Path) -> None:
    settings = load(tmp_path, {})
    (catalog,) = settings.catalogs
    assert settings.file is None
    assert (catalog.name, str(catalog.format), catalog.type) == ("lake", "iceberg", "jdbc")
    assert catalog.uri == f"jdbc:sqlite:{tmp_path}/.grebe/catalog.db?journal_mode=WAL"
    assert catalog.root == f"{tmp_path}/.grebe/warehouse"
    assert settings.spark.master == "local[*]"
    assert settings.spark.timezone == "UTC"
    assert settings.storage.format_version == 3


def test_places_are_relative_to_the_file(tmp_path: Path) -> None:
    settings = written(tmp_path, TWO)
    assert settings.catalog("files").root == f"{tmp_path}/tables"
    lake = settings.catalog("lake")
    assert lake.uri == f"jdbc:sqlite:{tmp_path}/warehouse/catalog.db?journal_mode=WAL"


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("jdbc:postgresql://db/lake", "jdbc"),
        ("https://catalog.example", "rest"),
        ("thrift://hive:9083", "hive"),
    ],
)
def test_iceberg_type_follows_from_the_uri(tmp_path: Path, uri: str, kind: str) -> None:
    text = f'[catalogs.c]\nformat = "iceberg"\nroot = "s3://bucket/w"\nuri = "{uri}"'
    (catalog,) = written(tmp_path, text).catalogs
    assert (catalog.type, catalog.root, catalog.uri) == (kind, "s3://bucket/w", uri)


def test_sqlite_parameters_of_the_user_stay(tmp_path: Path) -> None:
    text = '[catalogs.c]\nformat = "iceberg"\nroot = "w"\nuri = "jdbc:sqlite:c.db?cache=shared"'
    (catalog,) = written(tmp_path, text).catalogs
    assert catalog.uri == f"jdbc:sqlite:{tmp_path}/c.db?cache=shared"


def test_a_catalog_that_spark_has(tmp_path: Path) -> None:
    text = '[catalogs.prod]\nformat = "iceberg"\nspark_catalog = "glue_prod"'
    (catalog,) = written(tmp_path, text).catalogs
    assert (catalog.spark_name, catalog.uri, catalog.root) == ("glue_prod", None, None)


def test_spark_conf_keeps_its_names_and_becomes_text(tmp_path: Path) -> None:
    text = '[spark.conf]\nspark.sql.ansi.enabled = false\n"spark.executor.cores" = 4\n'
    assert written(tmp_path, text).spark.conf == (
        ("spark.executor.cores", "4"),
        ("spark.sql.ansi.enabled", "false"),
    )


def test_variables_win_over_the_file(tmp_path: Path) -> None:
    settings = written(
        tmp_path,
        TWO,
        GREBE_DEFAULTS__SCHEMA="other",
        GREBE_SPARK__SHUFFLE_PARTITIONS="9",
        GREBE_CATALOGS__FILES__ROOT="/elsewhere",
    )
    assert settings.defaults.schema == "other"
    assert settings.spark.shuffle_partitions == 9
    assert settings.catalog("files").root == "/elsewhere"


def test_variables_reach_catalogs_with_capitals(tmp_path: Path) -> None:
    text = '[catalogs.Lake]\nformat = "delta"\nroot = "a"'
    (catalog,) = written(tmp_path, text, GREBE_CATALOGS__LAKE__ROOT="/b").catalogs
    assert (catalog.name, catalog.root) == ("Lake", "/b")


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("[default]\ncatalog = 'a'", "default.catalog", 'did you mean "defaults"?'),
        ("[spark]\nmastr = 'local'", "spark.mastr", 'did you mean "master"?'),
        ("[catalogs.c]\nforma = 'delta'", "catalogs.c.forma", 'did you mean "format"?'),
        ("[storage.more]\na = 1", "storage.more.a", "quote a name that holds dots"),
        ("spark = 'local'", "spark", "write [spark]"),
        ("[catalogs]\nlake = 'iceberg'", "catalogs.lake", "write [catalogs.lake]"),
    ],
)
def test_unknown_keys_name_file_and_key(
    tmp_path: Path, text: str, key: str, hint: str | None
) -> None:
    error = refused(tmp_path, text)
    assert error.message.startswith(f"{tmp_path}/grebe.toml: key {key} ")
    assert error.hint == hint


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[storage]\nformat_version = 4", "it must be one of 2, 3"),
        ("[storage]\nformat_version = '3'", "it must be one of 2, 3"),
        ("[storage]\nformat_version = true", "it must be one of 2, 3"),
        ("[spark]\nshuffle_partitions = 0", "it must be a whole number of at least 1"),
        ("[spark]\nmaster = 1", "it must be a text"),
        ("[spark]\nmaster = ['local']", "it must be a text"),
        ("[spark]\nlog_level = 'LOUD'", "it must be one of OFF, FATAL, ERROR, WARN, INFO, DEBUG"),
        ("[catalogs.c]\nformat = 'hudi'", "it must be one of iceberg, delta, ducklake, parquet"),
    ],
)
def test_bad_values_say_what_is_allowed(tmp_path: Path, text: str, says: str) -> None:
    error = refused(tmp_path, text)
    assert "grebe.toml: key " in error.message
    assert error.detail == says


def test_bad_values_of_variables_name_the_variable(tmp_path: Path) -> None:
    error = refused(tmp_path, "", GREBE_SPARK__SHUFFLE_PARTITIONS="many")
    assert error.message == "variable GREBE_SPARK__SHUFFLE_PARTITIONS is 'many'"


def test_unknown_variables_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, "", GREBE_SPARK_MASTER="local")
    assert error.hint == 'did you mean "GREBE_SPARK__MASTER"?'
    load(tmp_path, {"GREBE_CACHE": "/c", "GREBE_TEST_SEED": "1", "OTHER": "x"})


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[catalogs.c]\nroot = 'a'", "has no format"),
        ("[catalogs.c]\nformat = 'delta'", "has no place"),
        ("[catalogs.c]\nformat = 'ducklake'\nroot = 'a'", "has no uri"),
        ("[catalogs.c]\nformat = 'ducklake'\nspark_catalog = 'a'", "DuckLake is no Spark catalog"),
        ("[catalogs.c]\nformat = 'delta'\nroot = 'a'\nspark_catalog = 'b'", "both spark_catalog"),
        ("[catalogs.c]\nformat = 'delta'\nroot = 'a'\ntype = 'jdbc'", "for Iceberg only"),
        ("not toml", "is not valid TOML"),
        (TWO.replace('catalog = "lake"', 'catalog = "lak"'), 'names "lak"'),
        (TWO.replace('catalog = "lake"', ""), "defaults.catalog is missing"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, text: str, part: str) -> None:
    assert part in refused(tmp_path, text).message


# --- secrets ------------------------------------------------------------------------------------

REST = '[catalogs.c]\nformat = "iceberg"\nuri = "https://x"\nroot = "s3://b"\n'


@pytest.mark.parametrize(
    "line",
    [
        'uri = "postgresql://me:hunter2@db/lake"',
        'uri = "jdbc:postgresql://db/lake?user=me&password=hunter2"',
        'uri = "https://x"\noptions.token = "hunter2"',
        'uri = "https://x"\noptions."s3.secret-access-key" = "hunter2"',
        'uri = "https://x"\noptions.credential = "id:${SECRET}"',
    ],
)
def test_secrets_in_plain_text_are_refused(tmp_path: Path, line: str) -> None:
    text = f'[catalogs.c]\nformat = "iceberg"\nroot = "s3://b"\n{line}'
    error = refused(tmp_path, text, SECRET="s")
    assert error.message.endswith("holds a secret in plain text")
    assert "hunter2" not in error.explain()


def test_secrets_come_from_variables(tmp_path: Path) -> None:
    text = REST + 'options.token = "${TOKEN}"\noptions.scope = "lake"'
    (catalog,) = written(tmp_path, text, TOKEN="hunter2").catalogs
    assert catalog.options == (("scope", "lake"), ("token", "hunter2"))
    text = '[catalogs.c]\nformat = "ducklake"\nuri = "postgresql://me:${PW}@db/lake"'
    settings = written(tmp_path, text, PW="hunter2")
    assert settings.catalogs[0].uri == "postgresql://me:hunter2@db/lake"
    assert "hunter2" not in repr(settings)


def test_a_missing_variable_is_named(tmp_path: Path) -> None:
    error = refused(tmp_path, REST + 'options.token = "${TOKEN}"')
    assert "needs the variable TOKEN" in error.message
    assert error.hint == "export TOKEN=…"


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("orders", ("lake", "sales", "orders")),
        ("other.orders", ("lake", "other", "orders")),
        ("files.other.orders", ("files", "other", "orders")),
        ("lake.a.b.orders", ("lake", "a.b", "orders")),
        ("`lake`.`a``b`.`odd.name`", ("lake", "a`b", "odd.name")),
        ("files.orders", ("lake", "files", "orders")),
    ],
)
def test_names_resolve(tmp_path: Path, name: str, full: tuple[str, str, str]) -> None:
    assert written(tmp_path, TWO).resolve(name) == TableName(*full)


def test_an_unknown_catalog_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UnknownTableError) as caught:
        written(tmp_path, TWO).resolve("lakes.sales.orders")
    assert caught.value.hint == 'did you mean "lake"?'


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a b", "`a", "a`b`"])
def test_malformed_names_are_refused(text: str) -> None:
    with pytest.raises(UnknownTableError):
        split_name(text)


def test_cache_folder_can_be_chosen(tmp_path: Path) -> None:
    assert cache_folder({"GREBE_CACHE": str(tmp_path)}) == tmp_path
    assert cache_folder({}).name == "grebe"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("lake/meta.ducklake", "{0}/lake/meta.ducklake"),
        ("ducklake:lake/meta.ducklake", "ducklake:{0}/lake/meta.ducklake"),
        ("ducklake:sqlite:meta.sqlite", "ducklake:sqlite:{0}/meta.sqlite"),
        ("sqlite:../meta.sqlite", "sqlite:{0.parent}/meta.sqlite"),
        ("ducklake:sqlite:/srv/meta.sqlite", "ducklake:sqlite:/srv/meta.sqlite"),
        ("ducklake:postgres:dbname=lake host=db", "ducklake:postgres:dbname=lake host=db"),
        ("postgresql://db/lake", "postgresql://db/lake"),
    ],
)
def test_a_file_of_ducklake_is_one_of_the_folder_not_of_where_one_stands(
    tmp_path: Path, said: str, meant: str
) -> None:
    (tmp_path / "grebe.toml").write_text(f'[catalogs.c]\nformat = "ducklake"\nuri = "{said}"\n')
    assert load(tmp_path).catalog("c").uri == meant.format(tmp_path)


def test_notices_of_the_scheduler(tmp_path: Path) -> None:
    (tmp_path / "grebe.toml").write_text(
        "[scheduler]\njobs = 3\n[[scheduler.notices]]\nkinds = ['late', 'suspended']\n"
        "webhook = 'https://hooks.example/x'\nsecret = '${HOOK}'\n"
        "[[scheduler.notices]]\ncommand = ['notify', '--json']\n"
    )
    found = load(tmp_path, {"HOOK": "s3cret-of-the-hook"}).scheduler
    assert found.jobs == 3
    assert [(sink.kinds, sink.webhook, sink.command) for sink in found.notices] == [
        (("late", "suspended"), "https://hooks.example/x", ()),
        ((), None, ("notify", "--json")),
    ]
    assert found.notices[0].secret == "s3cret-of-the-hook"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[scheduler.notices]]\nkinds = ['late']", "go nowhere"),
        ("[[scheduler.notices]]\nwebhook = 'https://x'\ncommand = ['y']", "two places"),
        ("[[scheduler.notices]]\nwebhook = 'https://x'\nkinds = ['lat']", "no kind of notice"),
        ("[scheduler]\npoll = 'often'", "not a length of time"),
        ("[scheduler]\ncatch_up = 'two'", "scheduler.catch_up"),
    ],
)
def test_what_the_scheduler_cannot_be_told(tmp_path: Path, text: str, says: str) -> None:
    assert says in refused(tmp_path, text).message
