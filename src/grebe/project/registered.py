"""Views under names that a Spark session of the user's own can read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from grebe.engine.public_name import PUBLIC, STORED, shown_storage
from grebe.project.arrow_rows import arrow_rows
from grebe.sql_text import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from grebe.project.definitions import Definition
    from grebe.project.workspace import Workspace


def spark_name(workspace: Workspace, view: Definition) -> str:
    """What `spark.table` takes: the public name where the catalog is one of Spark's, else a temporary view's."""
    if _is_of_spark(workspace, view):
        catalog = workspace.settings.catalog(view.name.catalog)
        parts = (catalog.spark_name, *view.name.schema.split("."), view.name.name)
        return ".".join(part if re.fullmatch(r"\w+", part) else quote(part) for part in parts)
    return re.sub(r"\W", "_", f"{view.name.schema}_{view.name.name}")


def register(
    workspace: Workspace, views: Iterable[Definition], spark: SparkSession
) -> dict[str, str]:
    """For every view that was refreshed, the name by which this session reads it from now on."""
    from grebe.spark.session import catalog_conf

    for key, value in catalog_conf(workspace.settings).items():
        if spark.conf.get(key, None) is None:
            spark.conf.set(key, value)
    found: dict[str, str] = {}
    for view in views:
        storage = shown_storage(view.name, workspace.tables.shown(view.name, workspace.session))
        if storage is None:
            continue
        name = spark_name(workspace, view)
        if not _is_of_spark(workspace, view):
            kept = (workspace.tables.properties(storage, workspace.session) or {}).get(PUBLIC)
            relation = workspace.tables.relation(storage)
            if kept is not None and _is_read_by_path(workspace, view, relation):
                # The text reads the folder, so it follows every refresh.
                text = kept.replace(quote(STORED), relation).replace(STORED, relation)
                spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quote(name)} AS {text}").collect()
            else:
                rows = spark.createDataFrame(arrow_rows(workspace, view))
                rows.createOrReplaceTempView(name)
        found[view.key] = name
    return found


def _is_of_spark(workspace: Workspace, view: Definition) -> bool:
    catalog = workspace.settings.catalog(view.name.catalog)
    known = bool(catalog.format.session_conf(workspace.settings.address(catalog)))
    return known or catalog.spark_catalog is not None


def _is_read_by_path(workspace: Workspace, view: Definition, relation: str) -> bool:
    """Whether Spark reads the table as format.`path`, without any catalog."""
    catalog = workspace.settings.catalog(view.name.catalog)
    return relation.startswith(f"{catalog.format.name}.`")
