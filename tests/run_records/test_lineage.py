"""Events of OpenLineage, built and checked by its own classes."""

import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from seglake.errors import WrongCallError
from seglake.run_records.lineage import Lineage, dataset_name
from seglake.run_records.run_record import RunEnd, RunStart

_START = RunStart(
    command="ingest",
    run_id="0" * 32,
    engine="local",
    sources=["/disk"],
    lake="s3a://bucket/lake",
    writes=True,
)


@pytest.mark.parametrize(
    ("uri", "named"),
    [
        ("/data/lake/records", ("file", "/data/lake/records")),
        ("file:///data/lake", ("file", "/data/lake")),
        ("s3a://bucket/lake/records", ("s3://bucket", "lake/records")),
        ("hdfs://host:9000/lake", ("hdfs://host:9000", "/lake")),
    ],
)
def test_a_place_has_the_name_that_others_give_it(uri: str, named: tuple[str, str]) -> None:
    assert dataset_name(uri) == named


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (RunEnd(exit_code=0, seconds=1, summary={}), "COMPLETE"),
        (RunEnd(exit_code=3, seconds=1, summary={}), "COMPLETE"),
        (RunEnd(exit_code=1, seconds=1, summary={}, error=OSError("disk")), "FAIL"),
        (RunEnd(exit_code=130, seconds=1, summary={}, error=KeyboardInterrupt()), "ABORT"),
    ],
)
def test_a_run_ends_as_its_exit_code_says(end: RunEnd, state: str, tmp_path: Path) -> None:
    path = tmp_path / "events"
    lineage = Lineage(str(path), pytest.fail)
    lineage.begin(_START)
    lineage.end(_START, end)
    begun, ended = map(json.loads, path.read_text("utf-8").splitlines())
    assert (begun["eventType"], ended["eventType"]) == ("START", state)
    assert begun["run"]["runId"] == ended["run"]["runId"] == "00000000-0000-0000-0000-000000000000"
    assert begun["outputs"][0]["namespace"] == "s3://bucket"
    assert ("errorMessage" in ended["run"]["facets"]) == (end.error is not None)


def test_a_label_that_is_no_uuid_gets_one_for_each_run(tmp_path: Path) -> None:
    path = tmp_path / "events"
    for _ in range(2):  # as a retry has the same label
        lineage = Lineage(str(path), pytest.fail)
        lineage.begin(replace(_START, run_id="scheduled__2026-11-22"))
    first, second = map(json.loads, path.read_text("utf-8").splitlines())
    assert first["run"]["runId"] != second["run"]["runId"]
    assert first["run"]["facets"]["tags"]["tags"][0]["value"] == "scheduled__2026-11-22"


def test_internal_topics_have_their_tables_among_the_outputs(tmp_path: Path) -> None:
    path = tmp_path / "events"
    lineage = Lineage(str(path), pytest.fail)
    lineage.begin(_START)
    summary = {"topics": ["orders", "__consumer_offsets"], "source_id": "c"}
    lineage.end(_START, RunEnd(exit_code=0, seconds=1, summary=summary))
    event = json.loads(path.read_text("utf-8").splitlines()[-1])
    assert "lake/consumer_offsets" in {output["name"] for output in event["outputs"]}
    assert "lake/cluster_metadata" not in {output["name"] for output in event["outputs"]}


def test_a_service_that_is_not_there_is_told_of() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    told: list[str] = []
    Lineage(f"http://127.0.0.1:{port}", told.append).begin(_START)
    assert told == ["the OpenLineage event START could not be delivered (ConnectionError)"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("https://name@host/api", "must have no secret"),
        ("https://:word@host/api", "must have no secret"),
        ("https://host/api?key=word", "must have no secret"),
        ("none/events", "must name a file in an existing folder"),
        (".", "must name a file in an existing folder"),
    ],
)
def test_a_secret_in_the_url_and_a_file_that_cannot_be_are_wrong_calls(
    target: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongCallError, match=said) as error:
        Lineage(target, pytest.fail)
    assert "word" not in str(error.value)


@pytest.mark.parametrize("command", ["ingest", "deserialize"])
def test_a_run_reads_what_it_decodes_and_writes_its_own_tables(
    command: str, tmp_path: Path
) -> None:
    path = tmp_path / "events"
    start = replace(_START, command=command, sources=[], lake="/lake")
    Lineage(str(path), pytest.fail).begin(start)
    [event] = map(json.loads, path.read_text("utf-8").splitlines())
    inputs, outputs = ([each["name"] for each in event[side]] for side in ("inputs", "outputs"))
    assert inputs == (["/lake/records"] if command == "deserialize" else [])
    assert ("/lake/records" in outputs) == (command == "ingest")
    assert ("/lake/value_rejects" in outputs) == (command == "deserialize")
