"""What a part of the campaign did, as rows of one table."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One case of one part.

    Attributes:
        tried: schedules, faults or inputs, as the part counts.
        wrong: how many ended otherwise than promised; each was printed with how to repeat it.
    """

    part: str
    case: str
    tried: int
    wrong: int
    seconds: float


def as_table(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table, with their sum."""
    listed = list(rows)
    whole = Row(
        part="all",
        case="",
        tried=sum(row.tried for row in listed),
        wrong=sum(row.wrong for row in listed),
        seconds=sum(row.seconds for row in listed),
    )
    lines = ["| part | case | tried | seconds | wrong |", "| --- | --- | ---: | ---: | ---: |"]
    lines += [
        f"| {row.part} | {row.case} | {row.tried:,} | {row.seconds:,.0f} | {row.wrong:,} |"
        for row in (*listed, whole)
    ]
    return "\n".join(lines)
