"""Secrets, planted wherever a person may put one: nothing that comes out holds a piece of them."""

from __future__ import annotations

import json
import logging
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import Grebe
from grebe.api import Project
from grebe.config import load
from grebe.errors import ConfigError, DefinitionError, GrebeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEAD, TAIL = "pl4nted", "T4IL"
ODD = ("", "@", ":", "/", "?", "#", "%", "&", "=", ";", " ", "'", '"', "\\", "ü", "@:/", "$", "+")
LAKE = '[defaults]\ncatalog = "lake"\n[catalogs.lake]\nformat = "iceberg"\nroot = "lake"\n'
KEYS = (
    "password",
    "passwd",
    "pass",
    "pwd",
    "jdbc.password",
    "jdbc.pass",
    "token",
    "credential",
    "header.Authorization",
    "header.X-Api-Key",
    "header.Cookie",
    "s3.access-key-id",
    "s3.secret-access-key",
    "s3.session-token",
    "s3.sas-key",
    "adls.sas-token.account",
    "adls.auth.shared-key.account.key",
    "fs.azure.account.key.a.blob.core.windows.net",
    "gcs.oauth2.token",
    "ssl.keystore.passphrase",
    "client-secret",
    "api_key",
)
URIS = (
    ("registry", "url", "postgresql://me:{}@localhost:1/db"),
    ("registry", "url", "postgresql://localhost:1/db?user=me&password={}"),
    ("catalogs.x", "uri", "jdbc:postgresql://localhost:1/db?user=me&password={}"),
    ("catalogs.x", "uri", "https://me:{}@localhost:1/iceberg"),
    ("catalogs.d", "uri", "ducklake:postgres:host=localhost port=1 password={}"),
    ("catalogs.d", "uri", "postgresql://me:{}@localhost:1/lake"),
    ("spark", "remote", "sc://localhost:1/;token={}"),
)
COMMANDS = (
    "status",
    "explain v",
    "explain views/v.sql --sql",
    "plan --sql",
    "refresh",
    "-v refresh",
    "verify",
    "history",
    "dag",
    "retention",
    "recover",
    "-v recover",
    "alter v --policy auto",
    "drop v -y",
    "vacuum v",
    "doctor",
    "adopt",
)


class Search:
    """What was looked at, and what was found."""

    def __init__(self) -> None:
        self.plants = self.outputs = 0

    def planted(self, odd: str = "") -> str:
        """One more secret."""
        self.plants += 1
        return f"{HEAD}{odd}{TAIL}"

    def look(self, text: str, where: object) -> None:
        """Fail when a text holds a piece of a secret."""
        self.outputs += 1
        for piece in (HEAD, TAIL):
            at = text.find(piece)
            assert at < 0, f"{where}: …{text[max(0, at - 80) : at + 40]}…"

    def look_at_error(self, error: BaseException, where: object) -> None:
        """Every way in which an error is shown."""
        for text in (str(error), repr(error), repr(error.args)):
            self.look(text, where)
        lines = traceback.format_exception(error)
        self.look(
            "".join(line for line in lines if "planted" not in line.partition("\n")[2]), where
        )
        if isinstance(error, GrebeError):
            self.look(error.explain(), where)


@pytest.fixture(scope="module")
def search() -> Iterator[Search]:
    found = Search()
    yield found
    sys.stdout.write(
        f"\nsecrets: {found.plants} planted, {found.outputs} outputs searched, 0 found\n"
    )


def toml(section: str, key: str, value: str) -> str:
    """A project's settings with one value in them."""
    places = {
        "catalogs.x": 'format = "iceberg"\nroot = "x"\n',
        "catalogs.d": 'format = "ducklake"\nroot = "d"\n',
    }
    head = f"{LAKE}[{section}]\n{places.get(section, '')}"
    return f"{head}{json.dumps(key)} = {json.dumps(value, ensure_ascii=False)}\n"


def option(section: str) -> Callable[[str, str], str]:
    catalog = '[catalogs.x]\nformat = "iceberg"\nuri = "http://127.0.0.1:1"\n'
    text = LAKE + (catalog if section.startswith("catalogs") else "")
    return lambda key, value: (
        f"{text}[{section}]\n{json.dumps(key)} = {json.dumps(value, ensure_ascii=False)}\n"
    )


