"""Measures how quickly Protobuf values become columns, and how much of it is the library's parsing.

    cd tests && ../.venv/bin/python -m bench.bench_protobuf --rows 200000

Values have 8 fields and some 44 bytes. Processor time of one core counts, the best of three runs.
"""

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from seglake.value_codec.protobuf.schema_messages import SchemaMessages

_SCHEMA = """
syntax = "proto3";
message Order {
  int64 id = 1; string customer = 2; double amount = 3; int32 count = 4; bool paid = 5;
  repeated int32 parts = 6; Kind kind = 7; Place place = 8;
  enum Kind { A = 0; B = 1; }
  message Place { int64 zone = 1; string name = 2; }
}
"""
_BODY = bytes.fromhex(
    "08c0c4071209736f6d65207465787419000000000000f83f2007280132030102033801420708051203616263"
)


def main() -> None:
    """Print values a second of the reader, and of the library's parsing alone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    found = SchemaMessages(_SCHEMA, {}).at((0,))
    assert found is not None
    reader = found[1]
    data = np.frombuffer(_BODY * rows, np.uint8)
    starts = np.arange(rows, dtype=np.int64) * len(_BODY)
    ends = starts + len(_BODY)
    assert not reader.read(data, starts, ends).reasons.any()
    to_columns = _best(lambda: reader.read(data, starts, ends))
    parsing = _best(lambda: [reader.message_class.FromString(_BODY) for _ in range(rows)])
    sys.stdout.write(f"columns {rows / to_columns:,.0f}/s, parsing {rows / parsing:,.0f}/s\n")


def _best(work: Callable[[], object]) -> float:
    """Return the least processor time of three runs, in seconds."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


if __name__ == "__main__":
    main()
