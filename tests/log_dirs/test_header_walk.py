"""What the walk over the headers of a segment collects, and which headers it proves."""

from pathlib import Path

import pytest

from support.damaged_transactions import Flip, flip_byte
from support.surveyed import log_bounds
from support.transaction_logs import TransactionLog, commit, sent, write_log


@pytest.mark.parametrize("position", [43, 50], ids=["producer id", "its last byte"])
def test_a_damaged_header_opens_no_transaction(position: int, data: Path) -> None:
    log = TransactionLog.of([sent(1), sent(1), sent(), commit(1), sent()])
    write_log(data, log, (0,))
    flip_byte(data, log, [0], Flip(1, position, 0x01))
    bounds = log_bounds(data)
    assert bounds.open_transactions == ()
    assert bounds.next_offset == log.next_offset
