"""Which damaged bytes are proved to be a transaction marker."""

import pytest

from seglake.kafka_log.transaction_markers import Marker
from seglake.segment_decoding.damaged_markers import are_markers, is_flipped_marker, unread_markers
from support.encoder import ControlType, Header, Producer, Record, end_marker, record_batch
from support.made_logs import FIRST_MS

_CHECKED = 21  # the checksum covers all bytes from here on


def _flipped(content: bytes, *bits: int) -> bytes:
    changed = bytearray(content)
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("kind", [ControlType.COMMIT, ControlType.ABORT])
def test_any_one_flipped_bit_of_a_marker_leaves_it_provable_and_two_do_not(
    kind: ControlType,
) -> None:
    marker = end_marker(5, kind, producer_id=7, timestamp_ms=FIRST_MS).data
    bits = range(8 * _CHECKED, 8 * len(marker))
    assert all(is_flipped_marker(_flipped(marker, bit)) for bit in bits)
    assert not any(is_flipped_marker(_flipped(marker, bit, bit - 9)) for bit in bits[9:])


def test_a_batch_with_a_record_is_no_marker_whatever_bit_is_flipped() -> None:
    header = Header(producer=Producer(7, 0), is_transactional=True)
    data = record_batch(5, [Record(bytes(4), bytes(6), FIRST_MS)], header).data
    bits = range(8 * _CHECKED, 8 * len(data))
    assert not any(is_flipped_marker(_flipped(data, bit)) for bit in bits)


def test_other_bytes_are_no_marker() -> None:
    marker = end_marker(5, ControlType.COMMIT, producer_id=7, timestamp_ms=FIRST_MS).data
    assert not is_flipped_marker(marker[:40])
    assert not is_flipped_marker(_flipped(marker, 8 * 16))  # another magic
    assert not is_flipped_marker(marker)  # sound bytes are no damage


def test_offsets_are_of_markers_if_each_of_them_is_proved() -> None:
    markers = [
        Marker(5, 7, True, False),
        Marker(6, 7, False, False),
        Marker(7, 7, True),
        Marker(8, 7, True, False, is_placed=False),
    ]
    proved = unread_markers(markers)
    assert proved == {5, 6}
    assert are_markers(5, 7, proved)
    assert not are_markers(5, 8, proved)
    assert not are_markers(0, 1 << 62, proved)
