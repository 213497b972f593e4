"""Logs of replicas of which one lost an election, and what a lake has of its tail."""

from collections.abc import Sequence
from pathlib import Path

from support.accounts import imbalances_of
from support.audits import audited, checked
from support.elected_logs import ElectedLog, plain, write_elected
from support.lakes import read_table
from support.views import viewed

DEAD = {"upper_bound": "log_end"}
COMMON = plain(0, 4)  # [0, 20)
WINNER = ElectedLog.of(*COMMON, *plain(2, 2))  # to 30
# Its tail goes on above the end of the winner's log.
LOSER = ElectedLog.of(*COMMON, *plain(1, 5))  # to 45
LONGER = ElectedLog.of(*COMMON, *plain(2, 4))  # to 40


def disks_of(folder: Path, *logs: ElectedLog, bases: Sequence[int] = (0,)) -> list[Path]:
    return [
        write_elected(folder / str(n), log, broker_id=n, bases=bases if n else (0,))
        for n, log in enumerate(logs)
    ]


def assert_sound(lake: Path, disks: Sequence[Path]) -> None:
    assert imbalances_of(lake) == []
    assert audited(lake).exit_code == 0
    for check in checked(disks, lake):
        assert (check.has_problem, check.not_ingested) == (False, []), check


def salvaged(lake: Path, table: str = "salvaged_records") -> list[tuple[int, bytes]]:
    rows = viewed(lake, f"SELECT * FROM {table}")
    assert {(row["damage"], row["is_damaged"], row["defect_code"]) for row in rows} <= {
        ("none", False, "replica_conflict")
    }
    return sorted((row["offset"], row["value"]) for row in rows)


def places(lake: Path) -> list[tuple[int, int]]:
    """The offsets of the batches in quarantine."""
    rows = [
        row for row in read_table(lake, "quarantine") if row["defect_code"] == "replica_conflict"
    ]
    assert all(row["raw_is_complete"] for row in rows)
    return sorted((row["base_offset"], row["last_offset"]) for row in rows)


def batches_of(log: ElectedLog, start: int) -> list[tuple[int, int]]:
    return [(first, first + each.size - 1) for first, each in log.placed() if first >= start]
