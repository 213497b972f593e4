"""`seglake latest` for the command line and the API."""

import sys
import uuid
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from seglake.environment.run_settings import SettingOptions
from seglake.settings.settings import Settings

if TYPE_CHECKING:
    from seglake.pipelines.lake_latest.latest_summary import LatestSummary

_QUIET = -1


class LatestOptions(SettingOptions, total=False):
    """Options of `latest`.

    Attributes:
        verbosity: -1 prints nothing (the default); 0 shows the progress on stderr; 1 adds each
            step, 2 the debug log.
        run_id: a label of the run, written with its commits; the default is a new one.
        rebuild: compute all rows from all records, not only from new ones.
        dry_run: only plan; nothing is written.
    """

    verbosity: int
    run_id: str | None
    rebuild: bool
    dry_run: bool


def run_latest(lake: str, settings: Settings, options: LatestOptions) -> "LatestSummary":
    """Run `latest` with complete settings, and return its summary."""
    from seglake.environment.storages import open_storages
    from seglake.pipelines.lake_latest.latest import LatestContext, latest
    from seglake.progress.run_reporter import RunReporter

    with (
        RunReporter(sys.stderr, verbosity=options.get("verbosity", _QUIET)) as reporter,
        TemporaryDirectory(prefix="seglake-") as spill_folder,
    ):
        context = LatestContext(
            storage=open_storages(settings.spark.properties),
            settings=settings,
            reporter=reporter,
            spill_folder=spill_folder,
            rebuild=options.get("rebuild", False),
            is_dry_run=options.get("dry_run", False),
            run_id=options.get("run_id") or uuid.uuid4().hex,
        )
        return latest(lake, context)
