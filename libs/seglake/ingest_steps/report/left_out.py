"""Files and ranges of the sources that a run did not read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from seglake.findings.findings import Finding, Findings
from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.planning.duplicate_logs import DuplicateLog
from seglake.ingest_steps.planning.partitions import SurveyedPartition
from seglake.ingest_steps.report.unread_file_findings import (
    of_copies,
    unread_file_findings,
    unread_place,
)
from seglake.ingest_steps.rounds import Round, last_states
from seglake.ingest_steps.run_context import RunContext
from seglake.kafka_log.observation import NOT_ON_DISK, UnreadPlace
from seglake.kafka_log.short_logs import ShortLog
from seglake.log_dirs.discovery import Discovery


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Files and ranges that a run did not read.

    Attributes:
        files: findings on files that have records but were not read.
        reasons: why a partition, a folder or a file could not be read, by its name.
        refused: why a partition was refused, by its name: its log is not the lake's log, or one
            broker has two logs of it.
        places: unread files and folders that no partition's observation names.
        roots: the folders that the run searched.
    """

    files: tuple[Finding, ...]
    reasons: Mapping[str, str]
    refused: Mapping[str, str]
    places: tuple[UnreadPlace, ...]
    roots: tuple[str, ...]


def left_out_of(
    discovery: Discovery,
    rounds: Sequence[Round],
    unread: Mapping[str, str],
    short: Iterable[ShortLog],
    context: RunContext,
) -> LeftOut:
    """Collect the files and ranges that no round read.

    Args:
        discovery: the listed sources.
        rounds: the rounds of the run.
        unread: why neither a round nor a repair could read a partition, a folder or a file, by its
            name.
        short: logs that end before an offset that they once reached; see `ShortLog`.
        context: the run.
    """
    settled, locate = context.settled_places, context.storage.locate
    every = [each for done in rounds for each in done.partitions]
    last, names = last_states(rounds), {str(each.key) for each in every}
    logs = (log for each in last for log in each.left.unread)
    found = unread_file_findings(discovery.unread_files, logs, discovery.partitions)
    files = [*of_copies(of for of in found if not is_below(unread_place(of).path, settled))]
    unread = {name: why for name, why in unread.items() if not is_below(name, settled)}
    duplicates = [found for each in every for found in each.listed.duplicates]
    second = {str(found.kept.key): found.reason for found in duplicates}
    places = [
        *(unread_place(of) for of in files if of.kind is not FindingKind.IN_TIER),
        *_places_of_names(unread, discovery),
        *_places_of_second_logs(duplicates),
        *(
            UnreadPlace(log.folder, f"{NOT_ON_DISK}{log.reason}", log.ranges)
            for log in short
            if str(log.key) not in names
        ),
    ]
    return LeftOut(
        files=tuple(files),
        reasons={
            **Findings(files).reasons(FindingKind.LEFT_OUT),
            **_unreadable_files(filter(None, (each.same for each in last))),
            **unread,
            **discovery.missing_topics,
        },
        refused=second | {str(each.key): each.refusal for each in every if each.refusal},
        places=tuple(dict.fromkeys(places)),
        roots=(*map(locate, discovery.sources), *(log_dir.path for log_dir in discovery.log_dirs)),
    )


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of the folders or files, or below one of them."""
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _places_of_names(unread: Mapping[str, str], discovery: Discovery) -> Iterator[UnreadPlace]:
    """Yield unread files and folders by path, and partition folders that cannot be listed."""
    for name, reason in unread.items():
        if "/" in name:
            yield UnreadPlace(name, reason)
        for log_dir in discovery.log_dirs:
            if name in log_dir.unreadable:
                yield UnreadPlace(f"{log_dir.path}/{name}", reason)


def _places_of_second_logs(duplicates: Iterable[DuplicateLog]) -> Iterator[UnreadPlace]:
    """Yield folders of a broker's second log of a partition, if it differs from the first log."""
    for found in duplicates:
        if not found.is_same_log:
            yield UnreadPlace(found.other.folder, found.reason)


def _unreadable_files(final: Iterable[SurveyedPartition]) -> dict[str, str]:
    """Return why files beside a log were unreadable, if the log was read without these files."""
    surveys = (survey for partition in final for survey in partition.surveys)
    return {why: why for survey in surveys for why in survey.transactions.files.unreadable}
