"""Names that a disk may have, through whole runs: no terminal, page or folder gets one raw."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import polars
import pytest
from prometheus_client.parser import text_string_to_metric_families

from seglake.cli.main import main
from support.lakes import ingested, read_table
from support.made_logs import make_log_dir

_LOG = f"{0:020d}.log"
_RED = "\x1b[31m\x07\x9b2J"
_FORGED = "\nseglake: forged"
_TAG = "<script>evil()<"  # a slash is in no name
_HOSTILE = f"{_TAG}{_RED}{_FORGED}\u202e'\"`;--%s%2F$(id){{}}\\"
_NOT_UTF8 = os.fsdecode(b"\xff\xfe")
# What a terminal obeys or does not show, and a line that no command wrote.
_RAW = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
    r"|^[ ]*seglake: forged",
    re.MULTILINE,
)
_ALONE = ("--engine", "local", "--set", "limits.local_processes=1")
_LONG = "x" * 249
# All are legal in Kafka.
_TOPICS = (
    *("orders", "Orders", "ORDERS", "a.b", "a_b", "a-b", "a-0", "...", "-", "--help", "_", ".tmp"),
    *("_delta_log", "null", "NULL", "topic", "CON", "1e3", "true", _LONG),
)
# None is; each would have a meaning to a shell, SQL, a glob, a URL or a file system.
_NO_TOPICS = (
    *("..", ".", "topic=..", "a%2Fb", "a b", "a\nb", f"a{_RED}", "a*", "a?", "[a]", "a'", 'a"'),
    *(
        "a;b",
        "a\\",
        "$(id)",
        "{a}",
        "~",
        "é",
        "\u202ea",
        "\u212a",
        "a\u0130",
        _NOT_UTF8,
        _TAG,
        "=x",
    ),
)


class _Told(NamedTuple):
    code: int
    text: str


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a disk, `disk`, whose every name that is free is hostile, and its lake."""
    folder = tmp_path_factory.mktemp("hostile")
    disk = make_log_dir(folder / f"above {_HOSTILE}" / "disk", {("orders", 0): [0, 10, 20]})
    for parent in (disk, disk / "orders-0"):
        for name in (_HOSTILE, f"{_NOT_UTF8}.tar.gz", f"{_LOG}.gz{_RED}", f"{_HOSTILE}.zip"):
            (parent / name).write_bytes(b"x")
    properties = disk / "meta.properties"
    cluster = "".join(f"\\u{ord(char):04x}" for char in f"c{_HOSTILE}")
    text = re.sub(
        r"(?m)^cluster\.id=.*$", lambda _: f"cluster.id={cluster}", properties.read_text()
    )
    properties.write_text(text)
    damaged = bytearray((disk / "orders-0" / _LOG).read_bytes())
    damaged[-3] ^= 1
    (disk / "orders-0" / _LOG).write_bytes(damaged)
    return folder


@pytest.fixture(scope="module")
def told(hostile: Path) -> Mapping[str, _Told]:
    """What each command says of it, at its loudest."""
    patch, found = pytest.MonkeyPatch(), dict[str, _Told]()
    (above,) = hostile.glob("above*")
    source, gone = str(above / "disk"), str(above / f"gone{_HOSTILE}")
    lake, page = str(hostile / "lake"), str(hostile / "page.html")
    records = ("--metrics", str(hostile / "metrics"), "--openlineage", str(hostile / "lineage"))
    on_both = ("--source", source, "--lake", lake, *_ALONE)
    calls = {
        "ingest": ("ingest", *on_both, *records, "-v"),
        "ingest again": ("ingest", *on_both, "--json", "--log-format=json", "-v"),
        "audit": ("audit", *on_both, "-v"),
        "replay": ("replay", *on_both, "-v"),
        "retake": ("retake", *on_both, "-v"),
        "maintain": ("maintain", "--lake", lake, *_ALONE, "-v"),
        "report": ("report", "--lake", lake, "--output", page),
        "register": ("register", "--lake", lake, "--database", "kafka", "--print"),
        "inspect": ("inspect", source),
        "inspect a file": ("inspect", f"{source}/{_HOSTILE}", "-v"),
        "inspect as JSON": ("inspect", source, "--json"),
        "cat": ("cat", "--source", source, "-v"),
        "cat of the lake": ("cat", "--lake", lake, "-v"),
        "sql": ("sql", "--lake", lake, "SELECT source_id FROM records LIMIT 1"),
        "no source": ("ingest", "--source", gone, "--lake", lake, *_ALONE, "-v"),
        "no log dir": ("cat", "--source", f"{source}/{_HOSTILE}", "-v"),
    }
    for name, call in calls.items():
        found[name] = _called(call, hostile, patch)
    patch.undo()
    return found


