import json
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from lake.delta_commit import AppVersions, TopicWave, app_id, commit_wave, recover, versions
from lake.errors import (
    CommitUnknownError,
    DataFileError,
    LakeFolderError,
    RedoFileError,
    RedoMissingError,
    TablesDisagreeError,
    WaveError,
)
from lake.tables import CHECKPOINTS, GAPS, QUARANTINE, RECORDS, TABLES, Table
from support.lake_drivers import commit
from support.lake_rows import (
    NOW_MS,
    SOURCE,
    Lake,
    lake_at,
    next_wave,
    read_offsets,
    rows,
    wave,
    write_file,
)


def state(lake: Lake) -> list[int]:
    """The versions of all tables: equal before and after means nothing was committed."""
    return [lake.tables.open(table).version() for table in TABLES]


def redo_files(lake: Lake) -> list[str]:
    return sorted(path.name for path in Path(lake.tables.redo_folder).glob("*"))


def generations(lake: Lake, topic: str) -> AppVersions:
    return versions(lake.tables, SOURCE, [topic])[topic]


def assert_each_row_once(lake: Lake, topic: str, offsets: list[int]) -> None:
    for table in TABLES:
        assert read_offsets(lake, table, topic) == offsets, table.name


def test_wave_is_in_every_table_and_leaves_no_redo_file(lake: Lake) -> None:
    steps: list[str] = []
    outcome = commit(lake, wave(lake, "orders", 1, range(5)), after=steps.append)
    assert outcome == (("orders",), ())
    assert steps == ["redo", *(table.name for table in TABLES), "cleaned"]
    assert_each_row_once(lake, "orders", [0, 1, 2, 3, 4])
    assert generations(lake, "orders") == AppVersions(1, 1, 1)
    assert redo_files(lake) == []


def test_topics_of_a_wave_are_committed_together(lake: Lake) -> None:
    waves = [wave(lake, topic, 1, range(3)) for topic in ("a", "b", "c")]
    assert commit(lake, *waves) == (("a", "b", "c"), ())
    assert state(lake) == [1] * len(TABLES)
    for topic in ("a", "b", "c"):
        assert_each_row_once(lake, topic, [0, 1, 2])


def test_commit_info_and_redo_file_say_whose_they_are(lake: Lake) -> None:
    seen: list[dict[str, object]] = []

    def read_redo(step: str) -> None:
        if step == "redo":
            (path,) = Path(lake.tables.redo_folder).iterdir()
            seen.append(json.loads(path.read_text()) | {"name": path.name})

    commit(lake, wave(lake, "orders", 1, range(3)), attempt_id="mine", after=read_redo)
    (redo,) = seen
    assert redo["generations"] == {"orders": 1}
    assert str(redo["name"]).startswith("mine.")
    for table in TABLES:
        info = lake.tables.open(table).history(1)[0]
        assert (info["attempt_id"], info["run_id"]) == ("mine", "run")
        assert info["commit_id"] == redo["commit_id"]


def test_wave_without_records_moves_the_generation_all_the_same(lake: Lake) -> None:
    commit(lake, wave(lake, "orders", 1, range(3), tables=(QUARANTINE, CHECKPOINTS)))
    assert generations(lake, "orders") == AppVersions(1, 1, 1)
    assert read_offsets(lake, RECORDS, "orders") == []
    assert read_offsets(lake, QUARANTINE, "orders") == [0, 1, 2]


def test_nothing_to_commit_commits_nothing(lake: Lake) -> None:
    assert commit(lake) == ((), ())
    assert state(lake) == [0] * len(TABLES)
    assert redo_files(lake) == []


