"""The commands as functions, which `import seglake` exports.

Each function takes the options of the command of its name as keywords, prints nothing, and returns
the command's result as an object. The command line calls the functions of `commands`, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from seglake.catalog_commands import run_register, run_register_iceberg
from seglake.commands import (
    AuditResult as AuditResult,
)
from seglake.commands import (
    DeserializeOptions,
    EngineOptions,
    MaintainOptions,
    RetakeOptions,
    RunOptions,
    run_audit,
    run_deserialize,
    run_ingest,
    run_maintain,
    run_replay,
    run_report,
    run_retake,
)
from seglake.environment.output_places import check_report_place
from seglake.environment.run_settings import SettingOptions, settings_of
from seglake.erase_commands import EraseOptions, run_erase
from seglake.errors import WrongCallError
from seglake.latest_commands import LatestOptions, run_latest
from seglake.near_names import did_you_mean

if TYPE_CHECKING:
    from seglake.ingest_steps.report.ingest_summary import IngestSummary
    from seglake.lake.delta_tables import DeltaTable
    from seglake.pipelines.lake_deserialize.decode_counts import DecodeCounts
    from seglake.pipelines.lake_deserialize.deserialize_summary import DeserializeSummary
    from seglake.pipelines.lake_erase.erase_summary import EraseSummary
    from seglake.pipelines.lake_latest.latest_summary import LatestSummary
    from seglake.pipelines.lake_maintenance.maintain_summary import MaintainSummary
    from seglake.pipelines.lake_query.registration import Registration
    from seglake.pipelines.lake_replay.replay_summary import ReplaySummary
    from seglake.pipelines.lake_report.model import LakeReport
    from seglake.pipelines.lake_retake.retake_summary import RetakeSummary
    from seglake.pipelines.lake_schemas.schema_list import SchemaList

Place = str | Path
Places = Place | Iterable[Place]


def ingest(source: Places, lake: Place, **options: Unpack[RunOptions]) -> "IngestSummary":
    """Ingest new data of the sources into the tables of a lake, exactly once.

    Args:
        source: log dirs, partition folders, or folders above log dirs: local paths or URIs.
        lake: the folder of the tables; created if it is missing.
        options: options of `seglake ingest`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong. Nothing has been changed.
        SeglakeError: the run failed. Earlier commits are kept, and the call may be repeated.
    """
    _check(options, RunOptions)
    return run_ingest(_places(source), str(lake), settings_of(options), options)


def replay(lake: Place, source: Places = (), **options: Unpack[RunOptions]) -> "ReplaySummary":
    """Decode quarantined bytes again, and fill gaps from other replicas.

    Args:
        lake: the folder of the lake's tables.
        source: log dirs with other replicas; if empty, only the bytes kept in the lake are read.
        options: options of `seglake replay`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong. Nothing has been changed.
        SeglakeError: the run failed. Earlier commits are kept, and the call may be repeated.
    """
    _check(options, RunOptions)
    return run_replay(str(lake), _places(source), settings_of(options), options)


def retake(source: Places, lake: Place, **options: Unpack[RetakeOptions]) -> "RetakeSummary":
    """Ingest again, from the winning log, the ranges whose rows lost an election.

    Args:
        source: log dirs with the winning log.
        lake: the folder of the tables.
        options: options of `seglake retake`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong. Nothing has been changed.
        SeglakeError: the run failed. Earlier commits are kept, and the call may be repeated.
    """
    _check(options, RetakeOptions)
    return run_retake(_places(source), str(lake), settings_of(options), options)


def audit(lake: Place, source: Places = (), **options: Unpack[EngineOptions]) -> AuditResult:
    """Prove from the tables that every covered offset is accounted for.

    This writes nothing.

    Args:
        lake: the folder of the tables.
        source: log dirs to compare the records with, payload by payload.
        options: options of `seglake audit`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong.
        SeglakeError: the lake or a source cannot be read, or a worker failed.
    """
    _check(options, EngineOptions)
    return run_audit(str(lake), _places(source), settings_of(options), options)


def maintain(lake: Place, **options: Unpack[MaintainOptions]) -> "MaintainSummary":
    """Compact a lake's tables, and delete files of dead runs and of replaced versions.

    Args:
        lake: the folder of the tables.
        options: options of `seglake maintain`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong. Nothing has been changed.
        SeglakeError: the lake or a worker failed; call it again.
    """
    _check(options, MaintainOptions)
    return run_maintain(str(lake), settings_of(options), options)


def erase(lake: Place, **options: Unpack[EraseOptions]) -> "EraseSummary":
    """Remove records from a lake, and store a rule by which later runs skip such records.

    Args:
        lake: the folder of the tables.
        options: options of `seglake erase`.

    Raises:
        WrongCallError: the call, a setting or a place is wrong. Nothing has been changed.
        SeglakeError: the lake or a worker failed; call it again.
    """
    _check(options, EraseOptions)
    return run_erase(str(lake), settings_of(options), options)


def inspect(
    path: Place,
    *,
    records: bool = False,
    offset: int | None = None,
    from_offset: int | None = None,
    only_defects: bool = False,
    **options: Unpack[SettingOptions],
) -> Iterator[dict[str, Any]]:
    """Yield the contents of a segment, an index or side file, a partition folder or log dirs.

    Args:
        path: the file or the folder.
        records: whether to yield records too, and not only batches.
        offset: yield only the contents at this offset: a batch, its record, damage or a hole.
        from_offset: the first offset that is yielded (`--from`).
        only_defects: whether to yield only damage.
        options: options for the settings.

    Yields:
        The objects that `seglake inspect --json` prints, one a line.

    Raises:
        WrongCallError: the path does not exist or cannot be inspected, or a setting is wrong.
    """
    _check(options, SettingOptions)
    from seglake.environment.storages import open_storages
    from seglake.pipelines.segment_inspect.run import inspected
    from seglake.pipelines.segment_inspect.shown_part import Part

    part = Part(offset=offset, from_offset=from_offset, only_defects=only_defects)
    settings = settings_of(options)
    storage, key_paths = open_storages(settings.spark.properties), settings.tiered.keys
    lines = inspected(str(path), storage, records=records, part=part, key_paths=key_paths)
    # a wrong call raises its error here, before the first object is used
    return chain([next(lines)], lines)


def report(lake: Place, output: Place, **options: Unpack[SettingOptions]) -> "LakeReport":
    """Write one HTML page about a lake, and return its content.

    Args:
        lake: the folder of the tables.
        output: the file, a local path or a URI; an existing file is replaced.
        options: options of `seglake report`.

    Raises:
        WrongCallError: there is no lake, its storage refuses access, or the output is a folder or
            in a folder that does not exist.
        SeglakeError: a table cannot be read, or the page cannot be written.
    """
    _check(options, SettingOptions)
    settings = settings_of(options)
    check_report_place(str(output), settings)
    return run_report(str(lake), str(output), settings)


def register(
    lake: Place,
    database: str,
    *,
    metastore: str | None = None,
    iceberg: Place | None = None,
    **options: Unpack[SettingOptions],
) -> "Registration":
    """Register a lake's tables and views in a catalog, and return the entries.

    Args:
        lake: the folder of the tables.
        database: the catalog's database, such as "kafka"; created if it is missing.
        metastore: a Hive metastore, as "thrift://host:9083". Without it, Spark's properties name
            the catalog.
        iceberg: instead of a catalog, a folder for Iceberg's metadata. Needs the extra "iceberg".
        options: options of `seglake register`.

    Raises:
        WrongCallError: there is no lake, or no lasting catalog, or a name is in use.
        SeglakeError: the catalog does not answer, or refuses.
    """
    _check(options, SettingOptions)
    if iceberg is not None:
        if metastore is not None:
            raise WrongCallError("register goes to one catalog: metastore or iceberg")
        return run_register_iceberg(str(lake), database, str(iceberg), settings_of(options))
    return run_register(str(lake), database, settings_of(options), metastore=metastore)


def schemas(
    lake: Place,
    *,
    registry: str = "_schemas",
    schemas: Place | None = None,
    **options: Unpack[SettingOptions],
) -> "SchemaList":
    """List every schema that the schema registries of a lake's clusters ever had.

    Args:
        lake: the folder of the tables.
        registry: topic of the registries.
        schemas: a file or folder with more schemas.
        options: options that make up the settings; `source_id` selects a cluster.

    Raises:
        WrongCallError: there is no lake or no registry in it, or the given schemas are broken.
        SeglakeError: a table cannot be read.
    """
    _check(options, SettingOptions)
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_schemas.run import list_schemas

    settings, given = settings_of(options), None if schemas is None else str(schemas)
    storage = open_storages(settings.spark.properties)
    return list_schemas(str(lake), storage, registry, settings.source.source_id, given)


def deserialize(
    lake: Place, **options: Unpack[DeserializeOptions]
) -> "DeserializeSummary | DecodeCounts":
    """Decode the keys and values of a lake into typed tables, and return what was decoded.

    Args:
        lake: the folder of the tables.
        options: options of `seglake deserialize`; `topics` and `source_id` select. With `dry_run`
            nothing is written, and the counts of what would decode are returned.

    Raises:
        WrongCallError: there is no lake, or no such registry in it, no topic is selected, or the
            given schemas are broken.
        SeglakeError: a table cannot be read or written; run it again.
    """
    _check(options, DeserializeOptions)
    return run_deserialize(str(lake), settings_of(options), options)


def latest(lake: Place, **options: Unpack[LatestOptions]) -> "LatestSummary":
    """Bring the tables with the newest record of each key up to date.

    Args:
        lake: the folder of the tables.
        options: options of `seglake latest`; `topics` makes tables for these topics.

    Raises:
        WrongCallError: there is no lake, or no topic is selected. Nothing has been changed.
        SeglakeError: the lake could not be read or written; run it again.
    """
    _check(options, LatestOptions)
    return run_latest(str(lake), settings_of(options), options)


def tables(lake: Place, **options: Unpack[SettingOptions]) -> "dict[str, DeltaTable]":
    """Open the tables of a lake, by name, each at its newest version.

    Args:
        lake: the folder of the tables.
        options: options that make up the settings.

    Raises:
        WrongCallError: there is no lake, or its storage refuses access.
    """
    from seglake.environment.storages import open_storages
    from seglake.lake.delta_tables import LakeTables
    from seglake.lake.lake_folder import opening

    _check(options, SettingOptions)
    storage = open_storages(settings_of(options).spark.properties)
    path = storage.locate(str(lake))
    with opening(path):
        return LakeTables(path, storage).open_all()


def _check(options: Mapping[str, object], known: type) -> None:
    """Raise TypeError for an unknown option, as Python does for a function's own parameters."""
    names = known.__annotations__  # this includes inherited annotations
    unknown = sorted(options.keys() - names.keys())
    if unknown:
        near = did_you_mean(unknown[0], names)
        raise TypeError(f"got an unexpected keyword argument {unknown[0]!r}{near}")


def _places(given: Places) -> list[str]:
    return [str(given)] if isinstance(given, str | Path) else [str(place) for place in given]
