"""Names of columns that every reader of Delta tables accepts.

| in a name | becomes |
| --- | --- |
| a space, a control character, `,;{}()=`, a dot, a backtick, a double quote | `_` |
| half a surrogate pair | `_` |
| nothing | `_` |
| a name that differs from an earlier one in case only, or not at all | `<name>_2`, `_3`, ... |

Names of earlier columns never change when later ones are added. The way back is a table: see
`merging.MergedColumn`.
"""

from collections.abc import Container, Iterable

_ILLEGAL = frozenset(' ,;{}()=.`"')


class ColumnNames:
    """Column names of one table, or field names of one struct, each given once.

    >>> names = ColumnNames()
    >>> [names.add(name) for name in ("a", "A", "first name", "A")]
    ['a', 'A_2', 'first_name', 'A_3']
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        """Store names that no column may get."""
        self._used = {name.casefold() for name in reserved}

    def add(self, name: str) -> str:
        """Return the column's name for a field's name, and reserve it."""
        legal = "".join("_" if _is_illegal(char) else char for char in name) or "_"
        found, number = legal, 1
        while found.casefold() in self._used:
            number += 1
            found = f"{legal}_{number}"
        self._used.add(found.casefold())
        return found


def free_name(name: str, others: Container[str]) -> str:
    """Return a name, with underscores added until it differs from all others.

    >>> free_name("a_json", {"a_json", "a_json_"})
    'a_json__'
    """
    while name in others:
        name += "_"
    return name


def _is_illegal(char: str) -> bool:
    is_control = char < " " or "\x7f" <= char <= "\x9f"
    return char in _ILLEGAL or is_control or "\ud800" <= char <= "\udfff"