@pytest.mark.parametrize("section", ["catalogs.x.options", "spark.conf"])
def test_a_secret_in_plain_text_is_refused(tmp_path: Path, search: Search, section: str) -> None:
    write = option(section)
    for key in KEYS:
        for odd in ("", "@", "'"):
            for secret in (search.planted(odd), f"Bearer {search.planted(odd)}"):
                (tmp_path / "grebe.toml").write_text(write(key, secret))
                with pytest.raises(ConfigError, match="holds a secret in plain text") as caught:
                    load(tmp_path)
                search.look_at_error(caught.value, (section, key))
        (tmp_path / "grebe.toml").write_text(write(key, "${SECRET}"))
        settings = load(tmp_path, {"SECRET": search.planted()})
        search.look(repr(settings), (section, key))
        (tmp_path / "grebe.toml").write_text(write(key, "Bearer ${SECRET}"))
        load(tmp_path, {"SECRET": search.planted()})
    for key in ("warehouse", "anything"):
        (tmp_path / "grebe.toml").write_text(write(key, f"Bearer {search.planted()}"))
        with pytest.raises(ConfigError, match="plain text"):
            load(tmp_path)
    (tmp_path / "grebe.toml").write_text(write("password", "1").replace('"1"', "4711"))
    with pytest.raises(ConfigError, match="plain text"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("header.X-Iceberg-Access-Delegation", "vended-credentials"),
        ("client.credentials-provider", "com.example.Provider"),
        ("oauth2-server-uri", "https://idp/token"),
        ("token-refresh-enabled", "true"),
        ("scope", "PRINCIPAL_ROLE:ALL"),
    ],
)
def test_what_only_sounds_like_a_secret_is_none(tmp_path: Path, key: str, value: str) -> None:
    (tmp_path / "grebe.toml").write_text(option("catalogs.x.options")(key, value))
    assert dict(load(tmp_path).catalog("x").options) == {key: value}


@pytest.mark.parametrize(("section", "key", "form"), URIS)
def test_a_secret_in_an_address_is_refused_and_one_of_a_variable_is_never_shown(
    tmp_path: Path,
    search: Search,
    grebe: Grebe,
    monkeypatch: pytest.MonkeyPatch,
    section: str,
    key: str,
    form: str,
    no_spark: None,
) -> None:
    for odd in ODD:
        # An @ ends the user of a web address: what is behind it can only be a host.
        if (form.startswith("https") and set(odd) & set("@/?#")) or (odd == " " and "=" in form):
            continue
        if (odd in (";", "&", "'") and "password={}" in form) or (odd == ";" and "token" in form):
            continue
        (tmp_path / "grebe.toml").write_text(toml(section, key, form.format(search.planted(odd))))
        with pytest.raises(ConfigError, match="plain text") as caught:
            load(tmp_path)
        search.look_at_error(caught.value, (form, odd))
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text("SELECT id FROM lake.s.t")
    if section == "catalogs.d":
        (tmp_path / "views" / "v.sql").write_text("SELECT id FROM d.s.t")
    if section == "catalogs.x":
        (tmp_path / "views" / "v.sql").write_text("SELECT id FROM x.s.t")
    (tmp_path / "grebe.toml").write_text(toml(section, key, form.format("${SECRET}")))
    for number, odd in enumerate(ODD):
        monkeypatch.setenv("SECRET", search.planted(odd))
        all_of_them = odd == "@:/"
        for command in COMMANDS if all_of_them else ("status",):
            for words in (
                ([], ["-o", "json"]) if all_of_them else ([["-o", "json"], []][number % 2],)
            ):
                said = grebe(*command.split(), *words)
                search.look(said.out, (command, odd))
                search.look(said.err, (command, odd))
        for call in (
            lambda project: project.registry.views(),
            lambda project: project.tables.source(
                project.settings.resolve("x.s.t"), lambda: None
            ).head(),
        ):
            try:
                with Project.open(tmp_path) as project:
                    search.look(repr(project) + repr(project.settings), odd)
                    call(project)
            except Exception as error:
                search.look_at_error(error, (form, odd))


def test_a_whole_address_from_the_environment(
    tmp_path: Path,
    search: Search,
    grebe: Grebe,
    monkeypatch: pytest.MonkeyPatch,
    no_spark: None,
) -> None:
    for odd in ODD:
        url = f"postgresql://me:{search.planted(odd)}@localhost:1/db"
        monkeypatch.setenv("GREBE_REGISTRY__URL", url)
        for command in ("status -o json", "-v history") if odd else (*COMMANDS, "doctor -o json"):
            said = grebe(*command.split())
            search.look(said.out + said.err, (command, odd))


