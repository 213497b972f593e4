"""`audit` proves that each record of a decoded commit is one typed row or one rejected value."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from seglake.cli.main import main
from seglake.errors import ExitCode
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_audit.typed_proof import TypedAudit
from support.audits import audited
from support.dying import Died, dying
from support.lakes import ingested, retaken
from support.made_logs import make_log_dir
from support.typed_lakes import add_values, decoded, elected_lake, int_of, made

Found = dict[str, list[str]]
Change = Callable[[dict[str, object]], dict[str, object]]


def typed(audit: LakeAudit) -> TypedAudit:
    """What the audit says of typed tables."""
    assert audit.typed is not None
    return audit.typed


def found(audit: LakeAudit) -> Found:
    """The findings about typed tables, by kind."""
    kinds: Found = {}
    for each in typed(audit).findings:
        kinds.setdefault(str(each.kind), []).append(str(each))
    return kinds


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose rows lost an election and were retaken; values and tombstones came later."""
    folder = tmp_path_factory.mktemp("sound")
    lake, winner = elected_lake(folder)
    retaken(lake, winner)
    decoded(lake, "t")
    return lake


@pytest.fixture
def lake(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "lake"))


def test_superseded_and_retaken_rows_are_proved_too(sound: Path) -> None:
    audit = audited(sound)
    assert (found(audit), audit.exit_code) == ({}, ExitCode.DONE)
    assert typed(audit).line() == "typed: 4 typed rows of 1 topic; rejected: 1 value, 0 keys"
    assert typed(audit).line() in to_text(audit)


def _without(table: str, condition: str) -> Callable[[Path], None]:
    def change(lake: Path) -> None:
        path = lake / table
        DeltaTable(str(path)).alter.set_table_properties({"delta.appendOnly": "false"})
        DeltaTable(str(path)).delete(condition)

    return change


def _changed(table: str, change: Change) -> Callable[[Path], None]:
    """Replaces the rows of a table."""

    def write(lake: Path) -> None:
        rows = DeltaTable(str(lake / table)).to_pyarrow_table()
        new = pa.Table.from_pylist([change(row) for row in rows.to_pylist()], rows.schema)
        write_deltalake(str(lake / table), new, mode="overwrite")

    return write


def _twice(lake: Path) -> None:
    rows = DeltaTable(str(lake / "typed" / "t")).to_pyarrow_table()
    write_deltalake(str(lake / "typed" / "t"), rows.slice(0, 1), mode="append")


def _elsewhere(row: dict[str, object]) -> dict[str, object]:
    return row | {"_offset": 7} if row["_offset"] == 0 else row


def _one_more(name: str) -> Change:
    return lambda row: row | {name: int(str(row[name])) + 1}


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        (_without("typed/t", "_offset = 2"), {"typed_rows", "typed_sums"}),
        (_without("value_rejects", "offset = 2"), {"typed_rows", "typed_sums"}),
        (_twice, {"typed_rows", "typed_sums"}),
        (_changed("typed/t", _elsewhere), {"typed_rows"}),
        (_changed("typed_checkpoints", _one_more("records")), {"typed_sums"}),
        (_changed("typed_checkpoints", _one_more("key_rejects")), {"typed_sums"}),
        (_without("typed_checkpoints", "true"), {"typed_rows"}),
        (lambda lake: shutil.rmtree(lake / "typed"), {"typed_rows", "typed_sums"}),
        (lambda lake: shutil.rmtree(lake / "typed_checkpoints"), {"typed_rows"}),
    ],
    ids=["row", "reject", "twice", "elsewhere", "records", "keys", "ledger", "table", "all"],
)
def test_what_was_changed_behind_seglake_s_back_is_found(
    lake: Path, change: Callable[[Path], None], kinds: set[str]
) -> None:
    change(lake)
    audit = audited(lake)
    assert ({*found(audit)}, audit.exit_code) == (kinds, ExitCode.LOOK)
    assert "NOT EXPLAINED: see the typed tables" in to_text(audit)


def test_the_first_lines_name_the_commit_and_its_offsets(lake: Path) -> None:
    _without("typed/t", "_offset = 2")(lake)
    rows, sums = (texts[0] for texts in found(audited(lake)).values())
    assert rows == (
        "t-0: records that are not exactly one typed row or one rejected value: commit 3 has 2"
        " records and 1 typed rows and rejected values at [0, 32)"
    )
    assert "checkpoints has 2 records, and the tables lack 1 of the rows" in sums


def test_an_unfinished_commit_is_a_note(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    decoded(lake, "t")
    add_values(lake, tmp_path / "more", int_of(2), b"bad", start=1)
    with pytest.raises(Died):
        decoded(lake, "t", after=dying("typed/t"))
    audit = audited(lake)
    assert (found(audit), audit.exit_code) == ({}, ExitCode.DONE)
    assert typed(audit).notes[0].startswith("t: a commit of decoded values has begun")
    decoded(lake, "t")
    audit = audited(lake)
    assert (found(audit), typed(audit).notes) == ({}, [])


def test_records_that_wait_for_deserialize_are_counted(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1))
    assert audited(lake).typed is None
    decoded(lake, "t")
    add_values(lake, tmp_path / "more", int_of(2), int_of(3), start=1)
    audit = audited(lake)
    assert (found(audit), audit.exit_code) == ({}, ExitCode.DONE)
    assert "2 records of these topics not decoded yet: run seglake deserialize" in to_text(audit)


def test_a_file_that_cannot_be_read_is_a_problem(lake: Path) -> None:
    [*files] = (lake / "typed" / "t").glob("*.parquet")
    for file in files:
        file.write_bytes(b"x" * file.stat().st_size)
    audit = audited(lake)
    assert ({*found(audit)}, audit.exit_code) == ({"typed_rows"}, ExitCode.LOOK)


def test_erased_records_are_missed_in_no_table_and_counted_no_more(tmp_path: Path) -> None:
    lake = made(tmp_path, int_of(1), int_of(2), b"bad", b"bad")
    decoded(lake, "t")
    for offset in (1, 2):
        where = f'"offset" = {offset}'
        call = ["erase", "--lake", str(lake), "--topics", "t", "--where", where]
        assert main([*call, "--engine", "local", "-q"]) == 0
    summary = decoded(lake, "t")
    assert (summary.topics, summary.to_text().split(" (")[0]) == (
        [],
        "nothing new to decode, and 1 reject of earlier runs",
    )
    audit = audited(lake)
    assert (found(audit), audit.exit_code) == ({}, ExitCode.DONE)
    assert typed(audit).line() == "typed: 1 typed row of 1 topic; rejected: 1 value, 0 keys"


def test_a_lake_of_which_nothing_is_decoded_yet_says_so(tmp_path: Path) -> None:
    """A first run over topics without schemas makes the tables, and no row."""
    lake = tmp_path / "lake"
    ingested(make_log_dir(tmp_path / "disk", {("plain", 0): [0, 5]}), lake)
    decoded(lake, "plain")
    assert typed(audited(lake)).line() == "typed: no record is decoded yet"
