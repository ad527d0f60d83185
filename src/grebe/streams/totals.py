"""How many events came, and what became of each: of one call, and of a view since it was made. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts that add up: received = events + filtered + dead + duplicates."""

    received: int = 0
    events: int = 0
    """Events that became rows."""
    rows: int = 0
    filtered: int = 0
    dead: int = 0
    duplicates: int = 0
    batches: int = 0

    def plus(self, other: Totals) -> Totals:
        """Both together."""
        return Totals(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def adds_up(self) -> bool:
        """Whether every event is accounted for once."""
        return self.received == self.events + self.filtered + self.dead + self.duplicates

    def values(self) -> tuple[tuple[str, str], ...]:
        """As small state of a frontier."""
        return tuple((f"events.{f.name}", str(getattr(self, f.name))) for f in fields(self))

    @staticmethod
    def of(values: Mapping[str, str]) -> Totals:
        """What `values` wrote; nothing where it is not there."""
        return Totals(**{f.name: int(values.get(f"events.{f.name}", "0")) for f in fields(Totals)})


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one call stored."""

    received: int = 0
    events: int = 0
    rows: int = 0
    filtered: int = 0
    dead: int = 0
    duplicates: int = 0
    exactly_once: bool = True
    """Whether the same events, sent again, would be known."""
    version: str | None = None
    seconds: float = 0.0

    def plus(self, other: Ingested) -> Ingested:
        """Both together, the other one later."""
        return replace(
            self,
            received=self.received + other.received,
            events=self.events + other.events,
            rows=self.rows + other.rows,
            filtered=self.filtered + other.filtered,
            dead=self.dead + other.dead,
            duplicates=self.duplicates + other.duplicates,
            exactly_once=self.exactly_once and other.exactly_once,
            version=other.version or self.version,
            seconds=self.seconds + other.seconds,
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        once = "" if self.exactly_once else "; sent again they would be stored again"
        return (
            f"{self.received:,} received: {self.rows:,} rows of {self.events:,}, {self.filtered:,} filtered,"
            f" {self.dead:,} dead, {self.duplicates:,} duplicates{once}"
        )
