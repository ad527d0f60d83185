"""The one way to write a name or a text as SQL, and the one prefix of the names that grebe makes.

A user's name never has the prefix (`reserved_name`), so a name that has it means nothing else: not
in a statement over any table, however its columns are called.
"""

from __future__ import annotations

import re
from typing import Final

PREFIX: Final = "__grebe_"
"""What every name begins with that is not a user's own."""
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_APART: Final = f"{PREFIX}_"
"""What a column begins with that is made from another name: no fixed word begins with it."""


def made(word: str) -> str:
    """A fixed word as a name of grebe's own.

    >>> made("target")
    '__grebe_target'
    """
    return PREFIX + word


def is_made(name: str) -> bool:
    """True for a name that no user can have given; letter case tells no names apart.

    >>> is_made("__Grebe_n"), is_made("grebe_n")
    (True, False)
    """
    return name.lower().startswith(PREFIX)


def apart(name: str) -> str:
    """A name beside a user's name, which it is made from; one such name is as good as itself.

    >>> apart("amount_2"), apart(apart("amount_2"))
    ('__grebe__amount_2', '__grebe__amount_2')
    """
    return name if name.startswith(_APART) else _APART + name


def plain(name: str) -> str:
    """What a name was made from by `apart`; any other name itself.

    >>> plain(apart("amount_2")), plain("amount"), plain("__grebe_n")
    ('amount_2', 'amount', '__grebe_n')
    """
    return name.removeprefix(_APART)


def quote(name: str, dialect: str = "spark") -> str:
    """A name as an SQL identifier.

    >>> quote("a`b"), quote('a"b', "duckdb")
    ('`a``b`', '"a""b"')
    """
    mark = "`" if dialect == "spark" else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def quote_path(*parts: str, dialect: str = "spark") -> str:
    """A name of several parts as SQL, each part quoted.

    >>> quote_path("lake", "shop", "a.b"), quote_path("dl", "main", dialect="duckdb")
    ('`lake`.`shop`.`a.b`', '"dl"."main"')
    """
    return ".".join(quote(part, dialect) for part in parts)


def quote_odd(name: str) -> str:
    """A name as Spark writes it in the text of a type: quoted only where it must be.

    >>> quote_odd("amount_2"), quote_odd("a b")
    ('amount_2', '`a b`')
    """
    return name if _PLAIN.fullmatch(name) else quote(name)


def literal(text: str, dialect: str = "spark") -> str:
    r"""A text as a string literal.

    >>> literal("it's"), literal("it's", "duckdb")
    ("'it\\'s'", "'it''s'")
    """
    if dialect == "spark":
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + text.replace("'", "''") + "'"


def pair_value(text: str) -> str:
    r"""A value in an address of `key=value` pairs, which libpq reads with backslashes as Spark does.

    >>> pair_value("it's")
    "'it\\'s'"
    """
    return literal(text)
