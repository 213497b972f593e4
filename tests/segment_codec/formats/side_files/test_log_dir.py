import pytest
from hypothesis import given
from hypothesis import strategies as st

from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    FileState,
    FolderKind,
    FolderPlan,
    MissingSwapEndError,
    PartitionFolder,
    SegmentFileName,
    SkipReason,
    is_legal_topic,
    parse_file_name,
    parse_folder_name,
    parse_metadata_snapshot_name,
    plan_swaps,
    usable_swap_logs,
)
from support import broker_disks
from support.broker_disks import SCENARIOS
from support.corrupt_cases import corrupt_case

UUID = "d6743fea380e4e049e4b563a52d2e372"


@pytest.mark.parametrize(
    ("name", "topic", "partition"),
    [
        ("orders-0", "orders", 0),
        ("a-1-17", "a-1", 17),
        ("x-delete-0", "x-delete", 0),
        ("2024-01-05-3", "2024-01-05", 3),
        ("__consumer_offsets-49", "__consumer_offsets", 49),
        ("a.b_c-0", "a.b_c", 0),
        ("--0", "-", 0),
        ("...-0", "...", 0),
        ("a-2147483647", "a", 2147483647),
        (f"a-1.{UUID}-delete-0", f"a-1.{UUID}-delete", 0),
        ("t" * 249 + "-0", "t" * 249, 0),
    ],
)
def test_live_folder_is_split_at_the_last_dash(name: str, topic: str, partition: int) -> None:
    assert parse_folder_name(name) == PartitionFolder(topic, partition, FolderKind.LIVE, True)


@pytest.mark.parametrize("kind", [FolderKind.DELETE, FolderKind.FUTURE, FolderKind.STRAY])
@pytest.mark.parametrize("topic", ["orders", "a-1", "a.b", f"a-1.{UUID}-delete"])
def test_suffixed_folder_gives_its_kind(topic: str, kind: FolderKind) -> None:
    folder = parse_folder_name(f"{topic}-7.{UUID}-{kind}")
    assert folder == PartitionFolder(topic, 7, kind, topic_is_complete=True)


@pytest.mark.parametrize(
    ("kind", "topic_length", "is_complete"),
    [
        (FolderKind.DELETE, 212, True),
        (FolderKind.DELETE, 213, False),
        (FolderKind.STRAY, 213, True),
        (FolderKind.STRAY, 214, False),
        (FolderKind.FUTURE, 213, True),
        (FolderKind.FUTURE, 249, True),
    ],
)
def test_topic_may_be_cut_where_the_name_is_as_long_as_it_can_be(
    kind: FolderKind, topic_length: int, is_complete: bool
) -> None:
    folder = parse_folder_name(f"{'t' * topic_length}-0.{UUID}-{kind}")
    assert folder == PartitionFolder("t" * topic_length, 0, kind, is_complete)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-",
        "-0",
        "orders",
        "orders-",
        "notes-x",
        "lost+found",
        "remote-log-index-cache",
        ".-0",
        "..-0",
        "a b-0",
        "a/b-0",
        "caf\xe9-0",
        "a-\u0661",
        "a-\xb2",
        "a-00",
        "a-01",
        "a--1x",
        "a-2147483648",
        "a-99999999999999999999",
        "a-0\n",
        "t" * 256 + "-0",
        f"a-0.{UUID}-deleted",
        f"a-0.{UUID.upper()}-delete",
        f"a-0.{UUID[1:]}-delete",
        f"a-0-{UUID}-delete",
        f"a.{UUID}-delete",
        f"a-x.{UUID}-stray",
        f".{UUID}-stray",
    ],
)
def test_other_folders_are_no_partitions(name: str) -> None:
    assert parse_folder_name(name) is None


def test_topic_names_have_kafkas_letters_and_length() -> None:
    assert all(is_legal_topic(topic) for topic in ["a", "a.b-c_D9", "...", "t" * 255])
    assert not any(is_legal_topic(topic) for topic in ["", ".", "..", "a b", "\xe9", "t" * 256])


