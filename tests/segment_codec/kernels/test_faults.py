"""What the kernels report has a code."""

from seglake.segment_codec.formats.errors import DefectCode
from seglake.segment_codec.kernels.faults import CONTRADICTED, FAULTS


def test_every_fault_of_the_kernels_has_a_code() -> None:
    assert sorted([*FAULTS, CONTRADICTED]) == list(range(1, len(FAULTS) + 2))
    assert {code for code, _ in FAULTS.values()} == {
        DefectCode.MALFORMED_RECORD,
        DefectCode.RECORD_COUNT_MISMATCH,
        DefectCode.INNER_CRC_MISMATCH,
        DefectCode.OFFSET_OUT_OF_ORDER,
        DefectCode.NESTED_WRAPPER,
    }
