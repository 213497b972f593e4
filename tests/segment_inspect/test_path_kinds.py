"""What a file is, by its name."""

import pytest

from seglake.pipelines.segment_inspect.path_kinds import PathKind, kind_of_file

_BASE = "00000000000000000042"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (f"{_BASE}.log", PathKind.LOG),
        (f"{_BASE}.log.deleted", PathKind.LOG),
        (f"{_BASE}.index", PathKind.INDEX),
        (f"{_BASE}.timeindex.swap", PathKind.TIMEINDEX),
        (f"{_BASE}.txnindex", PathKind.TXNINDEX),
        (f"{_BASE}.snapshot", PathKind.SNAPSHOT),
        (f"{_BASE}-0000000003.checkpoint", PathKind.KRAFT_SNAPSHOT),
        (f"{_BASE}-0000000003.checkpoint.part", PathKind.KRAFT_SNAPSHOT),
        ("replication-offset-checkpoint", PathKind.OFFSET_CHECKPOINT),
        ("log-start-offset-checkpoint", PathKind.OFFSET_CHECKPOINT),
        ("leader-epoch-checkpoint", PathKind.LEADER_EPOCHS),
        ("partition.metadata", PathKind.PARTITION_METADATA),
        ("meta.properties", PathKind.META_PROPERTIES),
        (".kafka_cleanshutdown", PathKind.UNKNOWN),
        ("42.log", PathKind.UNKNOWN),
        (f"{_BASE}-3.checkpoint", PathKind.UNKNOWN),
        ("", PathKind.UNKNOWN),
    ],
)
def test_kind_follows_from_the_name(name: str, kind: PathKind) -> None:
    assert kind_of_file(name) is kind
