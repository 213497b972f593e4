"""Events of a tier, read from disks whose broker may be running."""

from pathlib import Path

import pytest

from seglake.kafka_log.internal_topics import REMOTE_LOG_METADATA
from seglake.log_dirs.discovery import discover
from seglake.log_dirs.tier_events import read_events
from seglake.storage.local_storage import LocalStorage
from support.tiers import DELETE_STARTED, LOCAL, add_events, copied, id_of, updated


@pytest.mark.parametrize("grows", [True, False])
def test_an_event_that_came_after_the_listing_is_missing_only_if_its_log_has_not_grown(
    grows: bool, tmp_path: Path
) -> None:
    disk, storage = copied(LOCAL, tmp_path / "disk"), LocalStorage()
    place = disk.place("plain")
    found = discover([str(disk.data)], storage, selects_topic=REMOTE_LOG_METADATA.__eq__)
    if grows:
        segment_id = id_of(place.objects()[0])
        add_events(disk, segment_id, updated(place, segment_id, DELETE_STARTED))
    unreadable: dict[str, str] = {}
    for copy in found.replicas:
        end = (copy.checkpoints.high_watermark or 0) + 1  # read after the event was written
        read_events(
            storage,
            [copy._replace(checkpoints=copy.checkpoints._replace(high_watermark=end))],
            unreadable,
        )
    assert len(unreadable) == len(found.replicas) - grows
