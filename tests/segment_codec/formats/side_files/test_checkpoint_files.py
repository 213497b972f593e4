from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.errors import SegmentCodecError
from seglake.segment_codec.formats.side_files.checkpoint_files import (
    BrokerMetadata,
    CheckpointFileError,
    EpochStart,
    PartitionMetadata,
    parse_leader_epochs,
    parse_meta_properties,
    parse_offset_checkpoint,
    parse_partition_metadata,
)
from seglake.segment_codec.formats.side_files.log_dir import TopicPartition
from support import broker_disks
from support.broker_disks import SCENARIOS
from support.corrupt_cases import corrupt_case

TOPIC_ID = "U-OI6PXUTv6_E8etvy7UKQ"
OFFSET_CHECKPOINTS = (
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)


def test_offset_checkpoint_gives_an_offset_per_partition() -> None:
    assert parse_offset_checkpoint(b"0\n2\norders 0 1234\n__a.b-1 17 0\n") == {
        TopicPartition("orders", 0): 1234,
        TopicPartition("__a.b-1", 17): 0,
    }


def test_offset_checkpoint_without_entries_is_an_empty_map() -> None:
    assert parse_offset_checkpoint(b"0\n0\n") == {}


def test_file_of_no_bytes_is_an_empty_map() -> None:
    assert parse_offset_checkpoint(b"") == {}
    assert parse_leader_epochs(b"") == ()


def test_any_white_space_parts_the_fields_and_any_line_end_the_lines() -> None:
    text = b"0\r\n2\r\norders\t 0  5\rorders 1 9223372036854775807\r"
    assert parse_offset_checkpoint(text) == {
        TopicPartition("orders", 0): 5,
        TopicPartition("orders", 1): 2**63 - 1,
    }


@pytest.mark.parametrize(
    ("text", "line_number", "what"),
    [
        (b"1\n0\n", 1, "version 1, expected 0"),
        (b"\n", 1, "expected version from 0 to 2147483647, found ''"),
        (b" 0\n0\n", 1, "expected version from 0 to 2147483647, found ' 0'"),
        (b"0\n", 2, "expected count of entries from 0 to 2147483647, found ''"),
        (b"0\n-1\n", 2, "expected count of entries from 0 to 2147483647, found '-1'"),
        (b"0\n2\na 0 1\n", 2, "the count says 2 entries, found 1"),
        (b"0\n0\na 0 1\n", 2, "the count says 0 entries, found 1"),
        (b"0\n2\na 0 1\n\n", 4, "expected topic, partition, offset; found ''"),
        (b"0\n1\na 0\n", 3, "expected topic, partition, offset; found 'a 0'"),
        (b"0\n1\na b 0 1\n", 3, "expected topic, partition, offset; found 'a b 0 1'"),
        (b"0\n1\na 0 -1\n", 3, "expected offset from 0 to 9223372036854775807, found '-1'"),
        (b"0\n1\na 0 +1\n", 3, "expected offset from 0 to 9223372036854775807, found '+1'"),
        (b"0\n1\na 0 1_0\n", 3, "expected offset from 0 to 9223372036854775807, found '1_0'"),
        (
            "0\n1\na 0 \u0661\n".encode(),
            3,
            "expected offset from 0 to 9223372036854775807, found '\u0661'",
        ),
        (
            b"0\n1\na 0 9223372036854775808\n",
            3,
            "expected offset from 0 to 9223372036854775807, found '9223372036854775808'",
        ),
        (
            b"0\n1\na 2147483648 1\n",
            3,
            "expected partition from 0 to 2147483647, found '2147483648'",
        ),
        (bytes(40), 1, "expected version from 0 to 2147483647, found 40 zero bytes"),
        (bytes(1), 1, "expected version from 0 to 2147483647, found 1 zero byte"),
        (b"0\n1\na/b 0 1\n", 3, "'a/b' is not a legal topic name"),
        (b"0\n1\n\xff 0 1\n", 3, "'\ufffd' is not a legal topic name"),
        (b"0\n2\na 0 1\na 0 1\n", 4, "a-0 appears twice"),
    ],
)
def test_malformed_offset_checkpoint_is_refused_with_its_line(
    text: bytes, line_number: int, what: str
) -> None:
    with pytest.raises(CheckpointFileError) as caught:
        parse_offset_checkpoint(text)
    assert (caught.value.line_number, caught.value.what) == (line_number, what)
    assert str(caught.value) == f"line {line_number}: {what}"
    assert isinstance(caught.value, SegmentCodecError)


