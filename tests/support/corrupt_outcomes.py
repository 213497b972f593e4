"""Expected outcomes of each damaged copy: tests/data/corrupt_outcomes.toml as values.

The file says what its fields mean.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from support.corrupt_cases import CorruptCase, corrupt_case, intact_records
from support.oracle import OracleRecord, expected_records

_FILE = Path(__file__).resolve().parents[1] / "data" / "corrupt_outcomes.toml"
_SOURCE_ID = "a-damaged-cluster"


class ExpectedDefect(NamedTuple):
    """A row of `quarantine`; the segment's file name has no folder."""

    segment: str
    position: int
    length_bytes: int
    code: str


class ExpectedGap(NamedTuple):
    """A row of `gaps`: the offsets [start_offset, next_offset)."""

    start_offset: int
    next_offset: int
    cause: str


class ClosedTail(NamedTuple):
    """Zeros at the end of a segment that is not the last."""

    segment: str
    position: int
    length_bytes: int


@dataclass(frozen=True)
class CorruptOutcome:
    """The expected end of a run over one case, with isolation read_uncommitted.

    The run covers the offsets [0, next_offset), and `records` are all of theirs, in order;
    `kind_of_records` is the file's word for where they come from.
    """

    case: CorruptCase
    defects: tuple[ExpectedDefect, ...]
    tail: str | None
    closed_tails: tuple[ClosedTail, ...]
    gaps: tuple[ExpectedGap, ...]
    next_offset: int
    is_more_left: bool
    source_id: str | None
    kind_of_records: str

    @cached_property
    def records(self) -> tuple[OracleRecord, ...]:
        return tuple(_records(self.case, _outcomes()[self.case.name]))


def outcome_names() -> tuple[str, ...]:
    """The cases that the file speaks of."""
    return tuple(_outcomes())


@cache
def corrupt_outcome(name: str) -> CorruptOutcome:
    """Return the expected outcome of the case with this name."""
    facts = _outcomes()[name]
    case = corrupt_case(name)
    return CorruptOutcome(
        case=case,
        defects=tuple(
            ExpectedDefect(fact["segment"], fact["position"], fact["bytes"], fact["code"])
            for fact in facts["defects"]
        ),
        tail=facts["tail"] or None,
        closed_tails=tuple(
            ClosedTail(each["segment"], each["position"], each["bytes"])
            for each in facts.get("closed_tails", ())
        ),
        gaps=tuple(
            ExpectedGap(fact["start"], fact["next"], fact["cause"]) for fact in facts["gaps"]
        ),
        next_offset=facts["next_offset"],
        is_more_left=bool(facts.get("left")),
        source_id=_SOURCE_ID if facts.get("call") == "source_id" else None,
        kind_of_records=facts["records"],
    )


# Any: the tables of the file hold texts, numbers and lists; what is missing fails as a KeyError.
@cache
def _outcomes() -> dict[str, dict[str, Any]]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def _records(case: CorruptCase, facts: dict[str, Any]) -> list[OracleRecord]:
    found = [record for record in intact_records(case) if record.offset < facts["next_offset"]]
    match facts["records"]:
        case "intact":
            others: Sequence[OracleRecord] = ()
        case "intact+made":
            lost = {offset for gap in facts["gaps"] for offset in range(gap["start"], gap["next"])}
            made = _made(facts["made"], facts.get("made_headers", ()))
            others = [record for record in made if record.offset not in lost]
        case "intact+foreign":
            others = _foreign(facts["foreign"])
        case unknown:
            raise ValueError(f"{case.name}: records are {unknown!r}")
    return sorted([*found, *others], key=lambda record: record.offset)


def _made(batch: dict[str, int], headers: Sequence[dict[str, Any]]) -> list[OracleRecord]:
    times_ms = {1: batch.get("second_timestamp_ms", batch["timestamp_ms"])}
    pairs = {header["index"]: ((header["key"], header["value"].encode()),) for header in headers}
    return [
        OracleRecord.of(
            offset,
            times_ms.get(index, batch["timestamp_ms"]),
            "CreateTime" if batch.get("magic", 1) else "NoTimestampType",
            None,
            b"made-%d" % index,
            pairs.get(index, ()),
        )
        for index, offset in enumerate(range(batch["start"], batch["next"]))
        if offset != batch.get("without")
    ]


def _foreign(places: Sequence[dict[str, Any]]) -> list[OracleRecord]:
    names = ("scenario", "copy", "topic", "partition")
    return [
        record
        for place in places
        for record in expected_records(*(place[name] for name in names))
        if place["start"] <= record.offset < place["next"]
    ]