@pytest.mark.parametrize(
    "text",
    [
        "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('password' = '{}') AS SELECT id FROM s.t",
        "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('x.api-key' = '{}') AS SELECT id FROM s.t",
        "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('password' = '{}' SELECT id FROM s.t",
        "CREATE MATERIALIZED VIEW v TBLPROPERTIES ('secret' = '{}', 'secret' = 'b') AS SELECT 1 AS a",
    ],
)
def test_a_secret_in_a_view_is_refused_and_not_shown(
    tmp_path: Path, search: Search, grebe: Grebe, text: str, no_spark: None
) -> None:
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text(text.format(search.planted()))
    for command in COMMANDS:
        for words in ([], ["-o", "json"]):
            said = grebe(*command.split(), *words)
            search.look(said.out + said.err, command)
    with pytest.raises(DefinitionError) as caught:
        Project.open(tmp_path).create_view("w", text.format(search.planted()))
    search.look_at_error(caught.value, text)
    look_at_files(search, tmp_path / ".grebe")


def test_a_link_out_of_the_project_is_not_followed(
    tmp_path: Path, search: Search, grebe: Grebe, no_spark: None
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(f"{search.planted()} is no SQL\n")
    folder = tmp_path / "p"
    (folder / "views").mkdir(parents=True)
    (folder / "seeds").mkdir()
    for name in ("views/v.sql", "views/w.json", "seeds/s.t.sql"):
        (folder / name).symlink_to(outside)
    for command in COMMANDS:
        for words in ([], ["-o", "json"]):
            said = grebe(*command.split(), *words, folder=folder)
            search.look(said.out + said.err, command)
    found = grebe("status", "-o", "json", folder=folder).json
    assert {item["error"]["code"] for item in found} == {"view-outside"}
    assert len(found) == 2


@pytest.mark.spark
def test_a_project_with_secrets_keeps_none_of_them(
    tmp_path: Path,
    search: Search,
    grebe: Grebe,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)  # below that Spark's own wire writes down all that is sent
    caplog.set_level(logging.DEBUG, "grebe")
    monkeypatch.setenv("SECRET", search.planted("@:/"))
    monkeypatch.setenv("GREBE_CATALOGS__REST__OPTIONS__TOKEN", search.planted())
    (tmp_path / "grebe.toml").write_text(
        LAKE
        + '[catalogs.lake.options]\n"header.Authorization" = "Bearer ${SECRET}"\n'
        + '"jdbc.password" = "${SECRET}"\n'
        + '[catalogs.rest]\nformat = "iceberg"\nuri = "http://me:${SECRET}@127.0.0.1:1"\n'
        + '[spark.conf]\n"spark.hadoop.fs.s3a.secret.key" = "${SECRET}"\n'
        + '"spark.sql.catalog.other.token" = "${SECRET}"\n'
    )
    with Project.open(tmp_path, spark=spark) as project:
        project.sql("CREATE NAMESPACE lake.main").collect()
        project.sql("CREATE TABLE lake.main.t (id INT) USING iceberg").collect()
        project.sql("INSERT INTO lake.main.t VALUES (1), (2)").collect()
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "v.sql").write_text("SELECT id, id + 1 AS next FROM main.t")
    (tmp_path / "views" / "broken.sql").write_text("SELECT id FROM rest.main.t")
    for command in COMMANDS:
        for words in ([], ["-o", "json"]):
            said = grebe(*command.split(), *words)
            search.look(said.out, command)
            search.look(said.err, command)
    with Project.open(tmp_path, spark=spark) as project:
        project.refresh("v")
        for call in (
            lambda: project.refresh("broken"),
            lambda: project.sql("SELECT * FROM rest.main.t").collect(),
            lambda: project.create_view("w", "SELECT nothing FROM main.t"),
        ):
            try:
                search.look(repr(call()), "a result")
            except GrebeError as error:
                search.look_at_error(error, "an error")
            except Exception as error:  # Spark's own, of a statement that is the user's
                search.look(str(error), "an error of Spark's")
    search.look(caplog.text, "the log")
    look_at_files(search, tmp_path)


def look_at_files(search: Search, folder: Path) -> None:
    """Every file but the settings, by its bytes; every row of every SQLite file."""
    for file in folder.rglob("*"):
        if file.is_file() and file.parent.name != "views" and file.name != "grebe.toml":
            search.look(file.read_bytes().decode("latin-1"), file)
            if file.suffix == ".db":
                for table, rows in tables_of(file):
                    search.look(repr(rows), (file, table))


def tables_of(file: Path) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    """Every table of an SQLite file with its rows."""
    with closing(sqlite3.connect(file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in names.fetchall():
            yield table, connection.execute(f"SELECT * FROM {table}").fetchall()
