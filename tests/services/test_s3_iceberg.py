"""Iceberg's metadata of a lake on S3, as a reader finds it there."""

from collections import Counter
from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

import seglake
from support.lakes import read_table
from support.remote_runs import ingested_at
from support.servers.s3_server import S3Server

pytestmark = [pytest.mark.s3, pytest.mark.timeout(1500)]  # the server may have to be built

_DISK = Path(__file__).parents[2] / "samples" / "broker-0"


def test_reader_on_s3_gets_the_rows(
    s3: S3Server, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, folder = f"s3://{bucket}/lake", f"s3a://{bucket}/iceberg"
    ingested_at(str(_DISK), lake, s3.properties())
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    for is_new in (True, False):
        done = seglake.register(lake, "kafka", iceberg=folder)
        assert (done.database, bool(done.new)) == (f"s3://{bucket}/iceberg/kafka", is_new)
    properties = {"s3.endpoint": s3.endpoint, "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"}
    found = StaticTable.from_metadata(f"{done.database}/records", properties)
    topics = Counter(row["topic"] for row in found.scan().to_arrow().to_pylist())
    rows = read_table(s3.folder / bucket / "lake", "records")
    assert topics == Counter(row["topic"] for row in rows)
