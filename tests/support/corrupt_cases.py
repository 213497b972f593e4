"""The damaged copies: what was done to each, and which records must still come out of it."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.broker_disks import CORRUPT, log_dir, unpacked
from support.dumps import Dump
from support.oracle import OracleRecord, oracle_name, read_dump, read_records


class Change(NamedTuple):
    """One change of one file: the bytes [position, next_position) of what is on disk now.

    `file` is relative to the log dir. Whatever the manifest leaves out is None.
    """

    file: str | None
    what: str | None
    position: int | None
    next_position: int | None
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class CorruptCase:
    """One damaged log dir with one partition, and where its undamaged twin is.

    Records at `lost_offsets` cannot be had from the disk and must be reported; at
    `uncertain_offsets` either outcome is right as long as it is flagged; `duplicated_offsets` are
    on disk more than once. The ranges are half-open.
    """

    name: str
    kind: str
    what: str
    note: str
    log_dir: Path
    topic: str
    partition: int
    source_scenario: str
    source_copy: str
    changes: tuple[Change, ...]
    lost_offsets: tuple[range, ...]
    uncertain_offsets: tuple[range, ...]
    duplicated_offsets: tuple[range, ...]
    source_record_count: int
    intact_record_count: int

    @property
    def folder(self) -> Path:
        """The damaged partition."""
        return self.log_dir / f"{self.topic}-{self.partition}"

    @property
    def source_folder(self) -> Path:
        """Return the folder with the undamaged copy of the partition."""
        source = log_dir(self.source_scenario, self.source_copy)
        return source / f"{self.topic}-{self.partition}"


@cache
def corrupt_case(name: str) -> CorruptCase:
    """The case of that name; `broker_disks.CORRUPT_CASES` has all names."""
    folder = unpacked(CORRUPT) / name
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    topic, _, partition = facts["source"]["partition"].rpartition("-")
    return CorruptCase(
        name=facts["case"],
        kind=facts["kind"],
        what=facts["what"],
        note=facts.get("note", ""),
        log_dir=folder / "disks" / "damaged" / "broker0" / "data",
        topic=topic,
        partition=int(partition),
        source_scenario=facts["source"]["scenario"],
        source_copy=facts["source"]["copy"],
        changes=tuple(_change(change) for change in facts["changes"]),
        lost_offsets=_ranges(facts["lost_offsets"]),
        uncertain_offsets=_ranges(facts["uncertain_offsets"]),
        duplicated_offsets=_ranges(facts["duplicated_offsets"]),
        source_record_count=facts["records_in_source"],
        intact_record_count=facts["records_intact"],
    )


def intact_records(case: CorruptCase) -> list[OracleRecord]:
    """The records that must come out byte for byte, whatever was damaged around them."""
    name = oracle_name(case.topic, case.partition)
    return read_records(_expected(case) / f"{name}.intact.jsonl.gz")


def damaged_dump(case: CorruptCase) -> Dump | None:
    """Return the dump tool's output for the damaged files; None for bombs."""
    path = _expected(case) / f"{oracle_name(case.topic, case.partition)}.dump.txt.gz"
    return read_dump(path) if path.is_file() else None


def _expected(case: CorruptCase) -> Path:
    return unpacked(CORRUPT) / case.name / "expected"


def _change(facts: dict[str, str | int]) -> Change:
    return Change(
        file=_text(facts.get("file")),
        what=_text(facts.get("what")),
        position=_number(facts.get("byte_from")),
        next_position=_number(facts.get("byte_to")),
        before=_from_hex(facts.get("before_hex")),
        after=_from_hex(facts.get("after_hex")),
    )


def _ranges(pairs: list[tuple[int, int]]) -> tuple[range, ...]:
    return tuple(range(first, last + 1) for first, last in pairs)


def _text(value: str | int | None) -> str | None:
    return None if value is None else str(value)


def _number(value: str | int | None) -> int | None:
    return None if value is None else int(value)


def _from_hex(value: str | int | None) -> bytes | None:
    return None if value is None else bytes.fromhex(str(value))
