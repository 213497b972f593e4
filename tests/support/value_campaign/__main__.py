"""Reads random values of random schemas, sound and damaged, and compares: `make value-pairs`.

The other readers share no code with seglake: fastavro, Python's json, and Google's library.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator

from support.value_campaign.avro_pairs import avro_pairs
from support.value_campaign.json_pairs import json_pairs
from support.value_campaign.protobuf_pairs import protobuf_pairs

_FORMS: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "avro": avro_pairs,
    "json": json_pairs,
    "protobuf": protobuf_pairs,
}
_MOST_SHOWN = 20


def main() -> None:
    """Compare for a time, and fail if a single pair differs."""
    parser = argparse.ArgumentParser(prog="make value-pairs", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forms", nargs="*", choices=[*_FORMS], default=[*_FORMS])
    options = parser.parse_args()
    differing = 0
    for form in options.forms:
        schemas, pairs, wrong = 0, 0, 0
        begin = time.monotonic()
        while time.monotonic() - begin < options.seconds:
            # The seed of a schema is printed, so that it can be drawn alone.
            seed = f"{options.seed}/{form}/{schemas}"
            for text in _FORMS[form](random.Random(seed)):
                pairs += 1
                if text:
                    wrong += 1
                    if wrong <= _MOST_SHOWN:
                        _say(f"{seed}: {text}")
            schemas += 1
        differing += wrong
        _say(f"{form}: {schemas:,} schemas, {pairs:,} pairs, {wrong:,} differ")
    if differing:
        raise SystemExit(1)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
