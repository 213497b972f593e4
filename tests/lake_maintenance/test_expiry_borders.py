"""Each log expires only up to its own first young record, wherever another log has its own."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.audits import audited, kinds
from support.encoder import Partition, Record, Segment, record_batch, topic_id_text
from support.lakes import ingested, maintained, read_table
from support.made_logs import TOPIC_IDS, write_over

_OLD_MS = 1_600_000_000_000
_NOW_MS = time.time_ns() // 1_000_000
_OLD, _YOUNG = [_OLD_MS] * 5, [_NOW_MS] * 5
_FIRST, _AGAIN = "orders", "orders again"


def _ingested(folder: Path, name: str, times: Sequence[int]) -> None:
    """Ingest a log of `orders` with the topic id of that name; five records are a segment."""
    records = [Record(b"key", b"value", time_ms) for time_ms in times]
    segments = [
        Segment(start, [record_batch(start, records[start : start + 5])])
        for start in range(0, len(records), 5)
    ]
    log = Partition("orders", 0, segments, topic_id=TOPIC_IDS[name])
    ingested(write_over(folder / "disk", [log]), folder / "lake")


def _offsets(lake: Path) -> dict[str, list[int]]:
    names = {topic_id_text(topic_id): name for name, topic_id in TOPIC_IDS.items()}
    found: dict[str, list[int]] = {}
    for row in read_table(lake, "records"):
        found.setdefault(names[row["topic_id"]], []).append(row["offset"])
    return {name: sorted(own) for name, own in found.items()}


_LONG = [_OLD, [*_OLD, *_YOUNG], [*_OLD, *_YOUNG, *_YOUNG]]
_LATE = {
    "deleted log": [*[(_FIRST, own) for own in _LONG], (_AGAIN, _YOUNG)],
    "new log": [(_FIRST, _YOUNG), *[(_AGAIN, own) for own in _LONG]],
}


@pytest.mark.parametrize("late", _LATE)
@pytest.mark.parametrize("is_compacted", [False, True])
def test_each_log_of_a_topic_that_was_created_again_keeps_its_young_records(
    tmp_path: Path, late: str, *, is_compacted: bool
) -> None:
    lake = tmp_path / "lake"
    for name, times in _LATE[late]:
        _ingested(tmp_path, name, times)
    if is_compacted:
        maintained(lake)
    before = _offsets(lake)
    [expired] = maintained(lake, retention={"records": "400d"}).expired
    assert (expired.start_offset, expired.next_offset, expired.records) == (0, 5, 5)
    held = _FIRST if late == "deleted log" else _AGAIN
    assert _offsets(lake) == before | {held: [*range(5, 15)]}
    audit = audited(lake)
    assert (audit.exit_code, kinds(audit)) == (0, set()), audit.problems


def test_log_without_a_young_record_expires_beside_one_that_has_some(tmp_path: Path) -> None:
    for name, times in ((_FIRST, _OLD), (_FIRST, [*_OLD, *_OLD]), (_AGAIN, _YOUNG)):
        _ingested(tmp_path, name, times)
    maintained(tmp_path / "lake", retention={"records": "400d"})
    assert _offsets(tmp_path / "lake") == {_AGAIN: [*range(5)]}
