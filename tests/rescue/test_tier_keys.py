"""Keys of encrypted tiers: what a run says without them, and that they are shown nowhere."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from seglake.cli.cat_command import main as cat
from seglake.log_dirs.errors import WrongSourceError
from seglake.pipelines.lake_audit.disk_check.disk_check_report import exit_code, to_text
from seglake.task_engine.engine import Engine
from support import aiven_objects
from support.audits import audited, checked
from support.broker_disks import unpacked
from support.encoder import (
    ControlType,
    Header,
    Partition,
    Producer,
    Record,
    Segment,
    end_marker,
    record_batch,
    topic_id_text,
    write_log_dir,
)
from support.lakes import ingested, replayed
from support.tiers import (
    CLUSTER,
    ENC,
    KEYS,
    LOCAL,
    PLAIN,
    consumed,
    copied,
    gaps_of,
    in_lake,
    new_id,
)

_WITHOUT_KEY = ("plain-0 [0, 380)", "plain-1 [0, 360)", "retained-0 [1160, 1240)", "tx-0 [0, 246)")


def test_keys_are_in_no_file_of_the_lake_and_in_no_output(
    tmp_path: Path, engine: Engine, lake: Path
) -> None:
    disk = unpacked(ENC)
    summary = ingested(disk, lake, isolation="read_committed", engine=engine, tiered=KEYS)
    written = [path.read_bytes() for path in lake.rglob("*") if path.is_file()]
    written += [summary.to_text().encode(), summary.to_json().encode()]
    assert [secret for secret in _secrets(disk) for text in written if secret in text] == []


def test_without_its_key_a_tier_is_a_gap_that_a_replay_fills(engine: Engine, lake: Path) -> None:
    summary = ingested(unpacked(ENC), lake, isolation="read_committed", engine=engine)
    assert summary.exit_code == 3
    found = {detail for _, _, cause, detail in gaps_of(lake, "plain") if cause == "remote"}
    assert len(found) == 1
    assert "the segment is encrypted with key key1: give --tiered-key key1=FILE" in str(found)
    everything = consumed(ENC, "read_committed")
    for name, rows in in_lake(lake).items():
        assert rows == [row for row in everything[name] if row[0] >= rows[0][0]]
    assert replayed(lake, unpacked(ENC), tiered=KEYS).exit_code == 0
    assert in_lake(lake) == everything
    assert audited(lake).exit_code == 0


@pytest.mark.own_spark
def test_keys_are_in_no_event_log_of_spark(tmp_path: Path) -> None:
    events, disk = tmp_path / "events", unpacked(ENC)
    events.mkdir()
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f"""
        [tiered.keys]
        key1 = "{aiven_objects.key_file()}"
        [spark]
        master = "local[1]"
        [spark.properties]
        "spark.eventLog.enabled" = "true"
        "spark.eventLog.compress" = "false"
        "spark.eventLog.dir" = "{events.as_uri()}"
        """
    )
    call = ["ingest", "--source", str(disk), "--lake", str(tmp_path / "lake"), "--config", settings]
    done = subprocess.run(
        [sys.executable, "-m", "seglake", *map(str, call), "-vv"],
        capture_output=True,
        check=False,
        timeout=200,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert done.returncode == 0, done.stderr.decode()
    logs = [path.read_bytes() for path in events.rglob("*") if path.is_file()]
    assert any(b"SparkListenerTaskEnd" in log for log in logs)
    shown = [*logs, done.stdout, done.stderr]
    assert [secret for secret in _secrets(disk) for text in shown if secret in text] == []


def _secrets(disk: Path) -> list[bytes]:
    """Return the private key of a disk's tier in several forms, and its encrypted data keys."""
    key = aiven_objects.key_file().read_bytes()
    numbers = aiven_objects.rsa_key().private_numbers()
    secrets = [key[-64:], str(numbers.d).encode(), hex(numbers.d)[2:].encode()]
    for manifest in (disk / "remote").rglob("*.rsm-manifest"):
        encryption = json.loads(manifest.read_text())["encryption"]
        secrets += [encryption["dataKey"].partition(":")[2].encode(), encryption["aad"].encode()]
    return secrets


