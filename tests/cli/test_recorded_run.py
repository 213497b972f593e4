"""What a command leaves for machines: events on stderr, a metrics file, lineage."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from seglake.cli.main import COMMANDS, main

_DISK = Path(__file__).parents[2] / "samples" / "broker-0"
_ALONE = ("--engine", "local", "--set", "limits.local_processes=1")
_SECRET = "hush-hush-4711"


def _run(command: str, lake: Path, *options: str) -> int:
    is_without = "--source" in options or command == "maintain"
    source = [] if is_without else ["--source", str(_DISK)]
    return main([command, *source, "--lake", str(lake), *_ALONE, *options])


# Any: values of JSON.
def _events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def _metrics(path: Path) -> dict[str, float]:
    families = text_string_to_metric_families(path.read_text("utf-8"))
    return {
        sample.name.removeprefix("seglake_"): sample.value
        for family in families
        for sample in family.samples
    }


def _lineage(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("command", ["ingest", "audit", "replay", "retake", "maintain"])
def test_every_command_that_works_on_a_lake_is_recorded(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    assert command == "ingest" or _run("ingest", lake, "-q") == 3
    capsys.readouterr()
    metrics, lineage = tmp_path / "seglake.prom", tmp_path / "lineage"
    records = ["--log-format", "json", "--metrics", str(metrics), "--openlineage", str(lineage)]
    expected = 3 if command == "ingest" else 0  # the disk has damage
    assert _run(command, lake, *records) == expected
    events = _events(capsys)
    assert [events[0]["event"], events[-1]["event"]] == ["started", "finished"]
    assert {event["command"] for event in events} == {command}
    assert len({event["run_id"] for event in events}) == 1
    assert {"time", "level"} <= events[0].keys()
    assert "step" in {event["event"] for event in events}
    found = _metrics(metrics)
    assert (found["last_run_exit_code"], found["last_run_success"]) == (expected, 1)
    assert found["last_success_timestamp_seconds"] == found["last_run_timestamp_seconds"]
    begun, done = _lineage(lineage)
    assert (begun["eventType"], done["eventType"]) == ("START", "COMPLETE")
    assert begun["run"]["runId"] == done["run"]["runId"]
    read = [(of["namespace"], of["name"]) for of in begun["inputs"]]
    assert (("file", str(_DISK)) in read) == (command != "maintain")
    assert bool(done["outputs"]) == (command != "audit")


def test_counts_and_places_are_those_of_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics, lineage = tmp_path / "seglake.prom", tmp_path / "lineage"
    records = ["--log-format", "json", "--metrics", str(metrics), "--openlineage", str(lineage)]
    assert _run("ingest", tmp_path / "lake", "--json", "--run-id", "mine", *records) == 3
    out, err = capsys.readouterr()
    summary = json.loads(out)
    events = [json.loads(line) for line in err.splitlines()]
    assert events[-1]["records"] == summary["records"] == 2070
    quarantined = [event for event in events if event["event"] == "quarantined"]
    assert {(of["topic"], of["partition"], of["spans"]) for of in quarantined} == {
        ("v2-none", 1, 1),
        ("v2-zstd", 1, 1),
    }
    found = _metrics(metrics)
    for name in ("records", "batches", "read_bytes", "written_bytes", "quarantined"):
        assert found[f"last_run_{name}"] == summary[name]
    assert found["last_run_gap_offsets"] == 22
    done = _lineage(lineage)[-1]
    topics = {of["name"] for of in done["inputs"] if of["namespace"].startswith("kafka:")}
    assert topics == {*summary["topics"]}
    rows = {
        Path(of["name"]).name: of["outputFacets"].get("outputStatistics", {}).get("rowCount")
        for of in done["outputs"]
    }
    assert (rows["records"], rows["quarantine"]) == (2070, 2)
    assert done["run"]["facets"]["tags"]["tags"][0]["value"] == "mine"


def test_a_failed_run_is_recorded_and_the_last_success_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, metrics, lineage = tmp_path / "lake", tmp_path / "seglake.prom", tmp_path / "lineage"
    assert _run("ingest", lake, "--metrics", str(metrics)) == 3
    before = _metrics(metrics)
    for part in (lake / "checkpoints").rglob("*.parquet"):
        part.unlink()
    capsys.readouterr()
    records = ["--log-format", "json", "--metrics", str(metrics), "--openlineage", str(lineage)]
    assert _run("ingest", lake, *records) == 1
    events = _events(capsys)
    assert (events[-1]["event"], events[-1]["level"]) == ("failed", "error")
    assert events[-1]["exit_code"] == 1
    after = _metrics(metrics)
    assert (after["last_run_exit_code"], after["last_run_success"]) == (1, 0)
    success = "last_success_timestamp_seconds"
    assert after[success] == before[success] < after["last_run_timestamp_seconds"]
    failed = _lineage(lineage)[-1]
    assert failed["eventType"] == "FAIL"
    assert failed["run"]["facets"]["errorMessage"]["message"] == events[-1]["message"]


@pytest.mark.parametrize("option", ["--metrics", "--openlineage"])
def test_a_record_that_cannot_be_is_a_wrong_call(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    assert _run("ingest", lake, option, str(tmp_path / "nowhere" / "x")) == 2
    assert "must name a file in an existing folder" in capsys.readouterr().err
    assert _run("ingest", lake, option, str(tmp_path / "nowhere" / "x"), "--log-format=json") == 2
    assert _events(capsys)[-1]["event"] == "failed"
    assert not lake.exists()


@pytest.mark.parametrize("option", ["--metrics", "--openlineage"])
@pytest.mark.parametrize("kind", ["fifo", "pipe", "stdout in a file", "device", "link to a fifo"])
def test_a_record_replaces_no_pipe_and_waits_for_none(
    option: str, kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lake, fifo, link = tmp_path / "lake", tmp_path / "fifo", tmp_path / "link"
    os.mkfifo(fifo)
    link.symlink_to(fifo)
    reading, writing = os.pipe()  # as a shell's >(cat)
    held = os.open(tmp_path / "kept.txt", os.O_WRONLY | os.O_CREAT)
    place = {
        "fifo": str(fifo),
        "pipe": f"/dev/fd/{writing}",
        "stdout in a file": f"/dev/fd/{held}",
        "device": "/dev/null",
        "link to a fifo": str(link),
    }[kind]
    try:
        assert _run("ingest", lake, option, place) == 2
    finally:
        for number in (reading, writing, held):
            os.close(number)
    said = f"{option} {place} must name a regular file: pipes and devices are not written to"
    assert said in capfd.readouterr().err
    assert (fifo.is_fifo(), link.is_symlink(), lake.exists()) == (True, True, False)
    assert Path("/dev/null").is_char_device()


def test_metrics_go_to_the_file_that_a_link_names(tmp_path: Path) -> None:
    link, file = tmp_path / "link.prom", tmp_path / "file.prom"
    link.symlink_to(file)
    assert _run("ingest", tmp_path / "lake", "--metrics", str(link)) == 3
    assert (link.is_symlink(), file.is_symlink()) == (True, False)
    assert _metrics(file)["last_run_exit_code"] == 3


class _Service(BaseHTTPRequestHandler):
    """Takes events, or refuses them."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        server: Any = self.server
        server.taken.append((self.path, self.headers, json.loads(self.rfile.read(length))))
        self.send_response(server.answer)
        self.end_headers()

    def log_message(self, *shown: object) -> None:
        """Keep stderr clean."""


