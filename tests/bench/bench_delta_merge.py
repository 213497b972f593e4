"""Measures the last step of `seglake latest` against delta-rs' MERGE of the same new rows.

    cd tests && ../.venv/bin/python -m bench.bench_delta_merge --keys 200000000000

Both bring the table of the newest record of each key up to date after 10,000 more records. Each is
a process of its own: seconds of processor time, and the most memory, which is sampled.
"""

import argparse
import sys
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

from deltalake import DeltaTable

from bench.bench_latest import Lake, latest_command
from bench.processes import adopt_orphans, measured

_MORE = 10_000


def main() -> int:
    """Measure, or merge the newest records by delta-rs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--merge", metavar="LAKE")
    arguments = parser.parse_args()
    if arguments.merge:
        _merge(arguments.merge)
        return 0
    adopt_orphans()
    with TemporaryDirectory() as folder:
        lake = f"{folder}/lake"
        made = Lake(lake, arguments.keys, 100)
        made.add(arguments.records)
        measured(latest_command(lake))
        copytree(f"{lake}/latest/orders", f"{lake}-merged")
        made.add(_MORE)
        tests = str(Path(__file__).parents[1])
        start = (
            f"import sys; sys.path.insert(0, {tests!r}); import bench.bench_delta_merge as bench; "
        )
        ways = {
            "delta-rs, MERGE": [sys.executable, "-c", f"{start}bench.main()", "--merge", lake],
            "seglake latest": latest_command(lake),
        }
        for name, command in ways.items():
            done = measured(command, samples_memory=True)
            sys.stdout.write(f"{name}: {done.cpu_s:.1f} s, {done.driver_bytes >> 20:,} MiB\n")
    return 0


def _merge(lake: str) -> None:
    """Merge the records of the newest commit into the copied table."""
    found = DeltaTable(f"{lake}/records").to_pyarrow_table(filters=[("generation", "=", 2)])
    newest = {
        (row["partition"], row["key"]): at
        for at, row in enumerate(found.select(["partition", "key"]).to_pylist())
    }
    rows = found.take([*newest.values()])
    table = DeltaTable(f"{lake}-merged")
    merger = table.merge(
        rows.append_column("is_deleted", rows.column("value").is_null()),
        "old.partition = new.partition AND old.key = new.key",
        source_alias="new",
        target_alias="old",
    )
    matched = merger.when_matched_update_all("new.offset > old.offset")
    matched.when_not_matched_insert_all().execute()


if __name__ == "__main__":
    sys.exit(main())
