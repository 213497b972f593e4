"""A topic of many wide and deep schemas: nothing is compiled for them, and memory is bounded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.many_schemas import lake_of_many_schemas, value_of
from support.typed_rows import typed_rows

_IN_A_CHILD = """
import resource
import sys
from pathlib import Path
from seglake.value_codec.kernels.entries import copy_ranges
from seglake.value_codec.kernels.head_kernel import group_heads
from seglake.value_codec.kernels.value_kernel import read_values
from seglake.value_codec.warm import warm
from seglake.value_codec import schema_readers
from support.typed_lakes import decoded
warm()
made = []
class Counted(schema_readers.AvroReader):
    def __init__(self, *arguments, **named):
        made.append(arguments)
        super().__init__(*arguments, **named)
schema_readers.AvroReader = Counted
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
[topic] = decoded(Path(sys.argv[1]), "t").topics
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
kernels = (read_values, copy_ranges, group_heads)
print(topic.typed_rows, grown >> 10, len(made), *(len(each.signatures) for each in kernels))
"""


@pytest.mark.parametrize(
    ("schemas", "records_each", "most_mib"),
    [
        (40, 2, 150),
        pytest.param(1000, 20, 1200, marks=[pytest.mark.slow, pytest.mark.timeout(3000)]),
    ],
)
def test_many_schemas_are_read_once_compile_nothing_and_need_bounded_memory(
    schemas: int, records_each: int, most_mib: int, tmp_path: Path
) -> None:
    lake = lake_of_many_schemas(tmp_path, schemas, records_each)
    path = os.pathsep.join(folder for folder in sys.path if folder)
    done = subprocess.run(
        [sys.executable, "-c", _IN_A_CHILD, str(lake)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    typed, grown_mib, readers, *compiled = map(int, done.stdout.split())
    assert (typed, readers, compiled) == (schemas * records_each, schemas, [1, 1, 1])
    assert grown_mib < most_mib
    rows = typed_rows(lake, "t")
    assert len(rows) == schemas * records_each
    for row in rows[:: max(1, len(rows) // 50)]:
        expected = value_of(row["_schema_id"] - 1)
        found = {name: value for name, value in row.items() if not name.startswith("_")}
        assert found == {name: expected.get(name) for name in found}
        assert found.keys() >= expected.keys()
