"""Several runs at once on one lake: a store that honours conditions loses nothing."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.lake.delta_tables import LakeTables
from seglake.lake.errors import UnsafeStoreError
from seglake.lake.table_creation import create_missing
from seglake.storage.storages import Storages
from support import remote_runs
from support.found import concurrent_ranges
from support.made_logs import made_records, make_log_dir
from support.meanwhile import Meanwhile, once
from support.remote_runs import ingested_at, run_together
from support.servers import s3_server
from support.servers.s3_server import S3Server
from support.taken import is_nothing_new, records_taken

pytestmark = [pytest.mark.s3, pytest.mark.timeout(1500)]  # the server may have to be built

_EDGES = {("orders", 0): [0, 40, 80], ("payments", 0): [0, 30, 90]}
_ROUNDS = 25
_DRIVERS = 2


@pytest.fixture(scope="module")
def unsafe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server that ignores conditions."""
    with s3_server.rclone(tmp_path_factory.mktemp("unsafe")) as server:
        server.make_bucket("bucket")
        yield server


def _wins(server: S3Server, lake: str, folder: Path) -> list[int]:
    """How many drivers won each round of a race to commit the same."""
    create_missing(LakeTables(lake, Storages(server.properties())), is_single_writer=True)
    won = run_together(
        remote_runs.commit_beside_others, folder, _DRIVERS, lake, _ROUNDS, server.hadoop()
    )
    return [sum(map(bool, each)) for each in zip(*won, strict=True)]


def test_of_two_commits_at_once_one_wins(s3: S3Server, bucket: str, tmp_path: Path) -> None:
    assert _wins(s3, f"s3://{bucket}/lake", tmp_path) == [1] * _ROUNDS


def test_both_win_on_a_store_that_ignores_conditions(unsafe: S3Server, tmp_path: Path) -> None:
    assert max(_wins(unsafe, "s3://bucket/raced", tmp_path)) > 1


def test_two_runs_at_once_take_every_record_once(s3: S3Server, bucket: str, tmp_path: Path) -> None:
    source = make_log_dir(tmp_path / "data", _EDGES)
    lakes = [f"s3://{bucket}/lake-{number}" for number in range(3)]
    endings = run_together(
        remote_runs.ingest_beside_others, tmp_path, _DRIVERS, str(source), lakes, s3.hadoop()
    )
    expected = made_records({key: range(stops[-1]) for key, stops in _EDGES.items()})
    for number, lake in enumerate(lakes):
        assert records_taken(s3.folder / bucket / f"lake-{number}") == expected
        assert is_nothing_new(ingested_at(str(source), lake, s3.properties()))
    assert {code for ending in endings for code, _ in ending} == {0}


def test_a_store_that_ignores_conditions_is_refused_and_left_as_it_was(
    unsafe: S3Server, tmp_path: Path
) -> None:
    source = make_log_dir(tmp_path / "data", _EDGES)
    with pytest.raises(UnsafeStoreError, match=r"write\.single_writer = true"):
        ingested_at(str(source), "s3://bucket/refused", unsafe.properties())
    assert not list((unsafe.folder / "bucket").glob("refused/**/*.*"))


def test_a_single_writer_may_use_it(unsafe: S3Server, tmp_path: Path) -> None:
    source = make_log_dir(tmp_path / "data", _EDGES)
    sections: Mapping[str, Mapping[str, object]] = {"write": {"single_writer": True}}
    for _ in range(2):
        summary = ingested_at(
            str(source), "s3://bucket/single", unsafe.properties(), sections=sections
        )
    assert is_nothing_new(summary)
    expected = made_records({key: range(stops[-1]) for key, stops in _EDGES.items()})
    assert records_taken(unsafe.folder / "bucket" / "single") == expected


def test_who_is_slower_is_told_of_the_other(s3: S3Server, bucket: str, tmp_path: Path) -> None:
    source, lake = str(make_log_dir(tmp_path / "data", _EDGES)), f"s3://{bucket}/lake"
    others: list[IngestSummary] = []
    engine = Meanwhile(once(lambda: others.append(ingested_at(source, lake, s3.properties()))))
    summary = ingested_at(source, lake, s3.properties(), engine=engine)
    (other,) = others
    assert {lost.run_id for lost in concurrent_ranges(summary)} == {other.run_id}
    assert is_nothing_new(ingested_at(source, lake, s3.properties()))