@pytest.fixture
def service() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), _Service)
    server.taken, server.answer = [], 201
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_lineage_is_sent_with_the_key_of_the_environment(
    service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_API_KEY", _SECRET)
    url = f"http://127.0.0.1:{service.server_port}"
    assert _run("ingest", tmp_path / "lake", "--openlineage", url) == 3
    assert [path for path, _, _ in service.taken] == ["/api/v1/lineage"] * 2
    assert [event["eventType"] for _, _, event in service.taken] == ["START", "COMPLETE"]
    assert service.taken[0][1]["Authorization"] == f"Bearer {_SECRET}"


def test_a_service_that_refuses_is_told_of_and_the_run_is_done(
    service: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service.answer = 401
    url = f"http://127.0.0.1:{service.server_port}"
    assert _run("ingest", tmp_path / "lake", "--openlineage", url) == 3
    err = capsys.readouterr().err
    assert err.count("could not be delivered (the service answered 401)") == 2


def test_stderr_is_json_alone_where_the_service_is_down(service: Any, tmp_path: Path) -> None:
    service.answer = 503
    target = f"http://127.0.0.1:{service.server_port}"
    options = ["--log-format", "json", "--openlineage", target, "--lake", str(tmp_path / "lake")]
    done = subprocess.run(
        [sys.executable, "-m", "seglake", "ingest", "--source", str(_DISK), *_ALONE, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    events = [json.loads(line) for line in done.stderr.splitlines()]
    notices = [event["message"] for event in events if event["event"] == "notice"]
    assert [notice.split(" (")[0] for notice in notices] == [
        f"the OpenLineage event {name} could not be delivered" for name in ("START", "COMPLETE")
    ]


def test_a_url_with_a_password_is_a_wrong_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("ingest", tmp_path, "--openlineage", f"http://me:{_SECRET}@example.org") == 2
    err = capsys.readouterr().err
    assert "OPENLINEAGE_API_KEY" in err
    assert _SECRET not in err


def test_nothing_that_records_need_is_imported_unless_asked_for(tmp_path: Path) -> None:
    program = (
        "import sys; from seglake.cli.main import main; main(sys.argv[1:]);"
        " print(sorted({'openlineage', 'prometheus_client', 'tqdm', 'requests'} & {*sys.modules}))"
    )
    call = ["ingest", "--source", str(_DISK / "v2-lz4-0"), "--lake", str(tmp_path), *_ALONE]
    done = subprocess.run(
        [sys.executable, "-c", program, *call], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr == ""


def test_commands_that_work_on_no_lake_have_no_records() -> None:
    recorded = {"ingest", "audit", "replay", "retake", "maintain", "deserialize"}
    for command in set(COMMANDS) - recorded:
        with pytest.raises(SystemExit):
            main([command, "x", "--metrics", "y"])
