"""A header's claims, as the batch it would be: of damage too, but never of less than fits."""

import pytest

from seglake.segment_codec.formats.message_set import MessageRun, Wrapper
from seglake.segment_codec.formats.record_batch import RecordBatch
from seglake.segment_codec.walk.claimed_unit import claimed_unit
from seglake.segment_codec.walk.window import BytesSource
from support.encoder import Codec, EncodedBatch, Record, message, record_batch, wrapper

RECORDS = [Record(b"k%d" % n, b"v", 1_700_000_000_000 + n) for n in range(3)]
BATCHES = {
    RecordBatch: record_batch(7, RECORDS),
    MessageRun: message(9, RECORDS[0], 1),
    Wrapper: wrapper(7, RECORDS, 0, Codec.GZIP),
}


@pytest.mark.parametrize(("kind", "batch"), BATCHES.items(), ids=lambda value: str(value)[:30])
def test_damaged_batch_claims_what_it_was(kind: type, batch: EncodedBatch) -> None:
    damaged = b"??" + batch.data[:-1] + b"?" + b"behind"
    unit = claimed_unit(BytesSource(damaged), 2, len(damaged) - 2)
    assert unit is not None
    assert type(unit) is kind
    assert (unit.position, unit.size_bytes, unit.last_offset) == (2, len(batch.data), 9)
    assert claimed_unit(BytesSource(damaged), 2, len(batch.data) - 1) is None


@pytest.mark.parametrize("data", [b"", bytes(17), bytes(100), b"\xff" * 100])
def test_bytes_that_hold_no_batch_claim_nothing(data: bytes) -> None:
    assert claimed_unit(BytesSource(data), 0, len(data)) is None
