"""One broker with two logs of a partition, after KAFKA-16234: a log dir failed and came back."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from seglake.cli.cat_command import main as cat
from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.audits import audited, kinds
from support.conflicting_logs import conflict_rows, segment_of
from support.elected_logs import current
from support.encoder import Partition
from support.found import conflicts
from support.lakes import ingested, read_table, retaken, versions
from support.made_logs import topic_id_of, write_over
from support.reports import by_name, reported


def _log_dir(
    folder: Path,
    text: str,
    count: int,
    *,
    epoch: int,
    first: int = 0,
    broker_id: int = 1,
    directory_id: str | None = "by name",
    topic: str = "orders",
) -> Path:
    """Write a log dir with records in batches of five, each with a value of its own."""
    values = [b"%s-%d" % (text.encode(), offset) for offset in range(first, first + count)]
    partition = Partition(
        topic,
        0,
        [segment_of(values, epoch=epoch, first=first)],
        topic_id=topic_id_of(topic),
        leader_epochs=[(epoch, first)],
    )
    write_over(folder, [partition], broker_id=broker_id)
    if directory_id is not None:
        name = folder.name if directory_id == "by name" else directory_id
        with (folder / "meta.properties").open("a") as file:
            file.write(f"directory.id={name}\n")
    return folder


def _rows(lake: Path, topic: str = "orders") -> list[bytes]:
    return sorted(row["value"] for row in read_table(lake, "records") if row["topic"] == topic)


def _assert_accounted(lake: Path, topics: Iterable[str], *texts: str) -> None:
    """Each record of these logs is in a table, or its bytes are in quarantine."""
    assert imbalances_of(lake) == []
    assert kinds(audited(lake)) == set()
    rows = conflict_rows(lake)
    for topic in topics:
        found = _rows(lake, topic)
        raw = b"".join(row["raw"] for row in rows if row["topic"] == topic)
        for text, count in (name.split(":") for name in texts):
            for offset in range(int(count)):
                value = b"%s-%d" % (text.encode(), offset)
                assert value in found or value in raw, (topic, value)


# Brokers from 3.7 on give each log dir an id, earlier ones none. Each is a topic of one broker.
_IDS = {"with-ids": "by name", "without-ids": None}

_Pairs = dict[str, list[Path]]


def _pairs(
    data: Path, old: tuple[int, int], new: tuple[int, int], *orders: str, first: int = 0
) -> _Pairs:
    """Write two logs of one broker, with ids of log dirs and without, for each order of theirs.

    Args:
        old, new: number of records and leader epoch.
        first: the first offset of the old one.
    """
    found = _Pairs()
    for name, directory_id in _IDS.items():
        for order in orders:
            topic = f"{order}-{name}"
            found[topic] = [
                _log_dir(
                    *(data / topic / folder, text, count),
                    epoch=epoch,
                    first=first if text == "old" else 0,
                    directory_id=directory_id,
                    topic=topic,
                )
                for folder, text, (count, epoch) in (("d0", "old", old), ("d1", "new", new))
            ]
    return found


def _in_order(pairs: _Pairs) -> tuple[list[Path], list[Path]]:
    """The log dirs of the first runs, and of the last: `at-once` has only that."""
    first, last = list[Path](), list[Path]()
    for topic, (old, new) in pairs.items():
        if topic.startswith("at-once"):
            last += [old, new]
        else:
            one, two = (old, new) if topic.startswith("old-first") else (new, old)
            first.append(one)
            last.append(two)
    return first, last


def test_both_logs_of_one_broker_are_named_and_no_record_is_lost(
    data: Path, lake: Path, engine: Engine
) -> None:
    pairs = _pairs(data, (100, 0), (10, 1), "at-once")
    summary = ingested(data, lake, engine=engine)
    assert summary.exit_code == 3
    reasons = summary.findings.reasons(FindingKind.REFUSED)
    assert len(reasons) == len(pairs)
    for topic, (old, new) in pairs.items():
        assert f"{old / f'{topic}-0'} and {new / f'{topic}-0'}" in reasons[f"{topic}-0"]
        assert conflicts(summary)[f"{topic}-0"].same_broker == 2
        assert len(_rows(lake, topic)) == 100
    assert summary.findings.of(FindingKind.SUPERSEDED) == []
    _assert_accounted(lake, pairs, "old:100", "new:10")
    before = versions(lake)
    assert ingested(data, lake, engine=engine).exit_code == 3  # as long as both are there
    assert versions(lake) == before


def test_nothing_is_superseded_by_another_log_of_the_same_broker(
    data: Path, lake: Path, engine: Engine
) -> None:
    pairs = _pairs(data, (100, 0), (10, 1), "old-first", "new-first")
    first, second = _in_order(pairs)
    assert ingested(first, lake, engine=engine).exit_code == 0
    counts = {topic: len(_rows(lake, topic)) for topic in pairs}
    assert {*counts.values()} == {100, 10}
    summary = ingested(second, lake, engine=engine)
    assert (summary.exit_code, summary.findings.of(FindingKind.SUPERSEDED)) == (3, [])
    for topic, folder in zip(pairs, second, strict=True):
        reason = summary.findings.reasons(FindingKind.REFUSED)[f"{topic}-0"]
        assert f"{folder / f'{topic}-0'} has" in reason
    assert "lagging replica" not in summary.to_text()
    assert {topic: len(_rows(lake, topic)) for topic in pairs} == counts
    _assert_accounted(lake, pairs, "old:100", "new:10")
    before = versions(lake)["quarantine"]
    ingested(second, lake, engine=engine)
    assert versions(lake)["quarantine"] == before
    both = ingested(data, lake, engine=engine)
    assert (both.exit_code, "lagging replica" in both.to_text()) == (3, False)
    assert {topic: len(_rows(lake, topic)) for topic in pairs} == counts


def test_the_log_that_the_lake_has_goes_on_beside_a_larger_one(data: Path, lake: Path) -> None:
    ingested(_in_order(_pairs(data, (100, 0), (10, 1), "new-first"))[0], lake)
    pairs = _pairs(data, (100, 0), (15, 1), "new-first")
    both = ingested(data, lake)
    assert (both.exit_code, "lagging replica" in both.to_text()) == (3, False)
    assert {topic: len(_rows(lake, topic)) for topic in pairs} == dict.fromkeys(pairs, 15)
    _assert_accounted(lake, pairs, "old:100", "new:15")


def test_logs_of_the_same_leader_epoch_are_told_apart_by_their_batches(
    data: Path, lake: Path
) -> None:
    pairs = _pairs(data, (20, 0), (10, 0), "old-first", "new-first", "at-once")
    first, last = _in_order(pairs)
    ingested(first, lake)
    summary = ingested(last, lake)
    refused = summary.findings.reasons(FindingKind.REFUSED)
    assert (summary.exit_code, {*refused}) == (3, {f"{topic}-0" for topic in pairs})
    _assert_accounted(lake, pairs, "old:20", "new:10")
    for topic in pairs:
        assert len({value[:3] for value in _rows(lake, topic)}) == 1


def test_a_second_log_that_ends_below_the_first_is_told_by_its_newer_epoch(
    data: Path, lake: Path
) -> None:
    """Retention has cut the first one: no offset is in both."""
    pairs = _pairs(data, (50, 0), (10, 1), "at-once", first=50)
    summary = ingested(data, lake)
    refused = summary.findings.reasons(FindingKind.REFUSED)
    assert (summary.exit_code, {*refused}) == (3, {f"{topic}-0" for topic in pairs})
    assert {topic: len(_rows(lake, topic)) for topic in pairs} == dict.fromkeys(pairs, 50)
    _assert_accounted(lake, pairs, "new:10")


def test_an_empty_second_log_takes_nothing_away(data: Path, lake: Path) -> None:
    pairs = _pairs(data, (20, 0), (0, 1), "at-once", "old-first")
    first, last = _in_order(pairs)
    ingested(first, lake)
    summary = ingested(last, lake)
    refused = summary.findings.reasons(FindingKind.REFUSED)
    assert (summary.exit_code, {*refused}) == (3, {f"{topic}-0" for topic in pairs})
    assert summary.findings.of(FindingKind.SUPERSEDED) == []
    _assert_accounted(lake, pairs, "old:20")
    assert {topic: len(_rows(lake, topic)) for topic in pairs} == dict.fromkeys(pairs, 20)


def test_the_same_log_in_two_log_dirs_of_one_broker_is_named_and_read_once(
    data: Path, lake: Path, engine: Engine
) -> None:
    _log_dir(data / "d0", "same", 20, epoch=0)
    _log_dir(data / "d1", "same", 40, epoch=0)
    summary = ingested(data, lake, engine=engine)
    assert summary.exit_code == 3
    assert "has it in two log dirs" in summary.findings.reasons(FindingKind.REFUSED)["orders-0"]
    assert (len(_rows(lake)), conflict_rows(lake)) == (40, [])


@pytest.mark.parametrize("directory_id", ["one", None])
def test_copies_of_one_log_dir_at_different_times_are_no_second_log(
    data: Path, lake: Path, directory_id: str | None
) -> None:
    _log_dir(data / "monday", "same", 20, epoch=0, directory_id=directory_id)
    _log_dir(data / "friday", "same", 40, epoch=0, directory_id=directory_id)
    summary = ingested(data, lake)
    assert (summary.exit_code, summary.findings.reasons(FindingKind.REFUSED), len(_rows(lake))) == (
        0,
        {},
        40,
    )


def test_a_log_dir_whose_end_lost_an_election_is_no_second_log(data: Path, lake: Path) -> None:
    """Its id says that it is the same, before and after the broker cut its log."""
    before = _log_dir(data / "monday", "old", 20, epoch=0, directory_id="one")
    after = _log_dir(data / "friday", "new", 10, epoch=1, directory_id="one")
    summary = ingested([before, after], lake)
    assert (summary.exit_code, summary.findings.reasons(FindingKind.REFUSED)) == (0, {})
    assert {value[:3] for value in _rows(lake)} == {b"new"}


def test_an_unfinished_copy_to_another_log_dir_is_no_second_log(data: Path, lake: Path) -> None:
    _log_dir(data / "d0", "same", 40, epoch=0)
    future = _log_dir(data / "d1", "same", 20, epoch=0) / "orders-0"
    future.rename(future.with_name("orders-0.0123456789abcdef0123456789abcdef-future"))
    summary = ingested(data, lake)
    assert (summary.exit_code, summary.findings.reasons(FindingKind.REFUSED), len(_rows(lake))) == (
        0,
        {},
        40,
    )


def test_both_logs_of_one_broker_are_named_where_records_are_only_printed(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _log_dir(data / "d0", "old", 20, epoch=0)
    _log_dir(data / "d1", "new", 10, epoch=1)
    assert cat(["--source", str(data), "--format", "value"]) == 3
    printed = capfd.readouterr()
    assert printed.out.split() == [f"old-{offset}" for offset in range(20)]
    assert "broker 1 has two logs of it" in printed.err


def test_a_retake_of_whole_partitions_keeps_to_the_log_that_the_lake_has(
    data: Path, lake: Path
) -> None:
    old = _log_dir(data / "d0", "old", 20, epoch=0)
    new = _log_dir(data / "d1", "new", 30, epoch=1)
    ingested(old, lake)
    for disks in ([old, new], [new]):
        whole = Selection(is_whole=True)
        summary = retaken(lake, *disks, selection=whole, select={"topics": ["orders"]})
        assert (summary.exit_code, "One broker cannot" in summary.to_text()) == (3, True)
        assert {value[:3] for _, value in current(lake)} == {b"old"}


def test_another_broker_wins_an_election_as_before(data: Path, lake: Path) -> None:
    ingested(_log_dir(data / "b1", "old", 20, epoch=0), lake)
    summary = ingested(_log_dir(data / "b2", "new", 10, epoch=1, broker_id=2), lake)
    assert (summary.exit_code, bool(summary.findings.of(FindingKind.SUPERSEDED))) == (3, True)
    assert summary.findings.reasons(FindingKind.REFUSED) == {}


def test_report_of_two_logs_says_so_though_each_offset_is_explained(tmp_path: Path) -> None:
    disks = tmp_path / "disks"
    _log_dir(disks / "d0", "old", 20, epoch=0)
    _log_dir(disks / "d1", "new", 10, epoch=1)
    ingested(disks, tmp_path / "lake")
    found = by_name(reported(tmp_path / "lake"))["orders-0"]
    assert [finding.kind for finding in found.findings] == [
        FindingKind.LEFT_OUT,
        FindingKind.TWO_LOGS,
    ]
