"""Cells tile a topic: each row lies in one of them, and none has much more rows than it may."""

from hypothesis import given
from hypothesis import strategies as st

from seglake.kafka_log.replica import PartitionKey
from seglake.lake.parquet_rows import HIGHEST
from seglake.pipelines.lake_audit.cells import Cell, TopicFile, cells_of
from seglake.pipelines.lake_audit.ledger import LakePartition, LedgerRange, PartitionLedger
from seglake.storage.local_storage import LocalStorage

_STORAGE = LocalStorage()


def _file(partition: int, start: int, row_count: int) -> TopicFile:
    offsets = (start, start + row_count - 1)
    return TopicFile("records", f"{partition}@{start}", row_count, (partition,) * 2, *[offsets] * 2)


def _ledger(partition: int) -> PartitionLedger:
    own = LedgerRange(0, 100, "ingest", 1, "attempt")
    return PartitionLedger(LakePartition("c", PartitionKey("orders", partition, None)), (own,))


def _cells(files: list[TopicFile], most_rows: int, partitions: int = 3) -> list[Cell]:
    ledgers = [_ledger(partition) for partition in range(partitions)]
    return cells_of(_STORAGE, "orders", files, ledgers, {}, most_rows)


def _holding(cells: list[Cell], partition: int, offset: int) -> list[Cell]:
    return [
        cell
        for cell in cells
        if cell.partitions[0] <= partition <= cell.partitions[1]
        and cell.offsets[0] <= offset <= cell.offsets[1]
    ]


_FILES = st.lists(
    st.builds(_file, st.integers(0, 5), st.integers(0, 1000), st.integers(1, 500)), max_size=8
)


@given(_FILES, st.integers(1, 300), st.integers(-(1 << 31), 1 << 31), st.integers(-1, HIGHEST))
def test_each_row_lies_in_one_cell(
    files: list[TopicFile], most_rows: int, partition: int, offset: int
) -> None:
    assert len(_holding(_cells(files, most_rows), partition, offset)) == 1


@given(_FILES, st.integers(1, 300))
def test_a_cell_has_the_files_that_may_hold_its_rows_and_its_ledger(
    files: list[TopicFile], most_rows: int
) -> None:
    cells = _cells(files, most_rows)
    for file in files:
        if file.partitions is None or file.starts is None:
            raise ValueError("these files have bounds")
        for offset in file.starts:
            (cell,) = _holding(cells, file.partitions[0], offset)
            assert file.path in cell.files["records"]
    for partition in range(3):
        (cell,) = _holding(cells, partition, 0)
        assert partition in [ledger.partition.key.partition for ledger in cell.ledgers]


def test_a_heavy_partition_is_cut_where_its_rows_are() -> None:
    files = [_file(0, 0, 10), _file(1, 0, 1000), _file(1, 1_000_000, 1000), _file(2, 0, 10)]
    cells = [cell for cell in _cells(files, 500) if cell.partitions[0] == 1]
    assert len(cells) == 4
    assert [cell.offsets[0] for cell in cells[1:]] == [500, 1_000_000, 1_000_500]
    assert [cell.files["records"] for cell in cells] == [
        ("1@0",),
        ("1@0",),
        ("1@1000000",),
        ("1@1000000",),
    ]
    assert [cell.is_first for cell in cells] == [True, False, False, False]


def test_light_partitions_share_a_cell() -> None:
    (cell,) = _cells([_file(partition, 0, 10) for partition in range(3)], 500)
    assert len(cell.ledgers) == 3


def test_a_file_without_statistics_goes_to_every_cell() -> None:
    unknown = TopicFile("records", "unknown", 10, None, None, None)
    cells = _cells([unknown, *(_file(partition, 0, 100) for partition in range(3))], 150)
    assert len(cells) == 3
    assert all("unknown" in cell.files["records"] for cell in cells)
