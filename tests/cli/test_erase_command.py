"""`seglake erase` says what it erased, but no key; exit code 3 says that a person should look."""

import json
from pathlib import Path

import pytest

import seglake
from seglake.cli import erase_command
from support.lakes import ingested, read_table
from support.people import people_disk

_ALONE = ("--engine", "local", "--set", "limits.local_processes=1", "-q")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Offsets 0 to 19 of orders, and of payments."""
    ingested(people_disk(tmp_path / "disk", 20), tmp_path / "lake")
    return tmp_path / "lake"


def offsets(lake: Path) -> list[int]:
    rows = [row for row in read_table(lake, "records") if row["topic"] == "orders"]
    return sorted(row["offset"] for row in rows)


def test_a_key_as_text_or_as_hexadecimal_bytes_is_erased(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["--lake", str(lake), "--topics", "orders", *_ALONE]
    assert erase_command.main([*call, "--key", "ann's key", "--dry-run"]) == 0
    first, line = capsys.readouterr().out.splitlines()
    assert first.startswith("7 records of 1 topic would be erased (")
    assert line.startswith("orders: 7 records; 1 of 1 file to be written again, ")
    assert erase_command.main([*call, "--key", "ann's key"]) == 0
    first, line, old, rule = capsys.readouterr().out.splitlines()
    assert first.startswith("7 records of 1 topic erased (")
    assert line.startswith("orders: 7 records; 1 of 1 file written again, ")
    assert old.startswith("files of earlier versions still have the bytes; maintain deletes them")
    assert rule.startswith("1 rule stored; seglake erase --lift ")
    assert erase_command.main([*call, "--key-hex", b"bob's key".hex(), "--json"]) == 0
    printed = capsys.readouterr().out
    facts = json.loads(printed)
    assert (facts["records"], facts["exit_code"], facts["topics"][0]["files"]) == (7, 0, 1)
    assert not any(text in printed for text in ("bob", b"bob".hex()))
    assert offsets(lake) == [offset for offset in range(20) if offset % 3 == 2]


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--key", ""),
        ("--key-hex", ""),
        ("--key", "a", "--where", "true"),
        ("--key-hex", "xyz"),
        ("--where", "value"),
        ("--lift", "no run"),
        ("--lift", "a run", "--key", "a"),
    ],
    ids=["nothing", "no text", "no hex", "two", "no bytes", "no condition", "no run", "and a key"],
)
def test_a_wrong_call_ends_with_2(lake: Path, more: tuple[str, ...]) -> None:
    call = ["--lake", str(lake), "--topics", "orders", *_ALONE, *more]
    try:
        code = erase_command.main(call)
    except SystemExit as end:
        code = int(str(end.code))
    assert (code, (lake / "erasures").exists()) == (2, False)


def test_a_topic_that_does_not_exist_is_named_with_exit_code_3(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["--lake", str(lake), "--topics", "orders", "ordres", *_ALONE]
    assert erase_command.main([*call, "--where", '"offset" > 17']) == 3
    assert "left out: ordres selects no topic of the lake" in capsys.readouterr().out


def test_python_erases_by_text_bytes_or_condition(lake: Path) -> None:
    summary = seglake.erase(lake, topics=["orders"], key=b"ann's key", engine="local")
    assert summary.records == 7
    where = "key_text = 'bob''s key'"
    summary = seglake.erase(lake, topics=["orders"], where=where, engine="local")
    assert (summary.records, offsets(lake)) == (7, [o for o in range(20) if o % 3 == 2])
    lifted = seglake.erase(lake, topics=["orders"], lift=summary.run_id, engine="local")
    assert lifted.lifted == 7
    with pytest.raises(seglake.WrongCallError):
        seglake.erase(lake, topics=["orders"], engine="local")
