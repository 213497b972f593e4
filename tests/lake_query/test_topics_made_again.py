"""A topic that was deleted and made again under its name: the views tell the two logs apart."""

import shutil
from collections.abc import Callable
from pathlib import Path

from support import broker_disks
from support.encoder import Partition, topic_id_text, write_checkpoint
from support.lakes import ingested
from support.made_logs import TOPIC_IDS, made_segments, write_over
from support.oracle import expected_records, folder_dump

Asked = Callable[[Path, str], list[dict[str, object]]]

_SCENARIO, _TOPIC = "07_delete_records", "dr-recreated"


def test_a_real_topic_that_was_made_again_is_there_twice(ask: Asked, tmp_path: Path) -> None:
    def asked(text: str) -> list[tuple[object, ...]]:
        return [tuple(row.values()) for row in ask(lake, text)]

    disk, old, lake = (
        broker_disks.log_dir(_SCENARIO, "stopped"),
        tmp_path / "old",
        tmp_path / "lake",
    )
    (deleted,) = disk.glob(f"{_TOPIC}-0.*-delete")
    shutil.copytree(deleted, old / f"{_TOPIC}-0")
    shutil.copy(disk / "meta.properties", old)
    dump = folder_dump(_SCENARIO, "stopped", deleted.name)
    count = len(dump.records)
    write_checkpoint(old / "replication-offset-checkpoint", {(_TOPIC, 0): count})
    assert ingested(old, lake).records == count
    again = expected_records(_SCENARIO, "stopped", _TOPIC, 0)
    assert ingested(disk, lake, select={"topics": [_TOPIC]}).records == len(again)

    ids = [_topic_id(folder) for folder in (old / f"{_TOPIC}-0", disk / f"{_TOPIC}-0")]
    ends = "SELECT topic_id, next_offset FROM last_offsets ORDER BY next_offset DESC"
    expected = [(ids[0], count), (ids[1], len(again))]
    assert asked(ends) == sorted(expected, key=lambda each: -each[1])
    rows = "SELECT topic_id, count(*), max(offset) FROM records GROUP BY topic_id"
    assert set(asked(rows)) == {(each, n, n - 1) for each, n in expected}


def _topic_id(folder: Path) -> str:
    return (folder / "partition.metadata").read_text().partition("topic_id: ")[2].strip()


def test_gaps_are_those_of_one_of_the_two(ask: Asked, tmp_path: Path) -> None:
    def asked(text: str) -> list[tuple[object, ...]]:
        return [tuple(row.values()) for row in ask(lake, text)]

    data, lake = tmp_path / "data", tmp_path / "lake"
    names = ("orders", "orders again")
    for start, name in zip((5, 0), names, strict=True):
        segments = made_segments("orders", 0, [start, 20])
        write_over(data, [Partition("orders", 0, segments, topic_id=TOPIC_IDS[name])])
        assert ingested(data, lake).exit_code == 0
    ids = [topic_id_text(TOPIC_IDS[name]) for name in names]
    gaps = "SELECT topic_id, start_offset, next_offset, cause FROM current_gaps"
    assert asked(gaps) == [(ids[0], 0, 5, "deleted")]
    ends = "SELECT topic_id, next_offset, max_covered_offset FROM last_offsets"
    assert set(asked(ends)) == {(each, 20, 19) for each in ids}
    rows = "SELECT topic_id, min(offset), count(*) FROM current_records GROUP BY topic_id"
    assert set(asked(rows)) == {(ids[0], 5, 15), (ids[1], 0, 20)}
