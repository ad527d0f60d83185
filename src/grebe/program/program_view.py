"""What `compile_ivm` gives: the statements that create, fill, maintain and read one view."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from grebe.tabular import Printed

_PLACE = re.compile(r"__grebe_(after|upto)_(\d+)__")


def place_of(when: str, number: int) -> str:
    """The place in a statement for a version of a source."""
    return f"__grebe_{when}_{number}__"


@dataclass(frozen=True, slots=True, repr=False)
class MaterializedView(Printed):
    """A program for one view: SQL text to run in order, on any connection with the catalogs."""

    view_sql: str
    """The definition, with one spelling of names, spaces and functions."""
    create_cursors_table: str
    create_mv: str
    initialize_cursors: list[str]
    maintain: list[str]
    base_tables: dict[str, str]
    """Catalog by table."""
    features: set[str] = field(default_factory=set)
    query_mv: str = ""
    """What readers see: the columns and rows of the definition, nothing hidden."""
    strategy: str = ""
    fallback_reason: str | None = None
    inner_mvs: tuple[MaterializedView, ...] = ()
    """Views that this one needs; none, because every operator has a rule of its own."""
    name: str = ""
    definition: str = ""
    """The digest that the cursor rows carry."""
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Columns of the table that readers do not see."""
    hides_rows: bool = False
    """True when `query_mv` shows other rows than the table holds, as for HAVING or LIMIT."""

    rehash: list[str] = field(default_factory=list)
    """What to run once after `engine-changed`: the rows get checksums of this DuckDB."""

    read_cursor: str = ""
    """On Spark: the query for the versions that the view shows, as JSON by source."""

    def __str__(self) -> str:
        """What it is, in two lines: its statements are long."""
        kept = f"kept by {self.strategy}" if self.strategy else "computed as a whole"
        why = f" ({self.fallback_reason})" if self.fallback_reason else ""
        return (
            f"program for {self.name or 'a view'}: {kept}{why}, over {', '.join(self.sources) or 'nothing'}\n"
            f"  {len(self.maintain)} statements in .maintain; .create_mv, .initialize_cursors, .query_mv"
        )

    __repr__ = __str__

    def pinned(
        self, upto: Mapping[str, int], *, after: Mapping[str, int] | None = None
    ) -> MaterializedView:
        """The same statements with the versions of the sources, keyed as in `sources`.

        ``after`` is what the view shows, as `read_cursor` says it; creating needs only ``upto``.

        Raises:
            ValueError: a source without a version, or a program that finds its versions itself.
        """
        if not self.read_cursor:
            raise ValueError("this program finds the versions itself")
        known = {"upto": upto, "after": upto if after is None else after}
        found = {
            (when, str(number)): _version(versions, key)
            for when, versions in known.items()
            for number, key in enumerate(self.sources, 1)
        }

        def filled(text: str) -> str:
            return _PLACE.sub(lambda place: found[place.group(1), place.group(2)], text)

        return replace(
            self,
            create_mv=filled(self.create_mv),
            maintain=[filled(statement) for statement in self.maintain],
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        values = asdict(self)
        values["features"] = sorted(self.features)
        values["inner_mvs"] = [view.to_dict() for view in self.inner_mvs]
        values["sources"] = list(self.sources)
        values["notes"] = list(self.notes)
        values["hidden"] = list(self.hidden)
        return values

    def explain(self) -> str:
        """What the program does, in words and statements."""
        lines = [f"{self.name}: {self.strategy}"]
        if self.fallback_reason:
            lines.append(f"  because: {self.fallback_reason}")
        lines += [f"  note:    {note}" for note in self.notes]
        lines.append(f"  sources:  {', '.join(self.sources)}")
        lines.append(f"  features: {', '.join(sorted(self.features))}")
        lines.append(f"  maintain: {len(self.maintain)} statements")
        for number, statement in enumerate(self.maintain, 1):
            head, *rest = statement.splitlines()
            lines.append(f"  {number:>3}  {head}{' …' if rest else ''}")
        return "\n".join(lines)


def _version(versions: Mapping[str, int], key: str) -> str:
    if key not in versions:
        raise ValueError(f'no version for source "{key}"')
    return str(int(versions[key]))
