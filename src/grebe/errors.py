"""Every exception of grebe, in one tree.

Text follows one form: *message* (short, lower case, no full stop, names quoted with their kind),
*detail* (what was found), *hint* (one thing to do). ``code`` is stable and kebab-case; it is what
programs match on and what the documentation is indexed by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from grebe.secrets import masked


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a text that a person wrote: line and column count from 1."""

    line: int
    column: int
    file: str | None = None
    source: str | None = None
    length: int = 1

    def __str__(self) -> str:
        return f"{self.file or '<sql>'}:{self.line}:{self.column}"

    def underlined(self) -> str | None:
        """The source line with a marker below the place, or None when the text is unknown."""
        if self.source is None:
            return None
        lines = self.source.splitlines()
        if not 0 < self.line <= len(lines):
            return None
        line = lines[self.line - 1]
        if masked(line) != line:
            return None  # a marker below what is not shown would say nothing
        marker = " " * (self.column - 1) + "^" * max(1, self.length)
        return f"{line}\n{marker}"


@dataclass(frozen=True, slots=True)
class Reason:
    """A coded cause of a choice, with the place in the SQL and the numbers behind it."""

    code: str
    message: str
    where: Where | None = None
    numbers: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        place = f" at {self.where.line}:{self.where.column}" if self.where else ""
        return f"{self.message}{place}  [{self.code}]"


def did_you_mean(wanted: str, known: Sequence[str]) -> str | None:
    """A hint naming the closest known name, or None when nothing is close."""
    lowered = {name.lower(): name for name in known}
    close = get_close_matches(wanted.lower(), lowered, n=1)
    return f'did you mean "{lowered[close[0]]}"?' if close else None


class GrebeError(Exception):
    """The root: anything that grebe raises on purpose."""

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        code: str | None = None,
        where: Where | None = None,
    ) -> None:
        super().__init__(masked(message))
        self.message = masked(message)
        self.detail = masked(detail) if detail else detail
        self.hint = masked(hint) if hint else hint
        self.where = where
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return self.message

    def explain(self) -> str:
        """The whole text for a person: message, detail, place and hint, one line each."""
        lines = [self.message]
        if self.detail:
            lines.append(f"  detail: {self.detail}")
        if self.where:
            lines.append(f"  at:     {self.where}")
            lines += [f"    {line}" for line in (self.where.underlined() or "").splitlines()]
        if self.hint:
            lines.append(f"  hint:   {self.hint}")
        return "\n".join(lines)


class ConfigError(GrebeError):
    """grebe.toml or a GREBE_* variable is wrong; names the file, the key and what is allowed."""

    code = "config"


class ProjectMovedError(ConfigError):
    """The project's folder was copied or moved, and its tables name files of another place."""

    code = "project-moved"


class DefinitionError(GrebeError):
    """The text of a view is the problem; carries the position."""

    code = "definition"


class SqlSyntaxError(DefinitionError):
    """The text is not SQL of the dialect."""

    code = "sql-syntax"


class UnknownTableError(DefinitionError):
    """A name that no catalog knows."""

    code = "unknown-table"

    @classmethod
    def named(
        cls, name: str, known: Sequence[str], *, where: Where | None = None
    ) -> UnknownTableError:
        """The error for one name, with the closest known one as the hint."""
        hint = (
            did_you_mean(name, known)
            or "write schema.table or catalog.schema.table, as it is there"
        )
        return cls(f'table "{name}" does not exist', hint=hint, where=where)


class UnknownColumnError(DefinitionError):
    """A column that none of the tables in scope has, or that more than one has."""

    code = "unknown-column"

    @classmethod
    def named(
        cls, name: str, known: Sequence[str], *, where: Where | None = None
    ) -> UnknownColumnError:
        """The error for one column, with the closest known one as the hint."""
        detail = f"columns in scope: {', '.join(known)}" if known else None
        hint = did_you_mean(name, known)
        return cls(f'column "{name}" does not exist', detail=detail, hint=hint, where=where)


class AmbiguousColumnError(UnknownColumnError):
    """A bare column name that several tables in scope have."""

    code = "ambiguous-column"


class UnsupportedSQLError(DefinitionError):
    """SQL that can neither be maintained nor recomputed faithfully; ``feature`` is its code."""

    code = "unsupported-sql"

    def __init__(
        self,
        feature: str,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        where: Where | None = None,
        reasons: Sequence[Reason] = (),
    ) -> None:
        super().__init__(message, detail=detail, hint=hint, where=where)
        self.feature = feature
        self.reasons = tuple(reasons)


