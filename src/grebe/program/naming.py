"""Names of what a program creates, to be overridden by a subclass."""

from __future__ import annotations


class Naming:
    """The default names; a subclass overrides what it wants called differently.

    >>> Naming().mv_table(), Naming().cursors_table(), Naming().aux_column("count")
    ('mv', '_ivm_cursors', '_ivm_count')
    """

    def mv_table(self) -> str:
        """The table that holds the view's rows."""
        return "mv"

    def cursors_table(self) -> str:
        """The table that holds, for every view of the schema, what it has already seen."""
        return "_ivm_cursors"

    def aux_column(self, purpose: str) -> str:
        """A column that readers do not see: a count, a running sum, a checksum."""
        return f"_ivm_{purpose}"
