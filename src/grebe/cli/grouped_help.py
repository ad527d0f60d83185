"""The list of commands as a person looks for them: by what they are for, each in a whole sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

GROUPS: Final = (
    ("Start", ("init", "doctor", "refresh")),
    ("Look", ("status", "plan", "explain", "history", "dag", "verify", "retention", "streams")),
    ("Change", ("alter", "drop", "vacuum")),
    ("Streams", ("streams", "ingest", "dead", "replay")),
    ("Keep", ("serve", "suspend", "resume", "recover", "adopt")),
)
_OTHERS: Final = "More"
_START: Final = "grebe init shop && cd shop && grebe refresh && grebe status"


class GroupedHelp(TyperGroup):
    """Commands under headings; one that stands under none comes last."""

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The commands, and how to begin."""
        placed = {name for _, names in GROUPS for name in names}
        rest = tuple(name for name in self.list_commands(ctx) if name not in placed)
        for heading, names in (*GROUPS, (_OTHERS, rest)):
            found = [(name, self.get_command(ctx, name)) for name in names]
            lines = [
                (name, command.get_short_help_str(limit=1000))
                for name, command in found
                if command is not None and not command.hidden
            ]
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)
        with formatter.section("Example"):
            formatter.write_text(_START)
