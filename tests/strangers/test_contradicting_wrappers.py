"""Old compressed sets whose messages contradict their header, or each other.

The rows are those that Kafka's consumer gave of these bytes: classes of kafka-clients 1.1.1, 3.9.1
and 4.1.0, which agree (`AbstractLegacyRecordBatch`, `LegacyRecord`, and `CompletedFetch` with
`check.crcs`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.encoder import Partition, Segment, message
from support.encoder import Record as Made
from support.inner_messages import FIRST_MS, inner, sound_set, value_of, wrapped
from support.lakes import Row, by_partition, ingested, read_table
from support.made_logs import write_over

Rows = dict[int, int]  # offset: the number in the value


class Case(NamedTuple):
    """A set between offsets 4 and 10, and what comes of it; `codes` are those in quarantine."""

    magic: int
    last_offset: int
    inner: Sequence[tuple[int, int]]  # offset inside, number
    rows: Rows
    codes: Sequence[str] = ()


def _numbered(*offsets: int) -> list[tuple[int, int]]:
    return [(offset, 5 + index) for index, offset in enumerate(offsets)]


_FIVE = {5: 5, 6: 6, 7: 7, 8: 8, 9: 9}
_ORDER = "offset_out_of_order"
_FALSE = "offset_contradicted"

CASES = {
    "relative": Case(1, 9, _numbered(0, 1, 2, 3, 4), _FIVE),
    "absolute in v1": Case(1, 9, _numbered(5, 6, 7, 8, 9), _FIVE),
    "not from 0 on": Case(1, 9, _numbered(2, 3, 4, 5, 6), _FIVE),
    "negative": Case(1, 9, _numbered(-1, 0, 1, 2, 3), _FIVE),
    "with holes": Case(1, 9, _numbered(0, 2, 4), {5: 5, 7: 6, 9: 7}),
    "repeating": Case(1, 9, _numbered(0, 1, 1, 3, 4), {5: 5, 6: 6, 8: 8, 9: 9}, [_ORDER]),
    "going back": Case(1, 9, _numbered(0, 2, 1, 3, 4), {5: 5, 7: 6, 8: 8, 9: 9}, [_ORDER]),
    "all the same": Case(1, 9, _numbered(0, 0, 0), {9: 5}, [_ORDER] * 2),
    "absolute in v0": Case(0, 9, _numbered(5, 6, 7, 8, 9), _FIVE),
    "repeating in v0": Case(0, 9, _numbered(5, 6, 6, 8, 9), {5: 5, 6: 6, 8: 8, 9: 9}, [_ORDER]),
    "going back in v0": Case(0, 9, _numbered(5, 7, 6, 8, 9), {5: 5, 7: 6, 8: 8, 9: 9}, [_ORDER]),
    "going back at the end in v0": Case(
        0, 9, _numbered(5, 6, 7, 9, 8), {5: 5, 6: 6, 7: 7, 9: 8}, [_ORDER]
    ),
    "below the last in v0": Case(0, 6, _numbered(5, 6, 7, 8, 9), _FIVE, [_FALSE]),
    "above the last in v0": Case(0, 17, _numbered(5, 6, 7, 8, 9), _FIVE, [_FALSE]),
    # The consumer refuses the set.
    "below the last": Case(1, 2, _numbered(5, 6, 7, 8, 9), {}, [_FALSE]),
    "relative in v0": Case(0, 9, _numbered(0, 1, 2, 3, 4), {}, [_ORDER]),
    # The consumer gives 10 too, and then not that of the next set.
    "going back at the end": Case(
        1, 9, _numbered(0, 1, 2, 4, 3), {6: 5, 7: 6, 8: 7, 9: 9}, [_ORDER]
    ),
}


def _rows(lake: Path) -> Rows:
    return _numbers(read_table(lake, "records"))


def _numbers(rows: Sequence[Row]) -> Rows:
    found = {row["offset"]: int(row["value"].split()[1]) for row in rows}
    assert len(found) == len(rows)
    return found


def _log(case: Case) -> Segment:
    messages = [inner(offset, case.magic, number) for offset, number in case.inner]
    batches = [
        wrapped(4, sound_set(0, 5, case.magic), case.magic),
        wrapped(case.last_offset, messages, case.magic),
        wrapped(12, sound_set(10, 13, case.magic), case.magic),
    ]
    return Segment(0, batches)


@pytest.mark.parametrize("is_damaged", [False, True])
def test_rows_are_those_of_kafkas_consumer(
    engine: Engine, tmp_path: Path, lake: Path, *, is_damaged: bool
) -> None:
    cases = {name: case for name, case in CASES.items() if bool(case.codes) == is_damaged}
    logs = [
        Partition("orders", at, [_log(case)], high_watermark=13)
        for at, case in enumerate(cases.values())
    ]
    summary = ingested(write_over(tmp_path / "d", logs), lake, engine=engine)
    around = {offset: offset for offset in (*range(5), *range(10, 13))}
    records, quarantine = by_partition(lake, "records"), by_partition(lake, "quarantine")
    for at, (name, case) in enumerate(cases.items()):
        assert _numbers(records[at]) == around | case.rows, name
        assert [row["defect_code"] for row in quarantine[at]] == list(case.codes), name
    has_missing = bool(summary.counts.missing_offsets)
    assert summary.exit_code == (3 if is_damaged or has_missing else 0)
    assert imbalances_of(lake) == []


def test_behind_an_offset_of_0_the_offsets_inside_count(engine: Engine, tmp_path: Path) -> None:
    """As versions of librdkafka sent it, which count from 0."""
    log = [wrapped(0, sound_set(0, 5, 1), 1), wrapped(9, sound_set(5, 10, 1), 1)]
    write_over(tmp_path / "d", [Partition("orders", 0, [Segment(0, log)], high_watermark=10)])
    ingested(tmp_path / "d", tmp_path / "lake", engine=engine)
    assert _rows(tmp_path / "lake") == {offset: offset for offset in range(10)}
    (row,) = read_table(tmp_path / "lake", "quarantine")
    assert (row["defect_code"], row["raw"]) == ("offset_contradicted", bytes(8))
    assert imbalances_of(tmp_path / "lake") == []


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_set_without_messages_is_a_defect(magic: int, is_empty: bool, tmp_path: Path) -> None:
    nothing = wrapped(9, [], magic) if is_empty else message(9, Made(None, None), magic)
    log = [wrapped(4, sound_set(0, 5, magic), magic), nothing]
    write_over(tmp_path / "d", [Partition("orders", 0, [Segment(0, log)], high_watermark=10)])
    ingested(tmp_path / "d", tmp_path / "lake")
    codes = [row["defect_code"] for row in read_table(tmp_path / "lake", "quarantine")]
    assert codes == (["malformed_record"] if is_empty else [])


_WRAPPER_MS = 77_777


@pytest.mark.parametrize(
    ("wrapper_magic", "inner_magics", "append_time_ms", "times", "kind"),
    [
        pytest.param(1, (1, 1), None, (FIRST_MS, FIRST_MS + 1), 0, id="create time"),
        pytest.param(1, (1, 1), _WRAPPER_MS, (_WRAPPER_MS, _WRAPPER_MS), 1, id="append time"),
        pytest.param(1, (0, 0), None, (-1, -1), 0, id="v0 in v1"),
        pytest.param(1, (1, 0), _WRAPPER_MS, (_WRAPPER_MS, -1), 1, id="v0 in v1, append time"),
        pytest.param(0, (1, 1), None, (FIRST_MS, FIRST_MS + 1), -1, id="v1 in v0"),
        pytest.param(0, (1, 0), None, (FIRST_MS, None), -1, id="v1 and v0 in v0"),
    ],
)
def test_times_are_those_of_kafkas_consumer(
    wrapper_magic: int,
    inner_magics: tuple[int, int],
    append_time_ms: int | None,
    times: tuple[int | None, int | None],
    kind: int,
    tmp_path: Path,
) -> None:
    """The wrapper's own time may be below those inside: it changes no row."""
    messages = [inner(index, magic, index) for index, magic in enumerate(inner_magics)]
    log = [wrapped(1, messages, wrapper_magic, append_time_ms=append_time_ms, timestamp_ms=1)]
    write_over(tmp_path / "d", [Partition("orders", 0, [Segment(0, log)], high_watermark=2)])
    ingested(tmp_path / "d", tmp_path / "lake")
    rows = sorted(read_table(tmp_path / "lake", "records"), key=lambda row: int(row["offset"]))
    assert [row["timestamp_ms"] for row in rows] == list(times)
    assert {row["timestampType"] for row in rows} == {kind}
    assert [row["value"] for row in rows] == [value_of(0), value_of(1)]
