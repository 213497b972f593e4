"""An erasure that was killed is named by the audit, until a run has done all of it."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seglake.findings.kinds import FindingKind
from seglake.pipelines.lake_audit.lake_audit import LakeAudit
from seglake.pipelines.lake_audit.text_report import to_text
from support.audits import audited
from support.dying import Died, dying
from support.encoder import Codec
from support.erasures import Chosen, erased, places_of
from support.lakes import ingested
from support.latest_state import updated
from support.people import people_disk

_KEY = "ann's key"
_CHOICE: Chosen = {"key": _KEY}
_STEPS = ("begun", "erasures", "redo", "records", "checkpoints", "erased from latest/orders")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    ingested(people_disk(folder / "disk", 20, codec=Codec.GZIP), folder / "lake")
    updated(folder / "lake", "orders")
    return folder


@pytest.fixture
def lake(folder: Path, tmp_path: Path) -> Path:
    """A copy to be changed, with its disks."""
    return shutil.copytree(folder, tmp_path, dirs_exist_ok=True) / "lake"


def not_erased(found: LakeAudit) -> list[str]:
    """What an audit says of erasures that have not ended; its exit code must fit."""
    assert found.exit_code == (3 if found.not_erased else 0)
    assert {each.kind for each in found.not_erased} <= {FindingKind.NOT_ERASED}
    return [each.text for each in found.not_erased]


@pytest.mark.parametrize("step", _STEPS)
def test_audit_names_a_killed_erasure_until_the_same_call_has_ended(lake: Path, step: str) -> None:
    with pytest.raises(Died):
        erased(lake, key=_KEY, topics=["orders", "payments"], after=dying(step))
    audit = audited(lake)
    [text] = not_erased(audit)
    assert text.startswith("orders, payments: the erasure that began at ")
    assert "(ticket 7) has not ended" in text
    command = shlex.split(text.partition(": seglake ")[2])
    assert command == [
        *("erase", "--lake", str(lake), "--topics", "orders", "payments", "--key", "..."),
    ]
    first, *rest = to_text(audit).splitlines()
    if step == "records":  # the commit is not in every table yet
        assert first.endswith("NOT EXPLAINED: see the lake as a whole")
        assert rest[1].startswith("problem: orders: records are being removed")
    else:
        assert "AN ERASURE HAS NOT ENDED" in first
    assert places_of(lake / "erasures", _KEY.encode()) == []
    assert erased(lake, key=_KEY, topics=["orders", "payments"]).exit_code == 0
    assert not_erased(audited(lake)) == []


def test_condition_is_repeated_too_and_finds_nothing_with_exit_code_0(lake: Path) -> None:
    where = "value_text LIKE '%secret of ann%'"
    with pytest.raises(Died):
        erased(lake, where=where, after=dying("erased from latest/orders"))
    assert "with the same --where: seglake" in not_erased(audited(lake))[0]
    summary = erased(lake, where=where)
    assert (summary.records, summary.others, summary.exit_code) == (0, [], 0)
    assert not_erased(audited(lake)) == []


@pytest.mark.parametrize(
    "other",
    [
        lambda lake: erased(lake, key="bob's key", purges=True),
        lambda lake: erased(lake, where="key_text = 'ann''s key'", purges=True),
        lambda lake: erased(lake, key=_KEY),
        lambda lake: erased(lake, key=_KEY, topics=["payments"], purges=True),
        lambda lake: erased(lake, key=_KEY, purges=True, dry_run=True),
    ],
    ids=["key", "where", "no purge", "topics", "dry run"],
)
def test_other_runs_do_not_complete_it(lake: Path, other: Callable[[Path], object]) -> None:
    with pytest.raises(Died):
        erased(lake, key=_KEY, purges=True, after=dying("records"))
    other(lake)
    [text] = not_erased(audited(lake))
    assert text.endswith("--topics orders --purge --key ...")
    erased(lake, key=_KEY, purges=True)
    assert not_erased(audited(lake)) == []


def test_erasure_of_more_topics_completes_one_of_fewer(lake: Path) -> None:
    with pytest.raises(Died):
        erased(lake, key=_KEY, after=dying("records"))
    erased(lake, key=_KEY, topics=["orders", "payments"], purges=True)
    assert not_erased(audited(lake)) == []


def test_refused_call_and_dry_run_begin_nothing(lake: Path) -> None:
    erased(lake, key=_KEY, dry_run=True)
    with pytest.raises(Exception, match="fails on a record"):
        erased(lake, where="CAST(value_text AS INTEGER) = 1")
    assert not (lake / "erasures").exists()
    assert not_erased(audited(lake)) == []
