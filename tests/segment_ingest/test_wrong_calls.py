"""A call that cannot be right is refused with a sentence that helps, and nothing is written."""

import errno
import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from seglake.errors import SeglakeError
from seglake.findings.kinds import FindingKind
from seglake.log_dirs.errors import WrongSourceError
from seglake.pipelines.segment_ingest.ingest import ingest
from seglake.settings.settings import Settings
from seglake.storage.errors import StorageError
from seglake.task_engine.engine import LocalEngine
from support import lakes
from support.encoder import checkpoint_text
from support.lakes import local_scan
from support.made_logs import make_log_dir

ingested = partial(lakes.ingested, makes_lake=True)
_EDGES = {("orders", 0): [0, 10]}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return make_log_dir(tmp_path / "data", _EDGES)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _message(sources: list[Path], lake: Path, **source: str) -> str:
    with pytest.raises(WrongSourceError) as caught:
        ingested(sources, lake, source=source)
    assert not lake.exists()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_source_that_is_missing_is_named(data: Path, lake: Path, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    assert _message([data, missing], lake) == f"source {missing} does not exist: check the path"


def test_a_file_is_no_source(data: Path, lake: Path) -> None:
    message = _message([data / "meta.properties"], lake)
    assert message.startswith(f"source {data / 'meta.properties'} is a file: give a broker's log")


def test_segment_as_a_source_leads_to_the_commands_that_take_one(data: Path, lake: Path) -> None:
    segment = next((data / "orders-0").glob("*.log"))
    message = _message([segment], lake)
    assert f"`seglake inspect {segment}`" in message
    assert f"`seglake cat --source {segment}`" in message


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("disk 1.tar", "(mkdir DISK && tar -xf '{}' -C DISK)"),
        ("disk.tar.gz", "(mkdir DISK && tar -xf {} -C DISK)"),
        ("disk.tgz", "(mkdir DISK && tar -xf {} -C DISK)"),
        ("disk.zip", "is an archive: unpack it, and give the folder"),
        ("00000000000000000000.log.gz", "is a compressed segment: unpack it"),
    ],
)
def test_archive_as_a_source_says_how_to_unpack_it(
    tmp_path: Path, lake: Path, name: str, told: str
) -> None:
    (tmp_path / name).write_bytes(b"packed")
    assert told.format(tmp_path / name) in _message([tmp_path / name], lake)


