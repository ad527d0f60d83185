"""A schema of its own in a project, for tests of the Python face."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from grebe.api import Project

_numbers = count()


class Shop:
    """A schema with a table `t` of ids and values."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.project = project
        self.folder = folder
        self.schema = f"s{next(_numbers)}"
        self.sql("CREATE NAMESPACE lake.{s}")
        self.sql("CREATE TABLE lake.{s}.t (id INT, k STRING, x INT) USING iceberg")
        self.sql("INSERT INTO lake.{s}.t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'a', 30)")

    def sql(self, text: str) -> None:
        self.project.sql(text.format(s=self.schema)).collect()

    def rows(self, name: str) -> list[tuple[object, ...]]:
        found = self.project.read(f"{self.schema}.{name}").collect()
        return sorted((tuple(row) for row in found), key=repr)

    def view(self, name: str, sql: str, **options: object) -> str:
        full = f"{self.schema}.{name}"
        self.project.create_view(full, sql.format(s=self.schema), **options)  # type: ignore[arg-type]
        return full

    def names(self) -> set[str]:
        return {str(view.name) for view in self.project.views() if view.name.schema == self.schema}

    def snapshots(self, name: str) -> int:
        facts = self.project.written()[f"lake.{self.schema}.{name}"].facts
        assert facts is not None
        assert facts.storage is not None
        return self.project.sql(f"SELECT * FROM {facts.storage.quoted()}.snapshots").count()
