"""What `compile_ivm` gives: the statements that create, fill, maintain and read one view."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class MaterializedView:
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
