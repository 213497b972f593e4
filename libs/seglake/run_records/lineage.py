"""Records a run as OpenLineage events: START, then COMPLETE, FAIL or ABORT.

`openlineage-python` is an optional dependency, so this module is imported only when lineage is
requested. Its transports are used without its client, which would read further settings.
"""

import logging
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    JobFacet,
    OutputDatasetFacet,
    RunFacet,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    processing_engine_run,
    tags_run,
    test_run,
)
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.transport.http import (
    ApiKeyTokenProvider,
    HttpConfig,
    HttpTransport,
    TokenProvider,
)
from openlineage.client.transport.transport import Transport

from seglake.errors import WrongCallError
from seglake.findings.kinds import FindingKind
from seglake.lake.tables import LOG_TABLES, RECORDS
from seglake.lake.value_tables import VALUE_TABLES
from seglake.run_records.run_record import RunEnd, RunStart, error_text
from seglake.version import __version__

_PRODUCER = f"urn:seglake:{__version__}"
_KEY_VARIABLE = "OPENLINEAGE_API_KEY"
_RETRIES = {"total": 2, "connect": 2, "read": 2}
_ROWS = {"records": "records", "batches": "batches", "quarantine": "quarantined"}


class Lineage:
    """Recorder that sends the events of a run to a service, or appends them to a file."""

    def __init__(self, target: str, report: Callable[[str], None]) -> None:
        """Open the target.

        Args:
            target: path of a file, or URL of a service.
            report: receives a notice if an event could not be delivered.

        Raises:
            WrongCallError: the file's folder does not exist, or the URL has a secret.
        """
        self._report = report
        # urllib3's warnings would repeat our notices.
        logging.getLogger("urllib3").setLevel(logging.ERROR)
        self._transport = _transport(target)
        self._uuid = ""

    def begin(self, start: RunStart) -> None:
        """Send OpenLineage's event START."""
        self._uuid = _uuid_of(start.run_id)
        self._emit(RunState.START, start, None)

    def end(self, start: RunStart, end: RunEnd) -> None:
        """Send OpenLineage's event COMPLETE, FAIL or ABORT."""
        state = RunState.COMPLETE if end.is_done else RunState.FAIL
        if isinstance(end.error, KeyboardInterrupt):
            state = RunState.ABORT
        self._emit(state, start, end)

    def _emit(self, state: RunState, start: RunStart, end: RunEnd | None) -> None:
        try:
            self._transport.emit(run_event(state, self._uuid, start, end))
        # Exceptions of `requests` are OSErrors.
        except (OSError, RuntimeError, ValueError) as error:
            # The error's text is omitted: it may have the URL with its secrets.
            code = getattr(getattr(error, "response", None), "status_code", None)
            why = f"the service answered {code}" if code else type(error).__name__
            self._report(f"the OpenLineage event {state.name} could not be delivered ({why})")


def run_event(state: RunState, run_uuid: str, start: RunStart, end: RunEnd | None) -> RunEvent:
    """Return a run's event in the classes of OpenLineage's specification.

    Args:
        state: the kind of the event.
        run_uuid: the run's id for OpenLineage.
        start: the facts of the run's start.
        end: the facts of the run's end; None for START.
    """
    namespace = os.environ.get("OPENLINEAGE_NAMESPACE", "seglake")
    job_type = job_type_job.JobTypeJobFacet("BATCH", "SEGLAKE", start.command.upper())
    job_facets: dict[str, JobFacet] = {"jobType": job_type}
    return RunEvent(
        eventType=state,
        eventTime=datetime.now(UTC).isoformat(),
        run=Run(run_uuid, dict(_run_facets(start, end))),
        job=Job(namespace, f"{start.command} {start.lake}", job_facets),
        producer=_PRODUCER,
        inputs=[*_inputs(start, {} if end is None else end.summary)],
        outputs=[*_outputs(start, {} if end is None else end.summary)],
    )