class DeclarationError(DefinitionError):
    """A declarative definition breaks a rule; ``feature`` is its code, ``field`` the place."""

    code = "declaration"

    def __init__(
        self,
        feature: str,
        field: str,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        shown = f"{field}: {message}" if field else message
        own = feature.lower().replace("_", "-")
        super().__init__(shown, detail=detail, hint=hint, code=own)
        self.feature = feature
        self.field = field


class RowViewError(DefinitionError, ValueError):
    """What was said of a row view or of its functions means nothing, or cannot be kept."""


class NotBuiltError(DefinitionError, NotImplementedError):
    """What was asked for does not exist yet; the hint says what there is instead."""

    code = "not-built"


class CycleError(DefinitionError):
    """Views that read each other in a circle; the message shows the path."""

    code = "cycle"


class NotIncrementalError(GrebeError):
    """Under `strict` or `incremental`: the query cannot be maintained; ``reasons`` holds all."""

    code = "not-incremental"

    def __init__(self, message: str, reasons: Sequence[Reason], *, hint: str | None = None) -> None:
        detail = "; ".join(str(reason) for reason in reasons)
        super().__init__(message, detail=detail, hint=hint)
        self.reasons = tuple(reasons)


class SourceError(GrebeError):
    """A source cannot give what is asked of it."""

    code = "source"


class HistoryExpiredError(SourceError):
    """A version of the window no longer exists."""

    code = "history-expired"


class SchemaChangedError(SourceError):
    """A used column changed its identity or type between two versions."""

    code = "schema-changed"


class SourceReplacedError(SourceError):
    """The table under this name is another one than the one that was read before."""

    code = "source-replaced"


class CorruptFileError(SourceError):
    """A metadata or data file is torn, empty or unreadable; names the file."""

    code = "corrupt-file"


class RefreshError(GrebeError):
    """A run failed; nothing of it is visible unless the message says so."""

    code = "refresh"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        code: str | None = None,
        run_id: str | None = None,
        step: str | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint, code=code)
        self.run_id = run_id
        self.step = step


class ConflictError(RefreshError):
    """Somebody else moved the storage table first; nothing of this run is visible."""

    code = "conflict"
    retryable = True


class LeaseHeldError(RefreshError):
    """Another run holds the right to write this view."""

    code = "lease-held"
    retryable = True


class StepFailedError(RefreshError):
    """A step of the plan failed inside Spark or a catalog; the cause is chained."""

    code = "step-failed"


class UnknownOutcomeError(RefreshError):
    """A commit was sent and neither its success nor its failure can be proved right now."""

    code = "unknown-outcome"
    retryable = True


class FunctionError(RefreshError):
    """A person's function failed for a row that no rule lets be skipped."""

    code = "function-failed"


class SkipThresholdExceeded(RefreshError):  # noqa: N818  the name that document 002 gives
    """A function failed for more rows than its rule lets be skipped."""

    code = "skip-threshold"


class CheckFailedError(RefreshError):
    """A stored row contradicts the change that should apply to it, or verify found a difference."""

    code = "integrity"
    differing = 0
    """Rows that only one side has, as far as they were counted: the first ten."""


class RegistryError(GrebeError):
    """The journal of runs cannot be read or written."""

    code = "registry"


class RegistryVersionError(RegistryError):
    """The registry was written by a newer grebe."""

    code = "registry-version"


class MissingExtraError(GrebeError):
    """An optional dependency is not installed."""

    code = "missing-extra"

    @classmethod
    def of(cls, package: str, extra: str) -> MissingExtraError:
        """The error for one package, naming the extra that installs it."""
        return cls(f'package "{package}" is not installed', hint=f'pip install "grebe[{extra}]"')


class InternalError(GrebeError):
    """A broken invariant of grebe itself."""

    code = "internal"

    @classmethod
    def broken(cls, invariant: str) -> InternalError:
        """The error for one invariant, asking for a report."""
        return cls(
            f"internal invariant broken: {invariant}",
            hint="please report this with the view's definition",
        )

    @classmethod
    def unforeseen(cls, error: Exception) -> InternalError:
        """The error for another one that nobody expected at this place, which is its cause."""
        made = cls.broken(f"{type(error).__name__}: {error}")
        made.__cause__ = error
        return made
