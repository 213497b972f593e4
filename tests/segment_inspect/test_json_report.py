"""What --json prints, and what it does not without --records."""

from pathlib import Path
from typing import Any

from seglake.lake.tables import BATCHES, QUARANTINE
from support.encoder import Record, record_batch
from support.looks import LOG, RECORDS, TIME_MS, encoded, of_type, one

NEEDS_A_RUN = {"row_count", "transaction_state", "state", "run_id", "generation"}
NEEDS_A_RUN_IN_QUARANTINE = {"resolution", "run_id", "quarantined_at", "generation"}


def test_fields_are_the_columns_that_need_no_run(tmp_path: Path, json_look: Any) -> None:
    damaged = record_batch(0, RECORDS).data[:-1] + b"?"
    (tmp_path / LOG).write_bytes(damaged + record_batch(5, RECORDS).data)
    lines = json_look(tmp_path / LOG)
    names = [name for name in BATCHES.schema.names if name not in NEEDS_A_RUN]
    for batch in of_type(lines, "batch"):
        assert list(batch) == ["type", *names, "valid"]
    names = [name for name in QUARANTINE.schema.names if name not in NEEDS_A_RUN_IN_QUARANTINE]
    assert list(one(lines, "defect")) == ["type", *names]
    assert list(one(lines, "file"))[:4] == ["type", "path", "kind", "size_bytes"]


def test_bytes_are_only_shown_with_records(tmp_path: Path, json_look: Any, text_look: Any) -> None:
    secret = [Record(b"the-key", b"the-value", TIME_MS, (("the-name", b"the-content"),))]
    data = record_batch(1, secret).data
    damaged = data[:-1] + b"?"
    (tmp_path / LOG).write_bytes(
        record_batch(0, secret).data + damaged + record_batch(2, secret).data
    )
    for offset in (None, 0, 1):
        lines = str(json_look(tmp_path / LOG, offset=offset))
        text = text_look(tmp_path / LOG, offset=offset)
        for word in (b"the-key", b"the-value", b"the-name", b"the-content"):
            assert encoded(word) not in lines
            assert word.decode() not in lines + text
    assert one(json_look(tmp_path / LOG), "defect")["raw"] is None
    assert "the-value" in text_look(tmp_path / LOG, records=True)