def test_long_nonsense_is_cut_in_the_message() -> None:
    with pytest.raises(CheckpointFileError) as caught:
        parse_offset_checkpoint(b"x" * 10_000)
    assert len(str(caught.value)) < 200


def test_leader_epochs_are_read_in_order() -> None:
    assert parse_leader_epochs(b"0\n3\n0 0\n2 50\n5 50\n") == (
        EpochStart(0, 0),
        EpochStart(2, 50),
        EpochStart(5, 50),
    )


@pytest.mark.parametrize(
    "second", ["2 60", "1 60", "3 49", "3", "3 60 1", "-3 60", "3 -60", "x 60"]
)
def test_malformed_leader_epochs_are_refused(second: str) -> None:
    with pytest.raises(CheckpointFileError) as caught:
        parse_leader_epochs(f"0\n2\n2 50\n{second}\n".encode())
    assert caught.value.line_number == 4


@pytest.mark.parametrize("end", ["", "\n", "\nlater: x\n"])
@pytest.mark.parametrize("version", [0, 7])
def test_partition_metadata_gives_the_topic_id(version: int, end: str) -> None:
    text = f"version: {version}\ntopic_id: {TOPIC_ID}{end}".encode()
    assert parse_partition_metadata(text) == PartitionMetadata(version, TOPIC_ID)


@pytest.mark.parametrize(
    ("text", "line_number"),
    [
        ("", 2),
        ("version: 0", 2),
        (f"topic_id: {TOPIC_ID}", 1),
        (f"version: -1\ntopic_id: {TOPIC_ID}", 1),
        ("version: 0\ntopic_id:", 2),
        (f"version: 0\ntopic_id: {TOPIC_ID[1:]}", 2),
        (f"version: 0\ntopic_id: {TOPIC_ID}A", 2),
        (f"version: 0\ntopic_id: {TOPIC_ID[:-1]}R", 2),
        (f"version: 0\ntopic_id: +{TOPIC_ID[1:]}", 2),
        (f"version: 0\ntopic_id: {'A' * 22}", 2),
    ],
)
def test_malformed_partition_metadata_is_refused(text: str, line_number: int) -> None:
    with pytest.raises(CheckpointFileError) as caught:
        parse_partition_metadata(text.encode())
    assert caught.value.line_number == line_number


def test_meta_properties_of_version_0_has_a_broker_id() -> None:
    text = b"#\n#Sat Nov 21 03:43:34 UTC 2026\nbroker.id=4\nversion=0\ncluster.id=abc\nnode.id=9\n"
    assert parse_meta_properties(text) == BrokerMetadata(0, 4, "abc", None)


def test_meta_properties_of_version_1_has_a_node_id() -> None:
    text = b"node.id=5\ndirectory.id=xyz\nversion=1\ncluster.id=abc\nbroker.id=9\n"
    assert parse_meta_properties(text) == BrokerMetadata(1, 5, "abc", "xyz")


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# nothing\n", b"cluster.id=\n"])
def test_meta_properties_may_say_nothing(text: bytes) -> None:
    assert parse_meta_properties(text) == BrokerMetadata(None, None, None, None)


@pytest.mark.parametrize(
    ("text", "line_number", "what"),
    [
        (b"#\nversion=2\n", 2, "version 2, expected 0 or 1"),
        (b"version=one", 1, "expected version from 0 to 2147483647, found 'one'"),
        (b"version=", 1, "expected version from 0 to 2147483647, found ''"),
        (b"\nbroker.id=-1", 2, "expected broker.id from 0 to 2147483647, found '-1'"),
        (
            b"version=1\n\nnode.id=\xb2",
            3,
            "expected node.id from 0 to 2147483647, found '\xb2'",
        ),
        (b"a=b\ncluster.id=\\u12g4", 2, "an escape \\u without four hexadecimal digits"),
    ],
)
def test_malformed_meta_properties_are_refused(text: bytes, line_number: int, what: str) -> None:
    with pytest.raises(CheckpointFileError) as caught:
        parse_meta_properties(text)
    assert (caught.value.line_number, caught.value.what) == (line_number, what)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (parse_offset_checkpoint, b"0\n2\norders 0 7\norders 1 1234"),
        (parse_leader_epochs, b"0\n2\n0 0\n12 345"),
        (parse_meta_properties, b"node.id=12\nversion=1\ncluster.id=dGllcmVk"),
        (parse_meta_properties, b"cluster.id=dGllcmVk\nversion=1\nnode.id=12"),
    ],
)
def test_a_file_that_ends_inside_its_last_line_is_refused(
    read: Callable[[bytes], object], text: bytes
) -> None:
    read(text + b"\n")
    for stop in range(text.rindex(b"\n") + 2, len(text) + 1):
        with pytest.raises(CheckpointFileError):
            read(text[:stop])


