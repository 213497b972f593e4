"""What Iceberg has to know of a table: columns, partitioning, and its one snapshot. Pure.

The data files carry no ids of Iceberg's, so the property `schema.name-mapping.default` leads to
their columns by name. The column that a Delta table is partitioned by is in no data file: readers
take it from a file's partition, as Iceberg's specification has it ("Column Projection").
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple, cast
from uuid import UUID

import pyarrow as pa
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataV2, new_table_metadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef
from pyiceberg.table.snapshots import Operation, Snapshot, SnapshotLogEntry
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DecimalType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from seglake.lake.snapshots import Snapshot as DeltaSnapshot
from seglake.lake.snapshots import StoredFile
from seglake.lake.tables import Table

LAKE_PROPERTY = "seglake.lake"
"""Of a table that `register` made: whose data files it names."""

_NAME_MAPPING = "schema.name-mapping.default"
_FIRST_PARTITION_FIELD = 1000  # by convention of Iceberg's own writers
_PRIMITIVES: dict[pa.DataType, IcebergType] = {
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.string(): StringType(),
    pa.binary(): BinaryType(),
    pa.bool_(): BooleanType(),
    pa.timestamp("us", tz="UTC"): TimestamptzType(),
    pa.decimal128(38, 0): DecimalType(38, 0),
}


class TableVersion(NamedTuple):
    """One version of a Delta table."""

    table: Table
    lake: str
    snapshot: DeltaSnapshot


def new_metadata(of: TableVersion, *, location: str) -> TableMetadataV2:
    """Metadata without a snapshot; an empty table has no other.

    Args:
        location: the table's folder, without a slash at its end.
    """
    ids = count(1)
    schema = Schema(*(_field(column, ids) for column in of.table.schema))
    partition_fields = [
        PartitionField(
            source_id=schema.find_field(name).field_id,
            field_id=_FIRST_PARTITION_FIELD + index,
            transform=IdentityTransform(),
            name=name,
        )
        for index, name in enumerate(of.table.partition_by)
    ]
    found = cast(
        TableMetadataV2,
        new_table_metadata(
            schema=schema,
            partition_spec=PartitionSpec(*partition_fields),
            sort_order=UNSORTED_SORT_ORDER,
            location=location,
            table_uuid=UUID(of.snapshot.table_id),
        ),
    )  # the version that it writes by default
    # It has numbered the columns anew: only its own schema maps names to the right numbers.
    mapping = found.schema().name_mapping.model_dump_json()
    properties = {_NAME_MAPPING: mapping, LAKE_PROPERTY: of.lake}
    update = {"properties": properties, "last_sequence_number": of.snapshot.version}
    return found.model_copy(update=update)


def with_snapshot(
    empty: TableMetadataV2, *, manifest_list: str, files: Sequence[StoredFile]
) -> TableMetadataV2:
    """The same with a snapshot, whose id and sequence number are the version of the Delta table."""
    version = {"snapshot-id": empty.last_sequence_number}
    written = {**version, "timestamp-ms": empty.last_updated_ms}
    snapshot = {
        **written,
        "sequence-number": empty.last_sequence_number,
        "manifest-list": manifest_list,
        "schema-id": empty.current_schema_id,
        "summary": {
            "operation": Operation.OVERWRITE,  # who reads changes must not take it for an append
            "total-data-files": str(len(files)),
            "total-records": str(sum(file.row_count or 0 for file in files)),
        },
    }
    return empty.model_copy(
        update={
            "snapshots": [Snapshot.model_validate(snapshot)],
            "current_snapshot_id": empty.last_sequence_number,
            "refs": {MAIN_BRANCH: SnapshotRef.model_validate({**version, "type": "branch"})},
            "snapshot_log": [SnapshotLogEntry.model_validate(written)],
        }
    )


# The stubs make fields generic in their type; one of any type is meant.
def _field(column: "pa.Field[pa.DataType]", ids: Iterator[int]) -> NestedField:
    """A column as a field, which has an id of its own, as those inside of it have."""
    kind = _type(column.type, ids)
    return NestedField(next(ids), column.name, kind, required=False)


def _type(kind: pa.DataType, ids: Iterator[int]) -> IcebergType:
    if isinstance(kind, pa.ListType):
        element = _type(kind.value_type, ids)
        return ListType(next(ids), element, element_required=False)
    if isinstance(kind, pa.StructType):
        return StructType(*(_field(kind.field(i), ids) for i in range(kind.num_fields)))
    return _PRIMITIVES[kind]
