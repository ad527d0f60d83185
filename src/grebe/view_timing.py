"""When a view is refreshed by itself, when it counts as late, and what follows failures: as people write it.

A view has one trigger. Texts are checked here, one by one and together, before anything is stored.

>>> Timing(lag="10 minutes").kind, Timing(trigger="update", lag="1 hour").kind, Timing().kind
(<Trigger.LAG: 'lag'>, <Trigger.UPDATE: 'update'>, <Trigger.MANUAL: 'manual'>)
>>> verify_every("1 day sample 1 percent").share
0.01
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from enum import StrEnum
from re import IGNORECASE
from re import compile as pattern
from typing import Final, TypedDict

from grebe.errors import DefinitionError, did_you_mean
from grebe.schedule import DOWNSTREAM, checked_lag, duration, schedule

ONE, NONE = "one", "none"
APPEND, REPLACE = "append", "replace"
_NONE_IS_LOST = ("", "none")


class Trigger(StrEnum):
    """What sets a run off."""

    MANUAL = "manual"
    UPDATE = "update"
    """A source moved."""
    SCHEDULE = "schedule"
    LAG = "lag"
    DOWNSTREAM = "downstream"
    """A child's run."""
    RETRY = "retry"
    CHECK = "check"


class GivenTiming(TypedDict, total=False):
    """What a caller may say beside `lag` and `schedule`; an empty text takes a setting away."""

    trigger: str | None
    """update or manual."""
    grace: str | None
    at_most_every: str | None
    catch_up: str | None
    max_failures: int | str | None
    timeout: str | None
    verify: str | None
    strategy: str | None