def _transport(target: str) -> Transport:
    parts = urlsplit(target)
    if parts.scheme not in ("http", "https"):
        if not Path(target).parent.is_dir() or Path(target).is_dir():
            raise WrongCallError(f"--openlineage {target} must name a file in an existing folder")
        return FileTransport(FileConfig(str(Path(target).absolute()), append=True))
    if parts.username or parts.password or parts.query:
        raise WrongCallError(
            f"the URL of --openlineage must have no secret: give the secret in the variable "
            f"{_KEY_VARIABLE}"
        )
    key = os.environ.get(_KEY_VARIABLE)
    config = HttpConfig.from_dict({"url": target, "retry": _RETRIES})
    config.auth = ApiKeyTokenProvider({"apiKey": key}) if key else TokenProvider({})
    return HttpTransport(config)


def _uuid_of(run_id: str) -> str:
    """Return the run's id if it is a UUID, as OpenLineage requires; else a new UUID."""
    try:
        return str(uuid.UUID(run_id))
    except ValueError:
        return str(uuid.uuid4())


def _run_facets(start: RunStart, end: RunEnd | None) -> Iterator[tuple[str, RunFacet]]:
    engine = f"seglake ({start.engine})"
    yield (
        "processing_engine",
        processing_engine_run.ProcessingEngineRunFacet(version=__version__, name=engine),
    )
    tag = tags_run.TagsRunFacetFields("seglake_run_id", start.run_id, "SEGLAKE")
    yield "tags", tags_run.TagsRunFacet([tag])
    if end is not None and end.error is not None:
        text = error_text(end.error)
        yield "errorMessage", error_message_run.ErrorMessageRunFacet(text, "PYTHON")
    counts = None if end is None else end.summary.get("findings_by_kind")
    if counts is not None:
        found = [_found(kind, counts[kind]) for kind in FindingKind if kind in counts]
        yield "test", test_run.TestRunFacet(found)


def _found(kind: FindingKind, count: int) -> test_run.TestExecution:
    """Return a kind's number of findings as a failed test, with the severity of the kind."""
    severity = "error" if kind.needs_a_look else "warn"
    return test_run.TestExecution(
        kind, "fail", severity, description=kind.words, expected="0", actual=str(count)
    )


# Any: the types that JSON can hold.
def _inputs(start: RunStart, summary: Mapping[str, Any]) -> Iterator[InputDataset]:
    for source in start.sources:
        yield InputDataset(*dataset_name(source))
    source_id = summary.get("source_id")
    if source_id:
        for topic in summary.get("topics", ()):
            yield InputDataset(f"kafka://{source_id}", topic)
    if start.command == "deserialize":
        yield InputDataset(*dataset_name(f"{start.lake}/{RECORDS.name}"))
    if start.command in ("audit", "replay"):
        for table in LOG_TABLES.of([""]):
            yield InputDataset(*dataset_name(f"{start.lake}/{table.name}"))


def _outputs(start: RunStart, summary: Mapping[str, Any]) -> Iterator[OutputDataset]:
    if not start.writes:
        return
    if start.command == "deserialize":
        typed = [name for topic in summary.get("topics", ()) for name in topic["tables"]]
        for name in dict.fromkeys((*typed, *(table.name for table in VALUE_TABLES))):
            yield OutputDataset(*dataset_name(f"{start.lake}/{name}"))
        return
    for table in LOG_TABLES.of(summary.get("topics") or [""]):
        facets: dict[str, OutputDatasetFacet] = {}
        rows = summary.get(_ROWS.get(table.name, ""))
        if rows is not None:
            facets["outputStatistics"] = (
                output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows)
            )
        yield OutputDataset(*dataset_name(f"{start.lake}/{table.name}"), outputFacets=facets)


def dataset_name(uri: str) -> tuple[str, str]:
    """Return OpenLineage's namespace and name of a location, such as ("s3://bucket", "path")."""
    parts = urlsplit(uri)
    if parts.scheme in ("", "file"):
        return "file", parts.path
    if parts.scheme in ("s3", "s3a", "s3n"):
        return f"s3://{parts.netloc}", parts.path.strip("/") or "/"
    return f"{parts.scheme}://{parts.netloc}", parts.path
