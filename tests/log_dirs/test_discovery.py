"""Which folders of which disks are read as a partition, and whose records they are."""

import shutil
import uuid
from pathlib import Path

import pytest

from support.accounts import imbalances_of
from support.encoder import Partition, Segment, topic_id_text
from support.lakes import ingested, read_table
from support.made_logs import (
    TOPIC_IDS,
    made_batches,
    made_records,
    made_segments,
    make_log_dir,
    write_over,
)
from support.taken import gaps_taken, is_nothing_new, offsets_taken, records_taken

_ORDERS = ("orders", 0)


def _partition(topic_id: uuid.UUID | None, end: int, **other: str) -> Partition:
    segments = made_segments("orders", 0, [0, end])
    return Partition("orders", 0, segments, topic_id=topic_id, **other)  # type: ignore[arg-type]  # texts only


def test_a_topic_made_again_has_a_coverage_of_its_own(data: Path, lake: Path) -> None:
    first, second = TOPIC_IDS["orders"], TOPIC_IDS["orders again"]
    write_over(data, [_partition(first, 20)])
    ingested(data, lake)
    write_over(data, [_partition(second, 10)])
    assert ingested(data, lake).records == 10
    write_over(data, [_partition(second, 15)])
    assert ingested(data, lake).records == 5
    rows = read_table(lake, "records")
    by_id = {
        topic_id: sorted(
            row["offset"] for row in rows if row["topic_id"] == topic_id_text(topic_id)
        )
        for topic_id in (first, second)
    }
    assert by_id == {first: list(range(20)), second: list(range(15))}
    assert len(rows) == 35
    assert imbalances_of(lake) == []


@pytest.mark.parametrize("ids", [(None, "orders"), ("orders", None), (None, None)], ids=str)
def test_a_topic_id_that_was_unknown_or_is_no_more_is_the_same_topic(
    ids: tuple[str | None, str | None], data: Path, lake: Path
) -> None:
    first, second = (None if name is None else TOPIC_IDS[name] for name in ids)
    write_over(data, [_partition(first, 10)])
    ingested(data, lake)
    write_over(data, [_partition(second, 10)])
    assert is_nothing_new(ingested(data, lake))
    write_over(data, [_partition(second, 25)])
    assert ingested(data, lake).records == 15
    write_over(data, [_partition(first, 30)])
    assert ingested(data, lake).records == 5
    assert offsets_taken(lake) == list(range(30))
    assert imbalances_of(lake) == []


def test_a_folder_without_an_id_has_none_where_the_other_partitions_have_two(
    data: Path, lake: Path
) -> None:
    ids = (TOPIC_IDS["orders"], TOPIC_IDS["orders again"], None)
    logs = [
        Partition("orders", number, made_segments("orders", number, [0, 5]), topic_id=topic_id)
        for number, topic_id in enumerate(ids)
    ]
    write_over(data, logs)
    summary = ingested(data, lake)
    rows = read_table(lake, "batches")
    assert {row["partition"]: row["topic_id"] for row in rows} == {
        number: None if topic_id is None else topic_id_text(topic_id)
        for number, topic_id in enumerate(ids)
    }
    assert any("2 topic ids" in note for note in summary.notes)


def test_a_folder_without_an_id_has_that_of_the_topics_other_partitions(
    data: Path, lake: Path
) -> None:
    other = Partition("orders", 1, made_segments("orders", 1, [0, 5]))
    write_over(data, [_partition(TOPIC_IDS["orders"], 10), other])
    ingested(data, lake)
    assert {row["topic_id"] for row in read_table(lake, "records")} == {
        topic_id_text(TOPIC_IDS["orders"])
    }


@pytest.mark.parametrize("suffix", ["delete", "stray"])
def test_folders_marked_for_deletion_are_skipped_and_named(
    suffix: str, data: Path, lake: Path
) -> None:
    dropped = Partition(
        "payments",
        0,
        made_segments("payments", 0, [0, 5]),
        folder_suffix=f".{uuid.uuid4().hex}-{suffix}",
    )
    write_over(data, [_partition(None, 10), dropped])
    summary = ingested(data, lake)
    assert summary.topics == ["orders"]
    (note,) = (note for note in summary.notes if "payments-0" in note)
    assert "given up" in note
    (folder,) = data.glob("payments-0.*")
    (segment,) = folder.glob("*.log")
    assert f"{folder.name} (1 segment, {segment.stat().st_size} bytes); to read them" in note


def test_given_up_folders_without_records_need_no_advice(data: Path, lake: Path) -> None:
    dropped = data / f"payments-0.{uuid.uuid4().hex}-delete"
    write_over(data, [_partition(None, 10)])
    dropped.mkdir()
    (dropped / "00000000000000000000.log").touch()
    (note,) = (note for note in ingested(data, lake).notes if "given up" in note)
    assert note.endswith(f"{dropped.name} (empty)")


@pytest.mark.parametrize("state", ["deleted", "swap"])
def test_segments_that_the_broker_had_removed_are_named_by_partition(
    state: str, data: Path, lake: Path
) -> None:
    write_over(data, [Partition("orders", 0, made_segments("orders", 0, [0, 5, 10]))])
    first, second = sorted((data / "orders-0").glob("*.log"))
    sizes = [first.stat().st_size]
    if state == "deleted":
        (data / "orders-0" / "00000000000000000007.log.deleted").touch()
        first.rename(f"{first}.deleted")
    else:  # the cleaner's output stands for both
        shutil.copyfile(second, f"{first}.swap")
        sizes.append(second.stat().st_size)
    (note,) = (note for note in ingested(data, lake).notes if "had removed" in note)
    count = "1 segment" if len(sizes) == 1 else "2 segments"
    assert f"are not read: orders-0 ({count}, {sum(sizes)} bytes); " in note
    assert "; they may have records that count as compacted or deleted; to read them" in note
    assert "--older-copies" in note


