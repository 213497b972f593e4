"""A commit whose answer is lost, or comes late: it happened, and the run does not know."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from seglake.errors import SeglakeError
from support.accounts import imbalances_of
from support.cases import cases
from support.lake_accounts import incomplete, rows_of, unpublished
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
    (Loss.ANSWER, "batches"),
    (Loss.ANSWER, "checkpoints"),
    (Loss.LATE, "checkpoints"),
]


@pytest.fixture(scope="module")
def proxy(s3: S3Server) -> Iterator[LossyProxy]:
    with lossy_proxy(s3) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_log_dir(tmp_path_factory.mktemp("lost") / "data", _EDGES)


@pytest.fixture(scope="module")
def clean(s3: S3Server, disk: Path) -> dict[str, list[str]]:
    """The rows of a run whose answers all came."""
    bucket = s3.make_bucket("clean")
    ingested_at(str(disk), "s3://clean/lake", s3.properties())
    return rows_of(bucket / "lake")


@pytest.mark.parametrize(("loss", "commit"), cases(_CASES, telling=_TELLING))
def test_it_is_known_again_and_every_row_comes_once(
    loss: Loss,
    commit: str,
    s3: S3Server,
    proxy: LossyProxy,
    disk: Path,
    bucket: str,
    clean: dict[str, list[str]],
) -> None:
    lake = f"s3://{bucket}/lake"
    with_nothing = make_log_dir(disk.parent / bucket, {("elsewhere", 0): [0, 0]})
    ingested_at(str(with_nothing), lake, s3.properties())  # the tables are there
    other = partial(ingested_at, str(disk), lake, s3.properties())
    proxy.lose(_COMMITS.index(commit), loss, meanwhile=other)
    with suppress(SeglakeError):  # a run may give up: the next one goes on
        ingested_at(str(disk), lake, proxy.server.properties())
    assert commit in proxy.commits[_COMMITS.index(commit)]
    folder = s3.folder / bucket / "lake"
    assert incomplete(folder) == []
    ingested_at(str(disk), lake, s3.properties())
    assert is_nothing_new(ingested_at(str(disk), lake, s3.properties()))
    assert rows_of(folder) == clean
    assert [*incomplete(folder), *unpublished(folder), *imbalances_of(folder)] == []
