"""Each value and reject of the disk's Protobuf topics is what its oracle says, by column."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.registry_rows import lake_registries
from seglake.storage.local_storage import LocalStorage
from seglake.value_codec.bodies import bodies_of_bytes
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.schema_groups import GroupContext, schema_groups
from seglake.value_codec.reject_reasons import RejectReason
from seglake.value_codec.schema_readers import SchemaReaders
from support.lakes import ingested, read_table
from support.protobuf_oracle import PROTOBUF_IDS, is_same_message
from support.typed_disk import Json, oracle_records, typed_disk


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed") / "lake"
    ingested(typed_disk(), folder, select={"topics": ("_schemas", "proto_*", "header_guid")})
    return folder


# Any: a decoded value, or the reason and position of a reject.
def decoded(lake: Path, topic: str) -> dict[tuple[int, int], Any]:
    """Values and rejects of a topic, by partition and offset."""
    [registry] = lake_registries(LakeTables(str(lake), LocalStorage()), "_schemas")
    readers = SchemaReaders(registry.registry)
    rows = [
        row
        for row in read_table(lake, "records")
        if row["topic"] == topic and row["value"] is not None
    ]
    headers = {}
    for number, row in enumerate(rows):
        for header in row["headers"] or ():
            if header["key"] == "__value_schema_id":
                headers[number] = header["value"]
    context = GroupContext(Form.CONFLUENT, readers, ".")
    found: dict[tuple[int, int], Any] = {}
    for group in schema_groups(bodies_of_bytes([row["value"] for row in rows]), headers, context):
        places = [(rows[n]["partition"], rows[n]["offset"]) for n in group.rows.tolist()]
        if group.use.reader is None:
            found |= dict.fromkeys(places, (group.use.problem, group.problem_at))
            continue
        values, reasons, positions = group.use.reader.read(group.bodies)
        for place, value, reason, at in zip(
            places, values.to_pylist(), reasons.tolist(), positions.tolist(), strict=True
        ):
            found[place] = (RejectReason.of_code(reason), at) if reason else value
    return found


@pytest.mark.parametrize("topic", ["proto_events", "proto_auto", "header_guid"])
def test_each_value_and_each_reject_is_the_oracle_s(lake: Path, topic: str) -> None:
    found = decoded(lake, topic)
    differing = [
        (place, outcome, found[place])
        for place, outcome in outcomes(topic)
        if not is_same_outcome(outcome, found[place])
    ]
    assert differing == []


def outcomes(topic: str) -> Iterable[tuple[tuple[int, int], Json]]:
    """The oracle's outcomes of values with a schema of Protobuf."""
    for record in oracle_records(topic):
        if record["value"].get("schema_id") in PROTOBUF_IDS:
            yield (record["partition"], record["offset"]), record["value"]


def is_same_outcome(outcome: Json, found: Any) -> bool:
    if "ok" in outcome:
        return isinstance(found, dict) and is_same_message(outcome["ok"], found)
    reason, at = found
    expected = {outcome["reject"], *outcome.get("also", ()), "bad_message_index"}
    return reason in expected and at in (-1, outcome.get("position", at))
