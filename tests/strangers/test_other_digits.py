"""Names with the digits of a broker's locale: Kafka formats and parses them as Java does."""

import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from seglake.pipelines.segment_inspect.run import inspected
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import Engine
from support import broker_disks
from support.audits import checked
from support.cases import cases
from support.found import unread_files
from support.lakes import ingested, read_table, replayed
from support.made_logs import make_log_dir
from support.printed import cat
from support.taken import offsets_taken

_ZEROS = {"arabic": "\u0660", "persian": "\u06f0", "devanagari": "\u0966", "burmese": "\u1040"}
_RESPELLED = [*product(("06_transactions", "05_compacted", "11_kraft"), _ZEROS)]
_TELLING = {  # each disk, and all digits
    *(("06_transactions", "arabic"), ("06_transactions", "burmese")),
    *(("05_compacted", "persian"), ("11_kraft", "devanagari")),
}
_KEPT = {"run_id", "attempt_id", "committed_at", "quarantined_at", "segment", "observed_at"}


def _spelled(name: str, zero: str) -> str:
    """A file's name as a broker of another locale writes it."""
    stem, dot, kind = name.partition(".")
    if not stem[:20].isdecimal():
        return name
    digits = {ord("0") + number: ord(zero) + number for number in range(10)}
    return stem.translate(digits) + dot + kind


def _respell(log_dir: Path, zero: str, *, only: Callable[[str], bool] = lambda name: True) -> None:
    for path in sorted(log_dir.glob("*/*")):
        if only(path.name):
            path.rename(path.with_name(_spelled(path.name, zero)))


def _rows(lake: Path, table: str) -> list[str]:
    rows = read_table(lake, table)
    return sorted(repr({k: v for k, v in row.items() if k not in _KEPT}) for row in rows)


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "d", {("orders", 0): [0, 10, 20, 30], ("users", 0): [0, 5]})


@pytest.mark.parametrize(("scenario", "digits"), cases(_RESPELLED, telling=_TELLING))
def test_rows_are_those_of_the_disk_with_ascii_names(
    scenario: str, digits: str, tmp_path: Path, engine: Engine
) -> None:
    zero = _ZEROS[digits]
    (first, *_) = broker_disks.log_dirs(scenario, broker_disks.copies(scenario)[0])
    source = Path(shutil.copytree(first.path, tmp_path / "disk"))
    select = {"internal_topics": True}
    plain = ingested(source, tmp_path / "plain", engine=engine, select=select)
    _respell(source, zero)
    other = ingested(source, tmp_path / "other", engine=engine, select=select)
    assert (plain.records > 0, other.exit_code) == (True, plain.exit_code)
    for table in ("records", "batches", "quarantine", "gaps", "checkpoints", "cluster_metadata"):
        assert _rows(tmp_path / "plain", table) == _rows(tmp_path / "other", table)


def test_scripts_may_change_within_a_log_and_a_name(
    log_dir: Path, lake: Path, engine: Engine
) -> None:
    folder = log_dir / "orders-0"
    _respell(log_dir, _ZEROS["arabic"], only=lambda name: name.startswith(f"{10:020}"))
    (folder / f"{20:020}.log").rename(folder / f"{'0' * 18}\u0968\u0660.log")
    summary = ingested(log_dir, lake, engine=engine)
    assert (summary.exit_code, summary.notes) == (0, [])
    assert offsets_taken(lake) == [*range(30)]


@pytest.mark.parametrize("kind", ["log", "index"])
def test_two_spellings_of_one_number_are_a_conflict(
    kind: str, log_dir: Path, lake: Path, engine: Engine
) -> None:
    folder, name = log_dir / "orders-0", f"{10:020}.{kind}"
    (folder / name).touch()
    shutil.copy(folder / name, folder / _spelled(name, _ZEROS["persian"]))
    summary = ingested(log_dir, lake, engine=engine)
    assert (summary.exit_code, list(summary.left_out)) == (3, ["orders-0"])
    assert f"{name} and {_spelled(name, _ZEROS['persian'])}" in summary.to_text()
    assert (offsets_taken(lake), offsets_taken(lake, "users")) == ([], [*range(5)])


def test_digits_that_java_does_not_parse_are_named(log_dir: Path, lake: Path) -> None:
    folder = log_dir / "orders-0"
    shutil.copy(folder / f"{20:020}.log", folder / _spelled(f"{30:020}.log", "\U0001d7ce"))
    summary = ingested(log_dir, lake)
    assert (summary.exit_code, len(unread_files(summary))) == (3, 1)


def test_all_commands_read_such_names(log_dir: Path, lake: Path, tmp_path: Path) -> None:
    whole = Path(shutil.copytree(log_dir, tmp_path / "whole"))
    _respell(log_dir, _ZEROS["burmese"])
    _respell(whole, _ZEROS["arabic"])
    log = log_dir / "orders-0" / _spelled(f"{10:020}.log", _ZEROS["burmese"])
    assert len(cat("--source", log).lines) == 10
    assert len(cat("--source", log_dir).lines) == 35
    found = [*inspected(str(log), LocalStorage())]
    assert [line["base_offset"] for line in found if line["type"] == "batch"] == [10, 15]
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    ingested(log_dir, lake)
    assert not [check for check in checked(log_dir, lake) if check.failures]
    assert replayed(lake, whole).repaired_gaps == 1
    assert offsets_taken(lake) == [*range(30)]