def test_same_wave_again_is_lost_and_commits_nothing(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    commit(lake, mine)
    before = state(lake)
    assert commit(lake, mine) == ((), ("orders",))
    assert state(lake) == before
    assert redo_files(lake) == []


def test_lost_files_may_be_committed_under_the_next_generation(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    commit(lake, wave(lake, "orders", 1, range(3, 5)))
    assert commit(lake, mine) == ((), ("orders",))
    assert commit(lake, mine._replace(generation=2)) == (("orders",), ())
    assert_each_row_once(lake, "orders", [0, 1, 2, 3, 4])


def test_topic_lost_before_the_redo_file_leaves_the_others_alone(lake: Lake) -> None:
    commit(lake, wave(lake, "a", 1, range(2)))
    mine = [wave(lake, topic, 1, range(10, 12)) for topic in ("a", "b")]
    assert commit(lake, *mine) == (("b",), ("a",))
    assert_each_row_once(lake, "a", [0, 1])
    assert_each_row_once(lake, "b", [10, 11])


def test_topic_lost_after_the_redo_file_leaves_the_others_alone(lake: Lake) -> None:
    rival = wave(lake, "a", 1, range(2))
    mine = [wave(lake, topic, 1, range(10, 12)) for topic in ("a", "b")]
    steps: list[str] = []

    def be_overtaken(step: str) -> None:
        steps.append(step)
        if steps == ["redo"]:
            commit(lake, rival, attempt_id="rival")

    assert commit(lake, *mine, after=be_overtaken) == (("b",), ("a",))
    assert steps[:3] == ["redo", "redo", "records"]
    assert_each_row_once(lake, "a", [0, 1])
    assert_each_row_once(lake, "b", [10, 11])
    assert redo_files(lake) == []


Commit = Callable[..., None]


def patch_commit(
    patch: pytest.MonkeyPatch,
    lake: Lake,
    table: Table,
    around: Callable[[Callable[[], None]], None],
) -> None:
    """Let `around` decide what becomes of each commit to one table; it may call it, or not."""
    original: Commit = DeltaTable.create_write_transaction
    location = f"{lake.tables.path(table)}/"

    def patched(self: DeltaTable, *args: object, **options: object) -> None:
        if self.table_uri.removeprefix("file://").rstrip("/") + "/" != location:
            original(self, *args, **options)
        else:
            around(lambda: original(self, *args, **options))

    patch.setattr(DeltaTable, "create_write_transaction", patched)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_commit_that_happened_but_seemed_to_fail_is_recognised(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    calls: list[str] = []

    def fail_afterwards(real: Callable[[], None]) -> None:
        calls.append(table.name)
        real()
        raise OSError("connection lost after the commit")

    mine = wave(lake, "orders", 1, range(3))
    patch_commit(monkeypatch, lake, table, fail_afterwards)
    assert commit(lake, mine) == (("orders",), ())
    assert calls == [table.name]
    assert_each_row_once(lake, "orders", [0, 1, 2])


def test_commit_without_records_that_seemed_to_fail_is_recognised(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_afterwards(real: Callable[[], None]) -> None:
        real()
        raise CommitFailedError("Concurrent transaction failed")

    mine = wave(lake, "orders", 1, range(3), tables=(GAPS, CHECKPOINTS))
    patch_commit(monkeypatch, lake, RECORDS, fail_afterwards)
    assert commit(lake, mine) == (("orders",), ())
    assert read_offsets(lake, GAPS, "orders") == [0, 1, 2]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_commit_that_failed_once_is_tried_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    calls: list[str] = []

    def fail_first(real: Callable[[], None]) -> None:
        calls.append(table.name)
        if len(calls) == 1:
            raise OSError("storage is away for a moment")
        real()

    mine = wave(lake, "orders", 1, range(3))
    patch_commit(monkeypatch, lake, table, fail_first)
    assert commit(lake, mine) == (("orders",), ())
    assert_each_row_once(lake, "orders", [0, 1, 2])


def fail_always(real: Callable[[], None]) -> None:
    raise OSError("storage is away")


def test_decision_that_stays_unknown_keeps_everything_for_a_later_run(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = wave(lake, "orders", 1, range(3))
    with monkeypatch.context() as patch:
        patch_commit(patch, lake, RECORDS, fail_always)
        with pytest.raises(CommitUnknownError, match="storage is away") as caught:
            commit(lake, mine)
    assert caught.value.table == "records"
    assert len(redo_files(lake)) == 1
    assert recover(lake.tables, SOURCE, ["orders"]) == ()
    assert len(redo_files(lake)) == 1
    assert state(lake) == [0] * len(TABLES)

    commit(lake, wave(lake, "orders", 1, range(5)), attempt_id="later")
    assert recover(lake.tables, SOURCE, ["orders"]) == ()
    assert redo_files(lake) == []
    assert_each_row_once(lake, "orders", [0, 1, 2, 3, 4])


@pytest.mark.parametrize("table", TABLES[1:], ids=lambda table: table.name)
def test_follower_that_cannot_be_reached_is_completed_later(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    mine = wave(lake, "orders", 1, range(3))
    with monkeypatch.context() as patch:
        patch_commit(patch, lake, table, fail_always)
        with pytest.raises(CommitUnknownError):
            commit(lake, mine)
    assert read_offsets(lake, CHECKPOINTS, "orders") == []
    assert recover(lake.tables, SOURCE) == ("orders",)
    assert_each_row_once(lake, "orders", [0, 1, 2])


def test_rival_between_check_and_commit_wins(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, rival = wave(lake, "orders", 1, range(3)), wave(lake, "orders", 1, range(10, 12))
    outcomes: list[object] = []

    def be_overtaken(real: Callable[[], None]) -> None:
        monkeypatch.undo()
        outcomes.append(commit(lake, rival, attempt_id="rival"))
        real()

    patch_commit(monkeypatch, lake, RECORDS, be_overtaken)
    assert commit(lake, mine) == ((), ("orders",))
    assert outcomes == [(("orders",), ())]
    assert_each_row_once(lake, "orders", [10, 11])
    assert redo_files(lake) == []


def test_other_topics_between_check_and_commit_do_not_disturb(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = wave(lake, "orders", 1, range(3)), wave(lake, "clicks", 1, range(2))

    def be_overtaken(real: Callable[[], None]) -> None:
        monkeypatch.undo()
        commit(lake, other, attempt_id="other")
        real()

    patch_commit(monkeypatch, lake, RECORDS, be_overtaken)
    assert commit(lake, mine) == (("orders",), ())
    assert_each_row_once(lake, "orders", [0, 1, 2])
    assert_each_row_once(lake, "clicks", [0, 1])


@pytest.mark.parametrize("step", ["records", "batches", "quarantine", "gaps", "checkpoints"])
def test_followers_committed_by_someone_else_are_fine(lake: Lake, step: str) -> None:
    completed: list[tuple[str, ...]] = []

    def be_helped(done: str) -> None:
        if done == step:
            completed.append(recover(lake.tables, SOURCE, ["orders"]))

    mine = wave(lake, "orders", 1, range(3))
    assert commit(lake, mine, after=be_helped) == (("orders",), ())
    assert completed == [("orders",) if step != "checkpoints" else ()]
    assert_each_row_once(lake, "orders", [0, 1, 2])
    assert state(lake) == [1] * len(TABLES)


def test_wave_planned_before_the_last_one_was_published_is_lost(lake: Lake) -> None:
    outcomes = []

    def commit_too_early(step: str) -> None:
        if step == "batches":
            outcomes.append(commit(lake, wave(lake, "orders", 2, range(9, 10))))

    commit(lake, wave(lake, "orders", 1, range(3)), after=commit_too_early)
    assert outcomes == [((), ("orders",))]
    assert generations(lake, "orders") == AppVersions(1, 1, 1)


def test_missing_file_is_refused_before_anything_is_committed(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    (lake.path / "gaps" / mine.files[3].path).unlink()
    with pytest.raises(DataFileError, match="no such file") as caught:
        commit(lake, mine)
    assert caught.value.found_bytes is None
    assert (state(lake), redo_files(lake)) == ([0] * len(TABLES), [])


def test_file_of_another_size_is_refused_before_anything_is_committed(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    with (lake.path / "records" / mine.files[0].path).open("ab") as file:
        file.write(b"more")
    with pytest.raises(DataFileError) as caught:
        commit(lake, mine)
    assert caught.value.found_bytes == caught.value.expected_bytes + 4
    assert (state(lake), redo_files(lake)) == ([0] * len(TABLES), [])


def test_wrong_waves_are_refused(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    wrong = {
        "it comes twice": [mine, mine],
        "belongs to records of orders": [mine._replace(topic="clicks")],
        "is below 1": [mine._replace(generation=0)],
        "comes twice": [mine._replace(files=(mine.files[0],) * 2)],
        "belongs to views of orders": [
            mine._replace(files=(mine.files[0]._replace(table="views"),))
        ],
        "is not the next after 0": [mine._replace(generation=2)],
    }
    for reason, waves in wrong.items():
        with pytest.raises(WaveError, match=reason):
            commit(lake, *waves)
    assert (state(lake), redo_files(lake)) == ([0] * len(TABLES), [])


def test_files_are_durable_before_the_decision_and_log_entries_before_the_next_table(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    storage_type = type(lake.storage)
    original = storage_type.sync

    def recorded(self: object, paths: list[str]) -> None:
        order.extend(str(Path(path).relative_to(lake.path)) for path in paths)
        original(lake.storage, paths)

    monkeypatch.setattr(storage_type, "sync", recorded)
    mine = wave(lake, "orders", 1, range(3))
    commit(lake, mine, after=order.append)
    decision = order.index("redo")
    assert set(order[:decision]) == {f"{file.table}/{file.path}" for file in mine.files}
    log_entry = "_delta_log/00000000000000000001.json"
    expected = [entry for t in TABLES for entry in (f"{t.name}/{log_entry}", t.name)]
    assert order[decision:] == ["redo", *expected, "cleaned"]


def test_old_generations_do_not_fade(lake: Lake) -> None:
    for generation in range(1, 4):
        commit(lake, wave(lake, "orders", generation, range(generation, generation + 1)))
    for table in TABLES:
        handle = lake.tables.open(table)
        handle.create_checkpoint()
        for version in range(handle.version()):
            Path(lake.tables.log_entry_path(table, version)).unlink()
    assert generations(lake, "orders") == AppVersions(3, 3, 3)


def copy_of(lake: Lake, table: Table) -> Path:
    copy = lake.path.parent / f"copy of {table.name}"
    shutil.copytree(lake.tables.path(table), copy)
    return copy


def put_back(lake: Lake, table: Table, copy: Path) -> None:
    shutil.rmtree(lake.tables.path(table))
    copy.rename(lake.tables.path(table))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_table_put_back_from_an_older_copy_is_refused(lake: Lake, table: Table) -> None:
    commit(lake, next_wave(lake, "orders", range(1)))
    copy = copy_of(lake, table)
    commit(lake, next_wave(lake, "orders", range(1, 2)))
    commit(lake, next_wave(lake, "orders", range(2, 3)))
    put_back(lake, table, copy)
    mine = wave(lake, "orders", 4, range(3, 4))
    before = state(lake)
    for call in (
        lambda: versions(lake.tables, SOURCE, ["orders"]),
        lambda: recover(lake.tables, SOURCE, ["orders"]),
        lambda: commit(lake, mine),
    ):
        with pytest.raises(TablesDisagreeError, match="tables disagree on topic orders"):
            call()
    assert state(lake) == before


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_table_that_was_dropped_and_made_anew_is_refused(lake: Lake, table: Table) -> None:
    for number in range(2):
        commit(lake, next_wave(lake, "orders", range(number, number + 1)))
    shutil.rmtree(lake.tables.path(table))
    with pytest.raises(LakeFolderError, match="has no table"):
        versions(lake.tables, SOURCE, ["orders"])
    fresh = lake_at(lake.path.parent / "fresh")
    fresh.tables.create_missing()
    shutil.copytree(fresh.tables.path(table), lake.tables.path(table))
    with pytest.raises(TablesDisagreeError):
        versions(lake.tables, SOURCE, ["orders"])


def test_ledger_put_back_by_one_generation_is_refused_for_want_of_a_redo_file(lake: Lake) -> None:
    commit(lake, next_wave(lake, "orders", range(1)))
    copy = copy_of(lake, CHECKPOINTS)
    commit(lake, next_wave(lake, "orders", range(1, 2)))
    put_back(lake, CHECKPOINTS, copy)
    before = state(lake)
    with pytest.raises(RedoMissingError) as caught:
        recover(lake.tables, SOURCE, ["orders"])
    assert (caught.value.topic, caught.value.generation) == ("orders", 2)
    assert state(lake) == before


def test_foreign_file_among_the_redo_files_is_refused(lake: Lake) -> None:
    folder = Path(lake.tables.redo_folder)
    folder.mkdir(parents=True)
    (folder / ".half-written.json").write_text("{")
    (folder / "notes.txt").touch()
    assert recover(lake.tables, SOURCE) == ()
    for content in ("{", "[]", "{}", '{"format": 2}', '{"format": 1, "files": [{}]}'):
        (folder / "x.json").write_text(content)
        with pytest.raises(RedoFileError, match=r"x\.json"):
            recover(lake.tables, SOURCE)


@pytest.mark.parametrize("topic", ["a.b_c-D9", "__consumer_offsets", "a b%c/ü=+"])
def test_topic_folder_reads_the_same_on_disk_and_in_a_uri(lake: Lake, topic: str) -> None:
    assert commit(lake, wave(lake, topic, 1, range(3))) == ((topic,), ())
    assert_each_row_once(lake, topic, [0, 1, 2])
    entry = Path(lake.tables.log_entry_path(RECORDS, 1)).read_text().splitlines()
    (added,) = [found["add"] for found in map(json.loads, entry) if "add" in found]
    assert (lake.path / "records" / added["path"]).is_file()
    assert unquote(added["path"]) == added["path"]
    assert added["partitionValues"] == {"topic": topic}


def test_sources_of_one_topic_name_do_not_disturb_each_other(lake: Lake) -> None:
    commit(lake, wave(lake, "orders", 1, range(3)))
    theirs = TopicWave(
        "orders", 1, (write_file(lake, RECORDS, "orders", rows(RECORDS, "orders", range(5, 6))),)
    )
    outcome = commit_wave(lake.tables, "cluster-2", "attempt", "run", [theirs], NOW_MS)
    assert outcome.committed == ("orders",)
    assert app_id("cluster-2", "orders") == "seglake/cluster-2/orders"
    assert versions(lake.tables, "cluster-2", ["orders"])["orders"] == AppVersions(1, 1, 1)
    assert read_offsets(lake, RECORDS, "orders") == [0, 1, 2, 5]
