"""What is secret: by its name, by its form, or because it came from where secrets come from.

Every error and every document goes through `masked`. It knows the values that the settings of this
process were given as secrets, and the forms in which drivers and texts repeat others.
"""

from __future__ import annotations

import json
import re

from grebe.sql_text import literal

MASK = "***"
_SHORTEST = 4
"""A shorter secret is not looked for: it would be found in every other word."""

_NAMES = (
    r"pass(?:word|wd|phrase)|pwd|secret|token|credential|authorization|cookie|signature"
    r"|(?:^|[._-])pass(?:$|[._-])|(?:^|[._-])sas(?:$|[._-])|(?:^|[._-])auth(?:$|[._-])"
    r"|(?:access|account|api|client|encryption|master|private|sas|shared|signing|storage)[._-]?key"
)
_NAMED = re.compile(_NAMES, re.IGNORECASE)
REDACTED = f"(?i){_NAMES}"
"""The same for Spark, which says nothing of settings whose names match it."""
_HARMLESS = re.compile(
    r"[._-](?:class|enabled|endpoint|expires-in-ms|file|impl|location|path|provider|scope|type|ur[il])$",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"^(?:bearer|basic|digest|negotiate)\s+\S{4,}|^eyJ[\w-]{8,}\.[\w-]+|^(?:AKIA|ASIA)[0-9A-Z]{16}$"
    r"|^gh[pousr]_\w{20,}$|-----BEGIN [A-Z ]*PRIVATE KEY-----",
    re.IGNORECASE,
)
_WORD = (
    r"[\w.-]*(?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|authorization|sig|signature"
    r"|(?:access|account|api|sas|shared)[._-]?key(?:[._-]?id)?)"
)
_PAIR = re.compile(
    rf"""((?<![\w.-]){_WORD}['"`]?\s*=>?\s*)(?!\$\{{|…)('(?:[^'\\]|''|\\.)*'?|"[^"]*"?|[^\s,;&)'"]+)""",
    re.IGNORECASE,
)
_IN_URI = re.compile(
    r"(?:pass(?:word|wd)?|pwd|token|secret|credential|sig|signature|(?:access|account|api)[._-]?key)"
    r"=('[^']*'|[^&;\s]*)",
    re.IGNORECASE,
)
_WEB_USER = re.compile(r"(?:https?|wss?)://[^/@:\s]*:([^/@]*)@", re.IGNORECASE)
_USER = re.compile(r"(?<!http)(?<!https)(?<!ws)(?<!wss)://[^/@:\s]*:(.*)@", re.IGNORECASE)
_SHOWN_USER = re.compile(r"(://[^/@:\s]*:)[^\s\"']*@", re.IGNORECASE)

_known: dict[str, None] = {}
"""Longest first, so that a part of a secret never hides the rest of it."""


def names_secret(key: str) -> bool:
    """Whether what stands under a key is secret.

    >>> [names_secret(key) for key in ("jdbc.pass", "header.X-Api-Key", "s3.sas-key", "pwd")]
    [True, True, True, True]
    >>> [names_secret(key) for key in ("credentials-provider", "passes", "scope", "primary.key")]
    [False, False, False, False]
    """
    return bool(_NAMED.search(key)) and not _HARMLESS.search(key)


def looks_secret(text: str) -> bool:
    """Whether a text has the form of a secret, whatever it is called."""
    return bool(_FORM.search(text))


def secrets_in(uri: str) -> list[str]:
    """The secrets inside of an address: a password before the host, or among its parameters.

    >>> secrets_in("postgresql://me:a/b@c@host/db?sslmode=on")
    ['a/b@c']
    >>> secrets_in("jdbc:postgresql://host:5432/db?user=me&password=x"), secrets_in("http://h:80/a@b")
    (['x'], [])
    """
    user = _WEB_USER if re.match(r"(?:https?|wss?)://", uri, re.IGNORECASE) else _USER
    found = [match[1] for match in user.finditer(uri)]
    found += [match[1].strip("'") for match in _IN_URI.finditer(uri)]
    return [item for item in found if item]


def keep_secret(text: str) -> None:
    """Never show this text, nor the ways in which it is written inside of others."""
    found = {text, json.dumps(text)[1:-1], repr(text)[1:-1], literal(text, "duckdb")[1:-1]}
    words = {*_known, *(item for item in found if len(item) >= _SHORTEST)}
    _known.clear()
    _known.update(dict.fromkeys(sorted(words, key=len, reverse=True)))


def masked(text: str) -> str:
    """A text for people and programs, without what is secret.

    >>> masked("postgresql://me:p@ss@host/db, password='x', SET token=abc")
    'postgresql://me:***@host/db, password=***, SET token=***'
    """
    for secret in _known:
        if secret in text:
            text = text.replace(secret, MASK)
    if "=" in text:
        text = _PAIR.sub(rf"\1{MASK}", text)
    if "://" in text:
        text = _SHOWN_USER.sub(rf"\1{MASK}@", text)
    return text


def without_secrets(error: BaseException) -> BaseException:
    """An error of somebody else's, with every text in it and in its causes masked."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        one.args = tuple(masked(item) if isinstance(item, str) else item for item in one.args)
        one = one.__cause__ or one.__context__
    return error
