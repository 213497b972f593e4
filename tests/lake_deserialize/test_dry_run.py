"""A dry run says of each topic what decodes, as an oracle that shares no code says it."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from seglake.errors import ExitCode
from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.registry_rows import lake_registries
from seglake.pipelines.lake_deserialize.decode_counts import DecodeCounts
from seglake.pipelines.lake_deserialize.dry_run import count_decodable
from seglake.pipelines.lake_deserialize.part_counts import PartCounts
from seglake.settings.settings import SelectSettings
from seglake.storage.local_storage import LocalStorage
from seglake.value_codec import schema_readers
from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.reject_reasons import RejectReason
from seglake.value_codec.schema_readers import SchemaReaders
from support.lakes import ingested, read_table
from support.typed_disk import (
    Json,
    Pair,
    glue_schemas,
    manifest,
    oracle_records,
    schema_pair,
    typed_disk,
    write_registry,
)
from support.typed_lakes import SILENT, add_values, decoded
from support.typed_lakes import made as made_lake

_READ = sorted(
    name
    for name, facts in manifest()["topics"].items()
    if {"confluent", "single-object", "glue", "json", "connect-json"}
    & {facts["value"], facts["key"]}
    and name.startswith(("avro_", "single_", "glue_", "json_", "connect_"))
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed") / "lake"
    ingested(typed_disk(), folder)
    return folder


def counted(lake: Path, *topics: str) -> DecodeCounts:
    """Counts of topics, with the schemas of Glue that no disk has."""
    schemas = str(glue_schemas()) if topics == ("glue_like",) else None
    return count_decodable(
        str(lake), LocalStorage(), SILENT, SelectSettings(topics=topics), schemas=schemas
    )


def outcomes(topic: str, part: str) -> list[Json]:
    """The oracle's outcome of each key or value that has a schema."""
    found = [record[part] for record in oracle_records(topic)]
    return [outcome for outcome in found if not {"null", "raw"} & outcome.keys()]


@pytest.mark.parametrize("topic", _READ)
@pytest.mark.parametrize("part", ["key", "value"])
def test_as_many_decode_as_the_oracle_says(lake: Path, topic: str, part: str) -> None:
    [found] = [each for each in counted(lake, topic).parts if each.part == part]
    expected = outcomes(topic, part)
    assert found.decoded == sum("ok" in outcome for outcome in expected)
    if expected:
        assert found.reject_count == sum("reject" in outcome for outcome in expected)
    if topic in ("single_object", "glue_like"):
        reasons = Counter(outcome["reject"] for outcome in expected if "reject" in outcome)
        assert found.rejects == reasons
    if topic.startswith("avro_"):
        ids = Counter(outcome["schema_id"] for outcome in expected if "schema_id" in outcome)
        named = {int(name.split()[1]): count for name, count in found.schemas.items()}
        assert named == ids


@pytest.mark.parametrize("topic", sorted(manifest()["topics"].keys() - {"_schemas"}))
def test_the_form_of_each_topic_is_what_its_producer_wrote(lake: Path, topic: str) -> None:
    names = {"raw": "none", "connect-json": "connect_json", "single-object": "single_object"}
    for part in counted(lake, topic).parts:
        form = manifest()["topics"][topic][part.part]
        has_keys = part.nulls < part.records
        assert part.form == (names.get(form, form) if has_keys else "none")


def test_each_reason_and_position_is_the_oracle_s(lake: Path) -> None:
    [registry] = lake_registries(LakeTables(str(lake), LocalStorage()), "_schemas")
    readers = SchemaReaders(registry.registry)
    rows = {row["offset"]: row for row in read_table(lake, "records") if row["topic"] == "avro_bad"}
    differing: list[object] = []
    for record in oracle_records("avro_bad"):
        for part in ("key", "value"):
            outcome, found = record[part], rows[record["offset"]][part]
            if "reject" in outcome:
                reason, position = decoded_alone(readers, found)
                is_same = reason == outcome["reject"]
                if not is_same and reason not in outcome.get("also", ()):
                    differing.append((record["offset"], part, reason, outcome))
                elif is_same and position not in (None, outcome.get("position")):
                    differing.append((record["offset"], part, position, outcome))
    assert differing == []


