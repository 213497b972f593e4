"""Files, folders and partitions that are unread after a run. Reads the lake."""

from collections.abc import Collection, Iterable
from operator import attrgetter
from typing import NamedTuple

from seglake.ingest_steps.report.left_out import LeftOut, is_below
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.internal_topics import CLUSTER_METADATA
from seglake.kafka_log.observation import Observation, UnreadPlace
from seglake.kafka_log.replica import PartitionKey
from seglake.log_tables.named_partitions import named_partitions
from seglake.log_tables.observation_rows import observed_partitions
from seglake.log_tables.source_ledger import SourceLedger
from seglake.segment_codec.formats.side_files.log_dir import parse_folder_name
from seglake.settings.settings import SelectSettings


class StandingPlaces(NamedTuple):
    """Files, folders and partitions that are unread after a run.

    Attributes:
        every: all unread places, including those from earlier runs with other sources.
        of_run: unread places in this run's sources, and partitions that only the metadata log
            names.
        new_names: partitions that only the metadata log names and that no earlier run has reported.
    """

    every: tuple[UnreadPlace, ...] = ()
    of_run: tuple[UnreadPlace, ...] = ()
    new_names: tuple[UnreadPlace, ...] = ()


def standing_places(
    left: LeftOut,
    earlier: Collection[UnreadPlace],
    seen: Iterable[Observation],
    ledger: SourceLedger,
    context: RunContext,
    *,
    has_news: bool,
) -> StandingPlaces:
    """Return the places that are unread after a run.

    A place is no longer unread once the lake has its offsets, from any copy.

    Args:
        left: files and ranges that the run did not read.
        earlier: places that were unread before the run.
        seen: the run's observation of each partition.
        ledger: the lake's ledger after the run.
        context: the run.
        has_news: whether the run has committed ranges.
    """
    select = context.settings.select
    now = {place.path for place in left.places}
    kept = [
        place
        for place in earlier
        if not place.is_named_only
        and place.path not in now
        and not _was_surveyed(place.path, left.roots, select)
        and not is_below(place.path, context.settled_places)
    ]
    own = tuple(ledger.uncovered(left.places))
    others = tuple(ledger.uncovered(kept))
    before = [place for place in earlier if place.is_named_only]
    keys = [place.key for place in before if place.key is not None]
    if has_news and select.selects_topic(CLUSTER_METADATA):
        keys = [key for key in keys if not select.selects_topic(key.topic)]
        found = named_partitions(context.tables, context.source_id)
        keys += [key for key in found if select.selects_topic(key.topic)]
    known = {each.key for each in seen} | ledger.partitions()
    known |= {place.key for place in (*own, *others) if place.key is not None}
    keys = _unknown(keys, known)
    if keys:
        keys = _unknown(keys, observed_partitions(context.tables, context.source_id))
    named = tuple(map(UnreadPlace.named_only, keys))
    every = sorted({*own, *others, *named}, key=attrgetter("path", "reason"))
    new = tuple(place for place in named if place not in before)
    return StandingPlaces(tuple(every), (*own, *named), new)


def _unknown(keys: Iterable[PartitionKey], known: Collection[PartitionKey]) -> list[PartitionKey]:
    """Return the partitions that are new.

    A known partition without a topic id makes all partitions of its name known.
    """
    without_id = {key[:2] for key in known if key.topic_id is None}
    return [key for key in keys if key not in known and key[:2] not in without_id]


def _was_surveyed(path: str, roots: Iterable[str], select: SelectSettings) -> bool:
    if not is_below(path, roots):
        return False
    folders = filter(None, map(parse_folder_name, path.split("/")))
    return all(select.selects_topic(folder.topic) for folder in folders)
