"""What the header of one batch tells, of every format."""

import pytest

from seglake.kafka_log.batch_headers import defect_of, last_batch_of, marker_of, max_timestamp_ms
from seglake.kafka_log.segment_survey import LastBatch
from seglake.kafka_log.transaction_markers import Marker
from seglake.segment_codec.formats.errors import DefectCode
from support.encoder import (
    Codec,
    ControlType,
    EncodedBatch,
    Header,
    Producer,
    Record,
    end_marker,
    messages,
    record_batch,
    wrapper,
)
from support.encoder.control import control_record
from support.walks import laid_out, sound_unit, sound_units

_RECORDS = [Record(b"k", b"v", time_ms) for time_ms in (1000, 3000, 2000)]


@pytest.mark.parametrize(
    ("kind", "is_commit"), [(ControlType.COMMIT, True), (ControlType.ABORT, False)]
)
def test_a_control_batch_that_ends_a_transaction_is_a_marker(
    kind: ControlType, is_commit: bool
) -> None:
    unit = sound_unit(end_marker(7, kind, producer_id=5), 7)
    assert marker_of(unit) == Marker(7, 5, is_commit)


_PRODUCER = Producer(5, 0, -1)


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(record_batch(7, _RECORDS), id="data"),
        pytest.param(
            record_batch(7, _RECORDS, Header(producer=_PRODUCER, is_transactional=True)),
            id="data in a transaction",
        ),
        pytest.param(
            record_batch(7, [control_record(2)], Header(producer=_PRODUCER, is_control=True)),
            id="another control type",
        ),
        pytest.param(
            record_batch(7, [Record(b"?", b"")], Header(producer=_PRODUCER, is_control=True)),
            id="a key that cannot be read",
        ),
        pytest.param(wrapper(7, _RECORDS, 1, Codec.GZIP), id="an old format"),
    ],
)
def test_no_other_batch_is_a_marker(batch: EncodedBatch) -> None:
    assert marker_of(sound_unit(batch, 7)) is None


def test_the_newest_time_is_that_of_the_header_and_magic_0_has_none() -> None:
    def newest(*batches: EncodedBatch) -> int | None:
        (unit,) = sound_units(laid_out(*batches))
        return max_timestamp_ms(unit)

    assert newest(record_batch(0, _RECORDS)) == 3000
    assert newest(*messages(0, _RECORDS, 1)) == 3000
    assert newest(wrapper(0, _RECORDS, 1, Codec.GZIP)) == 3000
    assert newest(*messages(0, _RECORDS, 0)) is None
    assert newest(wrapper(0, _RECORDS, 0, Codec.GZIP)) is None


@pytest.mark.parametrize(("in_header", "known"), [(4, 4), (0, 0), (-1, None)])
def test_the_last_batch_has_its_leader_epoch_where_the_broker_knew_one(
    in_header: int, known: int | None
) -> None:
    unit = sound_unit(record_batch(20, _RECORDS, Header(leader_epoch=in_header)), 20)
    last = last_batch_of(unit)
    assert (last.base_offset, last.leader_epoch) == (20, known)
    assert last.crc == int.from_bytes(record_batch(20, _RECORDS).data[17:21])


def test_the_last_batch_of_an_old_format_is_known_by_the_offset_in_its_header() -> None:
    batch = wrapper(20, _RECORDS, 1, Codec.GZIP)
    crc = int.from_bytes(batch.data[12:16])
    assert last_batch_of(sound_unit(batch, 20)) == LastBatch(22, crc, None)


def test_a_defect_inside_a_batch_carries_what_the_header_claims() -> None:
    unit = sound_unit(record_batch(20, _RECORDS, codec=Codec.LZ4), 20)
    defect = defect_of(unit, DefectCode.DECOMPRESSION_FAILED, "no frame")
    assert (defect.position, defect.size_bytes, defect.code) == (
        0,
        unit.size_bytes,
        DefectCode.DECOMPRESSION_FAILED,
    )
    assert (defect.base_offset, defect.last_offset, defect.record_count) == (20, 22, 3)
    assert (defect.magic, defect.codec_id) == (2, int(Codec.LZ4))
    old = defect_of(
        sound_unit(wrapper(20, _RECORDS, 1, Codec.GZIP), 20), DefectCode.MALFORMED_RECORD, ""
    )
    assert (old.base_offset, old.last_offset, old.record_count, old.codec_id) == (
        None,
        22,
        None,
        None,
    )