@pytest.mark.parametrize("kind", FileKind)
@pytest.mark.parametrize("state", FileState)
def test_segment_file_name_gives_offset_kind_and_state(kind: FileKind, state: FileState) -> None:
    suffix = "" if state is FileState.LIVE else f".{state}"
    name = f"00000000000000000153.{kind}{suffix}"
    assert parse_file_name(name) == SegmentFileName(153, kind, state, name)
    assert str(parse_file_name(name)) == name


def test_largest_offset_is_a_file_name() -> None:
    file = parse_file_name("09223372036854775807.log")
    assert file is not None
    assert file.base_offset == 2**63 - 1


def test_digits_are_those_of_any_script_that_java_parses() -> None:
    for zero in ("\u0660", "\u06f0", "\u0966", "\u1040", "\uff10"):
        file = parse_file_name(zero * 18 + chr(ord(zero) + 4) + "2.log.swap")
        assert file is not None
        assert file.base_offset == 42
        name = f"{zero * 19}1-{zero * 10}.checkpoint"
        assert parse_metadata_snapshot_name(name) == (1, 0)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "README",
        "123.log",
        "000000000000000000000.log",
        "0000000000000000000x.log",
        "-0000000000000000001.log",
        "09223372036854775808.log",
        "\U0001d7ce" * 20 + ".log",
        "00000000000000000000.log.bak",
        "00000000000000000000.log.deleted.swap",
        "00000000000000000000.LOG",
        "00000000000000000000.log\n",
        "00000000000000000000.log.",
        "00000000000000000000",
        "00000000000000000000-0000000000.checkpoint",
        "leader-epoch-checkpoint",
    ],
)
def test_other_files_are_no_segment_files(name: str) -> None:
    assert parse_file_name(name) is None


def names_of(*stems: str) -> list[str]:
    """`153.log.swap` and so on, with the 20 digits Kafka writes."""
    return [f"{int(stem.split('.')[0]):020d}.{stem.partition('.')[2]}" for stem in stems]


def shown(plan: FolderPlan) -> tuple[list[str], dict[str, SkipReason]]:
    skipped = {str(file): reason for file, reason in plan.superseded}
    return [str(file) for file in plan.read], skipped


def test_folder_at_rest_is_read_in_order_of_offset_and_kind() -> None:
    names = names_of("50.index", "0.timeindex", "50.log", "0.log", "0.index", "50.snapshot")
    plan = plan_swaps(names, {})
    assert shown(plan) == (
        names_of("0.log", "0.index", "0.timeindex", "50.log", "50.index", "50.snapshot"),
        {},
    )


def test_deleted_and_cleaned_files_are_not_read() -> None:
    names = names_of("0.log.deleted", "0.index.deleted", "50.log", "50.log.cleaned")
    read, skipped = shown(plan_swaps(names, {}))
    assert read == names_of("50.log")
    assert skipped == {
        **dict.fromkeys(names_of("0.log.deleted", "0.index.deleted"), SkipReason.DELETED),
        **dict.fromkeys(names_of("50.log.cleaned"), SkipReason.UNFINISHED_CLEANING),
    }


def test_swap_replaces_the_files_from_its_base_offset_to_its_end() -> None:
    swap = names_of("50.log.swap", "50.index.swap")
    replaced = names_of("50.log", "50.index", "90.log", "90.snapshot", "119.log", "50.txnindex")
    kept = names_of("0.log", "49.log", "120.log", "120.snapshot")
    read, skipped = shown(plan_swaps([*replaced, *kept, *swap], {50: 120}))
    assert sorted(read) == sorted([*kept, *swap])
    assert skipped == dict.fromkeys(replaced, SkipReason.REPLACED_BY_SWAP)


def test_several_swaps_replace_one_range_from_the_lowest_to_the_highest() -> None:
    names = names_of("0.log.swap", "200.log.swap", "100.log", "0.log", "250.log", "300.log")
    read, skipped = shown(plan_swaps(names, {0: 90, 200: 300}))
    assert read == names_of("0.log.swap", "200.log.swap", "300.log")
    assert sorted(skipped) == names_of("0.log", "100.log", "250.log")


