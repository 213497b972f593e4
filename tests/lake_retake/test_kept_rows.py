"""A retake of whole partitions takes no row out of view that it has nothing for."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.pipelines.lake_retake.retake_summary import RetakeSummary
from support import broker_disks
from support.accounts import imbalances_of
from support.audits import audited, kinds
from support.dying import Died, dying
from support.elected_logs import ElectedLog, current, plain, stored, write_elected
from support.lakes import ingested, retaken
from support.made_logs import FIRST_MS, STEP_MS
from support.oracle import expected_records
from support.views import records_in

_LEAST = 64 * 1024
_LOG = ElectedLog.of(*plain(1, 12))  # up to 60
_LARGE = ElectedLog.of(*plain(1, 12), value_bytes=20_000)  # a batch is more than a wave
_BASES = (0, 20, 40)


def _time(offset: int) -> str:
    return datetime.fromtimestamp((FIRST_MS + offset * STEP_MS) / 1000, UTC).isoformat()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return tmp_path / "disk"


def _whole(
    lake: Path,
    *sources: Path,
    topic: str = "orders",
    after: Callable[[str], None] = lambda step: None,
) -> RetakeSummary:
    return retaken(
        lake,
        *sources,
        selection=Selection(is_whole=True),
        select={"topics": [topic]},
        after=after,
        read={"window_bytes": _LEAST, "split_bytes": _LEAST},
        write={"wave_bytes": _LEAST},
    )


def _segment(disk: Path, base: int) -> Path:
    return disk / "orders-0" / f"{base:020d}.log"


def _is_proved(lake: Path, log: ElectedLog) -> bool:
    assert current(lake) == log.consumed()
    assert imbalances_of(lake) == []
    found = audited(lake)
    return (found.exit_code, kinds(found)) == (0, set())


def test_an_older_copy_of_the_same_leader_takes_nothing_away(lake: Path, disk: Path) -> None:
    ingested(write_elected(disk, _LOG), lake)
    write_elected(disk, ElectedLog.of(*plain(1, 7)))
    summary = _whole(lake, disk)
    assert (summary.exit_code, summary.released) == (3, [])
    assert summary.left_out == {
        "orders-0": f"orders-0: [35, 60) is not replaced: the log in {disk}/orders-0 may only "
        "be read "
        "up to 35"
    }
    assert summary.retaken == [("orders-0", (0, 35))]
    assert _is_proved(lake, _LOG)


def test_a_copy_that_does_not_know_the_last_leader_is_left_out_whole(lake: Path) -> None:
    brokers = broker_disks.log_dirs("08_replicas", "diverged")
    ingested([broker.path for broker in brokers], lake)
    summary = _whole(lake, broker_disks.log_dir("08_replicas", "lagging"), topic="rep")
    assert (summary.exit_code, summary.retaken, summary.released) == (3, [], [])
    assert [*summary.left_out] == ["rep-0", "rep-1", "rep-2"]
    assert "the lake has leader epoch 4, but this log has none above 0" in summary.to_text()
    for partition in (0, 1, 2):
        assert records_in(lake, "current_records", partition) == [
            *expected_records("08_replicas", "diverged", "rep", partition)
        ]


def test_rows_of_compressed_segments_stay(lake: Path, disk: Path) -> None:
    ingested(write_elected(disk, _LOG, bases=_BASES), lake)
    segment = _segment(disk, 20)
    segment.with_suffix(".log.gz").write_bytes(gzip.compress(segment.read_bytes()))
    segment.unlink()
    summary = _whole(lake, disk)
    assert (summary.exit_code, summary.records) == (3, 40)
    why = f"it cannot be read in {disk}/orders-0: decompress in place and run again"
    assert f"[20, 40) is not replaced: {why}" in summary.to_text()
    assert _is_proved(lake, _LOG)


def test_a_row_that_reaches_above_the_end_of_the_log_stays_whole(lake: Path, disk: Path) -> None:
    log = ElectedLog.of(*plain(1, 6, 7))
    ingested(write_elected(disk, log), lake)
    write_elected(disk, log, high_watermark=17)
    summary = _whole(lake, disk)
    assert (summary.exit_code, summary.retaken) == (3, [("orders-0", (0, 14))])
    assert _is_proved(lake, log)


def test_rows_of_files_that_go_between_two_waves_stay(lake: Path, disk: Path) -> None:
    ingested(write_elected(disk, _LARGE, bases=_BASES), lake)

    def gone(step: str) -> None:
        if step == "cleaned":
            for base in _BASES:
                _segment(disk, base).unlink(missing_ok=True)

    summary = _whole(lake, disk, after=gone)
    assert (summary.exit_code, summary.retaken) == (3, [("orders-0", (0, 5))])
    assert "orders-0: cannot open" in summary.to_text()
    assert stored(lake) == 65
    assert _is_proved(lake, _LARGE)


def test_a_gap_that_two_waves_replace_counts_in_neither_half(lake: Path, disk: Path) -> None:
    """The second half waits, if the run dies between them."""
    write_elected(disk, _LARGE)
    content = bytearray(_segment(disk, 0).read_bytes())
    for batch in _LARGE.encoded()[1:6]:  # [5, 30)
        content[content.index(batch.data) + len(batch.data) - 1] ^= 0xFF
    _segment(disk, 0).write_bytes(content)
    ingested(disk, lake)
    write_elected(disk, _LARGE)
    with pytest.raises(Died):
        _whole(lake, disk, after=dying("cleaned", commit=2))
    assert (kinds(audited(lake)), imbalances_of(lake)) == ({"superseded"}, [])
    assert retaken(lake, disk).retaken == [("orders-0", (10, 30))]
    assert _is_proved(lake, _LARGE)


def test_a_gap_that_several_waves_replace_is_replaced_once(lake: Path, disk: Path) -> None:
    write_elected(disk, _LARGE)
    content = bytearray(_segment(disk, 0).read_bytes())
    for batch in _LARGE.encoded()[1:6]:
        content[content.index(batch.data) + len(batch.data) - 1] ^= 0xFF
    _segment(disk, 0).write_bytes(content)
    ingested(disk, lake)
    summary = _whole(lake, write_elected(disk, _LARGE))
    assert (summary.exit_code, summary.records) == (0, _LARGE.end)
    assert stored(lake) == 2 * _LARGE.end - 25
    assert _is_proved(lake, _LARGE)


def test_what_could_not_be_read_and_then_came_after_all_is_not_left_out(
    lake: Path, disk: Path
) -> None:
    """Another run takes the topic meanwhile, so that this one begins again."""
    log = ElectedLog.of(*plain(1, 6), value_bytes=20_000)
    ingested(write_elected(disk, log, bases=(0, 10, 20)), lake)
    segment = _segment(disk, 10)
    aside = disk.with_name("aside")
    others: list[int] = []

    def meanwhile(step: str) -> None:
        if others:
            return
        if step == "cleaned" and not aside.exists():
            segment.rename(aside)
        if step == "redo" and aside.exists() and stored(lake) >= 30 + 10:
            others.append(0)
            aside.rename(segment)
            others.append(_whole(lake, disk).exit_code)

    summary = _whole(lake, disk, after=meanwhile)
    assert others == [0, 0]
    assert (summary.exit_code, summary.left_out) == (0, {})
    assert _is_proved(lake, log)


def test_all_that_lies_above_the_log_is_released_at_once(lake: Path, disk: Path) -> None:
    """Time windows left a hole between what was ingested."""
    loser = ElectedLog.of(*plain(1, 8))
    write_elected(disk, loser)
    to_end = {"upper_bound": "log_end"}
    ingested(disk, lake, read=to_end, select={"to_timestamp": _time(25)})
    ingested(disk, lake, read=to_end, select={"from_timestamp": _time(30)})
    empty = ElectedLog.of(*plain(1, 4))
    write_elected(disk, empty, broker_id=1, epochs=[(1, 0), (3, 20)])
    assert ingested(disk, lake).exit_code == 3
    summary = retaken(lake, disk)
    assert summary.released == [("orders-0", (20, 25)), ("orders-0", (30, 40))]
    assert summary.exit_code == 0
    assert _is_proved(lake, empty)