def decoded_alone(readers: SchemaReaders, value: bytes) -> tuple[str, int | None]:
    """Reason of a framed value, and its position if it is in the body."""
    if len(value) < 5:
        return "no_frame", None
    if value[0]:
        return "bad_magic", None
    use = readers.of_id(".", int.from_bytes(value[1:5], "big"))
    if use.problem is not None:
        return use.problem, None
    assert use.reader is not None
    read = use.reader.read(bodies_of_bytes([value[5:]]))
    return RejectReason.of_code(int(read.reasons[0])), int(read.positions[0]) + 5


@pytest.mark.parametrize("topic", ["header_guid", "proto_events", "proto_auto"])
def test_schemas_that_headers_and_message_indexes_name_are_found(lake: Path, topic: str) -> None:
    for part in counted(lake, topic).parts:
        expected = outcomes(topic, part.part)
        assert part.decoded == sum("ok" in outcome for outcome in expected)
        assert part.reject_count == sum("reject" in outcome for outcome in expected)


def test_a_reject_of_protobuf_has_its_place_behind_the_message_indexes(lake: Path) -> None:
    values = counted(lake, "proto_events").parts[1]
    assert values.rejects[RejectReason.BAD_MESSAGE_INDEX] == 2
    assert values.first_rejects[RejectReason.BAD_UTF8] == "proto_events-1 offset 153, byte 8"


def test_protobuf_without_its_packages_is_no_success(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_readers, "has_protobuf", lambda: False)
    found = counted(lake, "proto_auto")
    assert (found.exit_code, found.parts[1].rejects) == (ExitCode.LOOK, {"protobuf_missing": 30})
    headline = "0 of 30 keys and values decode; 30 do not"
    assert found.to_text().splitlines()[0] == headline
    assert "; Protobuf needs more packages: pip install '.[protobuf]'" in found.to_text()


@pytest.mark.parametrize("has_protobuf", [True, False])
def test_a_dry_run_leaves_out_what_the_run_leaves_out(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_protobuf: bool
) -> None:
    monkeypatch.setattr(schema_readers, "has_protobuf", lambda: has_protobuf)
    shutil.copytree(lake, tmp_path / "lake")
    before, run = counted(tmp_path / "lake"), decoded(tmp_path / "lake")
    without_extra = () if has_protobuf else ("header_guid", "proto_auto", "proto_events")
    assert {*run.left_out} == {"glue_like", *without_extra}
    for each in (before, counted(tmp_path / "lake")):
        assert each.left_out == run.left_out
        assert left_out_lines(each.to_text()) == left_out_lines(run.to_text())
        assert each.exit_code == run.exit_code == ExitCode.LOOK
        counts = {part.topic: part.decoded for part in each.parts if part.part == "value"}
        nulls = {part.topic: part.nulls for part in each.parts if part.part == "value"}
        typed = {result.topic: result.typed_rows for result in run.topics}
        assert {t: n + nulls[t] for t, n in counts.items() if t in typed} == typed
        assert not any(part.decoded for part in each.parts if part.topic in run.left_out)
    others = sum(part.left_out for part in before.parts)
    assert (others == 0) == has_protobuf
    assert (f" {others} are of topics left out" in before.to_text()) == (not has_protobuf)


def left_out_lines(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.startswith("left out: "))


def test_a_topic_with_tables_is_counted_in_their_form(tmp_path: Path) -> None:
    """The form is that of the tables, whatever most later records look like."""
    lake = made_lake(tmp_path, b"\x00\x00\x00\x00\x01\x02")
    assert decoded(lake, "t").exit_code is ExitCode.DONE
    texts = [b'{"a": 1}'] * 9
    add_values(lake, tmp_path / "later", *texts, start=1)
    values = value_part(counted(lake, "t"))
    assert (values.form, values.decoded, values.reject_count) == ("confluent", 1, 9)
    run = decoded(lake, "t")
    assert [each.value_rejects for each in run.topics] == [9]


def test_every_record_is_counted_once(lake: Path) -> None:
    for part in counted(lake).parts:
        counts = part.decoded + part.left_out + part.rejects.total()
        assert counts == (0 if part.form == "none" else part.records - part.nulls), part.topic


def test_values_of_no_form_are_no_rejects(tmp_path: Path) -> None:
    found = made(tmp_path, [schema_pair("u-value", 1, 1)], [b"a text", b"12", b"\x00\x01"])
    assert value_part(found).form == "none"
    assert found.exit_code is ExitCode.DONE
    assert "t values: 3 records; neither frames of schemas nor JSON" in found.to_text()