def log_dirs(scenario: str) -> Iterator[tuple[str, Path]]:
    for copy in broker_disks.copies(scenario):
        for log_dir in broker_disks.log_dirs(scenario, copy):
            yield copy, log_dir.path


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_high_watermarks_of_stopped_brokers_are_those_of_the_cluster(scenario: str) -> None:
    expected, found = {}, {}
    for copy, path in log_dirs(scenario):
        if copy != "stopped":
            continue
        marks = parse_offset_checkpoint((path / "replication-offset-checkpoint").read_bytes())
        for facts in broker_disks.partitions(scenario, copy):
            # A folder that is being copied has an entry of its own, in the disk it is copied to.
            if (path / f"{facts.topic}-{facts.partition}").is_dir():
                key = TopicPartition(facts.topic, facts.partition)
                found[key] = marks.get(key, 0)
                expected[key] = facts.high_watermark
    assert found == expected


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_text_file_of_the_disks_is_read(scenario: str) -> None:
    brokers, topic_ids = set(), set()
    for copy, path in log_dirs(scenario):
        for name in OFFSET_CHECKPOINTS:
            if (path / name).is_file():
                parse_offset_checkpoint((path / name).read_bytes())
        broker = parse_meta_properties((path / "meta.properties").read_bytes())
        assert broker.version == (1 if scenario[:2] in {"11", "12", "13"} else 0)
        brokers.add((copy, path.parent.name, broker.broker_id, broker.cluster_id))
        for metadata in path.glob("*/partition.metadata"):
            topic_id = parse_partition_metadata(metadata.read_bytes()).topic_id
            topic_ids.add((metadata.parent.name.rpartition("-")[0], topic_id))
        for epochs in path.glob("*/leader-epoch-checkpoint"):
            parse_leader_epochs(epochs.read_bytes())
    assert topic_ids
    assert len({cluster_id for *_, cluster_id in brokers}) == 1
    assert len(brokers) == len({(copy, folder) for copy, folder, *_ in brokers})


def test_malformed_checkpoints_of_a_damaged_disk_are_refused() -> None:
    damaged = corrupt_case("checkpoints_garbage__v2").log_dir
    for name, line_number in [
        ("recovery-point-offset-checkpoint", 1),
        ("replication-offset-checkpoint", 2),
    ]:
        with pytest.raises(CheckpointFileError) as caught:
            parse_offset_checkpoint((damaged / name).read_bytes())
        assert caught.value.line_number == line_number


@pytest.mark.parametrize(
    "parse",
    [
        parse_offset_checkpoint,
        parse_leader_epochs,
        parse_partition_metadata,
        parse_meta_properties,
    ],
)
@given(st.binary(max_size=60), st.sampled_from([b"", b"0\n1\n", b"version: 0\n", b"version="]))
def test_nothing_but_its_own_error_is_raised(
    parse: Callable[[bytes], object], text: bytes, start: bytes
) -> None:
    with suppress(CheckpointFileError):
        parse(start + text)


TOPICS = st.text("abcXYZ019._-", min_size=1).filter(lambda topic: topic not in {".", ".."})


@given(
    st.dictionaries(st.tuples(TOPICS, st.integers(0, 2**31 - 1)), st.integers(0, 2**63 - 1)),
)
def test_what_a_broker_writes_is_read(offsets: dict[tuple[str, int], int]) -> None:
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in offsets.items()]
    text = "".join(["0\n", f"{len(lines)}\n", *lines])
    assert parse_offset_checkpoint(text.encode()) == offsets
