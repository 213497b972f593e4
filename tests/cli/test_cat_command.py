"""`seglake cat` as a person or a script calls it: pipes, signals, exit codes, wrong calls."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.made_logs import make_log_dir
from support.printed import cat

_SAMPLES = Path(__file__).parents[2] / "samples" / "broker-0"
_COMMAND = [sys.executable, "-m", "seglake", "cat", "--source"]


def _started(source: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [*_COMMAND, str(source), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More than any pipe holds."""
    edges = {("orders", partition): [0, 500, 1000] for partition in range(3)}
    return make_log_dir(tmp_path_factory.mktemp("long") / "data", edges, value_bytes=2000)


def test_a_reader_that_goes_away_is_no_error(long_log: Path) -> None:
    with _started(long_log) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"topic":"orders","partition":0,"offset":0')
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)


def test_ctrl_c_ends_with_130_and_one_line(long_log: Path) -> None:
    with _started(long_log) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        time.sleep(0.1)  # it waits for somebody to read on
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b"seglake: interrupted\n"


def test_a_full_disk_fails(tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 50]})
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*_COMMAND, str(data)], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert os.strerror(28).encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_no_spark_and_no_delta_are_imported_for_disks() -> None:
    program = (
        "import sys; from seglake.cli.cat_command import main;"
        f" main(['--source', {str(_SAMPLES)!r}, '--topics', 'tx-a', '--limit', '1', '-q']);"
        " print([name for name in ('pyspark', 'deltalake', 'pyarrow.dataset') if name in"
        " sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"[]"


def _between(delimiter: bytes) -> bytes:
    return b"line\nbreak" + delimiter + b"\xff\x00" + delimiter + delimiter


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    records = [
        Record(b"a", b"line\nbreak"),
        Record(None, b"\xff\x00"),
        Record(b"c", None),
    ]
    segments = [Segment(0, [record_batch(0, records)])]
    write_log_dir(tmp_path / "data", [Partition("notes", 0, segments)])
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--format", "value"], b"line\nbreak\n\xff\x00\n\n"),
        (["--format", "value", "--delimiter", r"\0"], b"line\nbreak\0\xff\x00\0\0"),
        (["--format", "value", "--delimiter", ""], _between(b"")),
        (["--format", "value", "--delimiter", r"\xfe\\é"], _between(b"\xfe\\\xc3\xa9")),
        (["--format", "key-value"], b"a\tline\nbreak\n\t\xff\x00\nc\t\n"),
        (
            ["--format", "key-value", "--key-delimiter", "=", "--delimiter", r"\r\n"],
            b"a=line\nbreak\r\n=\xff\x00\r\nc=\r\n",
        ),
    ],
)
def test_values_are_printed_as_they_are(notes: Path, options: list[str], printed: bytes) -> None:
    assert cat("--source", notes, *options).out == printed


def test_json_tells_text_bytes_and_nothing_apart(notes: Path) -> None:
    first, second, third = cat("--source", notes, "--format", "json").lines
    assert (first["key"], first["value"]) == ("a", "line\nbreak")
    assert (second["key"], second["value_base64"], "value" in second) == (None, "/wA=", False)
    assert (third["key"], third["value"]) == ("c", None)


def test_what_is_not_shown_is_noted_unless_quiet() -> None:
    notes = [
        "tx-a-0: producer 6 has a transaction open since offset 102",
        "v2-lz4-0: the last segment ends in tail_torn",
    ]
    printed = cat("--source", _SAMPLES, "--topics", "tx-a", "v2-lz4")
    assert all(f"seglake: not shown: {note}" in printed.err for note in notes)
    quiet = cat("--source", _SAMPLES, "--topics", "tx-a", "v2-lz4", "-q")
    assert (quiet.out, quiet.err, quiet.code) == (printed.out, "", 0)
    below = cat("--source", _SAMPLES, "--topics", "tx-a", "--offsets", ":100")
    assert below.err == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--topics", "v2-zst"], "did you mean v2-zstd?"),
        (["--partition", "7"], "have no partition 7 of the selected topics. There are 0, 1"),
        (["--offsets", "9"], "expected FROM:TO"),
        (["--offsets", "9:3"], "TO must lie above FROM"),
        (["--offsets", "-1:3"], "--offsets"),
        (["--from-timestamp", "noon"], "from-timestamp"),
        (["--from-timestamp", "2026-01-02", "--to-timestamp", "2026-01-01"], "must be after"),
        (["--delimiter", ";"], "delimiters are for"),
        (["--format", "value", "--key-delimiter", ";"], "--format key-value"),
        (["--format", "value", "--delimiter", r"\q"], "after a backslash"),
        (["--lake", "x"], "not allowed with"),
    ],
)
def test_wrong_calls_end_with_2_and_print_nothing(options: list[str], said: str) -> None:
    printed = cat("--source", _SAMPLES, *options)
    assert (printed.code, printed.out) == (2, b"")
    assert said in printed.err


def test_nothing_found_is_noted() -> None:
    printed = cat("--source", _SAMPLES, "--topics", "tx-a", "--offsets", "5000:6000")
    assert (printed.code, printed.out) == (0, b"")
    assert "no record matches" in printed.err


def test_a_person_is_told_what_the_first_run_waits_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    options = ["--source", str(_SAMPLES), "--topics", "tx-a", "--limit", "1"]
    assert "compiling the decoder" not in cat(*options).err
    assert "compiling the decoder" in cat(*options, is_terminal=True).err
