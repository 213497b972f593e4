"""Whether a segment is still the file that was planned."""

import pytest

from seglake.kafka_log.replica import SegmentFile
from seglake.log_dirs.errors import SourceVanishedError
from seglake.log_dirs.segment_files import check_size

_FILE = SegmentFile(0, "/disk/orders-0/0.log", "orders-0/0.log", 100, None)


@pytest.mark.parametrize(("size_bytes", "is_last"), [(100, False), (100, True), (101, True)])
def test_only_the_last_segment_may_have_grown(size_bytes: int, is_last: bool) -> None:
    check_size(_FILE, size_bytes, is_last=is_last)


@pytest.mark.parametrize(("size_bytes", "is_last"), [(99, False), (99, True), (101, False)])
def test_any_other_size_is_another_file(size_bytes: int, is_last: bool) -> None:
    with pytest.raises(
        SourceVanishedError, match=rf"0\.log has {size_bytes} bytes, but had 100 when it was listed"
    ):
        check_size(_FILE, size_bytes, is_last=is_last)
