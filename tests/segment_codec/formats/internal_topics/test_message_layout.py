"""Messages in Kafka's encoding, read by their layouts."""

import struct

from seglake.segment_codec.formats.internal_topics.coordinator_records import group_record
from seglake.segment_codec.formats.internal_topics.metadata_records import metadata_record
from support.encoder.internal import compact, compact_array, int16, metadata_value, string, tagged


def test_a_name_that_is_not_utf8_gets_the_replacement_as_in_kafkas_client() -> None:
    record = group_record(int16(2) + string(b"g\xff"), None)
    assert record.key_fields == {"group": "g\ufffd"}


def test_a_quota_that_is_no_number_is_text() -> None:
    nothing = compact_array([])
    value = metadata_value(
        14, 0, nothing, compact("k"), struct.pack(">d", float("nan")), b"\x01", tagged()
    )
    assert metadata_record(value).fields["value"] == "nan"
