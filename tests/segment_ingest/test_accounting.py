"""How pieces are put together: holes and their causes, seams, the balance, the summary."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.parquet_files import DataFile
from pipelines.segment_ingest.balance import failures_of
from pipelines.segment_ingest.holes import HoleFinder, cause_of
from pipelines.segment_ingest.partition_log import PartitionKey
from pipelines.segment_ingest.plan import RangePlan, Wave, plan_ranges, plan_waves
from pipelines.segment_ingest.progress import show_bytes
from pipelines.segment_ingest.quarantine_rows import GapCause
from pipelines.segment_ingest.seams import RangeResult, joined
from pipelines.segment_ingest.settings import Settings
from pipelines.segment_ingest.summary import IngestSummary, Leftover
from pipelines.segment_ingest.tasks import ByteCount, StretchReport, TaskReport
from segment_codec.transactions import Marker
from support.planned import BATCH_BYTES, KEY, decode_settings, report, surveyed


@given(st.permutations(range(12)), st.sets(st.integers(0, 11)))
def test_holes_are_what_no_batch_filled_between_the_first_and_the_last(
    order: list[int], left_out: set[int]
) -> None:
    finder = HoleFinder()
    met: list[int] = []
    for number in order:
        # A batch below the first would be one that was taken before; the walk sorts those out.
        if number not in left_out and (not met or number > met[0]):
            finder.batch(number * 10, number * 10 + 10, 0)
            met.append(number)
    missing = [
        offset for hole in finder.holes() for offset in range(hole.start_offset, hole.next_offset)
    ]
    if not met:
        assert (finder.first_offset, missing) == (None, [])
        return
    assert finder.first_offset == met[0] * 10
    assert finder.next_offset == max(met) * 10 + 10
    filled = {number * 10 + n for number in met for n in range(10)}
    assert missing == [o for o in range(met[0] * 10, max(met) * 10 + 10) if o not in filled]


def test_a_hole_knows_whether_damage_lies_before_it() -> None:
    finder = HoleFinder()
    finder.defect()
    finder.batch(5, 10, 0)
    finder.batch(20, 30, 0)
    finder.defect()
    finder.batch(40, 50, 1)
    assert finder.has_leading_defect
    assert not finder.has_defect_since
    assert [
        (hole.start_offset, hole.is_behind_defect, hole.slice_index) for hole in finder.holes()
    ] == [
        (10, False, 0),
        (30, True, 1),
    ]


@pytest.mark.parametrize(
    ("is_behind_defect", "is_compacted", "next_offset", "cause"),
    [
        (False, False, 20, GapCause.MISSING),
        (False, True, 20, GapCause.COMPACTED),
        (True, True, 20, GapCause.QUARANTINED),
        (True, False, 20, GapCause.QUARANTINED),
        (True, True, 10, GapCause.DELETED),
        (False, False, 10, GapCause.DELETED),
    ],
)
def test_each_cause_needs_its_evidence(
    is_behind_defect: bool, is_compacted: bool, next_offset: int, cause: GapCause
) -> None:
    found = cause_of(
        is_behind_defect=is_behind_defect,
        is_compacted=is_compacted,
        next_offset=next_offset,
        log_start_offset=10,
    )
    assert found is cause


def _plan(**facts: object) -> RangePlan:
    (plan,) = plan_ranges(surveyed(**facts), Settings())  # type: ignore[arg-type]  # passed on
    return plan


def _gaps(result: RangeResult) -> list[tuple[int, int, str]]:
    return [(gap.start_offset, gap.next_offset, gap.cause) for gap in result.gaps]


def test_pieces_that_touch_leave_no_gap() -> None:
    result = joined(_plan(), [report(0, 40, records=4), report(40, 100, records=6)])
    assert _gaps(result) == []
    assert (result.next_offset, result.totals.records, result.missing_offsets) == (100, 10, 0)


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ({}, {}, "missing"),
        ({"trailing_defect": True}, {}, "quarantined"),
        ({}, {"leading_defect": True}, "quarantined"),
        ({"compacted": (False, True)}, {}, "compacted"),
        ({}, {"compacted": (True, False)}, "compacted"),
        ({"compacted": (True, False)}, {"compacted": (False, True)}, "missing"),
    ],
)
def test_a_hole_between_two_pieces_has_the_cause_that_either_knows(
    before: dict[str, bool], after: dict[str, bool], cause: str
) -> None:
    reports = [report(0, 40, **before), report(60, 100, **after)]  # type: ignore[arg-type]  # flags
    result = joined(_plan(), reports)
    assert _gaps(result) == [(40, 60, cause)]
    assert result.missing_offsets == (20 if cause == "missing" else 0)


def test_what_lacks_at_both_ends_of_a_range_is_a_gap() -> None:
    result = joined(_plan(), [report(20, 90, trailing_defect=True)])
    assert _gaps(result) == [(0, 20, "missing"), (90, 100, "quarantined")]


def test_a_range_without_any_batch_is_one_gap() -> None:
    assert _gaps(joined(_plan(), [report()])) == [(0, 100, "missing")]
    assert _gaps(joined(_plan(), [report(leading_defect=True), report()])) == [
        (0, 100, "quarantined")
    ]


def test_below_the_log_start_offsets_are_deleted_or_remote() -> None:
    plan = _plan(edges=(40, 100), log_start_offset=60)
    assert _gaps(joined(plan, [report(70, 100)])) == [(0, 60, "deleted"), (60, 70, "missing")]
    remote = _plan(edges=(40, 100), log_start_offset=30, has_remote_tier=True)
    assert _gaps(joined(remote, [report(50, 100)])) == [
        (0, 30, "deleted"),
        (30, 40, "remote"),
        (40, 50, "missing"),
    ]


def test_a_batch_across_the_end_of_a_range_ends_the_range() -> None:
    result = joined(_plan(), [report(0, 80, cut_offset=85)])
    assert _gaps(result) == [(80, 85, "missing")]
    assert result.next_offset == 85
    assert joined(_plan(), [report(0, 80, cut_offset=80)]).next_offset == 80


def test_missing_offsets_inside_pieces_are_counted() -> None:
    result = joined(_plan(), [report(0, 50, missing_offsets=7), report(53, 100)])
    assert result.missing_offsets == 10


def _wave(*, partitions: int = 2, tasks: int = 2) -> Wave:
    """Each partition has two pieces; by default each task holds two pieces."""
    ranges = []
    for number in range(partitions):
        settings = Settings()
        object.__setattr__(settings.read, "split_bytes", 5 * BATCH_BYTES)
        ranges += plan_ranges(surveyed(key=KEY._replace(partition=number)), settings)
    task_bytes = 5 * BATCH_BYTES * partitions * 2 // tasks
    (wave,) = plan_waves(ranges, 10**9, task_bytes, decode_settings())
    assert len(wave.tasks) == tasks
    return wave


def _file(records: int) -> DataFile:
    return DataFile("records", KEY.topic, "x.parquet", 1, records, "{}")


def _reports(wave: Wave) -> list[TaskReport]:
    """What tasks say that did all they were told."""
    return [
        TaskReport(
            tuple(
                report(0, 100, size_bytes=stretch.size_bytes, records=3)
                for stretch in task.stretches
            ),
            (_file(3 * len(task.stretches)),),
            (),
        )
        for task in wave.tasks
    ]


def _changed(done: TaskReport, **facts: object) -> TaskReport:
    first = done.reports[0]
    assert first is not None
    return replace(done, reports=(replace(first, **facts), *done.reports[1:]))  # type: ignore[arg-type]  # passed on


def test_tasks_that_add_up_are_all_committed() -> None:
    wave = _wave()
    assert failures_of(wave, _reports(wave)) == {}


@pytest.mark.parametrize("wrong_bytes", [-1, 1])
def test_a_byte_more_or_less_than_planned_fails_the_task(wrong_bytes: int) -> None:
    wave = _wave()
    reports = _reports(wave)
    counted = ByteCount(sound=wave.tasks[0].stretches[0].size_bytes + wrong_bytes)
    reports[0] = _changed(reports[0], bytes=counted)
    failures = failures_of(wave, reports)
    assert list(failures) == [0]
    assert "accounted for" in failures[0]


def test_every_kind_of_bytes_counts() -> None:
    wave = _wave()
    reports = _reports(wave)
    size_bytes = wave.tasks[0].stretches[0].size_bytes
    reports[0] = _changed(reports[0], bytes=ByteCount(size_bytes - 10, 1, 2, 3, 4))
    assert failures_of(wave, reports) == {}


@pytest.mark.parametrize("rows", [5, 7])
def test_rows_that_are_not_in_the_files_fail_the_task(rows: int) -> None:
    wave = _wave()
    reports = _reports(wave)
    reports[1] = replace(reports[1], files=(_file(rows),))
    assert failures_of(wave, reports) == {1: f"6 records were counted and {rows} are in the files"}


@pytest.mark.parametrize(
    ("planned", "met"),
    [
        ((), (Marker(50, 1, True),)),
        ((Marker(50, 1, True),), ()),
        ((Marker(50, 1, True),), (Marker(50, 1, False),)),
        ((Marker(50, 1, True),), (Marker(50, 2, True),)),
    ],
)
def test_markers_other_than_those_of_the_survey_fail_the_task(
    planned: tuple[Marker, ...], met: tuple[Marker, ...]
) -> None:
    wave = _wave()
    stretch = replace(wave.tasks[0].stretches[0], markers=(*planned, Marker(900, 1, True)))
    task = replace(wave.tasks[0], stretches=(stretch, *wave.tasks[0].stretches[1:]))
    wave = replace(wave, tasks=(task, *wave.tasks[1:]))
    reports = _reports(wave)
    assert failures_of(wave, [_changed(reports[0], markers=planned), reports[1]]) == {}
    failures = failures_of(wave, [_changed(reports[0], markers=met), reports[1]])
    assert "transactions changed" in failures[0]


def test_a_range_with_a_piece_in_a_failed_task_fails_with_all_its_tasks() -> None:
    wave = _wave(partitions=3, tasks=6)
    reports = _reports(wave)
    reports[0] = replace(reports[0], files=())
    other = next(
        index
        for index, task in enumerate(wave.tasks)
        if index and task.stretches[0].key == wave.tasks[0].stretches[0].key
    )
    assert set(failures_of(wave, reports)) == {0, other}


def test_a_piece_that_could_not_be_read_takes_the_tasks_of_its_range_with_it() -> None:
    wave = _wave(partitions=2, tasks=4)
    reports = _reports(wave)
    gone: tuple[StretchReport | None, ...] = (None,)
    reports[0] = TaskReport(gone, (), ((0, "it is gone"),))
    failures = failures_of(wave, reports)
    key = wave.tasks[0].stretches[0].key
    assert failures == {
        index: f"{key}: it is gone"
        for index, task in enumerate(wave.tasks)
        if task.stretches[0].key == key
    }
    assert len(failures) == 2


def test_a_piece_alone_in_its_range_fails_no_other_task() -> None:
    ranges = [
        each
        for number in range(2)
        for each in plan_ranges(surveyed(key=PartitionKey("t", number, None)), Settings())
    ]
    (wave,) = plan_waves(ranges, 10**9, 10**9, decode_settings())
    (done,) = _reports(wave)
    one = TaskReport((None, done.reports[1]), (_file(3),), ((0, "it is gone"),))
    assert failures_of(wave, [one]) == {}


def _summary(**facts: object) -> IngestSummary:
    summary = IngestSummary("run", "source", "/lake")
    for name, value in facts.items():
        setattr(summary, name, value)
    return summary


def test_a_run_without_news_says_so() -> None:
    text = _summary(partitions=3, seconds=0.25).to_text()
    assert text == "nothing new in 3 partitions of source (0.2 s)"


def test_the_headline_has_the_counts() -> None:
    text = _summary(
        partitions=3,
        partitions_with_news=2,
        taken={"a-0", "a-1"},
        topics=["a"],
        records=10,
        batches=4,
        read_bytes=3 << 20,
        written_bytes=1 << 20,
        seconds=1.5,
    ).to_text()
    assert text == (
        "10 records in 4 batches from 2 of 3 partitions of source: 3.0 MiB read, 1.0 MiB written, "
        "1.5 s, 2.0 MiB/s"
    )


def test_a_dry_run_says_what_would_be_taken() -> None:
    text = _summary(
        is_dry_run=True, planned_offsets=9, planned_bytes=100, partitions=2, tasks=1
    ).to_text()
    assert text.startswith("dry run: 9 offsets in 100 B of 0 of 2 partitions would be taken")


def test_everything_a_person_should_know_has_a_line() -> None:
    summary = _summary(
        recovered_topics=["a"],
        quarantined=3,
        quarantined_bytes=2048,
        defects={"crc_mismatch": 2, "bad_length": 1},
        missing_offsets=7,
        open_rows=5,
        replaced_header_names=1,
        left_for_later=[Leftover("a-0", "it waits", 5, 9)],
        left_out={"a-1": "a-1: it is gone"},
        notes=["a note"],
    )
    assert summary.to_text().splitlines()[1:] == [
        "completed the commit of an earlier run for a",
        "quarantined: 1 bad_length, 2 crc_mismatch (2.0 KiB)",
        "missing without a known cause: 7 offsets",
        "rows of transactions that have not ended: 5",
        "header names that are not UTF-8: 1",
        "left for later: a-0: it waits",
        "left out: a-1: it is gone",
        "note: a note",
    ]
    assert summary.exit_code == 3


def test_long_lists_are_cut_for_a_person_and_whole_for_a_machine() -> None:
    summary = _summary(notes=[f"note {n}" for n in range(30)])
    lines = summary.to_text().splitlines()
    assert len(lines) == 22
    assert lines[-1] == "note: … and 10 more (all of them with --json)"
    (line,) = summary.to_json().splitlines()
    assert len(json.loads(line)["notes"]) == 30
    assert json.loads(line)["exit_code"] == 0


@pytest.mark.parametrize(
    ("limit", "facts"),
    [
        ("fail_on_quarantine", {"quarantined": 2}),
        ("fail_on_unexplained_gap", {"missing_offsets": 2}),
    ],
)
def test_a_limit_that_is_crossed_ends_with_exit_code_3(limit: str, facts: dict[str, int]) -> None:
    strict = Settings.from_mappings([("t", {"limits": {limit: True}})])
    for settings, given_facts, exit_code in (
        (strict, facts, 3),
        (strict, {}, 0),
        (Settings(), facts, 0),
    ):
        summary = _summary(**given_facts)
        summary.check_limits(settings)
        assert summary.exit_code == exit_code
        assert (limit in summary.to_text()) == (exit_code == 3)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (5 << 20, "5.0 MiB"),
        (3 << 29, "1.5 GiB"),
        (1 << 50, "1024.0 TiB"),
    ],
)
def test_bytes_are_shown_in_units(count: int, text: str) -> None:
    assert show_bytes(count) == text
