"""A real `_schemas` topic with damage, or with holes: every command says what may be lost by it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seglake.errors import ExitCode
from seglake.pipelines.lake_audit.text_report import to_text
from seglake.pipelines.lake_deserialize.deserialize_choice import Again
from seglake.pipelines.lake_deserialize.dry_run import count_decodable
from seglake.pipelines.lake_schemas.run import list_schemas
from seglake.settings.settings import SelectSettings
from seglake.storage.local_storage import LocalStorage
from support.audits import audited
from support.lakes import ingested
from support.typed_disk import typed_disk
from support.typed_lakes import SILENT, decoded
from support.typed_rows import table_rows

_TOPICS = ("_schemas", "avro_orders", "avro_refs")
_SECOND_ORDER = b'{"keytype":"SCHEMA","subject":"avro_orders-value","version":2,'
_MONEY = b'{"keytype":"SCHEMA","subject":"money-avro",'
_ACCEPTING = "if you accept that, exclude it: --topics '!avro_refs'"
_LEFT_OUT = (
    "avro_refs: none of its values has a schema that can be read: reference_missing, see `seglake"
    f" schemas`; {_ACCEPTING}"
)

Edit = Callable[[bytes], bytes]


def flipped(batch: bytes) -> bytes:
    middle = len(batch) // 2
    return batch[:middle] + bytes([batch[middle] ^ 0xFF]) + batch[middle + 1 :]


def removed(batch: bytes) -> bytes:
    return b""


def batches(content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        size = 12 + int.from_bytes(content[at + 8 : at + 12], "big")
        yield content[at : at + size]
        at += size


def broken_lake(folder: Path, edit: Edit) -> Path:
    """A lake of the real disk, of whose registry two batches are edited."""
    disk = folder / "disk"
    shutil.copytree(typed_disk(), disk)
    for path in disk.iterdir():
        if path.is_dir() and path.name.rpartition("-")[0] not in _TOPICS:
            shutil.rmtree(path)
    (disk / "replication-offset-checkpoint").unlink()
    [log] = (disk / "_schemas-0").glob("*.log")
    edited = [
        edit(each) if _SECOND_ORDER in each or _MONEY in each else each
        for each in batches(log.read_bytes())
    ]
    log.write_bytes(b"".join(edited))
    for path in (disk / "_schemas-0").glob("*index"):
        path.unlink()
    ingested(disk, folder / "lake", select={"topics": _TOPICS})
    return folder / "lake"


@pytest.mark.parametrize(("edit", "cause"), [(flipped, "quarantined"), (removed, "missing")])
def test_a_registry_with_lost_batches_is_named_by_each_command(
    tmp_path: Path, edit: Edit, cause: str
) -> None:
    lake, storage = broken_lake(tmp_path, edit), LocalStorage()
    listed = list_schemas(str(lake), storage)
    assert listed.exit_code is ExitCode.LOOK
    assert listed.to_text().splitlines()[-2:] == [
        f"missing: 1 offset {cause} in [{offset}, {offset + 1}) of _schemas-0; each may have been"
        " a schema"
        for offset in (3, 30)
    ]
    assert "reference missing: ref.common.Money (money-avro, version 1)" in listed.to_text()
    note = (
        f"_schemas of {listed.registries[0].source_id}: the lake lacks 2 records; each may have"
        " been a schema that rejected values name: see `seglake schemas`"
    )
    select = SelectSettings(topics=("avro_orders", "avro_refs"))
    before = count_decodable(str(lake), storage, SILENT, select)
    run = decoded(lake, *select.topics)
    for found in (before, run):
        assert found.exit_code == ExitCode.LOOK
        assert found.left_out == {"avro_refs": _LEFT_OUT}
        assert f"note: {note}" in found.to_text().splitlines()
    [orders] = run.topics
    assert (orders.topic, orders.typed_rows, orders.value_rejects) == ("avro_orders", 447, 153)
    assert {row["schema_id"] for row in table_rows(lake, "value_rejects")} == {3}
    audit = audited(lake)
    assert audit.typed is not None
    is_explained = cause == "quarantined"
    assert audit.typed.notes == []
    assert audit.exit_code == (ExitCode.DONE if is_explained else ExitCode.LOOK)
    lost = "hidden by damaged bytes" if is_explained else "missing without a known cause"
    assert f"NOT recovered: 2 offsets {lost}" in to_text(audit)


def test_another_copy_of_the_registry_brings_all_of_it_back(tmp_path: Path) -> None:
    lake = broken_lake(tmp_path, flipped)
    decoded(lake, "avro_orders", "avro_refs")
    ingested(typed_disk(), lake, select={"topics": _TOPICS})
    run = decoded(lake, "avro_orders", "avro_refs", again=Again(rejects=True))
    assert (run.exit_code, run.left_out, run.notes) == (ExitCode.DONE, {}, [])
    assert [(each.topic, each.typed_rows) for each in run.topics] == [("avro_refs", 40)]
    assert [(each.topic, each.typed_rows) for each in run.retried] == [("avro_orders", 153)]
