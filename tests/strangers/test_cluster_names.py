"""Disks without a cluster id, as brokers before 2.4 leave them, under a name of the user's own.

The upgraded brokers write their cluster's id, and the same logs go on.
"""

import json
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from seglake.cli.cat_command import main as cat
from seglake.cli.deserialize_command import main as deserialize
from seglake.ingest_steps.planning.isolation import IsolationConflictError
from seglake.lake.delta_tables import LakeTables
from seglake.log_dirs.errors import WrongSourceError
from seglake.log_tables.known_sources import LakeSources, join_source
from seglake.pipelines.lake_retake.retake_plan import Selection
from seglake.storage.local_storage import LocalStorage
from seglake.task_engine.engine import Engine
from support.accounts import imbalances_of
from support.audits import audited, checked, only_copy
from support.dying import Died, dying
from support.lakes import ingested, maintained, read_table, replayed, retaken, versions
from support.made_logs import make_log_dir
from support.taken import offsets_taken
from support.views import viewed

_ORDERS = ("orders", 0)
_NAMED = {"source_id": "our-kafka"}
_ID = "c2VnbGFrZS10ZXN0cy4xMg"
_OTHER_ID = "YW5vdGhlciBjbHVzdGVyIQ"


@pytest.fixture
def old(data: Path) -> Path:
    """A disk of a broker that writes no cluster id."""
    return make_log_dir(data / "old", {_ORDERS: [0, 20]}, cluster_id=None)


@pytest.fixture
def new(data: Path) -> Path:
    """The same disk, grown, when the broker writes the id."""
    return make_log_dir(data / "new", {_ORDERS: [0, 20, 40]}, cluster_id=_ID)


def _sources(lake: Path) -> set[str]:
    tables = ("records", "batches", "checkpoints", "observations")
    return {row["source_id"] for table in tables for row in read_table(lake, table)}


def test_a_log_that_the_lake_has_under_a_name_does_not_come_again_under_its_id(
    old: Path, new: Path, lake: Path, engine: Engine
) -> None:
    ingested(old, lake, source=_NAMED, engine=engine)
    before = versions(lake)
    with pytest.raises(WrongSourceError) as refused:
        ingested(new, lake, engine=engine)
    assert "Give --source-id our-kafka, which joins the two" in str(refused.value)
    assert "both have the batch at offset 15 with checksum 0x" in str(refused.value)
    assert versions(lake) == before


def test_a_name_and_an_id_are_joined_once_and_later_runs_need_no_name(
    old: Path, new: Path, lake: Path, engine: Engine
) -> None:
    ingested(old, lake, source=_NAMED, engine=engine)
    planned = ingested(new, lake, source=_NAMED, dry_run=True)
    assert (planned.exit_code, planned.planned.planned_offsets) == (0, 20)
    summary = ingested(new, lake, source=_NAMED, engine=engine)
    assert (summary.exit_code, summary.source_id, summary.records) == (0, "our-kafka", 20)
    assert any(f"cluster {_ID} has the logs that this lake has" in note for note in summary.notes)
    make_log_dir(new, {_ORDERS: [0, 20, 40, 50]}, cluster_id=_ID)
    for source in ({}, _NAMED, {"source_id": _ID}):
        again = ingested(new, lake, source=source, engine=engine)
        assert (again.exit_code, again.source_id) == (0, "our-kafka")
        assert not any("has the logs" in note for note in again.notes)
    assert offsets_taken(lake) == list(range(50))
    assert _sources(lake) == {"our-kafka"}
    assert imbalances_of(lake) == []
    # Disks without the id go on, too, by the name or by the id that the cluster has.
    for source in (_NAMED, {"source_id": _ID}):
        assert ingested(old, lake, source=source).source_id == "our-kafka"


