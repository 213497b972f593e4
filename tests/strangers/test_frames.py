"""Compressed batches framed as Kafka's writers, other clients and their bugs frame them."""

from collections import defaultdict
from pathlib import Path

import pytest

from seglake.task_engine.engine import Engine
from support import encoder, frames
from support.lakes import ingested, read_table

# Kafka's consumer throws at these; librdkafka and the formats' own libraries read them.
MORE_THAN_KAFKA = {
    "gzip_zlib_stream",
    "lz4_says_dependent_blocks",
    "lz4_dependent_blocks",
    "lz4_dictionary_id",
    "snappy_second_version_0",
}

# All but the last record, where the consumer finds that bytes are left.
ALL_BUT_ONE = {"gzip_record_bytes_behind", "zstd_more_in_a_frame_without_end"}


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_each_frame_is_read_as_kafkas_consumer_reads_it(
    engine: Engine, tmp_path: Path, magic: int
) -> None:
    batches = frames.framed_batches(magic)
    encoder.write_log_dir(
        tmp_path / "disk",
        [
            encoder.Partition("frames", number, [encoder.Segment(0, [batch])])
            for number, batch in enumerate(batches.values())
        ],
    )
    ingested(tmp_path / "disk", tmp_path / "lake", engine=engine)
    names = list(batches)
    read = {name for name in names if frames.consumed(magic)[name] == "all"} | (
        MORE_THAN_KAFKA & set(names)
    )
    values: dict[str, dict[int, bytes]] = defaultdict(dict)
    for row in read_table(tmp_path / "lake", "records"):
        values[names[row["partition"]]][row["offset"]] = row["value"]
    expected = dict(enumerate(frames.values()))
    before = {offset: value for offset, value in expected.items() if offset < len(expected) - 1}
    partial = dict.fromkeys(ALL_BUT_ONE if magic == 2 else (), before)
    assert values == dict.fromkeys(read, expected) | partial
    quarantined = [names[row["partition"]] for row in read_table(tmp_path / "lake", "quarantine")]
    assert sorted(quarantined) == sorted(set(names) - read)
