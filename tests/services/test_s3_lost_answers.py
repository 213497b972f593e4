"""A commit whose answer is lost, or comes late: it happened, and the run does not know."""

import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from seglake.errors import SeglakeError
from seglake.lake.delta_tables import LakeTables
from seglake.lake.table_creation import create_missing
from seglake.storage.storages import Storages
from support.cases import cases
from support.lake_accounts import incomplete, left_behind, rows_of, unpublished
from support.made_logs import make_log_dir
from support.remote_runs import ingested_at
from support.servers.lossy_proxy import Loss, LossyProxy, lossy_proxy
from support.servers.s3_server import S3Server
from support.taken import is_nothing_new

pytestmark = [pytest.mark.s3, pytest.mark.timeout(1500)]  # the server may have to be built

_EDGES = {("orders", 0): [0, 40, 80], ("payments", 0): [0, 30, 90]}
_COMMITS = ("redo", "records", "batches", "quarantine", "gaps", "checkpoints", "observations")
_CASES = [(loss, commit) for loss in Loss for commit in _COMMITS]
_TELLING = [
    *((loss, "records") for loss in Loss),
    (Loss.ANSWER, "redo"),
    (Loss.ANSWER, "checkpoints"),
]


@pytest.fixture(scope="module")
def proxy(s3: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LossyProxy]:
    with lossy_proxy(s3, tmp_path_factory.mktemp("proxy")) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_log_dir(tmp_path_factory.mktemp("lost") / "data", _EDGES))


@pytest.fixture(scope="module")
def clean(s3: S3Server, disk: str) -> dict[str, list[str]]:
    """The rows of a run whose answers all came."""
    bucket = s3.make_bucket("clean")
    ingested_at(disk, "s3://clean/lake", s3.properties())
    return rows_of(bucket / "lake")


@pytest.mark.parametrize(("loss", "commit"), cases(_CASES, telling=_TELLING))
def test_it_is_known_again_and_every_row_comes_once(
    loss: Loss,
    commit: str,
    s3: S3Server,
    proxy: LossyProxy,
    disk: str,
    bucket: str,
    clean: dict[str, list[str]],
) -> None:
    lake = f"s3://{bucket}/lake"
    create_missing(LakeTables(lake, Storages(s3.properties())))
    number = _COMMITS.index(commit)
    proxy.lose(number, loss, meanwhile=_another_run(disk, lake, s3))
    with suppress(SeglakeError):  # a run may give up: the next one goes on
        ingested_at(disk, lake, proxy.server.properties())
    assert f"/{commit}/" in proxy.commits()[number]
    folder = s3.folder / bucket / "lake"
    assert incomplete(folder) == []
    ingested_at(disk, lake, s3.properties())
    assert is_nothing_new(ingested_at(disk, lake, s3.properties()))
    assert rows_of(folder) == clean
    assert [*incomplete(folder), *unpublished(folder), *left_behind(folder)] == []


def _another_run(disk: str, lake: str, server: S3Server) -> list[str]:
    """The command of one that comes and goes while a commit waits."""
    variables = [f"{name}={value}" for name, value in server.environment().items()]
    paths = f"PYTHONPATH={':'.join(path for path in sys.path if path)}"
    command = [sys.executable, "-m", "seglake", "ingest", "--source", disk, "--lake", lake]
    return ["env", *variables, paths, *command, "--engine", "local"]
