"""How often an ingest asks S3 for the objects of a remote tier, by the log of a real server."""

import io
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.run_context import ScanContext
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.progress.run_reporter import RunReporter
from seglake.settings.settings import Settings
from seglake.storage.storages import Storages
from seglake.task_engine.engine import LocalEngine
from support import aiven_objects
from support.broker_disks import unpacked
from support.servers.s3_server import S3Server
from support.tiers import consumed, in_lake

pytestmark = [pytest.mark.s3, pytest.mark.timeout(1500)]  # the server may have to be built

_LINE = re.compile(r" s3_(GetObject|HeadObject) \S+ (/\S+)")
_KEYS = {"keys": {"key1": str(aiven_objects.key_file())}}
_EVERY = [
    ("30_tier_aiven_plain", {}),
    ("31_tier_aiven_zstd", {}),
    ("32_tier_aiven_enc", _KEYS),
    ("33_tier_local", {}),
]


class Requests(NamedTuple):
    """Requests for the objects of a tier, by method and suffix, and the most for one manifest."""

    counts: Counter[tuple[str, str]]
    of_a_manifest: int


def _since(s3: S3Server, start: int, place: str) -> Requests:
    """What was asked below a place since a line of the log; listings are not counted."""
    assert s3.requests is not None
    found = [_LINE.search(line) for line in s3.requests.read_text().splitlines()[start:]]
    asked = [(each[1], each[2]) for each in found if each is not None and place in each[2]]
    counts = Counter((method, path.rpartition(".")[2]) for method, path in asked)
    manifests = Counter(path for _, path in asked if path.endswith(".rsm-manifest"))
    return Requests(counts, max(manifests.values(), default=0))


def _run(
    sources: Sequence[str], lake: Path, tiered: Mapping[str, Any], s3: S3Server
) -> IngestSummary:
    """Ingest into a local lake."""
    layer = {"read": {"isolation": "read_committed"}, "tiered": tiered}
    with LocalEngine(1) as engine:
        scan = ScanContext(
            storage=Storages(s3.properties()),
            settings=Settings.from_mappings([("test", layer)]),
            engine=engine,
            reporter=RunReporter(io.StringIO()),
        )
        return ingest(sources, str(lake), scan)


@pytest.mark.parametrize(("scenario", "tiered"), _EVERY)
def test_a_new_segment_costs_two_requests_beside_its_data_and_a_known_one_none(
    scenario: str, tiered: dict[str, Any], s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    disk, lake = unpacked(scenario), tmp_path / "lake"
    shutil.copytree(disk, s3.make_bucket(bucket), dirs_exist_ok=True)
    sources = [f"s3://{bucket}/{name}" for name in ("data", "remote")]
    start = s3.request_count()
    assert _run(sources, lake, tiered, s3).exit_code == 0
    assert in_lake(lake) == consumed(scenario, "read_committed")
    first = _since(s3, start, f"/{bucket}/remote/")
    assert first.counts["GetObject", "log"]
    assert first.of_a_manifest <= 2  # by the survey, and by the task that decodes
    assert not {("HeadObject", "log"), ("HeadObject", "rsm-manifest")} & first.counts.keys()
    start = s3.request_count()
    assert _run(sources, lake, tiered, s3).records == 0
    assert _since(s3, start, f"/{bucket}/remote/").counts == {}
