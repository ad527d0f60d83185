"""Files that remember what was asked of them: how much work an answer costs, on any machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grebe.formats.files import DriverFiles


@dataclass
class RecordingFiles(DriverFiles):
    """Files that remember which were opened, which were read whole, and which folders were listed."""

    opened: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def open(self, path: str) -> Any:
        self.opened.append(path)
        return super().open(path)

    def read(self, paths: Sequence[str]) -> list[bytes]:
        self.fetched.extend(paths)
        return super().read(paths)

    def listed(self, folder: str) -> Mapping[str, object]:
        self.folders.append(folder)
        return super().listed(folder)
