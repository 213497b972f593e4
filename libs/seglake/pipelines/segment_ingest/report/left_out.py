"""Files and ranges of the sources that a run did not read, for its summary and the lake. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from seglake.kafka_log.observation import NOT_ON_DISK, UnreadPlace
from seglake.kafka_log.short_logs import ShortLog
from seglake.log_dirs.discovery import Discovery
from seglake.pipelines.segment_ingest.planning.partitions import SurveyedPartition
from seglake.pipelines.segment_ingest.report.unread_files import (
    UnreadEntry,
    left_out,
    unread_files,
)
from seglake.pipelines.segment_ingest.rounds import Round, latest
from seglake.pipelines.settings.settings import SelectSettings
from seglake.segment_codec.log_dir import parse_folder_name


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Files and ranges that a run did not read.

    Attributes:
        files: files that are recognised and not read.
        reasons: reasons by partition, folder or file that could not be read this time.
        refused: differences by partition whose log is not the lake's, or that one broker has
            twice.
        places: unread places that the partitions' observations do not name.
        roots: the folders that the run searched.
    """

    files: tuple[UnreadEntry, ...]
    reasons: Mapping[str, str]
    refused: Mapping[str, str]
    places: tuple[UnreadPlace, ...]
    roots: tuple[str, ...]

    def standing_places(
        self, earlier: Iterable[UnreadPlace], select: SelectSettings
    ) -> tuple[UnreadPlace, ...]:
        """Return the places unread now: this run's, and earlier runs' outside its reach.

        Args:
            select: topics whose folders the run listed.
        """
        now = {place.path for place in self.places}
        kept = (
            place
            for place in earlier
            if place.path not in now and not _was_looked_at(place.path, self.roots, select)
        )
        return tuple(sorted([*self.places, *kept], key=attrgetter("path", "reason")))


def left_out_of(
    sources: Iterable[str],
    discovery: Discovery,
    rounds: Sequence[Round],
    unread: Mapping[str, str],
    short: Iterable[ShortLog],
) -> LeftOut:
    """Collect the files and ranges that no round read.

    Args:
        sources: paths of the sources.
        unread: reasons by the name of whatever neither a round nor a repair could read.
        short: logs that end below their proved end.
    """
    every = [each for done in rounds for each in done.partitions]
    last, names = latest(rounds), {str(each.key) for each in every}
    logs = (log for each in last for log in each.left.unread)
    files = unread_files(discovery.unread_files, logs, discovery.partitions)
    duplicates = [found for each in every for found in each.listed.duplicates]
    second = {str(found.kept.key): found.reason for found in duplicates}
    places = [
        *(UnreadPlace(f"{of.folder}/{of.example}", str(of)) for of in files if not of.is_accounted),
        *_places_of_names(unread, discovery),
        *(
            UnreadPlace(found.other.folder, found.reason)
            for found in duplicates
            if not found.is_same_log
        ),
        *(
            UnreadPlace(log.folder, f"{NOT_ON_DISK}{log.reason}", log.ranges)
            for log in short
            if str(log.key) not in names
        ),
    ]
    return LeftOut(
        files=tuple(files),
        reasons={
            **left_out(files),
            **_unreadable_files(filter(None, (each.same for each in last))),
            **unread,
            **discovery.missing_topics,
        },
        refused=second | {str(each.key): each.refusal for each in every if each.refusal},
        places=tuple(dict.fromkeys(places)),
        roots=(*sources, *(log_dir.path for log_dir in discovery.log_dirs)),
    )


def _was_looked_at(path: str, roots: Iterable[str], select: SelectSettings) -> bool:
    if not any(f"{path}/".startswith(f"{root.rstrip('/')}/") for root in roots):
        return False
    folders = filter(None, map(parse_folder_name, path.split("/")))
    return all(select.takes_topic(folder.topic) for folder in folders)


def _places_of_names(unread: Mapping[str, str], discovery: Discovery) -> Iterator[UnreadPlace]:
    """Yield the places named by a path, and the partition folders that cannot be listed."""
    for name, reason in unread.items():
        if "/" in name:
            yield UnreadPlace(name, reason)
        for log_dir in discovery.log_dirs:
            if name in log_dir.unreadable:
                yield UnreadPlace(f"{log_dir.path}/{name}", reason)


def _unreadable_files(final: Iterable[SurveyedPartition]) -> dict[str, str]:
    """Return the files that logs were read without, with the reasons."""
    surveys = (survey for partition in final for survey in partition.surveys)
    return {why: why for survey in surveys for why in survey.transactions.files.unreadable}
