"""What must become of a key or a value."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What must become of a key or a value.

    Attributes:
        forms: the value that a row must have, as `support.typed_rows` takes it, or as exact JSON;
            empty if there must be no row.
        reasons: the reasons with which it may be rejected; empty if there must be a row.
        schema: its schema's place among those of the cluster; None if it names none of them.
        is_wrapped: whether the value is no record, so that it is in a column of its own.
        is_json: whether the value is JSON, of which the columns stand for all members.
    """

    forms: tuple[Any, ...] = ()
    reasons: frozenset[str] = frozenset()
    schema: int | None = None
    is_wrapped: bool = False
    is_json: bool = False
