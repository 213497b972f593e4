"""A wave comes into all tables once, or not at all."""

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from seglake.lake.app_versions import AppVersions, app_id
from seglake.lake.delta_commit import commit_wave, versions
from seglake.lake.tables import CHECKPOINTS, LOG_TABLES, QUARANTINE, RECORDS
from seglake.lake.waves import TopicWave
from support.lake_drivers import commit
from support.lake_rows import (
    PLAIN_TABLES,
    Lake,
    attempt_of,
    read_offsets,
    rows,
    wave,
    write_file,
)
from support.lake_states import assert_each_row_once, generations, redo_files, table_versions


def test_wave_is_in_every_table_and_leaves_no_redo_file(lake: Lake) -> None:
    steps: list[str] = []
    outcome = commit(lake, wave(lake, "orders", 1, range(5)), after=steps.append)
    assert outcome == (("orders",), ())
    assert steps == ["redo", *(table.name for table in PLAIN_TABLES), "cleaned"]
    assert_each_row_once(lake, "orders", [0, 1, 2, 3, 4])
    assert generations(lake, "orders") == AppVersions(1, 1, 1)
    assert redo_files(lake) == []


def test_topics_of_a_wave_are_committed_together(lake: Lake) -> None:
    waves = [wave(lake, topic, 1, range(3)) for topic in ("a", "b", "c")]
    assert commit(lake, *waves) == (("a", "b", "c"), ())
    assert table_versions(lake) == [1] * len(PLAIN_TABLES)
    for topic in ("a", "b", "c"):
        assert_each_row_once(lake, topic, [0, 1, 2])
        assert generations(lake, topic) == AppVersions(1, 1, 1)


def test_commit_info_and_redo_file_say_whose_they_are(lake: Lake) -> None:
    seen: list[dict[str, object]] = []

    def read_redo(step: str) -> None:
        if step == "redo":
            (path,) = Path(lake.tables.redo_folder_of(LOG_TABLES)).iterdir()
            seen.append(json.loads(path.read_text()) | {"name": path.name})

    commit(lake, wave(lake, "orders", 1, range(3)), attempt_id="mine", after=read_redo)
    (redo,) = seen
    assert redo["generations"] == {"orders": 1}
    assert str(redo["name"]).startswith("mine.")
    for table in PLAIN_TABLES:
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
    assert table_versions(lake) == [0] * len(PLAIN_TABLES)
    assert redo_files(lake) == []


def test_same_wave_again_is_lost_and_commits_nothing(lake: Lake) -> None:
    mine = wave(lake, "orders", 1, range(3))
    commit(lake, mine)
    before = table_versions(lake)
    assert commit(lake, mine) == ((), ("orders",))
    assert table_versions(lake) == before
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
    first = [f"{table.name}/_delta_log/{0:020d}.json" for table in PLAIN_TABLES]
    written = [f"{file.table}/{file.path}" for file in mine.files]
    assert sorted(order[:decision]) == sorted([*written, *first])
    expected = []
    for table in PLAIN_TABLES:
        expected += [f"{table.name}/_delta_log/{1:020d}.json", table.name]
    assert order[decision:] == ["redo", *expected, "cleaned"]


def test_old_generations_do_not_fade(lake: Lake) -> None:
    for generation in range(1, 4):
        commit(lake, wave(lake, "orders", generation, range(generation, generation + 1)))
    for table in PLAIN_TABLES:
        handle = lake.tables.open(table)
        handle.create_checkpoint()
        for version in range(handle.version()):
            Path(lake.tables.log_entry_path(table, version)).unlink()
    assert generations(lake, "orders") == AppVersions(3, 3, 3)


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
    outcome = commit_wave(lake.tables, attempt_of("cluster-2", "attempt"), [theirs])
    assert outcome.committed == ("orders",)
    assert app_id("cluster-2", "orders") == "seglake/cluster-2/orders"
    assert versions(lake.tables, "cluster-2", ["orders"])["orders"] == AppVersions(1, 1, 1)
    assert read_offsets(lake, RECORDS, "orders") == [0, 1, 2, 5]
