from __future__ import annotations

import pytest

from formats.contract.adapters import ADAPTERS, SHORT


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--formats",
        default=",".join(SHORT),
        help=f"formats that the contract suite runs, of: {', '.join(ADAPTERS)}",
    )