def test_lost_schemas_of_glue_are_rejects(lake: Path) -> None:
    found = count_decodable(
        str(lake), LocalStorage(), SILENT, SelectSettings(topics=("glue_like",))
    )
    values = found.parts[1]
    assert (values.form, values.decoded) == ("glue", 0)
    assert values.rejects[RejectReason.UNKNOWN_GUID] == 126
    assert values.first_rejects[RejectReason.UNKNOWN_GUID] == "glue_like-0 offset 0, byte 2"
    assert found.exit_code is ExitCode.LOOK


def test_a_topic_of_a_context_has_the_ids_of_that_context(lake: Path) -> None:
    value = counted(lake, "avro_context").parts[1]
    assert value.decoded == 20
    assert (
        "  id 6001 AVRO lab.ctx.Ctx of context .lab: 20" in counted(lake, "avro_context").to_text()
    )


def made(tmp_path: Path, pairs: list[Pair], values: list[bytes]) -> DecodeCounts:
    """Counts of a topic with these values, beside a registry."""
    ingested(write_registry(tmp_path / "registry", [(0, pairs)]), tmp_path / "lake")
    topic = [(b"k", value) for value in values]
    ingested(write_registry(tmp_path / "topic", [(0, topic)], topic="t"), tmp_path / "lake")
    return counted(tmp_path / "lake", "t")


def value_part(found: DecodeCounts) -> PartCounts:
    return found.parts[1]


def test_ids_that_the_registry_has_lost_are_rejects_if_all_have_one(tmp_path: Path) -> None:
    found = made(tmp_path, [schema_pair("t-value", 1, 1)], [b"\x00\x00\x00\x00\x07\x02"] * 3)
    assert value_part(found).rejects == {"unknown_schema_id": 3}
    assert found.exit_code is ExitCode.LOOK


def test_an_id_with_two_schemas_is_ambiguous(tmp_path: Path) -> None:
    pairs = [schema_pair("t-value", 1, 1), schema_pair("u-value", 1, 1, schema='"long"')]
    found = made(tmp_path, pairs, [b"\x00\x00\x00\x00\x01\x02"])
    assert value_part(found).rejects == {"ambiguous_schema_id": 1}
    assert value_part(found).first_rejects == {"ambiguous_schema_id": "t-0 offset 0, byte 1"}


def test_many_schemas_are_counted_and_the_most_frequent_are_named(tmp_path: Path) -> None:
    ids = range(1, 301)
    pairs = [schema_pair("t-value", n, n, schema=f'{{"type":"int","v":{n}}}') for n in ids]
    values = [b"\x00" + n.to_bytes(4, "big") + b"\x02" for n in ids]
    found = made(tmp_path, pairs, [*values, values[6]])
    assert (value_part(found).decoded, len(value_part(found).schemas)) == (301, 300)
    lines = found.to_text().splitlines()
    assert lines[3] == "  id 7 AVRO int: 2"
    assert lines[-1] == "  and 280 more schemas"


def test_a_topic_that_is_named_and_not_there_ends_with_3(lake: Path) -> None:
    found = counted(lake, "avro_refs", "avro_ref")
    assert found.exit_code is ExitCode.LOOK
    assert "avro_ref" in found.to_text().splitlines()[-1]
    assert counted(lake, "avro_refs", "nothing*").exit_code is ExitCode.DONE


def test_clusters_are_named_and_one_without_a_registry_has_no_schemas(tmp_path: Path) -> None:
    lake, value = tmp_path / "lake", b"\x00\x00\x00\x00\x01\x02"
    for name in ("east", "north", "west"):
        record: Pair = (name.encode(), value)
        topics = {"t": [record], "_schemas": [schema_pair(name, 1, 1)]}
        for topic in ("t", "_schemas"):
            if (name, topic) != ("north", "_schemas"):
                folder = tmp_path / name / topic
                disk = write_registry(folder, [(0, topics[topic])], topic=topic, cluster_id=name)
                ingested(disk, lake)
    found = counted(lake, "t")
    lines = found.to_text().splitlines()
    assert [line for line in lines if line.startswith("t values")] == [
        "t values of east: 1 record; 1 decode",
        "t values of north: 1 record; 0 decode, 1 do not",
        "t values of west: 1 record; 1 decode",
    ]
    assert lines[-1] == "note: north has no registry; give its schemas with --schemas"
    assert found.exit_code is ExitCode.LOOK
    run = decoded(lake, "t")  # north's rows go to the table that east's values made
    assert found.left_out == run.left_out == {}
    assert [(each.source_id, each.value_rejects) for each in run.topics] == [
        ("east", 0),
        ("north", 1),
        ("west", 0),
    ]
    alone = count_decodable(
        str(lake), LocalStorage(), SILENT, SelectSettings(topics=("t",)), source_id="west"
    )
    assert (alone.exit_code, alone.notes) == (ExitCode.DONE, [])


