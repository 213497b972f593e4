"""Reasons have numbers for arrays, which are never stored."""

from seglake.value_codec.reject_reasons import RejectReason


def test_each_reason_has_a_number_that_fits_a_byte_and_is_not_that_of_a_sound_value() -> None:
    codes = [reason.code for reason in RejectReason]
    assert [RejectReason.of_code(code) for code in codes] == list(RejectReason)
    assert min(codes) == 1
    assert max(codes) < 256
