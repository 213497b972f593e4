"""Many random flips in the offset fields of the sample disks: `make flips`.

No row may come out at an offset that is not its own, unless the run says that nothing on the disk
proves it.
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from random import Random

from support.broker_disks import SCENARIOS, copies, log_dirs
from support.offset_flips import FlippedLog, Outcome, logs_of, random_flip

SPLIT_BYTES = (300, 2000, 1 << 30)


def sample_logs(split_bytes: int) -> Iterator[tuple[str, FlippedLog]]:
    """Every log of every sample disk that has a batch, with the name of its scenario."""
    for scenario in SCENARIOS:
        for copy in copies(scenario):
            for log_dir in log_dirs(scenario, copy):
                for log in logs_of(log_dir.path, split_bytes=split_bytes):
                    if any(log.batches):
                        yield scenario, log


def main() -> None:
    """Flip, and fail if a single case is silently wrong."""
    parser = argparse.ArgumentParser(prog="make flips", description=__doc__)
    parser.add_argument("count", type=int, help="how many cases, spread evenly over the logs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop earlier, after so long")
    options = parser.parse_args()
    started = time.monotonic()
    random = Random(options.seed)
    logs = [found for split_bytes in SPLIT_BYTES for found in sample_logs(split_bytes)]
    found: Counter[tuple[str, Outcome]] = Counter()
    for scenario, log in islice(cycle(logs), options.count):
        flip = random_flip(log, random)
        outcome, _ = log.outcome(flip)
        found[scenario, outcome] += 1
        if outcome is Outcome.WRONG:
            print(f"{outcome}: {log.replica.key} in {scenario}: {flip}", flush=True)
        if time.monotonic() - started > options.minutes * 60:
            break
    print(f"{'disk':20}" + "".join(f"{outcome:>15}" for outcome in Outcome))
    for scenario in SCENARIOS:
        counts = "".join(f"{found[scenario, outcome]:15,}" for outcome in Outcome)
        print(f"{scenario:20}{counts}")
    totals = {outcome: sum(found[name, outcome] for name in SCENARIOS) for outcome in Outcome}
    print(f"{'all':20}" + "".join(f"{count:15,}" for count in totals.values()))
    seconds = time.monotonic() - started
    print(f"{sum(totals.values()):,} cases, {len(logs)} logs, {seconds:.0f} s")
    if totals[Outcome.WRONG]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