def test_every_command_knows_what_was_joined(
    old: Path, new: Path, lake: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ingested(old, lake, source=_NAMED)
    ingested(new, lake, source=_NAMED)
    assert audited(lake).exit_code == 0
    assert only_copy(checked(new, lake)).report.equal == 40
    assert replayed(lake, new).exit_code == 0
    whole = Selection(is_whole=True)
    assert retaken(lake, new, selection=whole, select={"topics": ["orders"]}).records == 40
    maintained(lake)
    moved = shutil.copytree(lake, lake.with_name("moved"))
    assert ingested(new, moved).source_id == "our-kafka"
    (counted,) = viewed(moved, "SELECT count(*) AS n, min(source_id) AS s FROM current_records")
    assert counted == {"n": 40, "s": "our-kafka"}
    assert cat(["--lake", str(moved), "--source-id", _ID]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 40
    assert deserialize(["--lake", str(moved), "--source-id", _ID, "--dry-run"]) == 0
    assert "note: our-kafka has no registry" in capfd.readouterr().out


def test_a_lake_that_has_not_joined_them_says_what_to_do_first(
    old: Path, new: Path, lake: Path
) -> None:
    ingested(old, lake, source=_NAMED)
    for call in (replayed, retaken):
        with pytest.raises(WrongSourceError, match="run seglake ingest --source-id our-kafka"):
            call(lake, new, source=_NAMED)


@pytest.mark.parametrize("has_offsets_of_both", [True, False])
def test_another_cluster_is_not_joined_with_a_name(
    old: Path, data: Path, lake: Path, *, has_offsets_of_both: bool
) -> None:
    ingested(old, lake, source=_NAMED)
    topic = "orders" if has_offsets_of_both else "strange"
    other = make_log_dir(
        data / "other", {(topic, 0): [0, 17, 45]}, cluster_id=_OTHER_ID, value_bytes=9
    )
    before = versions(lake)
    with pytest.raises(WrongSourceError) as refused:
        ingested(other, lake, source=_NAMED)
    said = "It is another cluster" if has_offsets_of_both else "nothing shows that both are one"
    assert said in str(refused.value)
    assert versions(lake) == before
    assert LakeSources(LakeTables(str(lake), LocalStorage())).joined == {}
    assert ingested(other, lake).source_id == _OTHER_ID  # beside the other, as before


def test_a_name_is_joined_with_one_cluster_and_none_that_has_rows(
    old: Path, new: Path, data: Path, lake: Path
) -> None:
    ingested(old, lake, source=_NAMED)
    ingested(new, lake, source={"source_id": _ID})  # a person says that it is another one
    with pytest.raises(WrongSourceError, match="the lake has rows of both"):
        ingested(new, lake, source=_NAMED)
    joined = data / "joined"
    ingested(old, joined, source=_NAMED)
    ingested(new, joined, source=_NAMED)
    third = make_log_dir(data / "third", {_ORDERS: [0, 20]}, cluster_id=_OTHER_ID)
    with pytest.raises(WrongSourceError, match=f"which is cluster {_ID} in this lake"):
        ingested(third, joined, source=_NAMED)
    with pytest.raises(WrongSourceError, match="the lake has that cluster as our-kafka"):
        ingested(new, joined, source={"source_id": "elsewhere"})


def test_a_second_name_for_the_logs_of_a_lake_is_refused(
    old: Path, new: Path, data: Path, lake: Path
) -> None:
    ingested(old, lake, source=_NAMED)
    with pytest.raises(WrongSourceError, match="Give --source-id our-kafka, as in the runs before"):
        ingested(old, lake, source={"source_id": "ourkafka"})
    ingested(new, data / "by id")
    with pytest.raises(WrongSourceError, match=f"Give --source-id {_ID}"):
        ingested(old, data / "by id", source=_NAMED)


def test_a_log_does_not_come_again_when_a_new_topic_came_under_the_id(
    old: Path, data: Path, lake: Path
) -> None:
    ingested(old, lake, source=_NAMED)
    ingested(make_log_dir(data / "one", {("payments", 0): [0, 10]}, cluster_id=_ID), lake)
    both = make_log_dir(data / "two", {("payments", 0): [0, 10, 20], _ORDERS: [0, 20, 40]})
    with pytest.raises(WrongSourceError, match="leave the topic out with --topics '!orders'"):
        ingested(both, lake)
    assert ingested(both, lake, select={"topics": ["!orders"]}).records == 10


def test_two_clusters_with_ids_of_their_own_are_two_even_with_the_same_logs(
    new: Path, data: Path, lake: Path
) -> None:
    """Such as one that was made from a snapshot of the other's disks."""
    ingested(new, lake)
    clone = make_log_dir(data / "clone", {_ORDERS: [0, 20, 40]}, cluster_id=_OTHER_ID)
    summary = ingested(clone, lake)
    assert (summary.exit_code, summary.source_id, summary.records) == (0, _OTHER_ID, 40)
    assert "is new in this lake" in json.dumps(summary.notes)


def test_replay_and_retake_need_no_name_where_the_lake_has_one_source(
    tmp_path: Path, lake: Path
) -> None:
    edges = {_ORDERS: [0, 20, 40]}
    one = make_log_dir(tmp_path / "one", edges, cluster_id=None)
    two = make_log_dir(tmp_path / "two", edges, cluster_id=None)
    log = one / "orders-0" / f"{20:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    ingested(one, lake, source=_NAMED)
    assert replayed(lake, two).repaired_gaps == 1
    assert offsets_taken(lake) == list(range(40))
    whole = Selection(is_whole=True)
    again = retaken(lake, two, selection=whole, select={"topics": ["orders"]})
    assert (again.exit_code, again.records) == (0, 40)


_JOIN = ("our-kafka", _ID)


@pytest.mark.parametrize(
    ("other", "is_refused"),
    [(("elsewhere", _ID), True), (("our-kafka", _OTHER_ID), True), (_JOIN, False)],
    ids=["the_id_with_another_name", "the_name_with_another_id", "the_same"],
)
def test_of_two_runs_that_join_at_once_the_second_is_refused_and_ingests_nothing(
    other: tuple[str, str],
    is_refused: bool,
    old: Path,
    new: Path,
    lake: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ingested(old, lake, source=_NAMED)
    tables = LakeTables(str(lake), LocalStorage())
    sound = vars(DeltaTable)["alter"].fget

    def late(table: DeltaTable) -> object:
        monkeypatch.setattr(DeltaTable, "alter", property(sound))
        join_source(tables, other[1], other[0], lambda joined: None)
        return sound(table)

    monkeypatch.setattr(DeltaTable, "alter", property(late))
    if is_refused:
        with pytest.raises(WrongSourceError, match="another run has joined cluster"):
            ingested(new, lake, source=_NAMED)
        assert offsets_taken(lake) == list(range(20))
    else:
        assert ingested(new, lake, source=_NAMED).records == 20
    assert LakeSources(tables).joined == {other[1]: other[0]}


def test_a_call_that_is_refused_for_its_name_writes_nothing(
    old: Path, new: Path, data: Path, lake: Path
) -> None:
    ingested(old, lake, source=_NAMED)
    left = _die_before_publishing(data, lake)
    with pytest.raises(WrongSourceError, match="Give --source-id our-kafka"):
        ingested(new, lake)
    with pytest.raises(IsolationConflictError):
        ingested(new, lake, source=_NAMED, isolation="read_committed")
    assert versions(lake) == left
    assert LakeSources(LakeTables(str(lake), LocalStorage())).joined == {}


def _die_before_publishing(data: Path, lake: Path) -> dict[str, int]:
    """Ingest another disk up to a commit that only a recovery completes; the tables' versions."""

    with pytest.raises(Died):
        ingested(
            make_log_dir(data / "more", {("payments", 0): [0, 10]}, cluster_id=None),
            lake,
            source=_NAMED,
            after=dying("records"),
        )
    return versions(lake)


@pytest.mark.parametrize("written", ["{} ", "{}\t", " {}  "])
def test_blanks_around_a_cluster_id_are_said(written: str, data: Path, lake: Path) -> None:
    disk = make_log_dir(data / "disk", {_ORDERS: [0, 20]}, cluster_id=_ID)
    assert ingested(disk, lake).notes == []
    properties = disk / "meta.properties"
    text = properties.read_text("utf-8")
    properties.write_text(text.replace(f"cluster.id={_ID}", f"cluster.id={written.format(_ID)}"))
    summary = ingested(disk, lake)
    is_said = any(f"seglake ignores them: {_ID}" in note for note in summary.notes)
    assert (is_said, summary.exit_code) == (written.format(_ID).lstrip() != _ID, 0)
