"""The encoder gives the bytes others computed: vectors by hand, and sizes anyone can check."""

import zlib
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from support.encoder import (
    Codec,
    ControlType,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    SnappyLayout,
    compressed,
    end_marker,
    message,
    payload_batch,
    record_batch,
    varint,
    with_right_checksum,
    with_right_message_checksum,
    wrapper,
    write_log_dir,
    write_segment,
)

T = 1_500_000_000_000
VECTOR_A = "000000000000000700000010fd6ebddb0000ffffffff000000026869"
VECTOR_B = "00000000000000080000001771bb6a1601000000015d3ef79800000000016bffffffff"
VECTOR_C = (
    "000000000000000900000048000000030233fd11760000000000010000015d3ef79800"
    "0000015d3ef79805ffffffffffffffffffffffffffff000000021e000000026b027604026801026802780c"
    "000a02010100"
)
VECTOR_D = (
    "000000000000000b000000310000000302cbfbe5f2000000000004ffffffffffffffff0000015d3ef79809"
    "00000000000003e800000000001100000000"
)
VECTOR_E = (
    "000000000000001000000042000000030261dbe0df0030000000000000015d3ef7980a0000015d3ef7980a"
    "00000000000003e80000ffffffff000000012000000008000000010c00000000000200"
)


def test_v0_message_is_the_vector() -> None:
    assert message(7, Record(None, b"hi"), 0).data.hex() == VECTOR_A


def test_v1_message_is_the_vector() -> None:
    assert message(8, Record(b"k", None, T), 1).data.hex() == VECTOR_B


def test_batch_with_headers_is_the_vector() -> None:
    records = [Record(b"k", b"v", T, (("h", None), (b"h", b"x"))), Record(None, None, T + 5)]
    batch = record_batch(9, records, Header(leader_epoch=3, last_offset_delta=1))
    assert batch.data.hex() == VECTOR_C
    assert (batch.base_offset, batch.last_offset, batch.max_timestamp_ms) == (9, 10, T + 5)


def test_empty_batch_is_the_vector() -> None:
    header = Header(
        leader_epoch=3,
        producer=Producer(1000, 0, 17),
        last_offset_delta=4,
        max_timestamp_ms=T + 9,
    )
    assert record_batch(11, [], header).data.hex() == VECTOR_D


def test_commit_marker_is_the_vector() -> None:
    marker = end_marker(
        16,
        ControlType.COMMIT,
        producer_id=1000,
        coordinator_epoch=2,
        timestamp_ms=T + 10,
        leader_epoch=3,
    )
    assert marker.data.hex() == VECTOR_E


@pytest.mark.parametrize(("magic", "sizes"), [(0, (34, 31)), (1, (42, 39)), (2, (76, 73))])
def test_worked_examples_have_their_sizes(magic: int, sizes: tuple[int, int]) -> None:
    found = []
    for key in (b"key", None):
        record = Record(key, b"value", T)
        batch = record_batch(0, [record]) if magic == 2 else message(0, record, magic)
        found.append(len(batch.data))
    assert tuple(found) == sizes


