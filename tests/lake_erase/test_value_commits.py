"""Runs of `deserialize` that died, or are active, bring no erased record back."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from deltalake import DeltaTable

from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_deserialize.deserialize_choice import Again
from seglake.pipelines.lake_erase.erase_summary import EraseSummary
from seglake.task_engine.engine import LocalEngine
from support.audits import audited
from support.dying import Died, dying
from support.erasures import erased
from support.typed_lakes import ID_1, add_values, decoded, made

T = TypeVar("T")
R = TypeVar("R")
_SECOND = '"offset" = 1'
_KILLED = "complete the erasure of the topic first"


# Any: columns of many types.
def rows_of(lake: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(str(lake / name)).to_pyarrow_table().to_pylist()
    return rows


def typed_offsets(lake: Path) -> list[int]:
    return sorted(row["_offset"] for row in rows_of(lake, "typed/t"))


@pytest.mark.parametrize("step", ["value_rejects", "typed/t"])
def test_run_that_died_in_its_commit_brings_no_record_back(tmp_path: Path, step: str) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", ID_1 + b"\x04")
    with pytest.raises(Died):
        decoded(lake, "t", after=dying(step))
    summary = erased(lake, where=_SECOND, topics=["t"])
    assert summary.recovered == ["t"]
    assert "completed what an earlier run began: t" in summary.to_text()
    decoded(lake, "t")
    assert typed_offsets(lake) == [0]
    assert audited(lake).exit_code == 0


def test_drop_that_died_brings_no_record_back(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", ID_1 + b"\x04")
    decoded(lake, "t")
    with pytest.raises(Died):
        decoded(lake, "t", again=Again(everything=True), after=dying("value_rejects"))
    summary = erased(lake, where=_SECOND, topics=["t"])
    assert summary.recovered == ["t"]
    decoded(lake, "t")
    assert typed_offsets(lake) == [0]


def test_completed_erasure_is_named(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02")
    with pytest.raises(Died):
        erased(lake, where=_SECOND, topics=["t"], after=dying("records"))
    assert erased(lake, where=_SECOND, topics=["t"]).recovered == ["t"]


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "later"])
def test_active_run_that_read_the_record_commits_nothing(tmp_path: Path, is_first: bool) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", ID_1 + b"\x04")
    if not is_first:
        decoded(lake, "t")
        add_values(lake, tmp_path / "more", ID_1 + b"\x06", ID_1 + b"\x08", start=2)
    condition = _SECOND if is_first else '"offset" = 3'
    done: list[int] = []

    def meanwhile(step: str) -> None:
        if step == "redo" and not done:
            done.append(erased(lake, where=condition, topics=["t"]).records)

    summary = decoded(lake, "t", after=meanwhile)
    assert done == [1]
    assert "another run was faster; run again" in summary.to_text()
    decoded(lake, "t")
    assert typed_offsets(lake) == ([0] if is_first else [0, 1, 2])
    assert audited(lake).exit_code == 0


def test_active_run_whose_commit_is_decided_after_the_search_leaves_no_row(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", ID_1 + b"\x04")
    died: list[str] = []

    def meanwhile(step: str) -> None:
        if step == "redo" and not died:
            died.append(step)
            with pytest.raises(Died):
                decoded(lake, "t", after=dying("value_rejects"))

    erased(lake, where=_SECOND, topics=["t"], after=meanwhile)
    assert died == ["redo"]
    decoded(lake, "t")
    assert typed_offsets(lake) == [0]


@pytest.mark.parametrize("step", ["records", "checkpoints", "cleaned"])
def test_run_that_committed_beside_a_killed_erasure_leaves_no_row(
    tmp_path: Path, step: str
) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", ID_1 + b"\x04", b"no frame", b"no frame either")
    where, done = '"offset" IN (1, 2)', list[str]()

    def decode_and_die(name: str) -> None:
        if name == "redo" and not done:
            done.append(name)
            decoded(lake, "t")
        dying(step)(name)

    with pytest.raises(Died):
        erased(lake, where=where, topics=["t"], after=decode_and_die)
    if step == "cleaned":
        assert typed_offsets(lake) == [0, 1]
        assert _KILLED in to_text(audited(lake))
    summary = erased(lake, where=where, topics=["t"])
    assert typed_offsets(lake) == [0]
    assert [row["offset"] for row in rows_of(lake, "value_rejects")] == [3]
    assert "typed/t: 1 row was removed" in summary.to_text()
    assert audited(lake).exit_code == 0
    assert erased(lake, where=where, topics=["t"]).others == []


def test_audit_says_that_an_erasure_may_have_died_before_its_commit(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", ID_1 + b"\x04")
    decoded(lake, "t")
    with pytest.raises(Died):
        erased(lake, where=_SECOND, topics=["t"], after=dying("redo"))
    assert _KILLED in to_text(audited(lake))
    erased(lake, where=_SECOND, topics=["t"])
    assert audited(lake).exit_code == 0


class Erasing(LocalEngine):
    """An engine before whose first tasks a record is erased."""

    def __init__(self, lake: Path) -> None:
        super().__init__(1)
        self.lake = lake
        self.summary: EraseSummary | None = None

    def run(
        self, function: Callable[[T], R], tasks: Sequence[T], *, on_done: Callable[[int], None]
    ) -> list[R]:
        if self.summary is None:
            assert not (self.lake / "typed").exists()
            self.summary = erased(self.lake, where=_SECOND, topics=["t"])
        return super().run(function, tasks, on_done=on_done)


def test_active_run_loses_that_has_not_made_its_typed_tables_yet(tmp_path: Path) -> None:
    lake = made(tmp_path, ID_1 + b"\x02", ID_1 + b"\x04")
    engine = Erasing(lake)
    summary = decoded(lake, "t", engine=engine)
    assert engine.summary is not None
    assert engine.summary.records == 1
    assert "another run was faster; run again" in summary.to_text()
    decoded(lake, "t")
    assert typed_offsets(lake) == [0]
