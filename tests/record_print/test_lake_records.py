"""Records of a lake: those that count, in order, from the files that may have them."""

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from seglake.errors import SeglakeError
from seglake.lake.parquet_files import ParquetFile
from seglake.lake.tables import RECORDS
from seglake.storage.local_storage import LocalStorage
from seglake.storage.storage import Reader
from support import broker_disks
from support.audits import replace_files
from support.cases import cases, shared
from support.conversions import DISK_COPIES, Conversions, DiskCopy
from support.elected_logs import ElectedLog, plain, write_elected
from support.lakes import ingested, ingested_in_pieces, read_arrow, retaken
from support.made_logs import make_log_dir
from support.oracle import Isolation
from support.printed import cat
from support.transaction_logs import TransactionLog, abort, commit, sent, write_log

_COPIES = cases(DISK_COPIES, telling=lambda copy: copy.is_telling, name="-".join)


@pytest.mark.parametrize("copy", shared(_COPIES))
def test_a_lake_has_what_its_disks_have(copy: DiskCopy, conversions: Conversions) -> None:
    options = ["--isolation", copy.isolation, "--internal-topics", "-q"]
    lake = conversions.of_copy(copy).lake
    of_lake, of_disks = cat("--lake", lake, *options), cat("--source", copy.disks, *options)
    has_holes = copy.scenario == "12_tiered"  # what is in the remote tier only
    assert (of_lake.code, of_lake.out) == (3 if has_holes else 0, of_disks.out)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A lake of many small files that hold several partitions each, and its disk."""
    folder = tmp_path_factory.mktemp("pieces")
    (disk,) = (place.path for place in broker_disks.log_dirs("06_transactions", "stopped"))
    ingested_in_pieces(disk, folder / "lake", "read_committed", split_bytes=900, wave_bytes=9000)
    return folder / "lake", disk


def test_any_choice_is_the_one_from_the_disks(pieces: tuple[Path, Path]) -> None:
    lake, disk = pieces
    whole = cat("--source", disk, "-q").lines
    random = Random(7)
    for _ in range(3):
        topic = random.choice(whole)["topic"]
        first, stop = sorted(random.sample(range(max(line["offset"] for line in whole)), 2))
        early, late = sorted(random.choice(whole)["timestamp"] for _ in range(2))
        for options in (
            ["--topics", topic, "--offsets", f"{first}:{stop}"],
            ["--partition", "0", "--limit", str(first)],
            ["--from-timestamp", early, "--offsets", f"{first}:"],
            ["--to-timestamp", late],
        ):
            of_lake = cat("--lake", lake, "-q", *options)
            assert of_lake.out == cat("--source", disk, "-q", *options).out


def test_rows_that_another_writer_has_mixed_come_in_order(tmp_path: Path) -> None:
    """OPTIMIZE may write the rows of several files in any order into one."""
    from deltalake import DeltaTable

    lake = tmp_path / "lake"
    for stop in (40, 80):
        edges = {("orders", 0): [0, 20, stop], ("orders", 1): [0, 30, stop]}
        ingested(make_log_dir(tmp_path / "data", edges), lake)
    whole = cat("--lake", lake).out
    DeltaTable(str(lake / "records")).optimize.z_order(["key"])
    assert len(whole.splitlines()) == 160
    assert cat("--lake", lake).out == whole


def test_row_groups_that_overlap_come_in_order(tmp_path: Path) -> None:
    """Two files that have every second ten offsets each."""
    lake, storage = tmp_path / "lake", LocalStorage()
    ingested(make_log_dir(tmp_path / "data", {("orders", 0): [0, 80]}), lake)
    whole = cat("--lake", lake).out
    rows = pa.RecordBatch.from_pylist(
        sorted(read_arrow(lake, "records").to_pylist(), key=lambda row: int(row["offset"])),
        schema=RECORDS.file_schema,
    )
    files = []
    for first in (0, 1):
        with ParquetFile(storage, str(lake), RECORDS, "orders") as file:
            file.write(rows.take([row for row in range(80) if row // 10 % 2 == first]))
            files.append(file.close())
    replace_files(lake, RECORDS, [file for file in files if file is not None])
    assert len(files) == 2
    assert cat("--lake", lake).out == whole


def test_rows_of_a_commit_that_broke_off_wait_for_its_end(tmp_path: Path) -> None:
    def die(done: str) -> None:
        if done == "records":
            raise SeglakeError("here")

    lake = tmp_path / "lake"
    ingested(make_log_dir(tmp_path / "data", {("orders", 0): [0, 20]}), lake)
    data = make_log_dir(tmp_path / "data", {("orders", 0): [0, 20, 40]})
    with pytest.raises(SeglakeError, match="here"):
        ingested(data, lake, after=die)
    assert read_arrow(lake, "records").num_rows == 40
    assert [line["offset"] for line in cat("--lake", lake).lines] == [*range(20)]
    ingested(data, lake)
    assert [line["offset"] for line in cat("--lake", lake).lines] == [*range(40)]


def test_files_without_a_wanted_row_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_reader(storage: LocalStorage, path: str) -> Reader:
        opened.append(path)
        return original(storage, path)

    for stop in (40, 80):
        edges = {("orders", 0): [0, stop], ("payments", 0): [0, stop]}
        ingested(make_log_dir(tmp_path / "data", edges), tmp_path / "lake")
    original = LocalStorage.open_reader
    monkeypatch.setattr(LocalStorage, "open_reader", open_reader)
    for options in (
        ["--topics", "orders", "--offsets", "50:60"],
        ["--topics", "orders", "--from-timestamp", "2023-11-14T22:14:20"],
        ["--limit", "40"],
    ):
        opened.clear()
        assert cat("--lake", tmp_path / "lake", *options).lines
        records = {path for path in opened if "/records/" in path}
        assert len(records) == 1
        assert "/records/topic=orders/" in min(records)


def test_what_lost_an_election_is_left_out(tmp_path: Path) -> None:
    before = plain(1, 2)
    loser, winner = ElectedLog.of(*before, *plain(1, 3)), ElectedLog.of(*before, *plain(3, 2, 4))
    lake, disk = tmp_path / "lake", tmp_path / "disk"
    ingested(write_elected(disk, loser), lake, read={"upper_bound": "log_end"})
    write_elected(disk, winner, broker_id=1)
    ingested(disk, lake)
    assert _values(cat("--lake", lake).lines) == winner.consumed()[:10]
    retaken(lake, disk)
    assert _values(cat("--lake", lake).lines) == winner.consumed()


def _values(lines: list[dict[str, object]]) -> list[tuple[object, bytes]]:
    return [(line["offset"], str(line["value"]).encode()) for line in lines]


def test_records_of_transactions_are_shown_as_far_as_they_are_committed(tmp_path: Path) -> None:
    log = TransactionLog.of([sent(1), commit(1), sent(2), abort(2), sent(), sent(3)])
    write_log(tmp_path / "data", log, [0])
    lake = tmp_path / "lake"
    ingested(tmp_path / "data", lake, isolation=Isolation.READ_UNCOMMITTED)
    printed = cat("--lake", lake)
    assert [line["offset"] for line in printed.lines] == [0, 1, 2, 8, 9, 10]
    assert "whose transaction was open when they were ingested: 3;" in printed.err
    everything = cat("--lake", lake, "--isolation", "read_uncommitted")
    assert (len(everything.lines), everything.err) == (12, "")


def test_wrong_calls_name_what_the_lake_has(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingested(make_log_dir(tmp_path / "data", {("orders", 0): [0, 10]}), lake)
    for options, said in (
        (["--topics", "order"], "no topic of the lake is selected by order (did you mean orders?)"),
        (["--partition", "3"], "has no partition 3 of the selected"),
        (["--source-id", "other"], "the lake has no rows of a cluster other"),
    ):
        printed = cat("--lake", lake, *options)
        assert (printed.code, printed.out) == (2, b"")
        assert said in printed.err
    assert cat("--lake", tmp_path / "data").code == 2


@pytest.fixture(scope="module")
def holed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a damaged batch of [10, 15), and without [30, 40)."""
    folder = tmp_path_factory.mktemp("holed")
    disk = make_log_dir(folder / "disk", {("orders", 0): [0, 20, 30, 40, 50], ("sound", 0): [0, 9]})
    log = disk / "orders-0" / f"{0:020}.log"
    content = bytearray(log.read_bytes())
    content[-200] ^= 1
    log.write_bytes(content)
    (disk / "orders-0" / f"{30:020}.log").unlink()
    ingested(disk, folder / "lake")
    return folder / "lake"


