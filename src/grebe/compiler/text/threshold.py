"""The property by which a person says when a view is recomputed rather than followed."""

from __future__ import annotations

from typing import Final

from grebe.errors import DefinitionError
from grebe.stored_properties import KEYS

SHARE: Final = KEYS["threshold"]
"""The property by which a person sets the share for one view; then times do not count."""


def checked_share(text: str) -> str:
    """A share that means something: from 0 to 1.

    Raises:
        DefinitionError: it is anything else.
    """
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if 0 <= share <= 1:
        return text.strip()
    raise DefinitionError(
        f'"{text}" is not a share',
        hint="write a number from 0 to 1, such as 0.3",
        code="bad-threshold",
    )
