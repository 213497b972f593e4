"""Whoever warms up compiles all: no first run waits."""

import os
import subprocess
import sys

_NOT_COMPILED = """
from seglake.segment_codec import _message_kernels, _record_kernel
from seglake.segment_codec.warm import warm
warm()
kernels = [_record_kernel.decode_records]
kernels += [getattr(_message_kernels, name) for name in ("scan_messages", "decode_messages")]
kernels.append(_message_kernels.find_header)
print([kernel.__name__ for kernel in kernels if not kernel.signatures])
"""


def test_every_kernel_is_compiled() -> None:
    path = os.pathsep.join(folder for folder in sys.path if folder)
    done = subprocess.run(
        [sys.executable, "-c", _NOT_COMPILED],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