def _called(call: tuple[str, ...], folder: Path, patch: pytest.MonkeyPatch) -> _Told:
    """A command with stdout and stderr as Python opens them on a pipe."""
    out, err = folder / "stdout", folder / "stderr"
    with (
        out.open("w", encoding="utf-8") as stdout,
        err.open("w", encoding="utf-8", errors="backslashreplace") as stderr,
        patch.context() as patched,
    ):
        patched.setattr("sys.stdout", stdout)
        patched.setattr("sys.stderr", stderr)
        code = main(call)
    return _Told(code, out.read_text("utf-8") + err.read_text("utf-8"))


def test_no_output_has_what_a_terminal_obeys_or_a_line_of_another(
    told: Mapping[str, _Told],
) -> None:
    codes = {name: said.code for name, said in told.items()}
    wrong = {name: code for name, code in codes.items() if code not in (0, 3)}
    assert wrong == {"no source": 2, "no log dir": 2}
    assert {
        name: _RAW.findall(said.text) for name, said in told.items() if _RAW.search(said.text)
    } == {}
    for name in ("ingest", "replay", "no source", "inspect", "sql"):
        assert "\\x1b[31m" in told[name].text, name


def test_records_for_machines_have_the_names_as_they_are(
    told: Mapping[str, _Told], hostile: Path
) -> None:
    text = told["ingest again"].text
    assert text.isascii()
    lines = [json.loads(line) for line in text.splitlines()]
    notes = [line["message"] for line in lines if line.get("event") == "note"]
    assert any(_HOSTILE in note for note in notes)
    lineage = (hostile / "lineage").read_text("utf-8")
    assert _RAW.search(lineage) is None
    inputs = [of for line in lineage.splitlines() for of in json.loads(line)["inputs"]]
    assert {f"kafka://c{_HOSTILE}", "file"} <= {of["namespace"] for of in inputs}
    metrics = (hostile / "metrics").read_text("utf-8")
    assert _RAW.search(metrics) is None
    assert [*text_string_to_metric_families(metrics)]


def test_the_page_has_the_names_as_text(told: Mapping[str, _Told], hostile: Path) -> None:
    assert told["report"].code in (0, 3)
    page = (hostile / "page.html").read_text("utf-8")
    assert _TAG not in page
    assert "evil()" in page
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", page)


