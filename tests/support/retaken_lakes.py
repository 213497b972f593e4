"""Two logs of one partition that part at an election, and what a lake must say of the winner's."""

from collections.abc import Callable
from pathlib import Path

from support.accounts import imbalances_of
from support.audits import audited, checked, kinds
from support.elected_logs import ElectedLog, current, plain
from support.views import viewed

TO_LOG_END = {"upper_bound": "log_end"}

BEFORE = plain(1, 4)  # [0, 20)
LOSER = ElectedLog.of(*BEFORE, *plain(1, 4))  # [20, 40) is lost
WINNER = ElectedLog.of(*BEFORE, *plain(3, 2, 7))  # up to 34
GROWN = ElectedLog.of(*BEFORE, *plain(3, 6, 7))  # up to 62

Lost = Callable[..., Path]  # makes a lake that has the loser's rows; the disk of the winner


def is_right(lake: Path, disk: Path, log: ElectedLog, *, committed_only: bool = False) -> bool:
    """Return whether the audit proves the lake, and it has a consumer's rows of the log."""
    assert current(lake) == log.consumed(committed_only=committed_only)
    found = audited(lake)
    assert (kinds(found), [partition.left for partition in found.partitions]) == (set(), [None])
    assert [check.has_problem for check in checked(disk, lake)] == [False]
    assert imbalances_of(lake) == []
    (sums,) = viewed(
        lake,
        "SELECT covered, max_covered_offset, next_offset, superseded, left_above, "
        "(SELECT count(*) FROM current_gaps) AS gaps FROM completeness JOIN last_offsets "
        "USING (topic, partition)",
    )
    assert sums.pop("left_above") in (0, None)  # None where the log's end is not known
    assert [*sums.values()] == [log.end, log.end - 1, log.end, 0, 0]
    return found.exit_code == 0
