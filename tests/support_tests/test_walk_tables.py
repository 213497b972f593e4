"""A broken test over walks shows them: where they differ, and what each of them found."""

import pytest

from seglake.segment_codec.kernels.batch_run import BatchRun
from support.encoder import Codec, EncodedBatch, Record, message, record_batch
from support.faults import bad_crc
from support.run_walks import walked_both_ways
from support.walk_tables import difference_of, table_of
from support.walks import laid_out, walked

pytest_plugins = ["pytester"]

_CONFTEST = """
from support.walk_tables import WalkTables

def pytest_configure(config):
    config.pluginmanager.register(WalkTables())
"""


def _batch(offset: int) -> EncodedBatch:
    return record_batch(offset, [Record(b"k", b"v", 1)] * 2, codec=Codec.GZIP)


_SOUND = [_batch(0), _batch(2), _batch(4)]
_DAMAGED = [_batch(0), bad_crc(_batch(2)), _batch(4), message(6, Record(b"a", b"b", 1, ()), 1)]


def _cells(line: str) -> list[str]:
    return line.split()


def test_table_has_place_offsets_and_first_bytes_of_each_item() -> None:
    content = laid_out(*_DAMAGED, _batch(7).data[:-4])
    lines = table_of(walked(content, is_last=True), content)
    size = len(_batch(0).data)
    assert _cells(lines[0])[:4] == ["position", "bytes", "what", "offsets"]
    assert _cells(lines[1])[:5] == ["0", str(size), "batch", "[0,", "2)"]
    assert _cells(lines[1])[-4:] == ["0" * 16, f"{size - 12:08x}", "0" * 8, "02"]
    assert _cells(lines[2])[:4] == [str(size), str(size), "!", "crc_mismatch"]
    assert "claims 2 to ?, expected 2" in lines[2]
    assert "messages of magic 1 [6, 7)" in " ".join(_cells(lines[4]))
    assert _cells(lines[5])[2:4] == ["~", "tail_torn"]
    assert len(lines) == 6


def test_run_of_batches_is_one_line() -> None:
    runs = walked_both_ways(laid_out(*(_batch(2 * n) for n in range(10)))).runs
    assert [type(run) for run in runs] == [BatchRun]
    assert "run of batches [0, 20) 10 inside" in " ".join(_cells(table_of(runs)[1]))


def test_many_items_are_the_first_and_the_last() -> None:
    lines = table_of(walked(laid_out(*(_batch(2 * n) for n in range(50)))))
    assert len(lines) == 32
    assert "20 more" in lines[16]
    assert "[98, 100)" in lines[-1]


def test_difference_is_the_first_item_that_is_another() -> None:
    title, _, *rows = difference_of(walked(laid_out(*_DAMAGED)), walked(laid_out(*_SOUND)))
    assert title == "walks of 4 and 3 items differ from item 1 on"
    assert [_cells(row)[0] for row in rows] == ["both", "left", "right"]
    assert "crc_mismatch" in rows[1]
    assert "[2, 4)" in rows[2]


def test_difference_names_the_fields_that_no_column_has() -> None:
    other = record_batch(2, [Record(b"k", b"w", 1)] * 2, codec=Codec.GZIP)
    walks = [walked(laid_out(_batch(0), batch)) for batch in (_batch(2), other)]
    assert difference_of(*walks)[0].endswith("from item 1 on, in header, payload")


def test_difference_of_a_walk_that_ends_early_is_what_it_lacks() -> None:
    _, _, *rows = difference_of(walked(laid_out(*_SOUND[:2])), walked(laid_out(*_SOUND)))
    assert [_cells(row)[0] for row in rows] == ["both", "right"]


@pytest.mark.parametrize(
    ("asserted", "shown"),
    [
        ("found == walked(_BATCH.data * 2)", "walks of 1 and 2 items differ from item 1 on"),
        ("[unit.first_offset for unit in found] == [3]", "[0, 2)"),
    ],
)
def test_broken_test_shows_its_walks(pytester: pytest.Pytester, asserted: str, shown: str) -> None:
    pytester.makeconftest(_CONFTEST)
    pytester.makepyfile(
        "from support.encoder import Record, record_batch\n"
        "from support.walks import walked\n"
        "_BATCH = record_batch(0, [Record(b'k', b'v', 1)] * 2)\n"
        "def test_a():\n"
        "    found = walked(_BATCH.data)\n"
        f"    assert {asserted}\n"
        "def test_b(): assert 0\n"
    )
    printed = pytester.runpytest("-q", "-p", "no:cacheprovider", "-p", "no:timeout").stdout.str()
    broken, other = printed.partition("_ test_b _")[::2]
    assert shown in broken
    assert f"walk over {len(record_batch(0, [Record(b'k', b'v', 1)] * 2).data)} bytes" in broken
    assert "walk over" not in other