def test_ten_records_without_key_take_191_bytes() -> None:
    records = [Record(None, b"value%d" % number, T) for number in range(10)]
    assert len(record_batch(0, records).data) == 191


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (-64, "7f"),
        (64, "8001"),
        (8191, "fe7f"),
        (-8192, "ff7f"),
        (8192, "808001"),
        (-8193, "818001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_varint_is_zig_zag(number: int, encoded: str) -> None:
    assert varint(number).hex() == encoded


CONTENT = b"".join(b"%d some words " % number for number in range(20_000))


def test_gzip_zstd_and_lz4_are_read_by_their_libraries() -> None:
    assert zlib.decompress(compressed(CONTENT, Codec.GZIP), wbits=31) == CONTENT
    reader = zstandard.ZstdDecompressor().decompressobj()
    assert reader.decompress(compressed(CONTENT, Codec.ZSTD)) == CONTENT
    assert lz4.frame.decompress(compressed(CONTENT, Codec.LZ4)) == CONTENT
    noise = bytes(range(256))
    assert lz4.frame.decompress(compressed(noise, Codec.LZ4)) == noise


def test_lz4_of_magic_0_differs_in_the_header_checksum_only() -> None:
    right = compressed(CONTENT, Codec.LZ4)
    broken = compressed(CONTENT, Codec.LZ4, lz4_header_is_broken=True)
    assert (right[6], broken[6]) == (0x82, 0x1A)
    assert right[:6] + right[7:] == broken[:6] + broken[7:]
    in_wrapper = wrapper(0, [Record(None, CONTENT)], 0, Codec.LZ4).data
    assert bytes.fromhex("04224d1860401a") in in_wrapper


def test_snappy_has_both_layouts() -> None:
    stream = compressed(CONTENT, Codec.SNAPPY)
    raw = compressed(CONTENT, Codec.SNAPPY, snappy_layout=SnappyLayout.RAW)
    assert stream.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    assert not raw.startswith(b"\x82SNAPPY")


def test_same_calls_give_the_same_bytes() -> None:
    records = [Record(b"k", b"v" * 50, T + number) for number in range(100)]
    for codec in Codec:
        first, second = (record_batch(5, records, codec=codec).data for _ in range(2))
        assert first == second


def test_checksums_can_be_made_right_again() -> None:
    batch = record_batch(0, [Record(None, b"v", T)]).data
    assert with_right_checksum(batch[:17] + b"\0\0\0\0" + batch[21:]) == batch
    plain = message(0, Record(None, b"v"), 0).data
    assert with_right_message_checksum(plain[:12] + b"\0\0\0\0" + plain[16:]) == plain


def test_payload_batch_stores_any_bytes() -> None:
    batch = payload_batch(3, b"junk", Header(record_count=2, last_offset_delta=1), codec=7)
    assert batch.data[61:] == b"junk"
    assert batch.data[21:23] == b"\x00\x07"
    assert batch.next_offset == 5


def test_segment_has_its_files_and_index(tmp_path: Path) -> None:
    batches = [record_batch(10 + n, [Record(None, bytes(2000), T + n)]) for n in range(6)]
    written = write_segment(tmp_path, Segment(10, batches, tail=bytes(40), index_zero_entries=2))
    size = len(batches[0].data)
    assert written.size_bytes == 6 * size + 40
    assert written.positions == tuple(n * size for n in range(6))
    assert written.offset_entries == ((12, 2 * size), (14, 4 * size))
    assert written.time_entries == ((T + 2, 12), (T + 4, 14), (T + 5, 15))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"{10:020d}{end}" for end in (".index", ".log", ".timeindex")]
    assert (tmp_path / names[0]).read_bytes()[-16:] == bytes(16)


def test_log_dir_has_checkpoints_and_properties(tmp_path: Path) -> None:
    segments = [Segment(0, [record_batch(0, [Record(None, b"a", T)] * 3)])]
    partitions = [
        Partition("a", 0, segments, log_start_offset=2),
        Partition("b", 1, segments, high_watermark=1, recovery_point=0),
    ]
    written = write_log_dir(tmp_path / "data", partitions, broker_id=4, cluster_id="cluster")
    folder = tmp_path / "data"
    assert written[1].folder == folder / "b-1"
    assert (folder / "replication-offset-checkpoint").read_text() == "0\n2\na 0 3\nb 1 1\n"
    assert (folder / "recovery-point-offset-checkpoint").read_text() == "0\n2\na 0 3\nb 1 0\n"
    assert (folder / "log-start-offset-checkpoint").read_text() == "0\n1\na 0 2\n"
    assert "cluster.id=cluster\nbroker.id=4\n" in (folder / "meta.properties").read_text()
    assert (folder / ".kafka_cleanshutdown").is_file()
