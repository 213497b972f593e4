"""A topic that was created again has a log of its own: the other log hides none of its losses."""

import uuid
from pathlib import Path

from support.audits import audited
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.lakes import ingested


def test_the_first_run_names_what_the_shorter_log_of_two_topic_ids_lost(
    tmp_path: Path, lake: Path
) -> None:
    for name, topic_id, count in (("d0", uuid.UUID(int=1), 20), ("d1", uuid.UUID(int=2), 10)):
        batches = [record_batch(at, [Record(b"k", name.encode())]) for at in range(count)]
        partition = Partition("orders", 0, [Segment(0, batches)], 20, topic_id=topic_id)
        write_log_dir(tmp_path / "disks" / name, [partition])
    first = ingested(tmp_path / "disks", lake)
    assert first.exit_code == 3
    assert "NOT recovered: 10 offsets not on disk in orders-0 [10, 20)" in first.to_text()
    assert ingested(tmp_path / "disks", lake).exit_code == 3
    assert audited(lake).exit_code == 3
