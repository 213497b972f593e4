"""Of a look only a part is shown; the summary is that of the whole, and what is left is counted.

What a part must be is taken from a look at everything.
"""

import io
from pathlib import Path
from typing import Any

import pytest

from seglake.errors import WrongCallError
from seglake.pipelines.segment_inspect.run import inspect, inspected
from seglake.pipelines.segment_inspect.shown_part import Part
from seglake.storage.local_storage import LocalStorage
from support.looks import LOG, Line, of_type

_DISK = Path(__file__).parents[2] / "samples" / "broker-0"
_DAMAGED = _DISK / "v2-none-1"  # three segments, with damage in the second
_TRANSACTIONS = _DISK / "tx-a-0"  # with markers, which show no record


def _lines(path: Path, *, records: bool = False, **part: Any) -> list[Line]:
    return [*inspected(str(path), LocalStorage(), records=records, part=Part(**part))]


def _text(path: Path, *, records: bool = False, **part: Any) -> str:
    out = io.StringIO()
    shown, storage = Part(**part), LocalStorage()
    inspect(str(path), storage, records=records, as_json=False, out=out, part=shown)
    return out.getvalue()


@pytest.mark.parametrize("folder", [_DAMAGED, _TRANSACTIONS], ids=lambda folder: folder.name)
@pytest.mark.parametrize("first", [0, 1, 89, 110, 117, 266, 1000])
def test_from_an_offset_on_whole_batches_are_shown_and_single_records(
    folder: Path, first: int
) -> None:
    everything, shown = (
        _lines(folder, records=True),
        _lines(folder, records=True, from_offset=first),
    )
    for kind, offset in (("batch", "last_offset"), ("record", "offset")):
        expected = [line for line in of_type(everything, kind) if line[offset] >= first]
        assert of_type(shown, kind) == expected
    assert shown[-1] == everything[-1]
    assert of_type(shown, "rest") == []


def test_of_damage_alone_nothing_else_is_shown() -> None:
    everything = _lines(_DISK)
    shown = _lines(_DISK, only_defects=True)
    for kind in ("defect", "tail"):
        assert of_type(shown, kind) == of_type(everything, kind) != []
    batches = [line for line in of_type(everything, "batch") if not line["valid"]]
    assert of_type(shown, "batch") == batches != []
    assert of_type(shown, "record") == []
    assert shown[-1] == everything[-1]
    segments = {line["path"] for line in of_type(shown, "file") if line["kind"] == "log"}
    damaged = {line["segment"] for line in (*of_type(shown, "defect"), *of_type(shown, "tail"))}
    assert segments == {str(_DISK / segment) for segment in damaged}


def test_of_a_log_dir_a_person_sees_the_damaged_partitions_alone() -> None:
    names = sorted(path.name for path in _DISK.iterdir() if path.is_dir())

    def named(text: str) -> list[str]:
        return [name for name in names if f"\n  {name} " in text]

    # The first of these is torn at its end.
    assert named(_text(_DISK, only_defects=True)) == ["v2-lz4-0", "v2-none-1", "v2-zstd-1"]


def test_the_line_of_a_segment_comes_only_with_something_of_it() -> None:
    text = _text(_DAMAGED, from_offset=210)
    assert [f"{base:020}.log" in text for base in (0, 117, 208)] == [False, False, True]


@pytest.mark.parametrize("part", [{"from_offset": -1}, {"offset": -1}])
def test_a_number_below_0_is_a_wrong_call(part: dict[str, Any]) -> None:
    with pytest.raises(WrongCallError, match="must be a number from 0 on, got -1"):
        Part(**part)


@pytest.mark.parametrize("other", [{"from_offset": 2}, {"only_defects": True}])
def test_an_offset_is_looked_up_alone(other: dict[str, Any]) -> None:
    with pytest.raises(WrongCallError, match="--offset excludes --from, --to and --only-defects"):
        Part(offset=3, **other)


def test_entries_of_an_index_begin_at_an_offset() -> None:
    index = _DAMAGED / LOG.replace(".log", ".index")
    everything = of_type(_lines(index), "entry")
    assert of_type(_lines(index, from_offset=everything[1]["offset"]), "entry") == everything[1:]