_DAMAGED = "5 offsets quarantined in [10, 15): the lake has no record there"
_MISSING = "10 offsets missing in [30, 40): the lake has no record there"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], [_DAMAGED, _MISSING]),
        (["-q"], [_DAMAGED, _MISSING]),
        (["--topics", "sound"], []),
        (["--offsets", "12:31"], [_DAMAGED, _MISSING]),
        (["--offsets", "15:30"], []),
        (["--limit", "10"], []),
        (["--limit", "11"], [_DAMAGED]),
        (["--from-timestamp", "2023-11-14T22:13:38Z"], [_MISSING]),
        (["--to-timestamp", "2023-11-14T22:13:37Z"], [_DAMAGED]),
    ],
)
def test_offsets_of_which_a_lake_has_no_record_are_named_and_need_a_look(
    holed: Path, options: list[str], said: list[str]
) -> None:
    printed = cat("--lake", holed, *options)
    assert printed.code == (3 if said else 0)
    assert printed.err.splitlines() == [f"seglake: orders-0: {text}" for text in said]


def test_topics_that_were_named_and_are_not_there_need_a_look(holed: Path) -> None:
    disk = holed.parent / "disk"
    for option, place in (("--lake", holed), ("--source", disk)):
        printed = cat(option, place, "--topics", "sound", "sonud", "-q")
        assert (printed.code, len(printed.lines)) == (3, 9)
        assert "seglake: sonud selects no topic of the " in printed.err
