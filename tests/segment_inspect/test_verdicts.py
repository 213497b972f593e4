"""Whether batches decode, beyond what a checksum says."""

from pathlib import Path
from typing import Any

from support.encoder import Codec, Header, payload_batch, record_batch
from support.looks import LOG, RECORDS, of_type


def test_batch_that_cannot_be_decoded_is_a_defect(tmp_path: Path, json_look: Any) -> None:
    header = Header(record_count=2, last_offset_delta=1)
    cut = payload_batch(0, b"\x1f\x8bnot gzip", header, codec=Codec.GZIP)
    strange = payload_batch(2, b"x", header, codec=6)
    malformed = record_batch(4, RECORDS, Header(record_count=4))
    (tmp_path / LOG).write_bytes(
        cut.data + strange.data + malformed.data + record_batch(9, RECORDS).data
    )
    lines = json_look(tmp_path / LOG, records=True)
    defects = of_type(lines, "defect")
    assert [defect["defect_code"] for defect in defects] == [
        "decompression_failed",
        "unsupported_codec",
        "record_count_mismatch",
    ]
    assert not any(defect["kafka_would_truncate"] for defect in defects)
    # Of a batch with a wrong count the records are valid that Kafka's consumer gives.
    assert [line["valid"] for line in of_type(lines, "batch")] == [False, False, True, True]
    offsets = [line["offset"] for line in of_type(lines, "record")]
    assert offsets == [4, 5, 6, 9, 10, 11, 12, 13]
