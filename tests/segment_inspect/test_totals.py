"""What a look adds up."""

from pathlib import Path
from typing import Any

from support.encoder import record_batch
from support.looks import LOG, RECORDS


def test_offsets_of_a_batch_that_comes_late_are_there(tmp_path: Path, json_look: Any) -> None:
    batches = [record_batch(start, RECORDS).data for start in (0, 10, 5, 15)]
    (tmp_path / LOG).write_bytes(b"".join(batches))
    summary = json_look(tmp_path / LOG)[-1]
    assert (summary["records"], summary["offsets_not_there"]) == (20, 0)
