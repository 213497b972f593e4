"""Makes the report's compact JSON for the page: each name once, ranges as flat lists.

page.js reads lists in the order of `_partition`, `_seen` and `_place`.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, TypeAlias

from seglake.findings.kinds import FindingKind
from seglake.kafka_log.observation import Observation, StoppedBy
from seglake.pipelines.lake_report.model import (
    DamagedPlace,
    LakeReport,
    OffsetState,
    PartitionReport,
    level_of,
)

_STATES = {state: index for index, state in enumerate(OffsetState)}
_STOPS = {stop: index for index, stop in enumerate(StoppedBy)}
_EXACT_STOP = 1 << 53  # JavaScript's integers are exact below this
_Names: TypeAlias = dict[str, int]  # index of each repeated text
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def to_json(report: LakeReport) -> str:
    """Return JSON for a script element of the page; no text in it can close the element."""
    names: dict[str, _Names] = {kind: {} for kind in ("topics", "sources", "ids", "segments")}
    partitions = [_partition(each, names) for each in report.partitions]
    data = {
        "states": list(OffsetState),
        "stops": list(StoppedBy),
        "kindNames": list(FindingKind),
        "kinds": [
            {"title": kind.words, "advice": kind.to_do, "level": level_of(kind)}
            for kind in FindingKind
        ],
        **{kind: [*found] for kind, found in names.items()},
        "partitions": partitions,
    }
    return json.dumps(data, separators=(",", ":")).translate(_ESCAPES)


# Any: the types that JSON can hold.
def _partition(each: PartitionReport, names: dict[str, _Names]) -> list[Any]:
    key = each.key
    return [
        _index(names["topics"], key.topic),
        key.partition,
        _index(names["sources"], each.source_id),
        _index(names["ids"], key.topic_id),
        each.records,
        [[found.rank, found.text] for found in each.findings],
        [
            [
                _STATES[state],
                *_numbers([found.offsets]),
                [*_numbers(o for r in found.ranges for o in r)],
            ]
            for state, found in each.offsets.items()
        ],
        0 if each.seen is None else _seen(each.seen),
        [_place(place, names["segments"]) for place in each.damage],
        each.damage_count,
    ]


def _seen(seen: Observation) -> list[Any]:
    offsets = (seen.log_start_offset, seen.high_watermark, seen.last_stable_offset)
    return [
        *_numbers((*offsets, seen.log_end_offset, seen.next_offset)),
        _STOPS[seen.stopped_by],
        _seconds(seen.waiting_since),
        _seconds(seen.observed_at),
        seen.broker_id,
        [left.reason for left in seen.not_ingested],
    ]


def _place(place: DamagedPlace, segments: _Names) -> list[Any]:
    return [
        place.broker_id,
        _index(segments, place.segment),
        *_numbers((place.position, place.size_bytes)),
        place.code,
        place.detail,
        *_numbers((place.previous_offset, place.next_offset)),
        int(place.is_resolved),
        place.salvaged_records,
    ]


def _index(known: _Names, name: str | None) -> int:
    """Return the index of a name; add new names; return -1 for None."""
    return -1 if name is None else known.setdefault(name, len(known))


def _numbers(values: Iterable[int | None]) -> Iterator[int | str | None]:
    for value in values:
        yield value if value is None or abs(value) < _EXACT_STOP else str(value)


def _seconds(time: datetime | None) -> int | None:
    return None if time is None else int(time.timestamp())
