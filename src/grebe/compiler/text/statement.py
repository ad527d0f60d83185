"""The text of a view: `CREATE MATERIALIZED VIEW … AS SELECT …`, or a bare SELECT.

The clauses are read here, token by token, because no two products spell them alike; the query is
handed on as it was written. Errors in it are moved to their place in the whole text by `placed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import sqlglot
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from grebe.compiler.text.threshold import checked_share
from grebe.errors import DefinitionError, GrebeError, SqlSyntaxError, Where, did_you_mean
from grebe.known_formats import view_formats
from grebe.model import Check, Policy
from grebe.secrets import names_secret
from grebe.stored_properties import KEYS, OWN, is_own
from grebe.view_timing import NOTHING_SAID, READERS, Timing

T = TypeVar("T")

_SET: Final = ("policy", *READERS, "tags", "threshold", "check")
PROPERTIES: Final = tuple(KEYS[name] for name in _SET)
"""Properties that a person may set; all others that begin with grebe. are the engine's own."""

_POLICIES: Final = {
    "auto": Policy.AUTO,
    "incremental": Policy.INCREMENTAL,
    "strict": Policy.STRICT,
    "incremental strict": Policy.STRICT,
    "full": Policy.FULL,
}
_CLAUSES: Final = (
    "COMMENT", "PARTITIONED", "PARTITIONED BY", "CLUSTER", "CLUSTER BY", "USING", "TBLPROPERTIES",
    "REFRESH", "SCHEDULE", "TARGET_LAG", "TRIGGER", "VERIFY",
)  # fmt: skip
_SHAPE: Final = "write a SELECT, or CREATE MATERIALIZED VIEW name AS SELECT …"
_QUERY_STARTS: Final = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a person wrote: the query, and everything around it."""

    query: str
    name: tuple[str, ...] | None = None
    replaces: bool = False
    if_not_exists: bool = False
    columns: tuple[str, ...] = ()
    """Names for the query's columns, if the statement lists them."""
    comment: str | None = None
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    using: str | None = None
    policy: Policy | None = None
    timing: Timing = NOTHING_SAID
    tags: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    rows: str | None = None
    """JSON of a row view, whose query this is."""
    text: str = field(default="", compare=False)
    start: int = field(default=0, compare=False)
    """Where the query begins in the text."""
    file: str | None = field(default=None, compare=False)

    @property
    def lag(self) -> str | None:
        """How old its data may be."""
        return self.timing.lag

    @property
    def schedule(self) -> str | None:
        """When it is refreshed by itself."""
        return self.timing.schedule

    def placed(self, error: GrebeError) -> GrebeError:
        """The same error, its place counted in the whole text instead of in the query."""
        where = error.where
        if where is not None and where.file is None:
            before = self.text[: self.start]
            lines = before.count("\n")
            shift = self.start - (before.rfind("\n") + 1) if where.line == 1 else 0
            error.where = replace(
                where,
                line=where.line + lines,
                column=where.column + shift,
                source=self.text,
                file=self.file,
            )
        return error


def policy_of(text: str) -> Policy:
    """The policy of that name; other products' spellings are known too.

    Raises:
        DefinitionError: there is no such policy.
    """
    found = _POLICIES.get(" ".join(text.replace("_", " ").lower().split()))
    if found is None:
        raise DefinitionError(
            f'policy "{text}" does not exist',
            detail=f"policies: {', '.join(Policy)}",
            hint=did_you_mean(text, list(Policy)) or 'the usual one is "auto"',
            code="bad-policy",
        )
    return found


def checked_check(text: str) -> str:
    """When a first build is checked: auto, always or never.

    Raises:
        DefinitionError: it is anything else.
    """
    value = text.strip().lower()
    if value in set(Check):
        return value
    raise DefinitionError(
        f'"{text}" does not say when a first build is checked',
        hint=f"write one of {', '.join(Check)}",
        code="bad-check",
    )


