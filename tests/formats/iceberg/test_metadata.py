"""Metadata files that are not what they seem."""

from __future__ import annotations

import json

import pytest

from grebe.errors import SourceError
from grebe.formats.iceberg.metadata import parse_metadata


def test_a_format_that_nobody_knows_is_refused() -> None:
    """Before anything else of it is read: a newer one may mean another thing by the same names."""
    with pytest.raises(SourceError) as caught:
        parse_metadata("v9.metadata.json", json.dumps({"format-version": 4}).encode())
    assert caught.value.code == "format-unknown"