def test_topics_whose_names_differ_little_stay_apart(
    tmp_path: Path, data: Path, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [*((topic, 0) for topic in _TOPICS), (_LONG, 12345)]
    make_log_dir(data, {part: [0, 2] for part in parts})
    assert ingested(data, lake).records == 2 * len(parts)
    wanted = sorted(
        (topic, partition, offset, f"{topic}-{partition}@{offset}".encode())
        for topic, partition in parts
        for offset in (0, 1)
    )
    columns = ["topic", "partition", "offset", "value"]
    assert sorted(polars.read_delta(str(lake / "records"), columns=columns).rows()) == wanted
    folders = {path.name for path in (lake / "records").iterdir()} - {"_delta_log", "_seglake"}
    assert folders == {f"topic={topic}" for topic in _TOPICS}
    source = ("--source", str(data), "--lake", str(lake))
    assert main(["audit", *source, *_ALONE]) == 0
    statement = "SELECT topic, partition, count(*) AS n FROM records GROUP BY ALL"
    capsys.readouterr()
    assert main(["sql", "--lake", str(lake), "--json", statement]) == 0
    answered = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    counted = [(row["topic"], row["partition"], row["n"]) for row in answered]
    assert sorted(counted) == sorted((*part, 2) for part in parts)
    for topic in ("null", "orders", "a.b", "--help"):
        where = f"SELECT value FROM records WHERE topic = '{topic}' AND \"offset\" = 1"
        assert main(["sql", "--lake", str(lake), "--json", where]) == 0
        by_sql = capsys.readouterr().out
        assert by_sql.count("\n") == 1
        glob = f"--topics={topic}"
        assert main(["cat", "--lake", str(lake), glob, "--format", "value", "--limit", "9"]) == 0
        assert capsys.readouterr().out == f"{topic}-0@0\n{topic}-0@1\n"


def test_no_folder_that_kafka_would_not_make_is_a_partition(
    tmp_path: Path, data: Path, lake: Path
) -> None:
    make_log_dir(data, {("orders", 0): [0, 5]})
    for name in _NO_TOPICS:
        shutil.copytree(data / "orders-0", data / f"{name}-0")
    for number in ("00", "+1", "\u0660", "1e3", "2147483648", " 0", "0 "):
        shutil.copytree(data / "orders-0", data / f"orders-{number}")
    before = sorted(tmp_path.iterdir())
    summary = ingested(data, lake)
    assert (summary.records, summary.partitions) == (5, 1)
    assert sorted(tmp_path.iterdir()) == [*before, lake]
    assert {row["topic"] for row in read_table(lake, "records")} == {"orders"}


def test_a_topic_as_long_as_can_be_may_be_on_its_way_out(data: Path, lake: Path) -> None:
    make_log_dir(data, {(_LONG, 0): [0, 5], ("y" * 212, 7): [0, 5], ("z" * 249, 0): [0, 5]})
    mark = "0123456789abcdef" * 2
    (data / f"{_LONG}-0").rename(data / f"{'x' * 213}-0.{mark}-delete")
    (data / f"{'y' * 212}-7").rename(data / f"{'y' * 212}-7.{mark}-future")
    summary = ingested(data, lake)
    assert (summary.records, summary.partitions) == (10, 2)
    assert {row["topic"][0] for row in read_table(lake, "records")} == {"y", "z"}
    assert any("-delete" in note and f"{'x' * 213}-0" in note for note in summary.notes)


def test_links_lead_out_of_a_source_and_what_is_no_file_is_not_opened(
    tmp_path: Path, data: Path, lake: Path
) -> None:
    elsewhere = make_log_dir(tmp_path / "elsewhere", {("far", 0): [0, 10, 20]})
    make_log_dir(data, {("orders", 0): [0, 5], ("near", 0): [0, 10]})
    (data / "far-0").symlink_to(elsewhere / "far-0")
    (data / "near-0" / f"{10:020d}.log").symlink_to(elsewhere / "far-0" / f"{10:020d}.log")
    (data / "loop-0").symlink_to(data)
    (data / "orders-0" / "loop").symlink_to(data)
    (data / "orders-0" / f"{5:020d}.log").symlink_to("/dev/zero")
    os.mkfifo(data / "orders-0" / f"{6:020d}.log")
    (data / "orders-0" / f"{7:020d}.log").symlink_to(tmp_path / "gone")
    summary = ingested(data, lake, read={"upper_bound": "log_end"})
    taken = {(row["topic"], row["offset"], row["value"][:3]) for row in read_table(lake, "records")}
    assert taken == {
        *(("far", offset, b"far") for offset in range(20)),
        *(("near", offset, b"nea") for offset in range(10)),
        *(("near", offset, b"far") for offset in range(10, 20)),
        *(("orders", offset, b"ord") for offset in range(5)),
    }
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
