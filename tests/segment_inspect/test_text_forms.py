"""How single values look to a person."""

from pathlib import Path
from typing import Any

from support.encoder import Record, record_batch
from support.looks import TIME_MS


def test_a_long_value_is_cut_for_a_person(tmp_path: Path, text_look: Any) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(record_batch(0, [Record(b"k", b"x" * 5000, TIME_MS)]).data)
    assert f'value "{"x" * 160}"... (5000 bytes)' in text_look(path, records=True)
