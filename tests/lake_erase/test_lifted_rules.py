"""A lifted rule holds no more: later records are ingested, and a retake brings erased ones back."""

from pathlib import Path

import pytest

from seglake.errors import WrongCallError
from seglake.pipelines.lake_retake.retake_plan import Selection
from support.audits import audited
from support.dying import Died, dying
from support.erasures import erased
from support.lakes import ingested, read_table, retaken
from support.people import people_disk

_KEY = "ann's key"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    ingested(people_disk(tmp_path / "disk", 6), tmp_path / "lake")
    return tmp_path / "lake"


def offsets(lake: Path, topic: str = "orders") -> list[int]:
    rows = read_table(lake, "records")
    return sorted(row["offset"] for row in rows if row["topic"] == topic)


def test_records_that_are_written_later_are_ingested(lake: Path, tmp_path: Path) -> None:
    summary = erased(lake, key=_KEY)
    other = erased(lake, key="bob's key")
    assert f"1 rule stored; seglake erase --lift {summary.run_id} lifts" in summary.to_text()
    lifted = erased(lake, lift=summary.run_id)
    assert lifted.to_text().startswith("1 rule lifted: later runs ingest such records again")
    assert (lifted.lifted, lifted.exit_code) == (1, 0)
    disk = people_disk(tmp_path / "disk", 12)
    ingested(disk, lake)
    assert offsets(lake) == [2, 5, 6, 8, 9, 11]  # bob's rule still holds
    assert audited(lake).exit_code == 0
    erased(lake, lift=other.run_id)
    retaken(lake, disk, selection=Selection(is_whole=True), select={"topics": ["orders"]})
    assert set(offsets(lake)) == {*range(12)}
    assert audited(lake).exit_code == 0


def test_rules_of_a_condition_are_lifted_for_the_named_topics(lake: Path) -> None:
    topics = ["orders", "payments"]
    run_id = erased(lake, where="key_text LIKE 'ann%'", topics=topics).run_id
    dry = erased(lake, lift=run_id, topics=topics, dry_run=True)
    assert dry.to_text().startswith("4 rules would be lifted; nothing was changed")
    assert erased(lake, lift=run_id).lifted == 2
    assert erased(lake, lift=run_id, topics=topics).lifted == 2
    with pytest.raises(WrongCallError, match="no erasure of these topics has the run id"):
        erased(lake, lift=run_id, topics=topics)


def test_killed_erasure_is_ended(lake: Path) -> None:
    with pytest.raises(Died):
        erased(lake, key=_KEY, after=dying("begun"))
    [begun] = audited(lake).not_erased
    assert erased(lake, lift=begun.facts["run_id"], dry_run=True).lifted == 0
    assert audited(lake).exit_code == 3
    assert erased(lake, lift=begun.facts["run_id"]).lifted == 0
    assert audited(lake).exit_code == 0
    assert len(offsets(lake)) == 6
