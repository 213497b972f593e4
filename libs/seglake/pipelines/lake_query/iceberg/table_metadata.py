"""Iceberg metadata of a table: columns, partitioning, and its only snapshot.

The data files have no Iceberg field ids, so the property `schema.name-mapping.default` maps their
columns by name. A Delta table's partition column is in no data file: readers use the partition
value in the manifest; see "Column Projection" in Iceberg's specification.
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
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from seglake.lake.snapshots import StoredFile
from seglake.lake.table_view import TableView
from seglake.lake.tables import Table
from seglake.pipelines.lake_query.scripts import LAKE_PROPERTY

_NAME_MAPPING = "schema.name-mapping.default"
_FIRST_PARTITION_FIELD = 1000  # Iceberg's own writers begin with this id
_PRIMITIVES: dict[pa.DataType, IcebergType] = {
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.string(): StringType(),
    pa.binary(): BinaryType(),
    pa.bool_(): BooleanType(),
    pa.float32(): FloatType(),
    pa.float64(): DoubleType(),
    pa.date32(): DateType(),
    pa.timestamp("us", tz="UTC"): TimestamptzType(),
}


class TableVersion(NamedTuple):
    """One version of a Delta table."""

    table: Table
    lake: str
    snapshot: TableView


def new_metadata(of: TableVersion, *, location: str) -> TableMetadataV2:
    """Return metadata without a snapshot: the complete metadata of an empty table.

    Args:
        of: the version to describe.
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
    )  # pyiceberg's default is version 2 of the format
    # pyiceberg has renumbered the columns, so the name mapping is made from pyiceberg's schema.
    mapping = found.schema().name_mapping.model_dump_json()
    properties = {_NAME_MAPPING: mapping, LAKE_PROPERTY: of.lake}
    update = {"properties": properties, "last_sequence_number": of.snapshot.version}
    return found.model_copy(update=update)


def with_snapshot(
    empty: TableMetadataV2, *, manifest_list: str, files: Sequence[StoredFile]
) -> TableMetadataV2:
    """Return metadata with a snapshot; its id and sequence number are the Delta table's version.

    Args:
        empty: the metadata without a snapshot.
        manifest_list: path of the list of manifests.
        files: the data files of this version.
    """
    version = {"snapshot-id": empty.last_sequence_number}
    written = {**version, "timestamp-ms": empty.last_updated_ms}
    snapshot = {
        **written,
        "sequence-number": empty.last_sequence_number,
        "manifest-list": manifest_list,
        "schema-id": empty.current_schema_id,
        "summary": {
            # Not APPEND: readers of changes would treat all rows as new.
            "operation": Operation.OVERWRITE,
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


# The stubs make fields generic in their type; a field here may have any type.
def _field(column: "pa.Field[pa.DataType]", ids: Iterator[int]) -> NestedField:
    """Return a column as a field with a new id; nested fields get new ids too."""
    kind = _type(column.type, ids)
    return NestedField(next(ids), column.name, kind, required=False)


def _type(kind: pa.DataType, ids: Iterator[int]) -> IcebergType:
    if isinstance(kind, pa.ListType):
        element = _type(kind.value_type, ids)
        return ListType(next(ids), element, element_required=False)
    if isinstance(kind, pa.StructType):
        return StructType(*(_field(kind.field(i), ids) for i in range(kind.num_fields)))
    if isinstance(kind, pa.MapType):
        key, item = _type(kind.key_type, ids), _type(kind.item_type, ids)
        return MapType(next(ids), key, next(ids), item, value_required=False)
    if isinstance(kind, pa.Decimal128Type):
        return DecimalType(kind.precision, kind.scale)
    return _PRIMITIVES[kind]