_RECORD = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "%s"}]}'


def conflicting(lake: Path, folder: Path) -> Path:
    """A lake whose topics `t` (records R and ints) and `t__R` need a table of one name."""
    pairs = [
        schema_pair("t-value", 1, 1, schema=_RECORD % "int"),
        schema_pair("t-value", 2, 2),
        schema_pair("t__R-value", 1, 2),
    ]
    ingested(write_registry(folder / "registry", [(0, pairs)]), lake)
    record, number = bytes(4) + b"\x01\x02", bytes(4) + b"\x02\x02"
    for topic, values in (("t", [record, number]), ("t__R", [number])):
        disk: list[Pair] = [(None, value) for value in values]
        ingested(write_registry(folder / topic, [(0, disk)], topic=topic), lake)
    return lake


@pytest.mark.parametrize("has_run", [False, True])
def test_two_topics_whose_tables_have_one_name_are_named_before_a_run(
    tmp_path: Path, has_run: bool
) -> None:
    lake = conflicting(tmp_path / "lake", tmp_path)
    if has_run:
        decoded(lake, "t")
    before, run = counted(lake, "t*"), decoded(lake, "t*")
    assert before.left_out == run.left_out
    assert [*run.left_out.items()] == [
        (
            "t__R",
            "t__R: table typed/t__R cannot be written: it is the table of topic t; if you accept"
            " that, exclude it: --topics '!t__R'",
        )
    ]
    assert before.exit_code == run.exit_code == ExitCode.LOOK
    assert (lake / "typed" / "t__R").exists()
    assert counted(lake, "t").left_out == {}


def test_a_folder_that_is_no_table_is_named_before_a_run_and_left_alone(tmp_path: Path) -> None:
    lake = made_lake(tmp_path, b"\x00\x00\x00\x00\x01\x02")
    (lake / "typed" / "t").mkdir(parents=True)
    (lake / "typed" / "t" / "mine.csv").write_text("a")
    before, run = counted(lake, "t"), decoded(lake, "t")
    assert before.left_out == run.left_out
    assert "its folder holds mine.csv and is not a table; if" in run.left_out["t"]
    assert [path.name for path in (lake / "typed" / "t").iterdir()] == ["mine.csv"]
    (lake / "typed" / "t" / "mine.csv").unlink()
    assert decoded(lake, "t").exit_code == counted(lake, "t").exit_code == ExitCode.DONE


def test_types_that_get_columns_of_their_own_are_named_before_a_run(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    pairs = [
        schema_pair("t-value", number, number, schema=_RECORD % kind)
        for number, kind in enumerate(["int", "string", "bytes"], start=1)
    ]
    ingested(write_registry(tmp_path / "registry", [(0, pairs[:2])]), lake)
    add_values(lake, tmp_path / "values", b"\x00\x00\x00\x00\x01\x02")
    found = counted(lake, "t")
    note = "t: types that do not fit get columns of their own: a__string (id 2)"
    assert (found.exit_code, found.notes) == (ExitCode.DONE, [note])
    assert f"note: {note}" in found.to_text().splitlines()
    assert decoded(lake, "t").exit_code is ExitCode.DONE
    ingested(write_registry(tmp_path / "registry-2", [(0, pairs[:2]), (0, pairs[2:])]), lake)
    add_values(lake, tmp_path / "more", b"\x00\x00\x00\x00\x01\x04", start=1)
    [note] = counted(lake, "t").notes
    assert note.endswith(": a__binary (id 3)")
    decoded(lake, "t")
    assert counted(lake, "t").notes == []