def read_statement(text: str, file: str | None = None) -> Statement:
    """The statement that a text holds.

    Raises:
        SqlSyntaxError: the text is neither a query nor such a statement; points at the place.
        DefinitionError: a clause says something that is not allowed.
    """
    reader = _Reader(text, file, _tokens(text, file))
    if not reader.tokens:
        raise SqlSyntaxError("the text is empty", hint=_SHAPE, where=Where(1, 1, file, text))
    if reader.tokens[0].text.upper() in _QUERY_STARTS:
        start = reader.tokens[0].start
        return Statement(_query(text, start), text=text, start=start, file=file)
    return reader.statement()


def _tokens(text: str, file: str | None) -> list[Token]:
    try:
        return list(sqlglot.tokenize(text, read="spark"))
    except TokenError as error:
        message = str(error).split("\n", maxsplit=1)[0]
        where = Where(1, 1, file, text)
        hint = "close every quote and comment that is opened"
        raise SqlSyntaxError(
            "the text cannot be read", detail=message, hint=hint, where=where
        ) from None


def _field(key: str) -> str:
    """The name of a setting in a key of grebe's own; people write it with either sign between words."""
    return key.removeprefix(OWN).replace("-", "_")


def _query(text: str, start: int) -> str:
    return text[start:].rstrip().rstrip(";").rstrip()


def secret_property(key: str) -> DefinitionError:
    """The error for a property that says that it is secret."""
    return DefinitionError(
        f'property "{key}" is one of a secret',
        detail="what is said of a view is kept with it, in its table and in the registry",
        hint="take it away; secrets come from the environment, and only to the settings",
        code="secret-in-text",
    )