def test_swap_without_a_batch_replaces_only_the_file_of_its_own_name() -> None:
    names = names_of("50.log.swap", "50.log", "50.index", "51.log")
    read, skipped = shown(plan_swaps(names, {50: 50}))
    assert read == names_of("50.log.swap", "50.index", "51.log")
    assert skipped == {names_of("50.log")[0]: SkipReason.REPLACED_BY_SWAP}


def test_swapped_index_whose_log_is_already_renamed_replaces_the_old_index() -> None:
    names = names_of("50.log", "50.index", "50.index.swap", "50.timeindex", "90.log")
    read, skipped = shown(plan_swaps(names, {}))
    assert read == names_of("50.log", "50.index.swap", "50.timeindex", "90.log")
    assert skipped == {names_of("50.index")[0]: SkipReason.REPLACED_BY_SWAP}


def test_swap_at_or_above_a_cleaned_file_belongs_to_an_unfinished_split() -> None:
    names = names_of("0.log", "0.log.swap", "50.log.swap", "50.index.cleaned", "60.log.swap")
    assert [str(file) for file in usable_swap_logs(names)] == names_of("0.log.swap")
    read, skipped = shown(plan_swaps(names, {0: 40}))
    assert read == names_of("0.log.swap")
    assert skipped == {
        names_of("0.log")[0]: SkipReason.REPLACED_BY_SWAP,
        names_of("50.index.cleaned")[0]: SkipReason.UNFINISHED_CLEANING,
        **dict.fromkeys(names_of("50.log.swap", "60.log.swap"), SkipReason.UNFINISHED_SPLIT),
    }


def test_unfinished_split_replaces_nothing() -> None:
    names = names_of("0.log", "0.log.swap", "0.log.cleaned")
    read, skipped = shown(plan_swaps(names, {}))
    assert read == names_of("0.log")
    assert sorted(skipped) == names_of("0.log.cleaned", "0.log.swap")


def test_swap_whose_end_is_not_given_is_refused() -> None:
    with pytest.raises(MissingSwapEndError, match=r"00000000000000000050\.log\.swap"):
        plan_swaps(names_of("0.log.swap", "50.log.swap"), {0: 50})


def test_side_files_are_distinguished_from_unknown_ones() -> None:
    side_files = [
        "00000000000000000053-0000000001.checkpoint",
        "00000000000000000053-0000000001.checkpoint.deleted",
        "00000000000000000053-0000000001.checkpoint.part",
        "leader-epoch-checkpoint",
        "leader-epoch-checkpoint.tmp",
        "partition.metadata",
        "quorum-state",
    ]
    unknown = ["00000000000000000000.log.bak", "123.log", "README", f"{2**63:020}.log"]
    plan = plan_swaps([*unknown, *side_files], {})
    assert plan == FolderPlan((), (), tuple(side_files), tuple(sorted(unknown)))


def test_swap_left_by_a_cleaner_replaces_the_whole_range_on_a_damaged_disk() -> None:
    case = corrupt_case("cleaner_swap_left__v2")
    names = [path.name for path in case.folder.iterdir()]
    assert [file.base_offset for file in usable_swap_logs(names)] == [0]
    read, skipped = shown(plan_swaps(names, {0: 307}))
    assert read == names_of("0.log.swap", "0.index.swap", "0.timeindex.swap")
    assert set(skipped.values()) == {SkipReason.REPLACED_BY_SWAP}
    assert [name for name in sorted(skipped) if name.endswith(".log")] == names_of(
        "0.log", "158.log", "211.log"
    )


def test_cleaned_files_left_by_a_cleaner_are_worthless_on_a_damaged_disk() -> None:
    case = corrupt_case("cleaner_cleaned_left__v2")
    read, skipped = shown(plan_swaps([path.name for path in case.folder.iterdir()], {}))
    assert [name for name in read if name.endswith(".log")] == names_of(
        "0.log", "158.log", "211.log"
    )
    assert sorted(skipped) == sorted(
        names_of("0.log.cleaned", "0.index.cleaned", "0.timeindex.cleaned")
    )


