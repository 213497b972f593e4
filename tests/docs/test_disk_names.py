"""The table of what may lie in a log dir: page, code and Kafka's own constants agree."""

import re
from pathlib import Path

import pytest

from seglake.log_dirs.unread_files import UnreadKind
from seglake.segment_codec.formats.side_files.known_names import (
    KNOWN_NAMES,
    KnownName,
    Place,
    Use,
    known_name,
)
from seglake.segment_codec.formats.side_files.log_dir import (
    FileKind,
    FileState,
    SideFile,
    parse_file_name,
)

_PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
_ROW = re.compile(
    r"^\| (log dir|partition folder|both) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE
)
_OFFSET, _HEX = "00000000000000000042", "0123456789abcdef" * 2

# Class, constant, a name that Kafka makes with it, where, and whether it is a folder.
_LOG_DIR, _PARTITION = Place.LOG_DIR, Place.PARTITION
_KAFKAS = [
    ("TopicPartition", "toString", "orders-0", _LOG_DIR, True),
    ("Topic", "CLUSTER_METADATA_TOPIC_NAME", "__cluster_metadata-0", _LOG_DIR, True),
    ("LocalLog", "DELETE_DIR_SUFFIX", f"orders-0.{_HEX}-delete", _LOG_DIR, True),
    ("LocalLog", "FUTURE_DIR_SUFFIX", f"orders-0.{_HEX}-future", _LOG_DIR, True),
    ("LocalLog", "STRAY_DIR_SUFFIX", f"orders-0.{_HEX}-stray", _LOG_DIR, True),
    ("RemoteIndexCache", "DIR_NAME", "remote-log-index-cache", _LOG_DIR, True),
    ("MetaPropertiesEnsemble", "META_PROPERTIES_NAME", "meta.properties", _LOG_DIR, False),
    ("BrokerMetadataCheckpoint", "write", "meta.properties.tmp", _LOG_DIR, False),
    ("ReplicaManager", "HighWatermarkFilename", "replication-offset-checkpoint", _LOG_DIR, False),
    ("CheckpointFile", "tempPath", "replication-offset-checkpoint.tmp", _LOG_DIR, False),
    (
        "LogManager",
        "RECOVERY_POINT_CHECKPOINT_FILE",
        "recovery-point-offset-checkpoint",
        _LOG_DIR,
        False,
    ),
    (
        "LogManager",
        "LOG_START_OFFSET_CHECKPOINT_FILE",
        "log-start-offset-checkpoint",
        _LOG_DIR,
        False,
    ),
    (
        "LogCleanerManager",
        "OFFSET_CHECKPOINT_FILE",
        "cleaner-offset-checkpoint",
        _LOG_DIR,
        False,
    ),
    ("LogManager", "LOCK_FILE_NAME", ".lock", _LOG_DIR, False),
    (
        "CleanShutdownFileHandler",
        "CLEAN_SHUTDOWN_FILE_NAME",
        ".kafka_cleanshutdown",
        _LOG_DIR,
        False,
    ),
    ("BootstrapDirectory", "BINARY_BOOTSTRAP_FILENAME", "bootstrap.checkpoint", _LOG_DIR, False),
    ("ConsumerTask", "COMMITTED_OFFSETS_FILE_NAME", "_rlmm_committed_offsets", _LOG_DIR, False),
    ("LogFileUtils", "LOG_FILE_SUFFIX", f"{_OFFSET}.log", _PARTITION, False),
    ("LogFileUtils", "INDEX_FILE_SUFFIX", f"{_OFFSET}.index", _PARTITION, False),
    ("LogFileUtils", "TIME_INDEX_FILE_SUFFIX", f"{_OFFSET}.timeindex", _PARTITION, False),
    ("LogFileUtils", "TXN_INDEX_FILE_SUFFIX", f"{_OFFSET}.txnindex", _PARTITION, False),
    ("LogFileUtils", "PRODUCER_SNAPSHOT_FILE_SUFFIX", f"{_OFFSET}.snapshot", _PARTITION, False),
    ("LogFileUtils", "DELETED_FILE_SUFFIX", f"{_OFFSET}.log.deleted", _PARTITION, False),
    ("UnifiedLog", "CLEANED_FILE_SUFFIX", f"{_OFFSET}.index.cleaned", _PARTITION, False),
    ("UnifiedLog", "SWAP_FILE_SUFFIX", f"{_OFFSET}.timeindex.swap", _PARTITION, False),
    (
        "LeaderEpochCheckpointFile",
        "LEADER_EPOCH_CHECKPOINT_FILENAME",
        "leader-epoch-checkpoint",
        _PARTITION,
        False,
    ),
    ("CheckpointFile", "tempPath", "leader-epoch-checkpoint.tmp", _PARTITION, False),
    (
        "PartitionMetadataFile",
        "PARTITION_METADATA_FILE_NAME",
        "partition.metadata",
        _PARTITION,
        False,
    ),
    ("PartitionMetadataFile", "tempPath", "partition.metadata.tmp", _PARTITION, False),
    ("FileQuorumStateStore", "DEFAULT_FILE_NAME", "quorum-state", _PARTITION, False),
    ("FileQuorumStateStore", "writeElectionStateToFile", "quorum-state.tmp", _PARTITION, False),
    ("Snapshots", "SUFFIX", f"{_OFFSET}-0000000007.checkpoint", _PARTITION, False),
    (
        "Snapshots",
        "PARTIAL_SUFFIX",
        f"{_OFFSET}-0000000007-8812345.checkpoint.part",
        _PARTITION,
        False,
    ),
    ("Snapshots", "DELETE_SUFFIX", f"{_OFFSET}-0000000007.checkpoint.deleted", _PARTITION, False),
    (
        "CommittedLogMetadataFile",
        "COMMITTED_LOG_METADATA_SNAPSHOT_FILE_NAME",
        "remote_log_snapshot",
        _PARTITION,
        False,
    ),
]
_OF_NO_BROKER = {"lost+found", "offset.wm", "_metadata"}


