"""What the beginning of a batch that a writer did not finish may say, field by field."""

import struct

import pytest

from seglake.segment_codec.walk.segment_bounds import limit_after
from seglake.segment_codec.walk.unfinished import UnfinishedEnd
from seglake.segment_codec.walk.window import BytesSource, Window
from support.encoder import Codec, Record, message, record_batch

_BATCH = record_batch(10, [Record(b"k", b"value %d" % n) for n in range(5)]).data
_MESSAGES = {magic: message(10, Record(b"k", b"value"), magic).data for magic in (0, 1)}


def _claims(head: bytes, low_offset: int = 10) -> tuple[int | None, int | None] | None:
    """The offsets that are claimed, from which to which; None for no batch at all."""
    found = UnfinishedEnd(Window(BytesSource(head)), limit_after(0)).claims(0, low_offset)
    return None if found is None else (found.base_offset, found.next_offset)


@pytest.mark.parametrize("data", [_BATCH, *_MESSAGES.values()], ids=["v2", "v0", "v1"])
def test_every_cut_of_a_batch_is_one_that_was_begun(data: bytes) -> None:
    for size in range(1, len(data)):
        found = _claims(data[:size])
        assert found is not None, size
        assert found[0] == (10 if size >= 8 else None), size


def test_a_whole_header_claims_all_its_offsets() -> None:
    assert _claims(_BATCH[:61]) == (10, 15)
    assert _claims(_BATCH[:60]) == (10, 11)
    assert _claims(_BATCH[:7]) == (None, None)


_IMPOSSIBLE_V2 = {
    "offset below": (0, ">q", 9),
    "offset of no segment": (0, ">q", limit_after(0)),
    "negative offset": (0, ">q", -1),
    "length": (8, ">i", 48),
    "length of no file": (8, ">i", (1 << 31) - 1),
    "epoch": (12, ">i", -2),
    "magic": (16, ">b", 3),
    "unused attributes": (21, ">h", 0x80),
    "codec": (21, ">h", Codec.ZSTD + 1),
    "last offset": (23, ">i", -1),
    "first time": (27, ">q", -2),
    "newest time": (35, ">q", -2),
    "producer": (43, ">q", -2),
    "producer epoch": (51, ">h", -2),
    "sequence": (53, ">i", -2),
    "count": (57, ">i", -1),
    "more records than offsets": (57, ">i", 6),
}


@pytest.mark.parametrize("field", _IMPOSSIBLE_V2)
def test_a_batch_with_an_impossible_field_was_begun_by_no_writer(field: str) -> None:
    start, layout, value = _IMPOSSIBLE_V2[field]
    head = bytearray(_BATCH[:-1])
    struct.pack_into(layout, head, start, value)
    assert _claims(bytes(head)) is None


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("field", ["codec", "attributes", "time", "key"])
def test_a_message_with_an_impossible_field_was_begun_by_no_writer(field: str, magic: int) -> None:
    head = bytearray(_MESSAGES[magic][:-1])
    if field == "time" and magic == 0:
        assert _claims(bytes(head)) is not None  # it has none
        return
    start, layout, value = {
        "codec": (17, ">b", 4),
        "attributes": (17, ">b", 0x10),
        "time": (18, ">q", -2),
        "key": (18 + 8 * magic, ">i", len(head)),
    }[field]
    struct.pack_into(layout, head, start, value)
    assert _claims(bytes(head)) is None
