"""`seglake audit`: proves from the tables that nothing is missing. Also runs by path."""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial

try:
    from jobs.arguments import audit_parser, settings_of
    from jobs.outcome import exit_with, run_job
except ModuleNotFoundError as missing:
    sys.stderr.write(f"seglake: {missing}; use the Python that seglake is installed in\n")
    sys.exit(2)


def main(argv: Sequence[str]) -> int:
    """Run the job; what is not explained ends with 3."""
    arguments = audit_parser().parse_args(argv)
    return run_job(partial(_audit, arguments), verbose=arguments.verbose > 0, writes=False)


def _audit(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    # Imported here, so that --help and wrong calls are answered at once.
    from jobs.engines import open_engine
    from jobs.storages import open_storages
    from pipelines.lake_audit import text_report
    from pipelines.lake_audit.run import audit
    from pipelines.segment_ingest.disk_checking import disk_check_report
    from pipelines.segment_ingest.disk_checking.disk_check import check_disks, find_disks
    from pipelines.segment_ingest.progress import RunReporter

    verbosity = arguments.verbose - arguments.quiet
    reporter = RunReporter(sys.stderr, verbosity=verbosity)
    storage = open_storages(settings.spark.properties)
    disks = find_disks(arguments.source, storage, settings) if arguments.source else None
    with open_engine(arguments.engine, settings, verbosity=verbosity) as engine:
        found = audit(arguments.lake, storage, engine, reporter)
        checks = None
        if disks is not None:
            checks = check_disks(disks, arguments.lake, storage, settings, engine, reporter)
    code, text, facts = found.exit_code, text_report.to_text(found), found.to_mapping()
    if checks is not None:
        code = max(code, disk_check_report.exit_code(checks))
        text = f"{text}\n\n{disk_check_report.to_text(checks)}"
        facts |= {"exit_code": code, "disks": disk_check_report.to_mapping(checks)}
    print(json.dumps(facts, sort_keys=True) if arguments.json else text)
    return code


if __name__ == "__main__":
    exit_with(main)
