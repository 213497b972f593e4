"""Whoever warms up compiles all: no first run waits."""

import os
import subprocess
import sys

_NOT_COMPILED = """
from numba.core.dispatcher import Dispatcher
from seglake.segment_codec.kernels import header_kernel, message_kernels, record_kernel
from seglake.segment_codec.warm import warm
warm()
modules = header_kernel, message_kernels, record_kernel
kernels = {
    kernel
    for module in modules
    for kernel in vars(module).values()
    if isinstance(kernel, Dispatcher)
    and kernel.__module__ == module.__name__
    and not kernel.__name__.startswith("_")
}
assert len(kernels) > 4
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
