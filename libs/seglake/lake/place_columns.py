"""Columns that locate a table's row in a log, or the record that the row comes from."""

from typing import NamedTuple

from seglake.lake.tables import BATCHES, GAPS, QUARANTINE, RECORDS, SALVAGED_RECORDS, Table
from seglake.lake.typed_tables import is_typed
from seglake.lake.value_tables import VALUE_REJECTS


class PlaceColumns(NamedTuple):
    """Columns with the log, the offset and the commit of a row, or of its record in `records`.

    Attributes:
        topic: column with the topic; empty if a file or the table has one topic.
    """

    topic_id: str
    partition: str
    offset: str
    source_id: str = "source_id"
    generation: str = "generation"
    topic: str = ""

    def names(self) -> list[str]:
        """Return the columns that there are."""
        return [name for name in self if name]


_OFFSETS = {
    RECORDS.name: "offset",
    SALVAGED_RECORDS.name: "offset",
    BATCHES.name: "last_offset",
    GAPS.name: "start_offset",
    QUARANTINE.name: "previous_offset",
}


def place_columns(table: Table) -> PlaceColumns:
    """Return the columns that locate a table's row in a log."""
    if is_typed(table):
        return PlaceColumns("_topic_id", "_partition", "_offset", "_source_id", "_generation")
    if table == VALUE_REJECTS:
        return PlaceColumns("topic_id", "partition", "offset", generation="record_generation")
    if table.name in _OFFSETS:
        topic = "" if table.partition_by else "topic"
        return PlaceColumns("topic_id", "partition", _OFFSETS[table.name], topic=topic)
    return PlaceColumns("record_topic_id", "record_partition", "record_offset")
