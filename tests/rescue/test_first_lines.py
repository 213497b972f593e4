"""What the lines of a run say to somebody who acts on them alone."""

from pathlib import Path

import pytest

from seglake.pipelines.lake_report.model import ThisRun
from seglake.pipelines.lake_report.page import to_html
from seglake.segment_decoding.conflict_counts import ConflictKind
from support.broker_disks import log_dir
from support.elected_logs import ElectedLog, plain, write_elected
from support.encoder import Partition, Segment
from support.found import conflicts
from support.lakes import ingested, replayed
from support.made_logs import made_batches, write_over
from support.reports import reported
from support.transaction_logs import Step, TransactionLog, commit, sent, write_log

_RESCUE = {"upper_bound": "log_end", "older_copies": True}
_COMMON = plain(0, 4)  # [0, 20)


@pytest.mark.parametrize(
    ("scenario", "copy"), [("10_crash", "killed"), ("07_delete_records", "live")]
)
def test_partitions_with_records_and_without_add_up(scenario: str, copy: str, lake: Path) -> None:
    summary = ingested(
        log_dir(scenario, copy),
        lake,
        isolation="read_committed",
        read=_RESCUE,
        select={"internal_topics": True},
    )
    first, *lines = summary.to_text().splitlines()
    (nothing,) = (line for line in lines if line.startswith("no record from "))
    giving_of = first.partition(" from ")[2].split()
    nothing_of = nothing.removeprefix("no record from ").split()
    total = summary.partitions
    assert (int(giving_of[2]), int(nothing_of[2])) == (total, total)
    assert int(giving_of[0]) + int(nothing_of[0]) == total
    names = [name for names in summary.recovery.nothing_from.values() for name in names]
    assert int(nothing_of[0]) == len(names)


@pytest.mark.parametrize("undecided", ["gaps", "rows"])
@pytest.mark.parametrize(
    "steps", [(sent(), sent(1), sent()), (sent(1), commit(1), sent(2)), (sent(1), commit(1))]
)
def test_a_dry_run_ends_with_the_exit_code_of_the_run(
    steps: tuple[Step, ...], undecided: str, tmp_path: Path, lake: Path
) -> None:
    data = tmp_path / "data"
    write_log(data, TransactionLog.of(steps), (0,))
    codes = [
        ingested(
            data,
            lake,
            isolation="read_committed",
            read={**_RESCUE, "undecided_transactions": undecided},
            dry_run=dry_run,
        ).exit_code
        for dry_run in (True, False, True, False)
    ]
    assert codes[:2] in ([0, 0], [3, 3])
    assert codes[2:] == [0, 0]  # nothing new is left out


def test_a_dry_run_counts_only_losing_batches_that_quarantine_lacks(
    tmp_path: Path, lake: Path
) -> None:
    logs = [ElectedLog.of(*_COMMON, *plain(2, 2)), ElectedLog.of(*_COMMON, *plain(1, 5))]
    disks = [write_elected(tmp_path / str(n), log, broker_id=n) for n, log in enumerate(logs)]
    dead = {"upper_bound": "log_end"}
    before = conflicts(ingested(disks, lake, read=dead, dry_run=True))
    assert [count.lost for count in before.values()] == [5]
    ingested(disks, lake, read=dead)
    again = ingested(disks, lake, read=dead, dry_run=True)
    assert (conflicts(again), again.exit_code) == ({}, 0)
    cut = {"max_raw_bytes": 10}
    planned = ingested(disks, lake, read=dead, dry_run=True, quarantine=cut)
    assert conflicts(planned) == {}


@pytest.mark.parametrize(
    ("kind", "count", "said"),
    [
        (ConflictKind.LOST, 1, "1 batch of a replica lost an election"),
        (ConflictKind.LOST, 2, "2 batches of a replica lost an election"),
        (
            ConflictKind.CONTRADICTS,
            1,
            "1 batch won an election against rows that were ingested before",
        ),
        (
            ConflictKind.DIFFERS,
            1,
            "1 batch of a replica differs although the same leader wrote it",
        ),
        (
            ConflictKind.DIFFERS,
            3,
            "3 batches of a replica differ although the same leader wrote them",
        ),
        (
            ConflictKind.UNDECIDED,
            1,
            "1 batch of a replica differs, and no leader epoch shows which won",
        ),
        (ConflictKind.SAME_BROKER, 1, "1 batch is in a second log of the same broker"),
        (ConflictKind.SAME_BROKER, 2, "2 batches are in a second log of the same broker"),
    ],
)
def test_one_batch_is_said_in_the_singular(kind: ConflictKind, count: int, said: str) -> None:
    assert kind.shown(count) == said


def _disk(folder: Path, end: int, broker_id: int) -> Path:
    partitions = [
        Partition(topic, 0, [Segment(0, made_batches(topic, 0, range(end)))], high_watermark=end)
        for topic in ("a", "b", "c", "d", "e")
    ]
    return write_over(folder, partitions, broker_id=broker_id)


def test_an_older_disk_is_one_note_and_none_if_older_copies_are_wanted(
    tmp_path: Path, lake: Path
) -> None:
    ingested(_disk(tmp_path / "new", 9, 0), lake)
    older = _disk(tmp_path / "old", 5, 1)
    (note,) = (each for each in ingested(older, lake).notes if "lagging" in each)
    assert note == (
        "5 partitions end below what the lake covers (older or lagging replicas), nothing is "
        "ingested above: a-0, b-0, c-0 and 2 more"
    )
    assert not any("lagging" in each for each in ingested(older, lake, read=_RESCUE).notes)


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ({"salvage": True}, ["nothing to salvage: "]),
        ({"losing_tails": "rows"}, ["no losing tails: "]),
        ({"salvage": True, "losing_tails": "rows"}, ["nothing to salvage: ", "no losing tails: "]),
        ({}, []),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_replay_that_finds_nothing_to_salvage_says_so(
    dry_run: bool, read: dict[str, object], said: list[str], tmp_path: Path, lake: Path
) -> None:
    ingested(_disk(tmp_path / "disk", 9, 0), lake)
    lines = replayed(lake, read=read, dry_run=dry_run).to_text().splitlines()[1:]
    assert [line.startswith(start) for line, start in zip(lines, said, strict=True)] == [
        True for _ in said
    ]


@pytest.mark.parametrize("is_filled", [True, False])
def test_damage_that_another_disk_filled_in_the_same_run_needs_no_replay(
    is_filled: bool, tmp_path: Path, lake: Path
) -> None:
    sound, *others = made_batches("a", 0, range(9))
    flipped = sound._replace(data=sound.data[:-1] + bytes([sound.data[-1] ^ 1]))
    segment = Segment(0, [flipped, *others])
    sources = [
        write_over(tmp_path / "damaged", [Partition("a", 0, [segment], high_watermark=9)]),
        *([_disk(tmp_path / "sound", 9, 1)] if is_filled else []),
    ]
    summary = ingested(sources, lake, read=_RESCUE)
    lines = tuple(summary.to_text().splitlines())
    assert any(line.startswith("quarantined: 1 crc_mismatch") for line in lines)
    run = ThisRun(command="ingest", run_id=None, exit_code=3, lines=lines, findings=())
    page = to_html(reported(lake, this_run=run)).decode()
    assert ("with another replica fills the gaps" in _text(page)) is not is_filled


def _text(page: str) -> str:
    """Return what a person reads of a page, without the advice that scripts may show."""
    return page.partition('<section id="this-run">')[2].partition("</section>")[0]
