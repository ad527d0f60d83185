"""The one way to write a name or a text as SQL, and the one prefix of the names that grebe makes.

A user's name never has the prefix (`reserved_name`), so a name that has it means nothing else: not
in a statement over any table, however its columns are called.
"""

from __future__ import annotations

from typing import Final

PREFIX: Final = "__grebe_"
"""What every name begins with that is not a user's own."""
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


def literal(text: str) -> str:
    r"""A text as a string literal of Spark.

    >>> literal("it's")
    "'it\\'s'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
