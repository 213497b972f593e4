"""Losing tails are counted from rows of `quarantine`, each batch once."""

from typing import Any

import pytest

from seglake.findings.losing_tails import (
    LosingTail,
    LosingTailKind,
    shown_tail,
    shown_tails,
    tail_lines,
    tails_of,
)
from seglake.segment_codec.formats.errors import DefectCode

_LOST = "leader epoch 1, offsets 0 to 4, checksum 0x1 lost an election to leader epoch 2"


def _row(first: int | None, last: int | None, count: int | None, **facts: Any) -> dict[str, Any]:
    row = {
        "defect_code": str(DefectCode.REPLICA_CONFLICT),
        "defect_detail": _LOST,
        "base_offset": first,
        "last_offset": last,
        "record_count": count,
        "expected_crc": 1,
        "length_bytes": 80,
    }
    return row | facts


def test_batches_of_a_kind_are_added_up_and_their_ranges_are_joined() -> None:
    rows = [_row(0, 4, 5), _row(5, 6, 1), _row(9, 9, 1), _row(3, 3, 1, defect_detail=None)]
    assert tails_of(rows) == {
        LosingTailKind.LOST: LosingTail(3, 7, ((0, 7), (9, 10))),
        LosingTailKind.DIFFERS: LosingTail(1, 1, ((3, 4),)),
    }


def test_a_batch_of_two_replicas_counts_once() -> None:
    other = {"expected_crc": 2}
    assert tails_of([_row(0, 4, 5)] * 2)[LosingTailKind.LOST].batches == 1
    assert tails_of([_row(0, 4, 5), _row(0, 4, 5, **other)])[LosingTailKind.LOST].batches == 2


@pytest.mark.parametrize(
    "row",
    [
        _row(0, 4, 5, defect_code=str(DefectCode.CRC_MISMATCH)),
        _row(0, 4, 5, defect_detail="it won an election, but the tables have another"),
        _row(None, 4, 5),
        _row(0, None, 5),
    ],
)
def test_damage_batches_of_a_winner_and_unknown_offsets_are_no_tail(row: dict[str, Any]) -> None:
    assert tails_of([row]) == {}


def test_without_a_count_in_each_header_offsets_are_counted() -> None:
    tails = {LosingTailKind.LOST: {"a-0": LosingTail(2, None, ((0, 5),))}}
    assert tails_of([_row(0, 3, 4), _row(4, 4, None)]) == {
        LosingTailKind.LOST: tails[LosingTailKind.LOST]["a-0"]
    }
    assert shown_tails(tails) == [
        "5 offsets that lost an election are in quarantine, not in records"
    ]
    one = {LosingTailKind.DIFFERS: {"a-0": LosingTail(1, 1, ((0, 5),))}}
    assert shown_tails(one) == ["1 record of replicas that differ is in quarantine, not in records"]


def test_a_partition_s_tail_is_shown_with_all_its_ranges() -> None:
    shown = shown_tail(LosingTail(2, 3, ((0, 2), (8, 9))))
    assert shown == "3 records at 3 offsets in quarantine, not in records: [0, 2), [8, 9)"


def test_the_last_line_has_the_command_that_decodes_them() -> None:
    kinds = {kind: {"a-0": LosingTail(1, 2, ((3, 5),))} for kind in LosingTailKind}
    lost, differs = tail_lines(kinds, "/lake")
    assert lost == (
        "in quarantine, not in records: 2 records at 2 offsets that lost an election in a-0 [3, 5)"
    )
    assert differs.endswith(
        " of replicas that differ in a-0 [3, 5); `seglake replay --lake /lake --engine local"
        " --set read.losing_tails=rows` decodes those that salvaged_records lacks"
    )
    assert tail_lines({}, "/lake") == []
