"""A bucket's policy keeps the topics below a prefix from a reader, as docs/access.md says."""

import json
import os
from collections.abc import Iterator, Mapping

import pytest

from seglake.cli.main import main
from support.encoder import Partition, Record, Segment, record_batch, write_log_dir
from support.servers import s3_server
from support.servers.s3_server import S3Server

pytestmark = [pytest.mark.s3, pytest.mark.timeout(600)]

_READER, _SECRET = "reader", "secret-of-the-reader"
_BUCKET = "arn:aws:s3:::bucket"
_STATEMENTS = (
    ("Allow", "s3:ListBucket", _BUCKET),
    ("Allow", "s3:GetObject", f"{_BUCKET}/lake/*"),
    ("Deny", "s3:GetObject", f"{_BUCKET}/lake/records/topic=customers/*"),
)
_POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": effect, "Principal": {"AWS": [_READER]}, "Action": [action], "Resource": [place]}
        for effect, action, place in _STATEMENTS
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server with a lake of two topics in a bucket, and with a reader who may not see one."""
    folder = tmp_path_factory.mktemp("policy")
    account = {"access": _READER, "secret": _SECRET, "role": "user"}
    (folder / "users.json").write_text(json.dumps({"accessAccounts": {_READER: account}}))
    logs = [
        Partition(topic, 0, [Segment(0, [record_batch(0, [Record(b"k", b"v")])])])
        for topic in ("customers", "orders")
    ]
    write_log_dir(folder / "disk", logs)
    with s3_server.versitygw(folder / "server", "--iam-dir", str(folder)) as server:
        server.make_bucket("bucket")
        ingest = ("ingest", "--source", str(folder / "disk"), "--lake", "s3://bucket/lake")
        options = ("--engine", "local", "--set", "limits.local_processes=1")
        with pytest.MonkeyPatch.context() as patch:
            _use(patch, server.environment())
            assert main([*ingest, *options]) == 0
        os.setxattr(server.folder / "bucket", "user.policy", json.dumps(_POLICY).encode())
        yield server


def _use(patch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        patch.setenv(name, value)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT count(*) FROM checkpoints", 0),
        ("SELECT count(*) FROM quarantine", 0),
        ("SELECT count(key) FROM records", 1),
        ("SELECT count(key) FROM topic_customers", 1),
    ],
)
def test_a_reader_gets_no_record_of_a_denied_prefix_and_is_told_so(
    server: S3Server,
    query: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keys = {"AWS_ACCESS_KEY_ID": _READER, "AWS_SECRET_ACCESS_KEY": _SECRET}
    _use(monkeypatch, {**server.environment(), **keys})
    assert main(["sql", "--lake", "s3://bucket/lake", "--csv", query]) == code
    errors = capsys.readouterr().err
    if code:
        assert "cannot open s3://bucket/lake/records/topic=customers/" in errors
        assert errors.count("\n") == 1
        assert ".py(" not in errors
