"""Converts sources to plain Parquet: an ingest whose Delta logs are deleted at the end.

A conversion that is killed before `_SUCCESS` leaves a folder that the next conversion refuses.
"""

from collections.abc import Sequence

from seglake.findings.kinds import FindingKind
from seglake.ingest_steps.report.ingest_summary import IngestSummary
from seglake.ingest_steps.run_context import ScanContext
from seglake.lake.delta_tables import LakeTables
from seglake.lake.lake_folder import SUCCESS
from seglake.lake.parquet_files import folder_value
from seglake.lake.plain_parquet import check_is_empty, to_plain_parquet
from seglake.lake.table_creation import create_missing
from seglake.lake.tables import RECORDS
from seglake.pipelines.segment_ingest.ingest import ingest


def convert(sources: Sequence[str], lake: str, scan: ScanContext) -> IngestSummary:
    """Convert the sources' logs into an empty folder; see `ingest` for the arguments.

    Raises:
        LakeFolderError: the folder is not empty. Nothing has been changed.
    """
    storage, settings = scan.storage, scan.settings
    path = storage.locate(lake)
    check_is_empty(storage, path)
    summary = ingest(sources, lake, scan)
    if not scan.is_dry_run:
        tables = LakeTables(path, storage)
        if storage.info(tables.path(RECORDS)) is None:  # no topic was selected
            create_missing(tables, is_single_writer=settings.write.single_writer)
        findings = summary.findings
        findings.add_reasons(FindingKind.LEFT_OUT, _without_a_folder(summary.topics))
        is_whole = not findings.of(FindingKind.LEFT_OUT, FindingKind.REFUSED)
        if not is_whole:
            note = f"{path} lacks data that was left out, so it has no {SUCCESS}"
            findings.add_texts(FindingKind.NOTE, [note])
        to_plain_parquet(tables, is_whole=is_whole)
    return summary


def _without_a_folder(topics: Sequence[str]) -> dict[str, str]:
    """Return a note for each topic whose name is too long to name its folder."""
    return {
        topic: f"{topic}: its name is too long for a folder: its rows are in topic="
        f"{folder_value(topic)}, which readers show as the topic"
        for topic in topics
        if folder_value(topic) != topic
    }
