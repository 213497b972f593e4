"""Registries are read from a lake's records, with what lost an election and what is missing."""

from pathlib import Path

from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.registry_rows import LakeRegistry, lake_registries
from seglake.storage.local_storage import LocalStorage
from support.lakes import ingested, retaken
from support.typed_disk import (
    SOURCE_ID,
    oracle_schemas,
    schema_pair,
    typed_lake,
    write_registry,
)


def registries(lake: Path, topic: str = "_schemas") -> list[LakeRegistry]:
    return lake_registries(LakeTables(str(lake), LocalStorage()), topic)


def test_schemas_ids_guids_and_deletions_are_those_of_confluents_registry(tmp_path: Path) -> None:
    [found] = registries(typed_lake(tmp_path / "lake", "_schemas"))
    assert (found.source_id, found.record_count, found.gaps) == (SOURCE_ID, 81, [])
    schemas = [
        (*s.place, s.schema_id, str(s.content.guid()), s.deletion is not None, s.content.text)
        for s in found.registry.schemas
    ]
    names = ("subject", "version", "id", "guid", "deleted", "schema")
    assert schemas == [tuple(each[name] for name in names) for each in oracle_schemas()]
    assert found.registry.unread == []


def test_a_registration_that_lost_an_election_keeps_its_id(tmp_path: Path) -> None:
    first, lost = schema_pair("a", 1, 1), schema_pair("a", 2, 2, schema='"lost"')
    won = schema_pair("a", 2, 3, schema='"won"')
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "old", [(0, [first]), (0, [lost])]), lake)
    winner = write_registry(tmp_path / "new", [(0, [first]), (1, [won])], broker_id=1)
    ingested(winner, lake)
    retaken(lake, winner)
    [found] = registries(lake)
    texts = {s.schema_id: s.content.text for s in found.registry.schemas}
    assert texts == {1: '"int"', 2: '"lost"', 3: '"won"'}
    assert found.record_count == 3


def test_registries_of_two_clusters_are_apart(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for name in ("east", "west"):
        pair = schema_pair("a", 1, 1, schema=f'"{name}"')
        ingested(write_registry(tmp_path / name, [(0, [pair])], cluster_id=name), lake)
    found = [(each.source_id, each.registry.of_id(".", 1)) for each in registries(lake)]
    assert [(name, [s.content.text for s in same]) for name, same in found] == [
        ("east", ['"east"']),
        ("west", ['"west"']),
    ]


def test_damaged_offsets_of_the_registry_s_topic_are_gaps(tmp_path: Path) -> None:
    folder = write_registry(tmp_path / "disk", [(0, [schema_pair("a", n, n)]) for n in (1, 2, 3)])
    [log] = (folder / "_schemas-0").glob("*.log")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    ingested(folder, tmp_path / "lake")
    [found] = registries(tmp_path / "lake")
    assert [(gap.start_offset, gap.next_offset) for gap in found.gaps] == [(1, 2)]
