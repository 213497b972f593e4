"""False claims that reach far: each is refuted without reading the file for it."""

from collections.abc import Callable

import pytest

from seglake.segment_codec.walk.offset_order import OffsetOrder
from seglake.segment_codec.walk.segment import SegmentWalk
from seglake.segment_codec.walk.segment_bounds import SegmentBounds, limit_after
from seglake.segment_codec.walk.window import BytesSource, Window
from support.walk_work import counted_work
from torture.hostile.bombs import (
    batches_that_lead_nowhere,
    claims_between_batches,
    claims_of_far_headers,
    claims_that_end_anywhere,
    headers_that_claim_the_rest,
)

_WINDOW_BYTES = 256 << 10
_MOST_LOOKS = 1000  # at each byte, in searches and checksums; at most 620 were seen
_MOST_TIMES = 6  # bytes read for each of the file; at most 3.7 were seen
_BLOCK_BYTES = 64 << 10
_MIB = 1 << 20


class _Counted(BytesSource):
    reads = 0
    read_bytes = 0

    def read(self, position: int, length: int) -> bytes:
        self.reads += 1
        self.read_bytes += length
        return super().read(position, length)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda: claims_between_batches(2, 9_000), id="between_batches"),
        pytest.param(
            lambda: claims_between_batches(1, 8000, sound_magic=1, most_bytes=200_000),
            id="short_between_messages",
        ),
        pytest.param(
            lambda: claims_between_batches(1, 16_000, sound_magic=1), id="between_messages"
        ),
        pytest.param(
            lambda: claims_between_batches(2, 8000, most_bytes=_WINDOW_BYTES + 100),
            id="above_the_window",
        ),
        pytest.param(lambda: claims_that_end_anywhere(2, 8000), id="that_end_anywhere"),
        pytest.param(lambda: claims_that_end_anywhere(1, 8000), id="messages_that_end_anywhere"),
        pytest.param(lambda: claims_between_batches(2, 4000) + bytes(1 << 20), id="up_to_zeros"),
        pytest.param(lambda: claims_of_far_headers(2, 4000), id="of_headers"),
        pytest.param(lambda: batches_that_lead_nowhere(1000), id="leads_nowhere"),
        pytest.param(lambda: claims_of_far_headers(1, 4000), id="of_messages"),
    ],
)
def test_claims_cost_neither_work_nor_reads(made: Callable[[], bytes]) -> None:
    content = made()
    with counted_work() as work:
        source = _walked(content, _WINDOW_BYTES)
    assert work.looks < len(content)
    assert work.looked_bytes < _MOST_LOOKS * len(content)
    assert source.read_bytes < _MOST_TIMES * len(content)
    assert source.reads < 3 * len(content) // _BLOCK_BYTES


@pytest.mark.parametrize(
    ("window_bytes", "size_bytes"), [(_BLOCK_BYTES, 2 * _MIB), (4 * _MIB, 8 * _MIB)]
)
def test_bomb_larger_than_the_window_is_read_a_few_times(
    window_bytes: int, size_bytes: int
) -> None:
    content = headers_that_claim_the_rest(2, size_bytes)
    source = _walked(content, window_bytes)
    assert source.read_bytes < _MOST_TIMES * len(content)
    assert source.reads < 3 * len(content) // _BLOCK_BYTES


def test_messages_that_claim_nearly_the_window_do_not_move_it_each() -> None:
    content = claims_between_batches(1, 8000, most_bytes=_BLOCK_BYTES - 100)
    source = _walked(content, _BLOCK_BYTES)
    assert source.read_bytes < _MOST_TIMES * len(content)


def _walked(content: bytes, window_bytes: int) -> _Counted:
    """The source, after a walk that accounts for each of its bytes."""
    source = _Counted(content)
    bounds = SegmentBounds(0, limit_after(0), is_last=False, durable_offset=0)
    walk = SegmentWalk(Window(source, window_bytes), bounds, OffsetOrder(0))
    assert sum(item.size_bytes for item in walk.items()) == len(content)
    return source
