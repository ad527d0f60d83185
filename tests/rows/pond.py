"""A schema with a table of texts, and functions whose calls are written into a file, each with its input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

import grebe
from grebe.api import Project, View
from grebe.api.row_query import RowQuery
from grebe.udf import OnError, RowFunction, udf

_numbers = count()
MEANT = "CAST(length(coalesce(body, '')) AS BIGINT)"
"""What the counting function gives, as SQL."""


class Pond:
    """Tables and views of one test."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.schema = f"p{next(_numbers)}"
        self.log = Path(project.settings.folder) / f"{self.schema}.calls"
        self.sql("CREATE NAMESPACE IF NOT EXISTS lake.{s}")

    def sql(self, text: str) -> DataFrame:
        found = self.project.sql(text.format(s=self.schema))
        found.collect()
        return found

    def table(self, name: str = "t", *rows: str, more: str = "") -> str:
        """A table of ids, texts and numbers."""
        self.sql(
            f"CREATE TABLE lake.{{s}}.{name} (id INT, body STRING, n INT) USING iceberg TBLPROPERTIES"
            f" ('format-version'='3', 'write.delete.mode'='merge-on-read',"
            f" 'write.update.mode'='merge-on-read'{more})"
        )
        if rows:
            self.sql(f"INSERT INTO lake.{{s}}.{name} VALUES {', '.join(rows)}")
        return f"{self.schema}.{name}"

    def counted(
        self,
        name: str = "size",
        version: str = "1",
        rules: OnError | list[OnError] | None = None,
        **said: Any,
    ) -> RowFunction:
        """A function that writes each of its inputs down; it fails where that begins with "bad"."""
        log = str(self.log)

        def size(body: str) -> int:
            with Path(log).open("a") as file:
                file.write(f"{body}\n")
            if body is not None and body.startswith("bad"):
                raise ValueError(f"no {body}")
            return len(body or "")

        return udf(size, name=name, version=version, on_error=rules or [], **said)  # type: ignore[no-any-return]

    def calls(self) -> list[str]:
        """The inputs of the calls since this was last asked."""
        found = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.write_text("")
        return sorted(found)

    def query(self, select: Mapping[str, Any], table: str = "t", **how: Any) -> RowQuery:
        made = self.project.table(f"{self.schema}.{table}").select(select)
        for name, value in how.items():
            method: Callable[..., RowQuery] = getattr(made, name)
            made = method(*value) if isinstance(value, tuple) else method(value)
        return made

    def view(self, name: str, query: RowQuery, **how: Any) -> View:
        return self.project.create_materialized_view(f"{self.schema}.{name}", query, **how)

    def differs(self, view: View, sql: str) -> tuple[list[Any], list[Any]]:
        """Rows of the text that the view lacks, and rows that it has too many."""
        shown, meant = view.read(), self.project.sql(sql.format(s=self.schema))
        return meant.exceptAll(shown).collect(), shown.exceptAll(meant).collect()

    def check(self, view: View, sql: str) -> None:
        """The view is what its query says, by the text itself and by its own proof; nothing is called."""
        assert self.differs(view, sql) == ([], [])
        before = self.calls()
        view.verify()
        assert self.calls() == []
        for item in before:
            with self.log.open("a") as file:
                file.write(f"{item}\n")


SKIP = grebe.Skip(ValueError)
