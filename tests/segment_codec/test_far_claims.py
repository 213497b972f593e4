"""False claims that reach far: each is refuted without reading the file for it."""

import time
from collections.abc import Callable

import pytest

from seglake.segment_codec.offset_order import OffsetOrder
from seglake.segment_codec.segment import MOST_OFFSETS, SegmentBounds, SegmentWalk
from seglake.segment_codec.window import BytesSource, Window
from torture.hostile.bombs import (
    batches_that_lead_nowhere,
    claims_between_batches,
    claims_of_far_headers,
)

_WINDOW_BYTES = 256 << 10
_SECONDS = 5.0
_MOST_TIMES = 40  # bytes read for each of the file; at most 10 were seen


class _Counted(BytesSource):
    read_bytes = 0

    def read(self, position: int, length: int) -> bytes:
        self.read_bytes += length
        return super().read(position, length)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: claims_between_batches(2, 16_000), id="between_batches"),
        pytest.param(
            lambda: claims_between_batches(1, 8000, sound_magic=1, most_bytes=200_000),
            id="short_between_messages",
        ),
        pytest.param(
            lambda: claims_between_batches(1, 28_000, sound_magic=1), id="between_messages"
        ),
        pytest.param(lambda: claims_between_batches(2, 4000) + bytes(1 << 20), id="up_to_zeros"),
        pytest.param(lambda: claims_of_far_headers(2, 4000), id="of_headers"),
        pytest.param(lambda: batches_that_lead_nowhere(1000), id="leads_nowhere"),
        pytest.param(lambda: claims_of_far_headers(1, 4000), id="of_messages"),
    ],
)
def test_claims_cost_neither_time_nor_reads(made: Callable[[], bytes]) -> None:
    content = made()
    source = _Counted(content)
    bounds = SegmentBounds(0, MOST_OFFSETS, is_last=False, durable_offset=0)
    walk = SegmentWalk(Window(source, _WINDOW_BYTES), bounds, OffsetOrder(0))
    started = time.process_time()
    size_bytes = sum(item.size_bytes for item in walk.items())
    assert time.process_time() - started < _SECONDS
    assert size_bytes == len(content)
    assert source.read_bytes < _MOST_TIMES * len(content)
