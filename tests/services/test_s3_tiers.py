"""How often an ingest asks S3 for the objects of a remote tier, by the log of a real server."""

import re
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from support.broker_disks import unpacked
from support.lakes import ingested_from
from support.servers.s3_server import S3Server
from support.tiers import KEYS, TIERS, consumed, in_lake, later_uploads

pytestmark = [pytest.mark.s3, pytest.mark.timeout(1500)]  # the server may have to be built

_LINE = re.compile(r" s3_(GetObject|HeadObject) \S+ (/\S+)")


@pytest.mark.parametrize("parts", [("data", "remote"), ("remote",)], ids="_and_".join)
@pytest.mark.parametrize(
    "scenario",
    TIERS,
)
def test_a_new_segment_costs_two_requests_beside_its_data_and_a_known_one_none(
    scenario: str, parts: tuple[str, ...], s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    disk, folder, lake = unpacked(scenario), s3.make_bucket(bucket), tmp_path / "lake"
    shutil.copytree(disk / "data", folder / "data")
    # Beside a disk with events, an upload that is not there is searched for.
    for first, stop in pairwise((0, 99, 99) if len(parts) > 1 else (0, 3, 99, 99)):
        new = later_uploads(disk / "remote", folder / "remote", first, stop)
        start = s3.request_count()
        ingested_from(
            [f"s3://{bucket}/{part}" for part in parts],
            lake,
            s3.properties(),
            read={"isolation": "read_committed"},
            tiered=KEYS,
            source={"source_id": "tiered"} if parts == ("remote",) else {},
        )
        asked = _asked(s3, start, f"/{bucket}/remote/")
        whole = {path for _, path in asked if path.endswith((".log", "-manifest"))}
        assert {Path(path).stem for _, path in asked} <= new
        assert not any(method == "HeadObject" for method, _ in asked)
        beside = Counter({path: count for (_, path), count in asked.items() if path not in whole})
        of_segment = Counter(Path(path).stem for path in beside.elements())
        # LocalTieredStorage has no manifests: the index leads to the end, a file has the epochs.
        # Few segments have an index of aborted transactions.
        of_segment.subtract(Path(path).stem for path in beside if path.endswith(".txnindex"))
        assert max(of_segment.values(), default=0) <= (2 if parts == ("remote",) else 0)
        manifests = [count for (_, path), count in asked.items() if path.endswith("-manifest")]
        # In a tier alone, the first one of a new partition also names the topic.
        assert max(manifests, default=0) <= (2 if parts == ("remote",) and not first else 1)
    everything, found = consumed(scenario, "read_committed"), in_lake(lake)
    assert {name: everything[name][: len(rows)] for name, rows in found.items()} == found
    assert len(parts) == 1 or found == everything


def _asked(s3: S3Server, start: int, place: str) -> Counter[tuple[str, str]]:
    """Requests for objects below a place since a line of the log, by method and path."""
    assert s3.requests is not None
    found = map(_LINE.search, s3.requests.read_text().splitlines()[start:])
    return Counter((each[1], each[2]) for each in found if each is not None and place in each[2])