def test_an_empty_folder_holds_no_log_dir(lake: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    message = _message([empty], lake)
    assert f"{empty} has no log dir" in message
    assert "meta.properties" in message


def test_a_folder_of_other_things_holds_no_log_dir(lake: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "orders-0"
    other.mkdir(parents=True)
    (other / "readme.txt").write_text("no segment")
    assert "has no log dir" in _message([other.parent], lake)


def test_a_source_with_a_scheme_that_no_storage_has_is_refused(lake: Path) -> None:
    source = "ftp://host/data"
    with pytest.raises(WrongSourceError, match=source), LocalEngine(1) as engine:
        ingest([source], str(lake), local_scan(Settings(), engine))
    assert not lake.exists()


def _failing_with(number: int, data: Path, patch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def fail(path: str) -> object:
        if Path(path).is_relative_to(data):
            raise OSError(number, os.strerror(number))
        return scandir(path)

    patch.setattr(os, "scandir", fail)


def test_a_source_that_may_not_be_read_is_named_once(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _failing_with(errno.EACCES, data, patch)
        message = _message([data], lake)
    assert message == f"the source is refused: cannot list {data}: Permission denied"


def test_a_source_that_fails_to_be_read_is_no_wrong_call(
    data: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _failing_with(errno.EIO, data, patch)
        with pytest.raises(StorageError, match="Input/output error"):
            ingested(data, lake)
    assert not lake.exists()


def test_without_a_cluster_id_one_is_asked_for(lake: Path, tmp_path: Path) -> None:
    data = make_log_dir(tmp_path / "data", _EDGES, cluster_id=None)
    message = _message([data], lake)
    assert str(data) in message
    assert "--source-id" in message
    summary = ingested(data, lake, source={"source_id": "my-cluster"})
    assert (summary.source_id, summary.records) == ("my-cluster", 10)


def test_an_unreadable_meta_properties_names_no_cluster(data: Path, lake: Path) -> None:
    (data / "meta.properties").write_bytes(b"\xff\xfe\x00")
    assert "--source-id" in _message([data], lake)


def test_two_clusters_in_one_call_are_refused(data: Path, lake: Path, tmp_path: Path) -> None:
    others = [
        make_log_dir(tmp_path / f"other{number}", _EDGES, cluster_id="b3RoZXItY2x1c3Rlci0wMQ")
        for number in range(5)
    ]
    assert _message([data, *others], lake) == (
        "the sources belong to different clusters: make one call for each cluster."
        f" b3RoZXItY2x1c3Rlci0wMQ: {others[0]}, {others[1]}, {others[2]} and 2 more;"
        f" c2VnbGFrZS10ZXN0cy4xMg: {data}"
    )


def test_a_source_id_that_contradicts_the_disk_is_refused(data: Path, lake: Path) -> None:
    message = _message([data], lake, source_id="mine")
    assert "--source-id is mine" in message
    assert "c2VnbGFrZS10ZXN0cy4xMg" in message


def test_the_source_id_that_the_disk_has_may_be_given(data: Path, lake: Path) -> None:
    assert ingested(data, lake, source={"source_id": "c2VnbGFrZS10ZXN0cy4xMg"}).records == 10


def test_a_disk_of_a_cluster_and_one_without_an_id_belong_together(
    data: Path, lake: Path, tmp_path: Path
) -> None:
    other = make_log_dir(tmp_path / "other", {("orders", 1): [0, 5]}, cluster_id=None)
    assert ingested([data, other], lake).records == 15


@pytest.mark.parametrize("below", ["", "lake", "orders-0/lake"])
def test_a_lake_inside_a_log_dir_is_refused(below: str, data: Path) -> None:
    before = _contents(data)
    with pytest.raises(WrongSourceError, match="inside the log dir"):
        ingested(data, data / below)
    assert _contents(data) == before
    assert sorted(path.name for path in data.iterdir() if path.is_dir()) == ["orders-0"]


def test_a_folder_around_a_partition_folder_is_no_log_dir_and_may_hold_the_lake(
    tmp_path: Path, lake: Path
) -> None:
    data = make_log_dir(tmp_path, {**_EDGES, ("orders", 1): [0, 5]}, cluster_id=None)
    for name in ("replication", "log-start", "recovery-point"):
        (data / f"{name}-offset-checkpoint").unlink(missing_ok=True)
    given = {"source_id": "mine"}
    with pytest.raises(WrongSourceError, match=f"inside the partition folder {data}/orders-0: "):
        ingested(data / "orders-0", data / "orders-0" / "lake", source=given)
    with pytest.raises(WrongSourceError, match=f"inside the log dir {data}: "):
        ingested([data / "orders-0", data], lake, source=given)
    assert not lake.exists()
    assert ingested(data / "orders-0", lake, source=given).records == 10


def test_a_lake_inside_a_log_dir_is_also_seen_through_a_link(data: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(data)
    before = _contents(data)
    with pytest.raises(WrongSourceError, match="inside the log dir"):
        ingested(data, link / "lake")
    assert _contents(data) == before


def test_a_lake_beside_a_log_dir_may_have_a_name_that_begins_like_it(data: Path) -> None:
    assert ingested(data, data.with_name("data-lake")).records == 10


def test_a_lake_path_that_is_a_file_is_refused(data: Path, lake: Path) -> None:
    lake.write_text("mine")
    with pytest.raises(SeglakeError, match=str(lake)):
        ingested(data, lake)
    assert lake.read_text() == "mine"


def test_a_lake_folder_that_holds_something_else_is_refused(data: Path, lake: Path) -> None:
    lake.mkdir()
    (lake / "thesis.tex").write_text("mine")
    with pytest.raises(SeglakeError, match=r"holds thesis\.tex"):
        ingested(data, lake)
    assert _contents(lake) == {"thesis.tex": b"mine"}


def test_a_lake_that_lost_a_table_is_refused(data: Path, lake: Path) -> None:
    ingested(data, lake)
    shutil.rmtree(lake / "gaps")
    before = _contents(lake)
    with pytest.raises(SeglakeError, match="gaps"):
        ingested(data, lake)
    assert _contents(lake) == before


@pytest.mark.parametrize("content", [b"0\n2\norders 0 5\n", b"9\n0\n", b"\x00\x00\x00"])
def test_a_high_watermark_file_that_cannot_be_read_is_said_and_the_log_taken_to_its_end(
    content: bytes, data: Path, lake: Path
) -> None:
    marks = data / "replication-offset-checkpoint"
    marks.write_bytes(content)
    summary = ingested(data, lake)
    assert (summary.records, summary.exit_code) == (10, 3)
    assert [why for why in summary.left_out.values() if str(marks) in why]


def test_without_a_high_watermark_file_the_log_is_taken_to_its_end_and_that_is_said(
    data: Path, lake: Path
) -> None:
    (data / "replication-offset-checkpoint").unlink()
    summary = ingested(data, lake)
    assert summary.records == 10
    assert [note for note in summary.notes if "replication-offset-checkpoint" in note]


def test_a_partition_without_a_high_watermark_is_left_until_it_is_asked_for(
    data: Path, lake: Path
) -> None:
    (data / "replication-offset-checkpoint").write_text(checkpoint_text([]))
    summary = ingested(data, lake)
    assert (summary.records, summary.exit_code) == (0, 3)
    assert [left.place for left in summary.findings.of(FindingKind.NO_HIGH_WATERMARK)] == [
        "orders-0"
    ]
    assert ingested(data, lake, read={"upper_bound": "log_end"}).records == 10


def test_a_log_start_above_the_log_end_is_not_believed_and_said(data: Path, lake: Path) -> None:
    (data / "log-start-offset-checkpoint").write_text(checkpoint_text(["orders 0 11"]))
    summary = ingested(data, lake)
    assert summary.records == 10
    assert [note for note in summary.notes if "log start offset 11" in note]
