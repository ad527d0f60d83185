"""Whatever a person or a machine does wrong: a typed error with a hint, and nothing half-made."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cli.conftest import Grebe

pytestmark = pytest.mark.usefixtures("no_spark")

QUERY = "SELECT id FROM shop.orders"


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def kept(folder: Path) -> dict[str, object]:
    """Every byte outside of the registry, and every row in it: its own file may be made or tidied."""
    registry = folder / ".grebe" / "registry.db"
    found: dict[str, object] = {
        name: content
        for name, content in files(folder).items()
        if not name.startswith(".grebe/registry.db")
    }
    try:
        found["registry"] = rows_of(registry) if registry.is_file() else []
    except sqlite3.DatabaseError:
        found["registry"] = registry.read_bytes()
    return found


def rows_of(registry: Path) -> list[tuple[object, ...]]:
    """What is in the tables that hold something: an empty registry is none."""
    with closing(sqlite3.connect(registry)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        tables = sorted(name for (name,) in names if name in ("views", "runs", "leases"))
        return [
            (table.removeprefix("grebe_"), *row)
            for table in tables
            for row in connection.execute(f"SELECT * FROM {table}").fetchall()
        ]


def toml(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "grebe.toml").write_text(text) and None


def view(text: str, name: str = "v.sql") -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        file = folder / "views" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write


def many(*steps: Callable[[Path], None]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        for step in steps:
            step(folder)

    return do


def binary_view(folder: Path) -> None:
    view("")(folder)
    (folder / "views" / "v.sql").write_bytes(b"\xff\xfe\x00SELECT")


def newer_registry(folder: Path) -> None:
    (folder / ".grebe").mkdir()
    with sqlite3.connect(folder / ".grebe" / "registry.db") as connection:
        connection.execute("CREATE TABLE grebe_layout (version_num TEXT)")
        connection.execute("INSERT INTO grebe_layout VALUES ('99')")
    connection.close()


def broken_registry(folder: Path) -> None:
    (folder / ".grebe").mkdir()
    (folder / ".grebe" / "registry.db").write_bytes(b"no database at all, but long enough" * 50)


def registry_is_a_folder(folder: Path) -> None:
    (folder / ".grebe" / "registry.db").mkdir(parents=True)


def nothing(_: Path) -> None:
    pass


SPEC = '{"$type": "s", "$from": "shop.orders", %s}'

BAD: dict[str, tuple[Callable[[Path], None], list[str], int, str]] = {
    # settings
    "broken TOML": (toml("[defaults"), ["status"], 2, "config"),
    "unknown section": (toml("[catalog.lake]\nformat = 'iceberg'"), ["status"], 2, "config"),
    "unknown key": (toml("[defaults]\nscheme = 'x'"), ["status"], 2, "config"),
    "wrong type": (toml("[spark]\nshuffle_partitions = 'four'"), ["status"], 2, "config"),
    "unknown format": (toml("[catalogs.a]\nformat = 'csv'\nroot = 'x'"), ["status"], 2, "config"),
    "a catalog without a place": (toml("[catalogs.a]\nformat = 'delta'"), ["status"], 2, "config"),
    "a secret in plain text": (toml("[registry]\nurl = 'postgresql://u:pw@h/d'"), ["status"], 2, "config"),
    "a variable that is not set": (toml("[registry]\nurl = '${NOT_SET_ANYWHERE}'"), ["status"], 2, "config"),
    "an unknown default catalog": (toml("[defaults]\ncatalog = 'nowhere'"), ["status"], 2, "config"),
    "a relation without a key": (toml("[relations.orders.customer]\nto = 'c'\ncolumn = 'x'"), ["status"], 2, "config"),
    "a relation that is none": (toml("[relations]\norders = 1"), ["status"], 2, "config"),
    "settings that are a binary file": (lambda f: (f / "grebe.toml").write_bytes(b"\xff\xfe") and None, ["status"], 2, "config"),
    # registry
    "registry of another database": (toml("[registry]\nurl = 'mysql://localhost/x'"), ["refresh"], 2, "config"),
    "registry without a scheme": (toml("[registry]\nurl = 'registry.db'"), ["history"], 2, "config"),
    "registry that does not answer": (toml("[registry]\nurl = 'postgresql://u@127.0.0.1:9/d'"), ["status"], 1, "registry"),
    "registry on a host that is none": (toml("[registry]\nurl = 'postgresql://u@no.such.host.invalid/d'"), ["status"], 1, "registry"),
    "registry in a folder that is a file": (many(toml("[registry]\nurl = 'sqlite:////dev/null/x/r.db'"), view(QUERY)), ["recover"], 1, "registry"),
    "registry of a newer layout": (newer_registry, ["status"], 1, "registry-version"),
    "registry that is no database": (broken_registry, ["status"], 1, "registry"),
    "registry that is a folder": (registry_is_a_folder, ["status"], 1, "registry"),
    # the command
    "no such command": (nothing, ["refrehs"], 2, "usage"),
    "no such option": (nothing, ["refresh", "--fast"], 2, "usage"),
    "no such output": (nothing, ["status", "-o", "xml"], 2, "usage"),
    "no jobs": (nothing, ["refresh", "--jobs", "0"], 2, "usage"),
    "jobs that are no number": (nothing, ["refresh", "--jobs", "many"], 2, "usage"),
    "no such policy": (view(QUERY), ["refresh", "--policy", "sometimes"], 2, "bad-policy"),
    "no such view": (view(QUERY), ["refresh", "w"], 2, "unknown-table"),
    "no such tag": (view(QUERY), ["plan", "tag:hourly"], 2, "unknown-table"),
    "no such glob": (view(QUERY), ["status", "sales.*"], 2, "unknown-table"),
    "a hostile selection": (view(QUERY), ["status", "x'; DROP TABLE y; --"], 2, "unknown-table"),
    "explain of nothing": (nothing, ["explain", "views/none.sql"], 2, "definition"),
    "explain of a name that is none": (nothing, ["explain", "none"], 2, "unknown-view"),
    "drop of nothing": (nothing, ["drop", "none", "--yes"], 2, "unknown-view"),
    "drop with nobody to ask": (view(QUERY), ["drop", "v"], 2, "config"),
    "vacuum of nothing": (nothing, ["vacuum", "none"], 2, "unknown-table"),
    "vacuum of what was never built": (view(QUERY), ["vacuum", "v"], 2, "never-refreshed"),
    "a retention that is no time": (view(QUERY), ["vacuum", "v", "--retention", "long"], 2, "bad-duration"),
    "alter of a view in a file": (view(QUERY), ["alter", "v", "--lag", "1 hour"], 2, "view-in-file"),
    "alter of nothing": (nothing, ["alter", "none", "--lag", "1 hour"], 2, "unknown-view"),
    "init where something is": (toml(""), ["init"], 2, "config"),
    "init in a file": (lambda f: (f / "x").write_text("") and None, ["init", "x"], 2, "config"),
    "init where nobody may write": (nothing, ["init", "/proc/grebe"], 2, "config"),
    "a name of too many dots": (nothing, ["drop", "a..b", "--yes"], 2, "unknown-table"),
    "an empty name": (nothing, ["drop", "", "--yes"], 2, "unknown-table"),
    "a catalog that is none": (nothing, ["drop", "nowhere.a.b", "--yes"], 2, "unknown-table"),
    # names and values that are SQL or paths of somebody else's
    "SQL as a catalog": (toml("[catalogs.\"a; DROP TABLE x\"]\nformat = 'iceberg'\nroot = 'x'"), ["status"], 2, "config"),
    "SQL as a schema": (many(toml("[defaults]\nschema = \"x; DROP TABLE y\""), view(QUERY)), ["drop", "v; DROP", "--yes"], 2, "unknown-table"),
    "a path as a name": (view(QUERY), ["drop", "../../etc/passwd", "--yes"], 2, "unknown-table"),
    "a name with a line's end": (view(QUERY), ["status", "v\nDROP TABLE x"], 2, "unknown-table"),
    "SQL as a lag": (view(QUERY), ["alter", "v", "--lag", "1 hour'; DROP TABLE x"], 2, "view-in-file"),
    # the graph
    "a cycle": (many(view("SELECT * FROM b", "a.sql"), view("SELECT * FROM a", "b.sql")), ["refresh"], 2, "cycle"),
    "a view over itself": (view("SELECT * FROM v"), ["dag"], 2, "cycle"),
}  # fmt: skip

BROKEN_VIEWS: dict[str, tuple[Callable[[Path], None], str]] = {
    "an empty file": (view(""), "sql-syntax"),
    "no SQL": (view("hello there"), "sql-syntax"),
    "another statement": (view("DROP TABLE lake.shop.orders"), "sql-syntax"),
    "a statement without a query": (view("CREATE MATERIALIZED VIEW v AS"), "sql-syntax"),
    "an open quote": (view("SELECT 'x"), "sql-syntax"),
    "a binary file": (binary_view, "definition"),
    "a reserved property": (view(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('grebe.fingerprint'='x') AS {QUERY}"), "sql-syntax"),
    "SQL in a property": (view(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES (a = (SELECT 1)) AS {QUERY}"), "sql-syntax"),
    "a property that is SQL": (view(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('a'='b') ; DROP TABLE x AS {QUERY}"), "sql-syntax"),
    "a threshold that is SQL": (view(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('grebe.threshold'='0); DROP TABLE x; --') AS {QUERY}"), "bad-threshold"),
    "a bad policy": (view(f"CREATE MATERIALIZED VIEW v REFRESH POLICY never AS {QUERY}"), "bad-policy"),
    "a bad lag": (view(f"CREATE MATERIALIZED VIEW v TBLPROPERTIES ('grebe.lag'='0 minutes') AS {QUERY}"), "bad-duration"),
    "a bad schedule": (view(f"CREATE MATERIALIZED VIEW v SCHEDULE CRON '99 * * * *' AS {QUERY}"), "bad-schedule"),
    "a format that holds no views": (view(f"CREATE MATERIALIZED VIEW v USING csv AS {QUERY}"), "sql-syntax"),
    "a catalog that is none": (view(f"CREATE MATERIALIZED VIEW nowhere.a.v AS {QUERY}"), "unknown-table"),
    "defined twice": (many(view(f"CREATE MATERIALIZED VIEW v AS {QUERY}", "a.sql"), view(QUERY)), "defined-twice"),
    "broken JSON": (view('{"$type": "s", ', "s.json"), "not-json"),
    "JSON that is a list": (view("[1]", "s.json"), "sql-syntax"),
    "JSON without $from": (view('{"$type": "s"}', "s.json"), "missing-from"),
    "JSON with an unknown directive": (view(SPEC % '"$form": 1', "s.json"), "invalid-directive"),
    "JSON with a hostile name": (view('{"$type": "s; DROP", "$from": "o"}', "s.json"), "invalid-name"),
    "JSON without a schedule": (view(SPEC % '"$refresh": {"mode": "scheduled"}', "s.json"), "missing-schedule"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_input_is_a_typed_error_and_nothing_is_made(
    what: str, grebe: Grebe, tmp_path: Path
) -> None:
    prepare, arguments, code, error = BAD[what]
    prepare(tmp_path)
    if not any(tmp_path.iterdir()):
        (tmp_path / "views").mkdir()  # a project, though an empty one
    before = kept(tmp_path)
    said = grebe(*arguments)
    assert said.code == code, said
    assert said.out == ""
    assert "Traceback" not in said.err
    assert f"error [{error}]" in said.err
    assert "hint:" in said.err
    assert kept(tmp_path) == before


@pytest.mark.parametrize("what", BROKEN_VIEWS)
def test_a_broken_view_is_told_with_its_place_and_hides_no_other(
    what: str, grebe: Grebe, tmp_path: Path
) -> None:
    prepare, error = BROKEN_VIEWS[what]
    view("SELECT 1 AS one", "good.sql")(tmp_path)
    prepare(tmp_path)
    said = grebe("status", "-o", "json")
    assert said.code == 0, said
    states = {item["view"]: item for item in said.json}
    assert states.pop("lake.main.good")["state"] == "never refreshed"
    problems = [item["error"] for item in states.values() if item["error"]]
    assert [item["code"] for item in problems] == [error]
    assert problems[0]["hint"]
    assert f"[{error}]" in said.err
    assert not (tmp_path / ".grebe").exists()


@pytest.mark.parametrize("what", BROKEN_VIEWS)
def test_a_refresh_of_a_broken_view_fails_with_the_same(
    what: str, grebe: Grebe, tmp_path: Path
) -> None:
    prepare, error = BROKEN_VIEWS[what]
    prepare(tmp_path)
    before = files(tmp_path / "views")
    said = grebe("refresh", "-o", "json")
    assert said.code == 1, said
    (problem,) = (item["error"] for item in said.json)
    assert problem["code"] == error
    assert problem["hint"] in said.err
    assert "Traceback" not in said.err
    assert files(tmp_path / "views") == before
    assert [row for row in kept(tmp_path)["registry"] if row[0] == "views"] == []


def test_an_error_is_one_document_for_a_program(grebe: Grebe, tmp_path: Path) -> None:
    toml("[defaults")(tmp_path)
    said = grebe("status", "-o", "json")
    assert said.code == 2
    assert said.json["error"]["code"] == "config"


def test_sixty_bad_inputs_are_here() -> None:
    assert len(BAD) + len(BROKEN_VIEWS) >= 60