@dataclass(frozen=True, slots=True)
class VerifyEvery:
    """How often a view is checked by itself, and which part of its keys."""

    interval: timedelta
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Settings as texts that were checked; None: not said."""

    trigger: str | None = None
    lag: str | None = None
    schedule: str | None = None
    grace: str | None = None
    """The staleness at which the rows may still answer a query over the sources."""
    at_most_every: str | None = None
    catch_up: str | None = None
    """Whether slots that were missed are made up by one run: one or none."""
    max_failures: str | None = None
    timeout: str | None = None
    verify: str | None = None
    strategy: str | None = None

    @property
    def kind(self) -> Trigger:
        """The one trigger."""
        if self.trigger is not None:
            return Trigger(self.trigger)
        if self.schedule is not None:
            return Trigger.SCHEDULE
        if self.lag is None:
            return Trigger.MANUAL
        return Trigger.DOWNSTREAM if self.lag == DOWNSTREAM else Trigger.LAG

    @property
    def lag_length(self) -> timedelta | None:
        """The staleness that is accepted; None for one that only its children ask for."""
        return duration(self.lag) if self.lag is not None and self.lag != DOWNSTREAM else None

    @property
    def adds_only(self) -> bool:
        """True when somebody promised that its rows are only ever added."""
        return self.strategy == APPEND

    @property
    def others(self) -> tuple[tuple[str, str], ...]:
        """What was said beside lag and schedule."""
        return tuple((key, value) for key, value in self.said if key not in ("lag", "schedule"))

    @property
    def said(self) -> tuple[tuple[str, str], ...]:
        """What was said, by name."""
        return tuple((key, value) for key, value in sorted(asdict(self).items()) if value)

    def checked(self) -> Timing:
        """The same, if it does not contradict itself.

        Raises:
            DefinitionError: it names two triggers, or a setting of a trigger that it has not.
        """
        named = self._named()
        if len(named) > 1:
            raise DefinitionError(
                f"a view has one trigger, not {' and '.join(named)}",
                detail="a manual view has no schedule"
                if self.trigger == Trigger.MANUAL
                else "a length of time as lag may stand beside any: it says when the view is late",
                hint="keep one of them; an empty text takes a setting away",
                code="two-triggers",
            )
        if self.at_most_every is not None and self.kind is not Trigger.UPDATE:
            raise DefinitionError(
                "AT MOST EVERY belongs to TRIGGER ON UPDATE",
                detail=f"the view's trigger is {self.kind}",
                hint="write TRIGGER ON UPDATE AT MOST EVERY INTERVAL …, or EVERY as a schedule",
                code="bad-trigger",
            )
        return self

    def overlaid(self, said: Timing) -> Timing:
        """These settings with what another text says in their place; its trigger takes the place of any."""
        kept = self
        if said._named():
            lag = None if self.lag == DOWNSTREAM else self.lag
            kept = replace(self, trigger=None, schedule=None, at_most_every=None, lag=lag)
        return replace(kept, **dict(said.said))

    def _named(self) -> list[str]:
        found = []
        if self.trigger is not None:
            found.append("TRIGGER ON UPDATE" if self.trigger == Trigger.UPDATE else "manual")
        if self.schedule is not None:
            found.append(f"SCHEDULE {self.schedule}")
        if self.lag == DOWNSTREAM:
            found.append("TARGET_LAG = DOWNSTREAM")
        return found


NOTHING_SAID: Final = Timing()


def trigger_word(text: str) -> str:
    """The trigger that is said by itself: update or manual; other products' words are known too.

    Raises:
        DefinitionError: it is anything else.
    """
    word = " ".join(text.replace("_", " ").lower().split())
    word = {"on update": "update", "streaming": "update"}.get(word, word)
    if word in (Trigger.UPDATE, Trigger.MANUAL):
        return word
    raise DefinitionError(
        f'"{text}" is not a trigger',
        detail="triggers: update, manual; a lag or a schedule is one by itself",
        hint=did_you_mean(word, ["update", "manual"]) or 'write "update"',
        code="bad-trigger",
    )


def length(text: str) -> str:
    """The text of a length of time, also as SQL spells an interval."""
    words = text.replace("'", " ").split()
    plain = " ".join(words[1:] if words and words[0].upper() == "INTERVAL" else words)
    duration(plain)
    return plain


def catch_up_word(text: str) -> str:
    """One or none.

    Raises:
        DefinitionError: it is anything else.
    """
    word = text.strip().lower()
    if word in (ONE, NONE):
        return word
    raise DefinitionError(
        f'"{text}" does not say what follows missed times',
        detail='"one": they are made up by one run; "none": the next time is waited for',
        hint='write "one" or "none"',
        code="bad-catch-up",
    )


def failures_allowed(text: str) -> str:
    """After how many failures in a row a view is suspended; 0: never.

    Raises:
        DefinitionError: it is no such number.
    """
    word = text.strip()
    if word.isascii() and word.isdecimal() and len(word) <= len("999999"):
        return str(int(word))
    raise DefinitionError(
        f'"{text}" is not a number of failures',
        hint="write a whole number; 0 means that the view is never suspended",
        code="bad-max-failures",
    )


_VERIFY: Final = pattern(
    r"\s*(?:every\s+)?(.+?)(?:\s+sample\s+(\d+(?:\.\d+)?)\s*(?:percent|%))?\s*", IGNORECASE
)
_WHOLE: Final = 100.0


def verify_every(text: str) -> VerifyEvery:
    """How often a view is checked, and which part of it: `1 day sample 1 percent`.

    Raises:
        DefinitionError: it says neither.
    """
    found = _VERIFY.fullmatch(text)
    share = float(found[2]) / _WHOLE if found and found[2] else None
    if found is None or (share is not None and not 0 < share <= 1):
        raise DefinitionError(
            f'"{text}" does not say when a view is checked',
            hint="write EVERY 1 DAY, or EVERY 1 DAY SAMPLE 1 PERCENT",
            code="bad-verify",
        )
    return VerifyEvery(duration(length(found[1])), share)


def _verify_text(text: str) -> str:
    verify_every(text)
    words = text.replace("'", " ").split()
    return " ".join(word for word in words if word.upper() not in ("EVERY", "INTERVAL")).lower()


def strategy_word(text: str) -> str | None:
    """How rows are promised to change: append, or nothing where they are replaced.

    Raises:
        DefinitionError: it is neither.
    """
    word = text.strip().lower()
    if word in (APPEND, REPLACE):
        return word if word == APPEND else None
    raise DefinitionError(
        f'"{text}" is not a strategy',
        detail=f"strategies: {REPLACE}, {APPEND}",
        hint=did_you_mean(word, [APPEND, REPLACE]) or f'write "{APPEND}", or leave it out',
        code="bad-strategy",
    )


def _schedule_text(text: str) -> str:
    schedule(text)
    return text


READERS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "trigger": trigger_word,
    "lag": checked_lag,
    "schedule": _schedule_text,
    "grace": length,
    "at_most_every": length,
    "catch_up": catch_up_word,
    "max_failures": failures_allowed,
    "timeout": length,
    "verify": _verify_text,
    "strategy": strategy_word,
}
"""What reads each setting."""

OTHERS: Final = tuple(item.name for item in fields(Timing) if item.name not in ("lag", "schedule"))
"""Every setting beside lag and schedule."""


def with_given(timing: Timing, given: Mapping[str, object]) -> Timing:
    """Settings with what a caller said in their place; None leaves one, an empty text takes it away.

    Raises:
        DefinitionError: a setting is not known, means nothing, or contradicts another.
    """
    found: dict[str, str | None] = {}
    for key, value in given.items():
        if key not in READERS:
            raise DefinitionError(
                f'"{key}" is not a setting of a view',
                hint=did_you_mean(key, list(READERS)) or f"settings: {', '.join(READERS)}",
                code="unknown-setting",
            )
        if value is not None:
            text = str(value).strip()
            taken_away = text == "" or (text.lower() in _NONE_IS_LOST and key != "catch_up")
            found[key] = None if taken_away else READERS[key](text)
    if found.get("trigger") != Trigger.UPDATE and "trigger" in found and timing.at_most_every:
        found.setdefault("at_most_every", None)
    return replace(timing, **found).checked()


def timing_of(others: Mapping[str, str], lag: str | None, kept: str | None) -> Timing:
    """Settings as they were kept: what this version does not know is left out."""
    known = {key: value for key, value in others.items() if key in OTHERS and value}
    return Timing(lag=lag, schedule=kept, **known)
