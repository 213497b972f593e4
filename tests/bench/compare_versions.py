"""Converts every sample disk with two versions of seglake, and compares all that comes out.

    cd tests && ../.venv/bin/python -m bench.compare_versions /before/.venv/bin/seglake \
        ../.venv/bin/seglake --renamed renamed.json

`renamed.json` maps names and phrases of before to those of after. Tables are compared row by row,
without what each run makes anew; summaries, audits and replays as the JSON that they print, with
exit codes. Ends with 1 if anything differs.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from support import broker_disks
from support.corrupt_cases import corrupt_case

OF_A_RUN = frozenset(
    {
        *("run_id", "attempt_id", "quarantined_at", "committed_at", "observed_at"),
        *("waiting_since", "listing", "seconds", "written_bytes", "lake"),
    }
)
_ISOLATIONS = ("read_committed", "read_uncommitted")


def main() -> int:
    """Compare, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--renamed", type=Path, help="a JSON object: old name or phrase, new one")
    parser.add_argument("--only", default="", help="names that begin so")
    arguments = parser.parse_args()
    renamed = json.loads(arguments.renamed.read_text("utf-8")) if arguments.renamed else {}
    differing = count = 0
    lake = Path(tempfile.mkdtemp()) / "lake"  # of both, one after the other: texts name it
    for name, disk in _disks():
        if not name.startswith(arguments.only):
            continue
        for isolation in _ISOLATIONS:
            count += 1
            before, after = (
                _converted(command, disk, lake, isolation)
                for command in (arguments.before, arguments.after)
            )
            differences = _differences(_renamed(before, renamed), after)
            differing += bool(differences)
            for difference in differences:
                sys.stdout.write(f"{name} {isolation}: {difference}\n")
    sys.stdout.write(f"{count} conversions, {differing} differ\n")
    return 1 if differing else 0


def _disks() -> Iterator[tuple[str, Path]]:
    for scenario in broker_disks.SCENARIOS:
        for disk in sorted((broker_disks.unpacked(scenario) / "disks").iterdir()):
            yield f"{scenario}/{disk.name}", disk
    for case in broker_disks.CORRUPT_CASES:
        yield f"corrupt/{case}", corrupt_case(case).log_dir


# Any: what JSON can hold.
def _converted(command: Path, disk: Path, lake: Path, isolation: str) -> dict[str, Any]:
    """All that one version makes of a disk, by a name of its own."""
    try:
        local = ("--engine", "local", "--json", "--set", "limits.local_processes=1")
        source = ("--source", str(disk), "--lake", str(lake), *_cluster_option(disk))
        how = ("--isolation", isolation, "--internal-topics")
        found: dict[str, Any] = {
            "dry run": _ended(command, "ingest", *source, *how, *local, "--dry-run"),
            "ingest": _ended(command, "ingest", *source, *how, *local),
            "again": _ended(command, "ingest", *source, *how, *local),
            "audit": _ended(command, "audit", *source, *local),
            "replay": _ended(command, "replay", "--lake", str(lake), *local),
        }
        for log in sorted(lake.glob("*/_delta_log")):
            rows = DeltaTable(log.parent).to_pyarrow_table().to_pylist()
            found[log.parent.name] = sorted(str(_stripped(row)) for row in rows)
        return found
    finally:
        shutil.rmtree(lake, ignore_errors=True)


def _cluster_option(disk: Path) -> tuple[str, ...]:
    """A name for the cluster of a disk that does not say which one it is of."""
    texts = (path.read_text("utf-8") for path in disk.rglob("meta.properties"))
    return () if any("cluster.id" in text for text in texts) else ("--source-id", "compared")


def _ended(command: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [command, *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    facts = json.loads(done.stdout) if done.stdout else {"stderr": done.stderr}
    return {"exit code": done.returncode, "facts": _stripped(facts)}


def _stripped(value: Any) -> Any:
    """A value without what each run makes anew."""
    if isinstance(value, dict):
        return {key: _stripped(item) for key, item in value.items() if key not in OF_A_RUN}
    return [_stripped(item) for item in value] if isinstance(value, list) else value


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(item, names) for key, item in value.items()}
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new) if " " in old or value == old else value
    return [_renamed(item, names) for item in value] if isinstance(value, list) else value


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [
        f"{name}: {_first_difference(before.get(name), after.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _first_difference(before: Any, after: Any) -> str:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys(), key=str):
            if before.get(key) != after.get(key):
                return f"{key}: {_first_difference(before.get(key), after.get(key))}"
    if isinstance(before, list) and isinstance(after, list):
        for one, other in zip(before, after, strict=False):
            if one != other:
                return _first_difference(one, other)
        return f"{len(before)} and {len(after)} items"
    return f"{before!r:.300} and {after!r:.300}"


if __name__ == "__main__":
    sys.exit(main())
