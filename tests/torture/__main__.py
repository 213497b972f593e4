"""Runs the parts of the campaign one after the other, and prints what they tried and found."""

import argparse
import importlib
import sys
from collections.abc import Iterator
from typing import Protocol

from torture.rows import Row, as_table

PARTS = (
    "exhausted",
    "schedules",
    "faults",
    "storage_faults",
    "hostile_bytes",
    "tiers",
    "erasures",
    "latest_state",
    "typed",
)
WITH_SERVERS = ("s3_faults", "hdfs_faults")  # only when they are asked for
_ALL = (*PARTS, *WITH_SERVERS)


class Part(Protocol):
    """A module of this package that is a part of the campaign."""

    def campaign(self, seconds: float, seed: int) -> Iterator[Row]: ...


def main() -> int:
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART", help=" ".join(_ALL))
    parser.add_argument("--seconds", type=float, default=60.0, help="for all parts together")
    parser.add_argument("--seed", type=int, default=1, help="repeats a campaign")
    asked = parser.parse_args()
    unknown = sorted({*asked.parts} - {*_ALL})
    if unknown:
        parser.error(f"there is no part {unknown[0]}: expected {', '.join(_ALL)}")
    rows: list[Row] = []
    for name in asked.parts:
        part: Part = importlib.import_module(f"torture.{name}")
        print(f"{name}: {asked.seconds / len(asked.parts):.0f} s, seed {asked.seed}", flush=True)
        rows += part.campaign(asked.seconds / len(asked.parts), asked.seed)
    print(f"\n{as_table(rows)}")
    return int(any(row.wrong for row in rows))


if __name__ == "__main__":
    sys.exit(main())