def test_a_future_folder_is_read_only_where_it_is_alone(data: Path, lake: Path) -> None:
    suffix = f".{uuid.uuid4().hex}-future"
    write_over(data, [_partition(None, 10), _partition(None, 5, folder_suffix=suffix)])
    ingested(data, lake)
    assert offsets_taken(lake) == list(range(10))
    assert {row["segment"].split("/")[0] for row in read_table(lake, "batches")} == {"orders-0"}

    alone = data.with_name("alone")
    write_over(alone, [_partition(None, 5, folder_suffix=suffix)])
    other = lake.with_name("other_lake")
    marks = alone / "replication-offset-checkpoint"
    marks.write_text("0\n1\norders 0 5\n")
    ingested(alone, other)
    assert offsets_taken(other) == list(range(5))


def test_a_finished_swap_stands_for_the_segments_it_replaces(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 10, 20, 30]})
    folder = data / "orders-0"
    cleaned = made_batches("orders", 0, range(5)) + made_batches("orders", 0, range(15, 20))
    (folder / f"{0:020d}.log.swap").write_bytes(b"".join(batch.data for batch in cleaned))
    ingested(data, lake)
    assert offsets_taken(lake) == [*range(5), *range(15, 30)]
    assert [(start, stop) for start, stop, _ in gaps_taken(lake)] == [(5, 15)]
    assert imbalances_of(lake) == []


def test_a_swap_of_what_was_taken_before_brings_nothing(data: Path, lake: Path) -> None:
    make_log_dir(data, {_ORDERS: [0, 10, 20, 30]})
    ingested(data, lake)
    folder = data / "orders-0"
    cleaned = made_batches("orders", 0, range(5)) + made_batches("orders", 0, range(15, 20))
    (folder / f"{0:020d}.log.swap").write_bytes(b"".join(batch.data for batch in cleaned))
    assert is_nothing_new(ingested(data, lake))
    assert offsets_taken(lake) == list(range(30))


@pytest.mark.parametrize("given", ["parent", "each", "both", "partitions"])
def test_several_log_dirs_are_found_and_none_is_taken_twice(
    given: str, data: Path, lake: Path
) -> None:
    make_log_dir(data / "d0", {_ORDERS: [0, 10]})
    make_log_dir(data / "deep" / "d1", {("orders", 1): [0, 10], ("payments", 0): [0, 10]})
    make_log_dir(data / "d2", {})
    each = [data / "d0", data / "deep" / "d1", data / "d2"]
    folders = [each[0] / "orders-0", each[1] / "orders-1", each[1] / "payments-0"]
    sources = {"parent": [data], "each": each, "both": [data, *each], "partitions": folders}
    assert ingested(sources[given], lake).records == 30
    assert is_nothing_new(ingested(data, lake))
    everything = {_ORDERS: range(10), ("orders", 1): range(10), ("payments", 0): range(10)}
    assert records_taken(lake) == made_records(everything)
    assert imbalances_of(lake) == []


def _broker(
    data: Path, broker_id: int, end: int, epochs: dict[int, int], high_watermark: int
) -> Path:
    """A broker's disk with one log; the epochs are given with the offsets where they begin."""
    edges = [*epochs.values(), end]
    batches = [
        batch
        for epoch, start, stop in zip(epochs, edges[:-1], edges[1:], strict=True)
        for batch in made_batches("orders", 0, range(start, stop), leader_epoch=epoch)
    ]
    partition = Partition(
        "orders",
        0,
        [Segment(0, batches)],
        high_watermark=high_watermark,
        leader_epochs=[*epochs.items()],
    )
    return write_over(data / f"broker{broker_id}", [partition], broker_id=broker_id)


def test_one_replica_is_read_up_to_what_the_brokers_of_its_log_have_replicated(
    data: Path, lake: Path
) -> None:
    _broker(data, 1, end=30, epochs={2: 0, 4: 10}, high_watermark=15)
    _broker(data, 2, end=25, epochs={2: 0, 4: 10}, high_watermark=20)
    _broker(data, 3, end=50, epochs={2: 0, 3: 10}, high_watermark=50)
    ingested(data, lake)
    assert offsets_taken(lake) == list(range(20))
    assert {row["broker_id"] for row in read_table(lake, "batches")} == {1}
    assert imbalances_of(lake) == []


def test_runs_on_different_replicas_continue_one_another(data: Path, lake: Path) -> None:
    one = _broker(data, 1, end=30, epochs={4: 0}, high_watermark=30)
    ingested(one, lake)
    lagging = _broker(data, 2, end=25, epochs={4: 0}, high_watermark=20)
    assert is_nothing_new(ingested(lagging, lake))
    leading = _broker(data, 3, end=40, epochs={4: 0, 5: 30}, high_watermark=40)
    assert ingested(leading, lake).records == 10
    assert ingested(data, lake).records == 0
    assert offsets_taken(lake) == list(range(40))
    assert imbalances_of(lake) == []


def test_high_watermarks_that_cannot_be_read_are_said_to_bound_nothing(
    data: Path, lake: Path
) -> None:
    write_over(data, [_partition(None, 20)])
    marks = data / "replication-offset-checkpoint"
    ends = f"{marks.name}: logs are ingested to their end"
    marks.write_text("0\n7\norders 0 5\n")
    summary = ingested(data, lake)
    assert summary.left_out[str(marks)].startswith(f"{marks} is ignored as implausible: ")
    assert f"{data} has no usable {ends}" in summary.notes
    marks.unlink()
    assert f"{data} has no {ends}" in ingested(data, lake).notes
