"""Steps of `seglake schemas`: reads a lake's registries, and writes exports."""

from seglake.errors import WrongCallError
from seglake.lake.delta_tables import LakeTables
from seglake.log_tables.registry_files import schemas_at
from seglake.log_tables.registry_rows import REGISTRY_TOPIC, LakeRegistry, lake_registries
from seglake.pipelines.lake_schemas.schema_export import exported_files
from seglake.pipelines.lake_schemas.schema_list import SchemaList
from seglake.storage.storage import Storage


def list_schemas(
    lake: str,
    storage: Storage,
    topic: str = REGISTRY_TOPIC,
    source_id: str | None = None,
    schemas: str | None = None,
) -> SchemaList:
    """Return the schemas of a lake's registries.

    Args:
        lake: the lake's path or URI.
        storage: the storage of the lake.
        topic: the registries' topic.
        source_id: the only cluster whose registry is read; None for all clusters.
        schemas: a file or folder with more schemas; None for none.

    Raises:
        LakeFolderError: there is no lake.
        WrongCallError: no cluster has such a topic, or the lake has no such cluster.
    """
    tables = LakeTables(storage.locate(lake), storage)
    tables.require()
    given = [] if schemas is None else schemas_at(schemas, storage)
    return SchemaList(lake_registries(tables, topic, source_id, given))


def export_schemas(found: SchemaList, folder: str, storage: Storage) -> int:
    """Write a registry's schemas into a folder, and return the number of files.

    Args:
        found: the registries; there must be exactly one.
        folder: path or URI; a missing folder is created. Files with the same names are replaced.
        storage: the storage of the folder.

    Raises:
        WrongCallError: there are several registries, whose ids may differ; or the folder is a file.
        PlaceError: a file cannot be written.
    """
    registry = _only(found).registry
    place, count = storage.locate(folder), 0
    info = storage.info(place)
    if info is not None and not info.is_folder:
        raise WrongCallError(f"{folder} is a file: give a folder for the schemas")
    for names, content in exported_files(registry):
        storage.write_bytes(storage.join(place, *names), content)
        count += 1
    return count


def _only(found: SchemaList) -> LakeRegistry:
    """Return the only registry; raise WrongCallError if there are several."""
    if len(found.registries) > 1:
        named = ", ".join(f"{each.topic} of {each.source_id}" for each in found.registries)
        raise WrongCallError(
            f"the lake has several registries, whose ids may differ: {named}; select one with "
            "--source-id"
        )
    return found.registries[0]