@pytest.mark.parametrize(
    ("name", "place", "is_folder"),
    [row[2:] for row in _KAFKAS],
    ids=[f"{class_}.{constant}" for class_, constant, *_ in _KAFKAS],
)
def test_each_name_of_kafka_s_is_known(name: str, place: Place, *, is_folder: bool) -> None:
    assert known_name(place, name, is_folder=is_folder) is not None
    assert known_name(place, f"{name}.bak", is_folder=is_folder) is None
    assert known_name(place, f"x{name}", is_folder=is_folder) is None or is_folder


def test_each_row_of_the_code_is_a_name_of_kafka_s() -> None:
    walked = [
        known_name(place, name, is_folder=is_folder) for _, _, name, place, is_folder in _KAFKAS
    ]
    unwalked = [row for row in KNOWN_NAMES if row not in walked]
    assert {row.shown for row in unwalked} == _OF_NO_BROKER


def test_files_of_segments_and_beside_them_are_in_the_list() -> None:
    for kind in FileKind:
        for state in FileState:
            name = f"{_OFFSET}.{kind}" + ("" if state is FileState.LIVE else f".{state}")
            assert parse_file_name(name) is not None
            assert known_name(Place.PARTITION, name) is not None
    for file in set(SideFile):
        assert any(known_name(place, file) is not None for place in Place), file


def _says_so(row: KnownName, text: str) -> bool:
    """Whether the page's last column begins with what the code does."""
    uses = sorted((use for use in Use if text.startswith(use)), key=len)
    return bool(uses) and uses[-1] is row.use


def test_the_page_has_each_name_once_and_says_what_the_code_does() -> None:
    rows = _ROW.findall(_PAGE.read_text("utf-8"))
    said = [
        (place, name, text)
        for place, names, _, text in rows
        if place != "both"
        for name in names.split(", ")
    ]
    assert len(said) == len(KNOWN_NAMES)
    for row in KNOWN_NAMES:
        ((_, _, text),) = [cells for cells in said if cells[:2] == (row.place, f"`{row.shown}`")]
        assert _says_so(row, text), (row.shown, text)


def test_the_page_has_what_others_leave() -> None:
    text = " ".join(
        cells[1] for cells in _ROW.findall(_PAGE.read_text("utf-8")) if cells[0] == "both"
    )
    said = {
        UnreadKind.ARCHIVE: "archives",
        UnreadKind.TIER_OBJECT: "<20 digits>-<id>.log",
        UnreadKind.CONFLUENT_STATE: "….tierstate",
        UnreadKind.HDFS_SEGMENT: "<segment id>",
        UnreadKind.REDPANDA_SEGMENT: "0-1-v1.log",
        UnreadKind.LOG_DIR: "log dirs",
        UnreadKind.PARTITION_FOLDER: "partition folders inside of others",
        UnreadKind.FOLDER: "orders-1.bak",
        UnreadKind.LOOSE_SEGMENT: "outside of a partition folder",
        UnreadKind.RENAMED_SEGMENT: "under other names",
    }
    assert said.keys() == set(UnreadKind)
    assert [words for words in said.values() if words not in text] == []
