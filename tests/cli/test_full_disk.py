"""A disk that takes no more: a typed error, and the registry goes on when there is room again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from grebe.registry import Registry, ViewRecord

CODE = """
import resource, sys
from grebe.errors import RegistryError
from grebe.registry import Registry, ViewRecord
registry = Registry.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    for number in range(1000):
        registry.save_view(ViewRecord(f"v{number}", "x" * 10_000))
except RegistryError as error:
    print(error.code, number, bool(error.hint))
"""


def test_a_full_disk_is_a_typed_error_and_loses_nothing_written(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"
    done = subprocess.run(
        [sys.executable, "-c", CODE, url], capture_output=True, text=True, check=True
    )
    code, number, has_hint = done.stdout.split()
    assert (code, has_hint) == ("registry", "True")
    with Registry.open(url) as registry:
        assert len(registry.views()) == int(number)
        registry.save_view(ViewRecord("after", "SELECT 1"))
