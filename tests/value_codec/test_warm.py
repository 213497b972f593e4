"""Whoever warms up compiles the kernel for all forms of bytes: no first run waits."""

import os
import subprocess
import sys

_FORMS = """
import numpy as np
from seglake.value_codec.bodies import Bodies
from seglake.value_codec.frames.forms import Form
from seglake.value_codec.frames.frames import frames
from seglake.value_codec.avro.schema_types import parsed_schema
from seglake.value_codec.avro.value_reader import AvroReader
from seglake.value_codec.kernels.entries import copy_ranges
from seglake.value_codec.kernels.head_kernel import group_heads
from seglake.value_codec.kernels.value_kernel import read_values
from seglake.value_codec.warm import warm
warm()
reader = AvroReader(parsed_schema('{"type": "array", "items": "string"}', {}), is_raw_bytes=True)
for data in (np.frombuffer(b"00", np.uint8), np.zeros(2, np.uint8)):
    bounds = np.arange(6)[::2]
    bodies = Bodies(data, bounds[:1], bounds[1:2])
    reader.read(bodies)
    [*frames(Form.GLUE, bodies)]
print(*(len(each.signatures) for each in (read_values, copy_ranges, group_heads)))
"""


def test_the_kernel_is_compiled_once_whatever_the_schema_and_the_bytes_are() -> None:
    path = os.pathsep.join(folder for folder in sys.path if folder)
    done = subprocess.run(
        [sys.executable, "-c", _FORMS],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1 1 1\n"
