"""What a control batch says."""

import pytest

from seglake.segment_codec.formats.control_record import ControlType, control_type
from seglake.segment_codec.formats.errors import DefectCode, DefectError
from seglake.segment_codec.formats.record import Record
from support.encoder import control


def record(key: bytes | None) -> Record:
    return Record(7, 0, key, None, ())


def test_first_record_decides_by_the_number_in_its_key() -> None:
    numbers = {
        number: control_type([record(b"\0\5\0" + bytes([number]))], is_transactional=False)
        for number in range(8)
    }
    known = {kind.value: ControlType(kind.name.lower()) for kind in control.ControlType}
    assert numbers == known | {7: ControlType.UNKNOWN}


def test_batch_that_the_cleaner_emptied_says_nothing() -> None:
    assert control_type([], is_transactional=True) is ControlType.UNKNOWN


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\1"])
def test_key_that_is_none_is_malformed(key: bytes | None) -> None:
    with pytest.raises(DefectError) as caught:
        control_type([record(key)], is_transactional=True)
    assert caught.value.code is DefectCode.MALFORMED_RECORD
