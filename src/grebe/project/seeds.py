"""`seeds/`: SQL files that make tables which are not there yet, each named after its table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from grebe.errors import DefinitionError, GrebeError, SourceError, UnknownTableError
from grebe.model import TableName

if TYPE_CHECKING:
    from grebe.project.workspace import Workspace

FOLDER = "seeds"


def make_missing(workspace: Workspace) -> bool:
    """Run the file of every table that does not exist; True when some did not."""
    missing = pending(workspace)
    for name, file in missing.items():
        workspace.say(f"making {name} from {FOLDER}/{file.name}")
        _run(workspace, file, name)
    return bool(missing)


def pending(workspace: Workspace) -> dict[TableName, Path]:
    """The tables that do not exist, with the files that would make them."""
    files = sorted((workspace.settings.folder / FOLDER).glob("*.sql"))
    named = {workspace.settings.resolve(file.stem): file for file in files}
    return {name: file for name, file in named.items() if not _exists(workspace, name)}


def _exists(workspace: Workspace, name: TableName) -> bool:
    try:
        workspace.tables.source(name, workspace.session).head()
    except UnknownTableError:
        return False
    except SourceError:
        # A catalog that was never written to has no file yet: Spark makes it.
        return bool(workspace.spark.catalog.tableExists(name.quoted()))
    return True


def _run(workspace: Workspace, file: Path, name: TableName) -> None:
    spark = workspace.spark
    shown = f"{FOLDER}/{file.name}"
    try:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {_namespace(name)}").collect()
        for statement in _statements(file, workspace.settings.folder):
            spark.sql(statement).collect()
    except GrebeError:
        raise
    except Exception as error:
        if _is_taken(error) and _exists(workspace, name):
            workspace.say(f"{name} was made by somebody else meanwhile")
            return
        detail = str(error).split("\n", maxsplit=1)[0]
        raise DefinitionError(f"{shown} cannot be run", detail=detail) from error
    if not _exists(workspace, name):
        raise DefinitionError(
            f'{shown} does not make a table "{name}"',
            hint="the file's name is the table's: schema.table.sql",
        )


def _is_taken(error: Exception) -> bool:
    """True when a table could not be made because it is there; catalogs say so each in its way."""
    text = f"{type(error).__name__} {error}".lower().replace("_", " ")
    return "already exists" in text or "alreadyexists" in text


def _statements(file: Path, folder: Path) -> Iterator[str]:
    import sqlglot

    if not file.resolve().is_relative_to(folder):
        raise DefinitionError(
            f"{FOLDER}/{file.name} leads out of the project",
            detail="it is a link to a file elsewhere, which is not read",
            hint=f"put the file itself into {FOLDER}/",
            code="view-outside",
        )
    text = file.read_text(encoding="utf-8")
    begin = 0
    for token in sqlglot.tokenize(text, read="spark"):
        if token.text == ";" and token.end == token.start:
            yield text[begin : token.start]
            begin = token.end + 1
    if text[begin:].strip():
        yield text[begin:]


def _namespace(name: TableName) -> str:
    return TableName(name.catalog, name.schema, "x").quoted().rpartition(".")[0]
