"""What a report says of real and made-up lakes, beside what others count in them."""

from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.kafka_log.offset_gaps import GapCause
from seglake.lake.errors import NotALakeError
from seglake.pipelines.lake_report.model import Level, OffsetState
from support.cases import cases, shared
from support.conversions import DAMAGED_COPIES, DISK_COPIES, Conversion, Conversions, DiskCopy
from support.elected_logs import write_elected
from support.lakes import ingested, read_table, retaken
from support.reports import by_name, reported
from support.retaken_lakes import LOSER, TO_LOG_END, WINNER
from support.views import viewed
from support.wide_lake import write_wide_lake

_SAMPLE = Path(__file__).parents[2] / "samples" / "broker-0"
_CAUSES = tuple(GapCause)


def _same_as_the_audit(made: Conversion) -> None:
    """Compare sums: both ask the tables that proof.sql derives, each with queries of its own."""
    found = {(each.source_id, each.key): each for each in made.report.partitions}
    for partition in made.audit.partitions:
        source_id, key = partition.partition
        each = found[source_id, key]
        gaps = {str(cause): count.offsets for cause, count in partition.gaps.items()}
        assert {
            c: each.count(OffsetState(c)) for c in _CAUSES if each.count(OffsetState(c))
        } == gaps
        ingested_offsets = each.count(OffsetState.INGESTED)
        assert ingested_offsets + sum(gaps.values()) == partition.covered_offsets
        assert each.records == partition.totals.records
        assert each.damage_count == sum(c.spans for c in partition.quarantine.by_code.values())
        assert sum(p.is_resolved for p in each.damage) == partition.quarantine.resolved


@pytest.mark.parametrize(
    "copy",
    shared(
        cases(
            [c for c in DISK_COPIES if c.is_telling and c.scenario[:2] in {"05", "07", "12"}],
            telling=lambda copy: True,
            name="-".join,
        )
    ),
)
def test_report_counts_what_the_audit_does_of_brokers_disks(
    copy: DiskCopy, conversions: Conversions
) -> None:
    _same_as_the_audit(conversions.of_copy(copy))


@pytest.mark.parametrize("name", DAMAGED_COPIES)
def test_report_counts_what_the_audit_does_of_damaged_disks(
    name: str, conversions: Conversions
) -> None:
    _same_as_the_audit(conversions.of_damaged(name))


def test_report_counts_what_the_views_do_of_a_wide_lake(tmp_path: Path) -> None:
    write_wide_lake(tmp_path, 1000)
    found = by_name(reported(tmp_path))
    rows = viewed(tmp_path, "SELECT * FROM completeness")
    assert len(rows) == len(found) == 1000
    for row in rows:
        each = found[f"{row['topic']}-{row['partition']}"]
        counts = {cause: each.count(OffsetState(cause)) for cause in _CAUSES}
        assert counts == {cause: row[cause] for cause in _CAUSES}
        assert each.count(OffsetState.INGESTED) + sum(counts.values()) == row["covered"]
        assert each.count(OffsetState.SUPERSEDED) == row["superseded"]
        assert each.records == row["records"]


def test_damaged_partitions_of_the_samples_come_first(tmp_path: Path) -> None:
    ingested(_SAMPLE, tmp_path / "lake")
    report = reported(tmp_path / "lake")
    look = [str(each.key) for each in report.at(Level.LOOK)]
    assert look == ["v2-zstd-1", "v2-none-1"] == [str(e.key) for e in report.partitions[:2]]
    assert report.headline == (
        "2163 records recovered from 10 partitions, 6 of them in transactions that have not ended; "
        "NOT recovered: 22 offsets hidden by damaged bytes (quarantined); 2 of 10 "
        "partitions need a look"
    )
    (place,) = report.partitions[0].damage
    assert (place.segment, place.position) == ("v2-zstd-1/00000000000000000000.log", 2879)
    assert (place.code, place.previous_offset, place.next_offset) == ("crc_mismatch", 52, 72)


def test_rows_that_lost_an_election_need_a_look_until_they_are_retaken(tmp_path: Path) -> None:
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    write_elected(disk, LOSER)
    ingested(disk, lake, read=TO_LOG_END)
    write_elected(disk, WINNER)
    ingested(disk, lake, read=TO_LOG_END)
    (each,) = reported(lake).partitions
    assert [finding.kind for finding in each.findings] == [FindingKind.SUPERSEDED]
    assert each.offsets[OffsetState.SUPERSEDED].ranges == ((20, 40),)
    retaken(lake, disk, read=TO_LOG_END)
    (each,) = reported(lake).partitions
    assert ([*each.findings], [*each.offsets]) == ([], [OffsetState.INGESTED])


def test_runs_are_those_of_the_tables_the_newest_first(tmp_path: Path) -> None:
    ingested(_SAMPLE, tmp_path / "lake", select={"topics": ["v2-*"]})
    ingested(_SAMPLE, tmp_path / "lake")
    newest, first = reported(tmp_path / "lake").runs
    rows = read_table(tmp_path / "lake", "checkpoints")
    assert {newest.run_id, first.run_id} == {row["run_id"] for row in rows}
    assert newest.ended_at > first.ended_at
    for run in (newest, first):
        own = [row for row in rows if row["run_id"] == run.run_id]
        assert run.records == sum(row["records"] for row in own)
        assert run.offsets == sum(row["next_offset"] - row["start_offset"] for row in own)
    assert (first.recorded, newest.recorded) == ({"quarantined": 22}, {})


def test_lake_without_a_row_says_so(tmp_path: Path) -> None:
    write_wide_lake(tmp_path, 0)
    assert reported(tmp_path).headline == "Nothing was ingested"


def test_folder_that_is_no_lake_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotALakeError, match="no table"):
        reported(tmp_path)