def other_key(into: Path) -> Path:
    """A file with a private key that decrypts nothing of the tier."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path = into / "other.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


def test_an_audit_without_the_key_compares_the_rest_and_names_what_it_did_not(lake: Path) -> None:
    disk = unpacked(ENC)
    ingested(disk, lake, isolation="read_committed", tiered=KEYS)
    checks = checked(disk, lake)
    (check,) = [each for each in checks if each.partition == "plain-0"]
    assert check.report.equal == 600 - 380
    text = to_text([check])
    why = "the segment is encrypted with key key1: give --tiered-key key1=FILE, offsets [0, 380)"
    assert f"PROBLEM  not compared: {why}" in text
    assert "380 in the lake only" not in text
    assert exit_code(checks) == 3


def test_another_key_is_a_reason_too(tmp_path: Path, engine: Engine, lake: Path) -> None:
    keys = {"keys": {"key1": str(other_key(tmp_path))}}
    assert (
        ingested(
            unpacked(ENC), lake, isolation="read_committed", engine=engine, tiered=keys
        ).exit_code
        == 3
    )
    details = {str(detail) for *_, cause, detail in gaps_of(lake, "plain") if cause == "remote"}
    assert all("the data key was encrypted for another key" in detail for detail in details)
    assert details


def test_a_key_under_another_id_is_not_tried(engine: Engine, lake: Path) -> None:
    keys = {"keys": {"key2": KEYS["keys"]["key1"]}}
    summary = ingested(unpacked(ENC), lake, isolation="read_committed", engine=engine, tiered=keys)
    assert summary.exit_code == 3
    details = {str(detail) for *_, cause, detail in gaps_of(lake, "plain") if cause == "remote"}
    why = "the segment is encrypted with key key1: give --tiered-key key1=FILE (given: key2)"
    assert [why in detail for detail in details] == [True]


def test_a_file_without_a_private_key_is_a_wrong_call(tmp_path: Path, lake: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_text("-----BEGIN PUBLIC KEY-----")
    with pytest.raises(WrongSourceError, match="the file has a public key"):
        ingested(unpacked(ENC), lake, tiered={"keys": {"key1": str(file)}})


def test_a_dry_run_names_what_the_run_will_not_recover(lake: Path) -> None:
    runs = [ingested(unpacked(ENC), lake, dry_run=dry_run) for dry_run in (True, False)]
    lines = [run.to_text().splitlines() for run in runs]
    dry, real = ([line for line in own if line.startswith("NOT recovered")] for own in lines)
    assert [run.exit_code for run in runs] == [3, 3]
    assert dry == real != []
    assert all("with --tiered-key if it is encrypted" in line for line in dry)
    why = "the segment is encrypted with key key1: give --tiered-key key1=FILE"
    (line,) = (line for line in lines[0] if why in line)
    assert line.startswith("not read: plain-0 [0, 380), plain-1 [0, 360), tx-0 [0, 246) and 1 more")
    assert [line for line in lines[1] if why in line] == [line]
    assert ingested(unpacked(ENC), lake.with_name("other"), tiered=KEYS).exit_code == 0


@pytest.mark.parametrize("given", ["both", "remote"])
def test_a_replay_names_all_offsets_that_it_cannot_decrypt(lake: Path, given: str) -> None:
    ingested(unpacked(ENC), lake)
    source = unpacked(ENC) if given == "both" else unpacked(ENC) / "remote"
    summary = replayed(lake, source, tiered={"keys": {"key2": KEYS["keys"]["key1"]}})
    why = "the segment is encrypted with key key1: give --tiered-key key1=FILE (given: key2)"
    assert {*summary.left_out.values()} == {f"{name}: {why}" for name in _WITHOUT_KEY}
    assert summary.exit_code == 3


def test_a_tier_that_could_mend_damage_is_named_without_its_key(tmp_path: Path, lake: Path) -> None:
    disk = copied(ENC, tmp_path / "disk")
    first = min(disk.remote.rglob("plain-*/0/*.log"))
    damaged = bytearray(first.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    first.write_bytes(damaged)
    ingested(disk.folder, lake, isolation="read_committed", tiered=KEYS)
    ((start, stop, cause, _),) = gaps_of(lake, "plain")
    assert cause == "quarantined"
    why = f"plain-0 [{start}, {stop}): the segment is encrypted with key key1: give --tiered-key"
    later = ingested(unpacked(ENC), lake, isolation="read_committed")
    assert f"not read: {why} key1=FILE" in later.to_text()
    summary = replayed(lake, unpacked(ENC))
    assert (summary.exit_code, [*summary.left_out.values()]) == (3, [f"{why} key1=FILE"])
    assert replayed(lake, unpacked(ENC), tiered=KEYS).exit_code == 0
    assert in_lake(lake) == consumed(ENC, "read_committed")


def test_cat_names_the_offsets_that_it_cannot_read(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["--source", str(unpacked(ENC)), "--topics", "plain", "--partition", "0"]
    assert cat([*call, "--format", "value"]) == 3
    said = capsys.readouterr().err
    assert (
        "seglake: plain-0: the offsets [0, 380) are not read: the segment is encrypted with "
        "key key1" in said
    )
    assert "damage" not in said
    assert cat([*call, "--tiered-key", f"key1={aiven_objects.key_file()}"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["offset"] for line in lines] == list(range(600))


def test_an_encrypted_tier_alone_without_its_key_is_left_out_until_it_is_given(lake: Path) -> None:
    tier = unpacked(ENC) / "remote"
    summary = ingested(tier, lake, isolation="read_committed", source=CLUSTER)
    assert (summary.exit_code, summary.records) == (3, 0)
    why = "the segment is encrypted with key key1: give --tiered-key key1=FILE"
    assert summary.left_out["plain-0"] == f"plain-0: {why}"
    assert {*summary.left_out} == {*consumed(ENC, "read_committed")}
    ingested(tier, lake, isolation="read_committed", source=CLUSTER, tiered=KEYS)
    assert in_lake(lake)["plain-0"]


def test_an_audit_names_offsets_that_wait_behind_a_segment_without_its_key(
    tmp_path: Path, lake: Path
) -> None:
    topic_id = uuid.uuid4()
    of_topic = topic_id_text(topic_id)
    header = Header(producer=Producer(7, 0, 0), is_transactional=True)
    open_one = record_batch(1, [Record(b"k")], header).data
    logs = [record_batch(0, [Record(b"first")]).data + open_one]
    logs.append(end_marker(2, ControlType.COMMIT, producer_id=7).data)
    for start, log, end in zip((0, 2), logs, (1, 2), strict=True):
        stored = aiven_objects.stored(
            log,
            64,
            encrypted=bool(start),
            start_offset=start,
            end_offset=end,
            topic="tx",
            topic_id=of_topic,
            segment_id=new_id(),
        )
        stored.write(tmp_path / "tier" / f"tx-{of_topic}" / "0", start)
    local = [Segment(3, [record_batch(3, [Record(b"later")])])]
    write_log_dir(
        tmp_path / "disk", [Partition("tx", 0, local, topic_id=topic_id, log_start_offset=0)]
    )
    sources = [tmp_path / "disk", tmp_path / "tier"]
    assert ingested(sources, lake, isolation="read_committed").exit_code == 3
    assert [row[0] for row in in_lake(lake)["tx-0"]] == [0]
    audit = audited(lake)
    why = "the segment is encrypted with key key1: give --tiered-key key1=FILE"
    said = f"not ingested yet: tx-0: unreadable in the remote tier: [2, 3): {why}"
    assert (audit.exit_code, audit.problems) == (3, (said,))
    assert ingested(sources, lake, isolation="read_committed", tiered=KEYS).exit_code == 0
    assert audited(lake).exit_code == 0
    assert [row[0] for row in in_lake(lake)["tx-0"]] == [0, 1, 3]


def test_an_audit_names_a_partition_that_was_left_out_for_want_of_its_key(lake: Path) -> None:
    tier = unpacked(ENC) / "remote"
    ingested(unpacked(LOCAL) / "data", lake)
    summary = ingested([tier], lake, source={"source_id": "tiered"})
    assert summary.exit_code == 3
    audit = audited(lake)
    assert audit.exit_code == 3
    why = "the segment is encrypted with key key1: give --tiered-key key1=FILE"
    assert f"left out: plain-0: {why}" in audit.problems
    ingested([tier], lake, source={"source_id": "tiered"}, tiered=KEYS)
    assert audited(lake).exit_code == 0


@pytest.mark.parametrize("scenario", [PLAIN, ENC])
def test_a_key_that_nothing_needs_is_noted_when_segments_are_read(
    scenario: str, lake: Path
) -> None:
    runs = [ingested(unpacked(scenario), lake, tiered=KEYS).to_text() for _ in range(2)]
    note = "no segment that this run has read needs a given key (key1): none is encrypted"
    assert [note in run for run in runs] == [scenario != ENC, False]


def test_a_key_that_is_given_in_place_of_its_file_is_not_shown(lake: Path) -> None:
    secret = "-----BEGIN PRIVATE KEY-----\nMIIEvQ"
    with pytest.raises(WrongSourceError, match="key key1: this is the key itself") as refused:
        ingested(unpacked(ENC), lake, tiered={"keys": {"key1": secret}})
    assert "MIIEvQ" not in str(refused.value)
