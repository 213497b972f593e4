"""Checks what the product depends on, or writes its SBOM.

`audit` ends with 1 where a pin has a vulnerability that a newer version has not, or where a licence
is not accepted. Without a network it says what was not checked, and goes on.
"""

import argparse
import datetime
import sys
from pathlib import Path

from dependencies.accepted import accepted
from dependencies.bill import bill_of_materials
from dependencies.licences import refused_licences, run_time_packages
from dependencies.pins import LOCKS, versions_of
from dependencies.vulnerabilities import audit


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    asking = actions.add_parser("audit")
    asking.add_argument("options", nargs="*", help="of pip-audit")
    actions.add_parser("sbom").add_argument("file", type=Path)
    asked = parser.parse_args()
    known = accepted()
    packages = run_time_packages(known)
    if asked.action == "sbom":
        asked.file.parent.mkdir(parents=True, exist_ok=True)
        asked.file.write_text(bill_of_materials(packages), "utf-8")
        return 0
    today = datetime.datetime.now(datetime.UTC).date()
    failures, notes, asked_count = audit(
        versions_of(LOCKS), known.vulnerabilities, today, asked.options
    )
    failures += refused_licences(packages, known)
    print(*notes, *(f"error: {failure}" for failure in failures), sep="\n")
    print(f"vulnerabilities: {asked_count} versions checked; licences: {len(packages)} packages")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
