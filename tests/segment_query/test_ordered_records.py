"""Records straight from disks: those that Kafka's consumer got, in its order."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from support import broker_disks
from support.broker_disks import PartitionFacts
from support.cases import cases, shared
from support.conversions import DAMAGED_COPIES, DISK_COPIES, DiskCopy
from support.converted import KNOWN_BOUNDS, LOCAL_STARTS, Log
from support.corrupt_outcomes import corrupt_outcome
from support.encoder import Partition, Segment
from support.made_logs import FIRST_MS, STEP_MS, made_batches, make_log_dir, write_over
from support.oracle import Isolation, OracleRecord, expected_records
from support.printed import cat, without_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COPIES = cases(DISK_COPIES, telling=lambda copy: copy.is_telling, name="-".join)
_LOST = {"quarantined", "missing"}


def _consumed(copy: DiskCopy, facts: PartitionFacts) -> list[OracleRecord]:
    """What the consumer got, as far as the disks have it below their bounds."""
    log = Log(copy.scenario, copy.copy, facts.topic, facts.partition)
    bound = KNOWN_BOUNDS.get(log, facts.high_watermark)
    if copy.isolation is Isolation.READ_COMMITTED and facts.last_stable_offset is not None:
        bound = min(bound, facts.last_stable_offset)
    records = without_type(expected_records(*log, copy.isolation))
    return [record for record in records if LOCAL_STARTS.get(log, 0) <= record.offset < bound]


def _options(copy: DiskCopy) -> list[str]:
    return ["--isolation", copy.isolation, "--internal-topics"]


@pytest.mark.parametrize("copy", shared(_COPIES))
def test_records_of_every_disk_are_those_a_consumer_got_in_its_order(copy: DiskCopy) -> None:
    printed = cat("--source", copy.disks, *_options(copy))
    records = printed.records
    for facts in broker_disks.partitions(copy.scenario, copy.copy):
        assert records.get((facts.topic, facts.partition), []) == _consumed(copy, facts)
    places = [(line["topic"], line["partition"], line["offset"]) for line in printed.lines]
    assert places == sorted(places)
    is_tiered = any((copy.scenario, copy.copy) == log[:2] for log in LOCAL_STARTS)
    assert printed.code == (3 if is_tiered else 0), printed.err


@pytest.mark.parametrize("scenario", ["03_v2_codecs", "05_compacted", "06_transactions"])
def test_any_offsets_times_and_limit_choose_from_what_the_consumer_got(scenario: str) -> None:
    copy = DiskCopy(scenario, broker_disks.copies(scenario)[-1], Isolation.READ_COMMITTED)
    random = Random(scenario)
    facts = max(broker_disks.partitions(scenario, copy.copy), key=lambda facts: facts.record_count)
    whole = _consumed(copy, facts)
    place: list[str | Path] = [
        "--source",
        copy.disks,
        "--topics",
        facts.topic,
        "--partition",
        str(facts.partition),
    ]
    for _ in range(4):
        first, stop = sorted(random.sample(range(whole[-1].offset + 5), 2))
        limit = random.randrange(len(whole))
        early, late = sorted(random.choice(whole).timestamp_ms for _ in range(2))
        found = cat(*place, "--offsets", f"{first}:{stop}", "--limit", str(limit))
        inside = [record for record in whole if first <= record.offset < stop]
        assert [*found.records.values()] == ([inside[:limit]] if inside[:limit] else [])
        if early < late:
            found = cat(*place, "--from-timestamp", _iso(early), "--to-timestamp", _iso(late))
            assert [*found.records.values()] == [
                [record for record in whole if early <= record.timestamp_ms < late]
            ]


def _iso(time_ms: int) -> str:
    return (_EPOCH + timedelta(milliseconds=time_ms)).isoformat()


@pytest.mark.parametrize("name", DAMAGED_COPIES)
def test_what_is_left_of_a_damaged_disk_is_printed_and_the_damage_named(name: str) -> None:
    outcome = corrupt_outcome(name)
    case = outcome.case
    printed = cat("--source", case.log_dir, "--isolation", "read_uncommitted")
    found = printed.records.pop((case.topic, case.partition), [])
    assert found == [*without_type([*outcome.records])]
    damage = [line for line in printed.err.splitlines() if line.startswith("seglake: damage: ")]
    for defect in outcome.defects:
        place = f"{defect.code} in {case.topic}-{case.partition}/{defect.segment} at position"
        assert any(f"{place} {defect.position}: " in line for line in damage)
    is_damaged = bool(outcome.defects) or any(gap.cause in _LOST for gap in outcome.gaps)
    is_damaged |= name.startswith(("checkpoints_garbage", "stray_files"))
    assert (printed.code, bool(damage)) == ((3, True) if is_damaged else (0, False))


def test_batches_that_changed_places_on_a_disk_are_printed_in_order(tmp_path: Path) -> None:
    first, *batches = made_batches("orders", 0, range(30))
    segment = Segment(0, [first, *batches[2:], *batches[:2]])
    data = write_over(tmp_path / "data", [Partition("orders", 0, [segment], high_watermark=30)])
    printed = cat("--source", data)
    assert [line["offset"] for line in printed.lines] == [*range(30)]
    assert (printed.code, printed.err) == (0, "")


def test_a_limit_ends_the_reading_before_later_partitions(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 10], ("payments", 0): [0, 10]})
    (data / "payments-0" / "00000000000000000000.log").write_bytes(b"no batch" * 20)
    assert cat("--source", data, "--limit", "10") == cat("--source", data, "--topics", "orders")
    assert cat("--source", data, "--limit", "11").err != ""


def _damaged_at(data: Path, *bases: int) -> Path:
    """A log of 40 records in batches of 5, of which some batches are damaged."""
    batches = made_batches("orders", 0, range(40))
    for number, batch in enumerate(batches):
        if batch.base_offset in bases:
            batches[number] = batch._replace(data=batch.data[:-1] + b"?")
    first = Segment(0, batches[:6])
    segments = [first, Segment(30, batches[6:])]
    return write_over(data, [Partition("orders", 0, segments, high_watermark=40)])


@pytest.mark.parametrize(
    ("options", "offsets", "damaged"),
    [
        (["--limit", "2"], [0, 1], []),
        (["--limit", "10"], [*range(10)], []),
        (["--limit", "11"], [*range(10), 15], [10]),
        (["--limit", "16"], [*range(10), *range(15, 20), 25], [10, 20]),
        (["--offsets", "25:", "--limit", "6"], [*range(25, 31)], []),
        (["--offsets", "25:", "--limit", "11"], [*range(25, 35)], [35]),
        ([], [*range(10), *range(15, 20), *range(25, 35)], [10, 20, 35]),
    ],
)
def test_damage_behind_the_last_record_of_a_limit_is_not_named(
    options: list[str], offsets: list[int], damaged: list[int], tmp_path: Path
) -> None:
    printed = cat("--source", _damaged_at(tmp_path / "data", 10, 20, 35), *options)
    assert [line["offset"] for line in printed.lines] == offsets
    named = [line for line in printed.err.splitlines() if "crc_mismatch" in line]
    assert (printed.code, len(named)) == (3 if damaged else 0, len(damaged))
    assert bool(printed.err) == bool(damaged)


def test_damage_before_the_first_record_of_a_limit_is_named(tmp_path: Path) -> None:
    data = _damaged_at(tmp_path / "data", 10, 20, 35)
    printed = cat("--source", data, "--offsets", "12:", "--limit", "5")
    assert [line["offset"] for line in printed.lines] == [*range(15, 20)]
    said = "seglake: damage: orders-0: the offsets [12, 15) have no readable record\n"
    assert (printed.code, printed.err) == (3, said)


def test_files_that_are_missing_behind_the_last_record_of_a_limit_are_not_named(
    tmp_path: Path,
) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 10, 20, 30]})
    (data / "orders-0" / "00000000000000000010.log").unlink()
    few, more = (cat("--source", data, "--limit", count) for count in ("10", "11"))
    assert (few.code, few.err) == (0, "")
    assert (more.code, "no segment has the offsets [10, 20)" in more.err) == (3, True)


def test_offsets_that_are_not_asked_for_may_be_damaged(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 10, 20]})
    segment = data / "orders-0" / "00000000000000000000.log"
    segment.write_bytes(segment.read_bytes()[:-1] + b"?")
    whole, part = cat("--source", data), cat("--source", data, "--offsets", "10:")
    assert (whole.code, part.code, part.err) == (3, 0, "")
    assert [line["offset"] for line in part.lines] == [*range(10, 20)]


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "data", {("orders", 0): [0, 10, 20, 30]}) / "orders-0"


def test_segments_are_sources_too(orders: Path) -> None:
    first, second, third = sorted(orders.glob("*.log"))
    assert [line["offset"] for line in cat("--source", second).lines] == [*range(10, 20)]
    both = cat("--source", third, first)
    assert [line["offset"] for line in both.lines] == [*range(10), *range(20, 30)]
    assert [line["offset"] for line in cat("--source", first, "--offsets", "8:12").lines] == [8, 9]
    assert (both.code, both.err) == (0, "")


def test_segments_need_their_folder_and_no_other_sources(orders: Path, tmp_path: Path) -> None:
    segment = min(orders.glob("*.log"))
    (tmp_path / segment.name).write_bytes(segment.read_bytes())
    lone = cat("--source", tmp_path / segment.name)
    assert (lone.code, lone.out) == (2, b"")
    assert "is in no partition folder" in lone.err
    assert "not both in one call" in cat("--source", segment, orders.parent).err
    gone = cat("--source", orders / "00000000000000000077.log")
    assert (gone.code, "does not exist" in gone.err) == (2, True)


def test_a_partition_folder_alone_needs_no_name_for_its_cluster(
    orders: Path, tmp_path: Path
) -> None:
    orders.rename(tmp_path / "orders-0")
    assert len(cat("--source", tmp_path / "orders-0").lines) == 30


def test_late_records_of_a_time_are_found_behind_its_end(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 20]})
    first, last = _iso(FIRST_MS + 3 * STEP_MS), _iso(FIRST_MS + 12 * STEP_MS)
    found = cat("--source", data, "--from-timestamp", first, "--to-timestamp", last)
    assert [line["offset"] for line in found.lines] == [*range(3, 12)]