def test_stray_files_of_a_damaged_disk_are_unknown() -> None:
    case = corrupt_case("stray_files__v2")
    plan = plan_swaps([path.name for path in case.folder.iterdir() if path.is_file()], {})
    assert plan.unknown == ("00000000000000000000.log.bak", "123.log", "README")
    folders = [path.name for path in case.log_dir.iterdir() if path.is_dir()]
    assert [name for name in folders if parse_folder_name(name)] == [case.folder.name]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_name_on_the_disks_is_known(scenario: str) -> None:
    found = set()
    for copy in broker_disks.copies(scenario):
        for log_dir in broker_disks.log_dirs(scenario, copy):
            for path in log_dir.path.iterdir():
                if not path.is_dir() or path.name == "remote-log-index-cache":
                    continue
                folder = parse_folder_name(path.name)
                assert folder is not None, path.name
                assert folder.topic_is_complete
                if folder.kind is FolderKind.LIVE:
                    found.add((copy, folder.topic, folder.partition))
                assert plan_swaps([file.name for file in path.iterdir()], {}).unknown == ()
    facts = {
        (copy, partition.topic, partition.partition)
        for copy in broker_disks.copies(scenario)
        for partition in broker_disks.partitions(scenario, copy)
    }
    assert facts <= found


def test_moved_and_deleted_folders_of_broker_disks_have_their_kinds() -> None:
    kinds = {
        (parsed.topic, parsed.kind)
        for scenario in ("07_delete_records", "09_jbod")
        for log_dir in broker_disks.log_dirs(scenario, "stopped")
        for path in log_dir.path.iterdir()
        if (parsed := parse_folder_name(path.name)) and parsed.kind is not FolderKind.LIVE
    }
    assert kinds == {
        ("dr-dropped", FolderKind.DELETE),
        ("dr-recreated", FolderKind.DELETE),
        ("jb-move", FolderKind.FUTURE),
    }


@given(st.text(max_size=80) | st.from_regex(r"[a.-]{0,5}-[0-9]{1,3}", fullmatch=True))
def test_any_name_is_read_or_is_none(name: str) -> None:
    folder = parse_folder_name(name)
    assert folder is None or name.startswith(f"{folder.topic}-{folder.partition}")
    file = parse_file_name(name)
    assert file is None or str(file) == name


def _file(base_offset: int, kind: FileKind, state: FileState) -> SegmentFileName:
    suffix = "" if state is FileState.LIVE else f".{state}"
    return SegmentFileName(base_offset, kind, state, f"{base_offset:020d}.{kind}{suffix}")


FILES = st.builds(
    _file,
    st.sampled_from([0, 10, 20, 30]),
    st.sampled_from(FileKind),
    st.sampled_from(FileState),
)


@given(st.sets(FILES), st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_each_file_is_read_or_superseded_and_each_kind_read_once(
    files: set[SegmentFileName], sizes: list[int]
) -> None:
    names = [str(file) for file in files] + ["README", "partition.metadata"]
    ends = {offset: offset + size for offset, size in zip([0, 10, 20, 30], sizes, strict=True)}
    plan = plan_swaps(names, ends)
    skipped = [file for file, _ in plan.superseded]
    assert sorted(map(str, [*plan.read, *skipped])) == sorted(map(str, files))
    assert len({(file.base_offset, file.kind) for file in plan.read}) == len(plan.read)
    assert all(file.state in {FileState.LIVE, FileState.SWAP} for file in plan.read)
    assert (plan.side_files, plan.unknown) == (("partition.metadata",), ("README",))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("00000000000000000053-0000000001.checkpoint", (53, 1)),
        ("00000000000000000000-0000000000.checkpoint", (0, 0)),
        ("00000000000000000053-0000000001.checkpoint.part", None),
        ("00000000000000000053-0000000001.checkpoint.deleted", None),
        ("bootstrap.checkpoint", None),
        ("00000000000000000053.snapshot", None),
        ("53-1.checkpoint", None),
    ],
)
def test_only_a_finished_snapshot_of_the_metadata_log_has_an_end(
    name: str, expected: tuple[int, int] | None
) -> None:
    assert parse_metadata_snapshot_name(name) == expected
