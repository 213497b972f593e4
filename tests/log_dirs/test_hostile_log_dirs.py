"""Files beside the segments that lie, and log dirs that hold one: some of `make torture`."""

import pytest

from torture.hostile.worker import Found, repeated


@pytest.mark.parametrize(("kind", "count"), [("side_files", 3000), ("log_dirs", 40)])
def test_files_that_lie_break_no_promise(kind: str, count: int) -> None:
    for answer in repeated(kind, 1, range(count)):
        assert not isinstance(answer, Found), str(answer)
