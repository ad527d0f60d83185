"""One Spark and one project for all tests of row views."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from grebe.api import Project
from grebe.config import Settings
from rows.pond import Pond


@pytest.fixture(scope="session")
def whole_pond(project: Settings, spark: SparkSession) -> Iterator[Project]:
    with Project.open(project.folder, spark=spark) as opened:
        yield opened


@pytest.fixture
def pond(whole_pond: Project) -> Pond:
    """A schema of its own, with a table and functions whose calls are counted."""
    return Pond(whole_pond)
