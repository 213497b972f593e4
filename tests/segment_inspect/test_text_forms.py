"""How single values look to a person."""

import io
from pathlib import Path
from typing import Any

from seglake.pipelines.segment_inspect.run import inspect
from seglake.storage.local_storage import LocalStorage
from support.encoder import Record, record_batch
from support.looks import TIME_MS


def test_what_an_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    record = Record("\u00e9".encode(), b"\x1b[31m", TIME_MS)
    path.write_bytes(record_batch(0, [record]).data)
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    inspect(str(path), LocalStorage(), records=True, offset=None, as_json=False, out=out)
    out.flush()
    assert b'key "\\xe9"  value 0x1b5b33316d' in raw.getvalue()


def test_a_long_value_is_cut_for_a_person(tmp_path: Path, text_look: Any) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(record_batch(0, [Record(b"k", b"x" * 5000, TIME_MS)]).data)
    assert f'value "{"x" * 160}"... (5000 bytes)' in text_look(path, records=True)
