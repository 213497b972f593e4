"""What `inspected` yields to a program, and what it prints as JSON lines."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from seglake.pipelines.segment_inspect.errors import WrongPathError
from seglake.pipelines.segment_inspect.run import inspect, inspected
from seglake.pipelines.segment_inspect.shown_part import Part
from seglake.storage.local_storage import LocalStorage
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.looks import LOG


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    good, bad = record_batch(0, [Record(b"k", b"v")]), record_batch(1, [Record(b"k", b"w")])
    damaged = bad._replace(data=bad.data[:-1] + b"?")
    segments = [Segment(0, [good, damaged, record_batch(4, [Record(None, b"x")])])]
    write_log_dir(tmp_path / "data", [Partition("t", 0, segments)])
    return tmp_path / "data"


@pytest.mark.parametrize("path", ["", "t-0", f"t-0/{LOG}", f"t-0/{LOG}#1", "meta.properties"])
@pytest.mark.parametrize("records", [False, True])
def test_lines_are_the_dicts_that_a_program_gets(log_dir: Path, path: str, records: bool) -> None:
    name, _, offset = path.partition("#")
    part = Part(offset=int(offset) if offset else None)
    call: dict[str, Any] = {"records": records, "part": part}
    out = io.StringIO()
    inspect(str(log_dir / name), LocalStorage(), as_json=True, out=out, **call)
    printed = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [*inspected(str(log_dir / name), LocalStorage(), **call)] == printed
    assert printed[-1]["type"] == "summary"


def test_findings_come_while_the_file_is_read(log_dir: Path) -> None:
    lines = inspected(str(log_dir / "t-0" / LOG), LocalStorage())
    assert [next(lines)["type"] for _ in range(2)] == ["file", "batch"]


def test_a_path_that_is_not_there_is_an_error_of_the_first_line(tmp_path: Path) -> None:
    lines = inspected(str(tmp_path / "nothing"), LocalStorage())
    with pytest.raises(WrongPathError, match="there is no such file or folder"):
        next(lines)
