"""The oracles are read whole: their counts are the ones the makers of the disks noted."""

import hashlib

import pytest

from support import broker_disks, corrupt_cases, oracle
from support.oracle import Isolation, LargeValue, OracleRecord

COPIES = [
    pytest.param(scenario, copy, id=f"{scenario}-{copy}")
    for scenario in broker_disks.SCENARIOS
    for copy in broker_disks.copies(scenario)
]
LONG_TOPIC = "t" * 249
SWAP_LEFT = "cleaner_swap_left__v2"


@pytest.mark.parametrize(("scenario", "copy"), COPIES)
def test_oracle_has_the_records_the_scenario_counts(scenario: str, copy: str) -> None:
    for facts in broker_disks.partitions(scenario, copy):
        records = oracle.expected_records(scenario, copy, facts.topic, facts.partition)
        offsets = [record.offset for record in records]
        assert len(records) == facts.record_count, facts
        assert offsets == sorted(set(offsets)), facts
        assert all(facts.log_start_offset <= offset < facts.high_watermark for offset in offsets)


@pytest.mark.parametrize(("scenario", "copy"), COPIES)
def test_read_committed_records_are_some_of_all(scenario: str, copy: str) -> None:
    for facts in broker_disks.partitions(scenario, copy):
        place = (scenario, copy, facts.topic, facts.partition)
        committed = oracle.expected_records(*place, Isolation.READ_COMMITTED)
        everything = oracle.expected_records(*place)
        if facts.read_committed_record_count is None:
            assert committed == everything, facts
        else:
            assert len(committed) == facts.read_committed_record_count, facts
            assert {each.offset for each in committed} <= {each.offset for each in everything}


def test_worked_example_is_read_field_by_field() -> None:
    assert oracle.expected_records("00_worked_examples", "stopped", "we-v0", 0) == [
        OracleRecord(0, -1, "NoTimestampType", b"key", b"value", ()),
        OracleRecord(1, -1, "NoTimestampType", None, b"value", ()),
    ]


def test_headers_keep_order_duplicates_and_nulls() -> None:
    both = [oracle.expected_records("03_v2_codecs", "stopped", "v2-zstd", p) for p in (0, 1)]
    headers = [record.headers for records in both for record in records if record.headers]
    assert any(len({name for name, _ in found}) < len(found) for found in headers)
    assert any(value is None for found in headers for _, value in found)
    assert any(value == b"" for found in headers for _, value in found)


def test_large_value_is_folded_as_the_oracle_folds_it() -> None:
    value = b"x" * 1025
    found = OracleRecord.of(3, 5, "CreateTime", None, value, [("h", None)])
    folded = LargeValue(hashlib.sha256(value).hexdigest(), 1025)
    assert found == OracleRecord(3, 5, "CreateTime", None, folded, (("h", None),))
    assert oracle.folded_value(value[:1024]) == value[:1024]
    records = oracle.expected_records("03_v2_codecs", "stopped", "v2-large", 0)
    assert any(isinstance(record.value, LargeValue) for record in records)


def test_very_long_topic_name_is_found_under_its_short_name() -> None:
    assert oracle.oracle_name(LONG_TOPIC, 0) == "t" * 40 + "~251~0"
    assert oracle.expected_records("03_v2_codecs", "stopped", LONG_TOPIC, 0)
    assert oracle.partition_dump("03_v2_codecs", "stopped", LONG_TOPIC, 0).batches


def test_corrupt_case_is_read_whole() -> None:
    for name in broker_disks.CORRUPT_CASES:
        case = corrupt_cases.corrupt_case(name)
        place = (case.source_scenario, case.source_copy, case.topic, case.partition)
        assert case.name == name
        assert case.folder.is_dir(), name
        assert case.source_folder.is_dir(), name
        assert len(corrupt_cases.intact_records(case)) == case.intact_record_count, name
        assert len(oracle.expected_records(*place)) == case.source_record_count, name


def test_intact_records_are_the_source_without_what_is_lost() -> None:
    for name in broker_disks.CORRUPT_CASES:
        if name == SWAP_LEFT:
            continue
        case = corrupt_cases.corrupt_case(name)
        place = (case.source_scenario, case.source_copy, case.topic, case.partition)
        gone = [*case.lost_offsets, *case.uncertain_offsets]
        kept = [
            record
            for record in oracle.expected_records(*place)
            if not any(record.offset in span for span in gone)
        ]
        assert corrupt_cases.intact_records(case) == kept, name


def test_swap_of_the_cleaner_replaces_the_records_of_the_copy_after_cleaning() -> None:
    case = corrupt_cases.corrupt_case(SWAP_LEFT)
    cleaned = oracle.expected_records(case.source_scenario, "after", case.topic, case.partition)
    intact = corrupt_cases.intact_records(case)
    assert intact == cleaned[: len(intact)]


def test_changes_of_a_corrupt_case_are_what_is_on_disk() -> None:
    for name in broker_disks.CORRUPT_CASES:
        case = corrupt_cases.corrupt_case(name)
        for change in case.changes:
            if change.after is None or change.file is None or change.position is None:
                continue
            content = (case.log_dir / change.file).read_bytes()
            assert content[change.position : change.next_position] == change.after, name
