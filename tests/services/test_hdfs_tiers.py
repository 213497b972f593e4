"""How often an ingest asks a name node for the objects of a remote tier, by its own counts."""

from itertools import pairwise
from pathlib import Path

import pytest

from seglake.storage.hadoop_properties import HadoopProperties
from support.broker_disks import unpacked
from support.hdfs_runs import put
from support.lakes import ingested_from
from support.servers.hdfs_cluster import HdfsCluster
from support.tiers import KEYS, TIERS, consumed, in_lake, later_uploads

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(900)]  # the JARs may have to be fetched

_OPEN = "GetBlockLocations"
# Its manifest, once; its data, for the survey and for the task that decodes. LocalTieredStorage has
# no manifests: the end is read from the data by its index, the epochs from a file beside it.
_OF_A_SEGMENT = {True: 3, False: 5}


@pytest.mark.parametrize(
    "scenario",
    TIERS,
)
def test_a_new_segment_of_a_tier_is_opened_a_few_times_and_a_known_one_never(
    scenario: str, hdfs: HdfsCluster, hdfs_folder: str, tmp_path: Path
) -> None:
    remote, lake = unpacked(scenario) / "remote", tmp_path / "lake"
    manifests = [*remote.rglob("*.rsm-manifest")]
    for first, stop in pairwise((0, 3, 99, 99)):
        step = tmp_path / f"{first}-{stop}"
        new = later_uploads(remote, step, first, stop)
        put(step, hdfs, hdfs_folder)
        before = hdfs.call_counts().get(_OPEN, 0)
        ingested_from(
            [f"{hdfs.uri}{hdfs_folder}"],
            lake,
            HadoopProperties(hdfs.properties),
            read={"isolation": "read_committed"},
            tiered=KEYS,
            source={"source_id": "tiered"},
        )
        opened = hdfs.call_counts().get(_OPEN, 0) - before
        assert bool(opened) == bool(new)
        # The first manifest of a partition also names the topic; few segments have aborted ones.
        more = len({path.parent for path in manifests}) * (first == 0)
        more += len([*step.rglob("*.txnindex")])
        assert opened <= _OF_A_SEGMENT[bool(manifests)] * len(new) + more
    everything, found = consumed(scenario, "read_committed"), in_lake(lake)
    assert {name: everything[name][: len(rows)] for name, rows in found.items()} == found