class _Reader:
    """Reads the clauses from left to right."""

    def __init__(self, text: str, file: str | None, tokens: Sequence[Token]) -> None:
        self.text = text
        self.file = file
        self.tokens = tokens
        self.at = 0
        self.found: dict[str, object] = {}
        self.timing: dict[str, str | None] = {}
        self.properties: dict[str, str] = {}

    def statement(self) -> Statement:
        self._expect("CREATE")
        replaces = self._skip("OR", "REPLACE")
        self._expect("MATERIALIZED", instead="a view is a SELECT or CREATE MATERIALIZED VIEW")
        self._expect("VIEW")
        is_lenient = self._skip("IF", "NOT", "EXISTS")
        if replaces and is_lenient:
            raise self._wrong("OR REPLACE and IF NOT EXISTS contradict each other")
        name = self._name()
        columns = self._columns() if self._sees("(") else ()
        while not self._sees("AS"):
            self._clause()
        self._expect("AS")
        if self.at >= len(self.tokens):
            raise self._wrong("a query is missing after AS")
        start = self._now().start
        timing = self._checked(lambda _: Timing(**self.timing).checked(), "")
        return Statement(
            timing=timing,
            query=_query(self.text, start),
            name=name,
            replaces=replaces,
            if_not_exists=is_lenient,
            columns=columns,
            text=self.text,
            start=start,
            file=self.file,
            properties=tuple(sorted(self.properties.items())),
            **self.found,  # type: ignore[arg-type]
        )

    # --- clauses --------------------------------------------------------------------------------

    def _clause(self) -> None:
        clauses: dict[str, Callable[[], None]] = {
            "COMMENT": lambda: self._set("comment", self._string()),
            "PARTITIONED": lambda: self._set("partitioned_by", self._list("BY")),
            "PARTITIONED BY": lambda: self._set("partitioned_by", self._list()),
            "CLUSTER": lambda: self._set("clustered_by", self._list("BY")),
            "CLUSTER BY": lambda: self._set("clustered_by", self._list()),
            "USING": self._using,
            "TBLPROPERTIES": self._table_properties,
            "REFRESH": self._refresh_policy,
            "SCHEDULE": self._schedule,
            "TARGET_LAG": self._target_lag,
            "TRIGGER": self._trigger,
            "VERIFY": self._verify,
        }
        word = self._now("AS and a query").text.upper()
        clause = clauses.get(word)
        if clause is None:
            known = [name for name in _CLAUSES if " " not in name]
            raise self._wrong(
                f'"{self._now().text}" is not a clause of CREATE MATERIALIZED VIEW',
                hint=did_you_mean(word, known) or f"clauses: {', '.join(known)}, AS",
            )
        self.at += 1
        clause()

    def _using(self) -> None:
        word = self._now("a table format").text.lower()
        if word not in view_formats():
            raise self._wrong(
                f'format "{word}" cannot hold a view', hint=f"formats: {', '.join(view_formats())}"
            )
        self.at += 1
        self._set("using", word)

    def _refresh_policy(self) -> None:
        self._expect("POLICY", instead="REFRESH is followed by POLICY")
        words = [self._now("a policy").text]
        self.at += 1
        if words[0].upper() == "INCREMENTAL" and self._skip("STRICT"):
            words.append("STRICT")
        self._set("policy", self._checked(policy_of, " ".join(words)))

    def _schedule(self) -> None:
        self._time("schedule", self._words("EVERY or CRON"))

    def _words(self, wanted: str) -> str:
        """The text up to the next clause."""
        begin = self._now(wanted).start
        while not any(self._sees(word) for word in (*_CLAUSES, "AS")) and self.at < len(
            self.tokens
        ):
            self.at += 1
        return " ".join(self.text[begin : self.tokens[self.at - 1].end + 1].split())

    def _trigger(self) -> None:
        self._expect("ON", instead="TRIGGER is followed by ON UPDATE")
        self._expect("UPDATE", instead="TRIGGER is followed by ON UPDATE")
        self._time("trigger", "update")
        if self._skip("AT"):
            self._expect("MOST")
            self._expect("EVERY")
            self._time("at_most_every", self._words("a length of time"))

    def _verify(self) -> None:
        self._expect("EVERY", instead="VERIFY is followed by EVERY and a length of time")
        self._time("verify", self._words("a length of time"))

    def _target_lag(self) -> None:
        self._expect("=")
        token = self._now("a lag")
        text = self._string() if token.token_type is TokenType.STRING else self._word()
        self._time("lag", text)

    def _time(self, what: str, text: str) -> None:
        """One setting of when the view is refreshed."""
        if what in self.timing:
            raise self._wrong(f"{what.replace('_', ' ')} is given twice")
        self.timing[what] = self._checked(READERS[what], text)

    def _table_properties(self) -> None:
        self._expect("(")
        while not self._sees(")"):
            key = self._key()
            self._skip("=")
            value = self._value()
            if key in self.properties or self._is_set(key):
                raise self._wrong(f'property "{key}" is given twice')
            self._property(key, value)
            if not self._skip(","):
                break
        self._expect(")")

    def _is_set(self, key: str) -> bool:
        return key in PROPERTIES and _field(key) in {*self.found, *self.timing}

    def _property(self, key: str, value: str) -> None:
        key = KEYS.get(_field(key), key) if is_own(key) else key
        match _field(key) if key in PROPERTIES else None:
            case "policy":
                self._set("policy", self._checked(policy_of, value))
            case str() as what if what in READERS:
                self._time(what, value)
            case "tags":
                tags = tuple(sorted({tag.strip() for tag in value.split(",")} - {""}))
                self._set("tags", tags)
            case "threshold":
                self.properties[key] = self._checked(checked_share, value)
            case "check":
                self.properties[key] = self._checked(checked_check, value)
            case _ if is_own(key):
                raise self._wrong(
                    f'property "{key}" is not one that can be set',
                    hint=did_you_mean(key, PROPERTIES) or f"properties: {', '.join(PROPERTIES)}",
                )
            case _ if names_secret(key) and value:
                raise secret_property(key)
            case _:
                self.properties[key] = value

    def _set(self, what: str, value: object) -> None:
        if what in self.found:
            raise self._wrong(f"{what.replace('_', ' ')} is given twice")
        self.found[what] = value

    def _checked(self, read: Callable[[str], T], text: str) -> T:
        try:
            return read(text)
        except DefinitionError as error:
            error.where = self._place(self.at - 1)
            raise

    # --- pieces ---------------------------------------------------------------------------------

    def _name(self) -> tuple[str, ...]:
        parts = [self._part()]
        while self._skip("."):
            parts.append(self._part())
        return tuple(parts)

    def _part(self) -> str:
        token = self._now("the view's name")
        word = token.text
        plain = token.token_type is not TokenType.STRING and word.replace("_", "a").isalnum()
        if token.token_type is not TokenType.IDENTIFIER and not plain:
            raise self._wrong(f'"{word}" is not a name', hint="put backquotes around odd names")
        self.at += 1
        return word

    def _columns(self) -> tuple[str, ...]:
        self._expect("(")
        names: list[str] = []
        while True:
            names.append(self._part())
            if self._skip("COMMENT"):
                self._string()
            if not self._skip(","):
                break
        self._expect(")")
        return tuple(names)

    def _list(self, *words: str) -> tuple[str, ...]:
        """The items of a parenthesised list, as text: transforms may have commas inside."""
        for word in words:
            self._expect(word)
        self._expect("(")
        items: list[str] = []
        depth, begin = 0, self._now("a column").start
        while depth or not self._sees(")"):
            token = self._now("a closing parenthesis")
            depth += (token.text == "(") - (token.text == ")")
            if token.text == "," and not depth:
                items.append(self.text[begin : token.start].strip())
                begin = token.end + 1
            self.at += 1
        items.append(self.text[begin : self._now().start].strip())
        self._expect(")")
        if not all(items):
            raise self._wrong("an empty item in a list of columns")
        return tuple(items)

    def _key(self) -> str:
        if self._now("a property").token_type is TokenType.STRING:
            return self._string()
        return ".".join(self._name())

    def _value(self) -> str:
        token = self._now("a value")
        return self._string() if token.token_type is TokenType.STRING else self._word()

    def _word(self) -> str:
        word = self._now().text
        if self._now().token_type not in (
            TokenType.NUMBER,
            TokenType.VAR,
            TokenType.TRUE,
            TokenType.FALSE,
        ):
            raise self._wrong(f'"{word}" is not a value', hint="put it between quotes")
        self.at += 1
        return word

    def _string(self) -> str:
        """One text; Spark joins those that stand side by side."""
        if self._now("a text between quotes").token_type is not TokenType.STRING:
            raise self._wrong(f'"{self._now().text}" is not a text', hint="put it between quotes")
        text = ""
        while self.at < len(self.tokens) and self._now().token_type is TokenType.STRING:
            text += self._now().text
            self.at += 1
        return text

    # --- tokens ---------------------------------------------------------------------------------

    def _now(self, wanted: str = "more") -> Token:
        if self.at >= len(self.tokens):
            raise self._wrong(f"the text ends where {wanted} is expected")
        return self.tokens[self.at]

    def _sees(self, word: str) -> bool:
        if self.at >= len(self.tokens):
            return False
        token = self.tokens[self.at]
        quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
        return not quoted and token.text.upper() == word

    def _skip(self, *words: str) -> bool:
        begin = self.at
        for word in words:
            if not self._sees(word):
                self.at = begin
                return False
            self.at += 1
        return True

    def _expect(self, word: str, instead: str | None = None) -> None:
        if self._skip(word):
            return
        seen = f'"{self._now(word).text}"'
        raise self._wrong(instead or f"{word} is expected, not {seen}", detail=f"found {seen}")

    def _place(self, at: int) -> Where:
        if not self.tokens:
            return Where(1, 1, self.file, self.text)
        token = self.tokens[min(max(at, 0), len(self.tokens) - 1)]
        begin = token.start if at < len(self.tokens) else token.end + 1
        before = self.text[:begin]
        column = begin - (before.rfind("\n") + 1) + 1
        length = max(1, token.end - token.start + 1) if at < len(self.tokens) else 1
        return Where(before.count("\n") + 1, column, self.file, self.text, length)

    def _wrong(
        self, message: str, *, hint: str | None = None, detail: str | None = None
    ) -> SqlSyntaxError:
        where = self._place(self.at)
        return SqlSyntaxError(message, hint=hint or _SHAPE, detail=detail, where=where)
