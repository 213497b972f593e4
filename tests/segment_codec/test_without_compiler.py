"""The kernels as plain Python, where an index out of bounds is an IndexError.

numba checks no bounds: a compiled kernel that reads too far gives whatever lies there.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FILES = (
    "test_decoders.py",
    "test_decoder_defects.py",
    "formats/test_record_batch.py",
    "kernels/test_record_kernel.py",
    "formats/test_message_set.py",
    "kernels/test_message_kernels.py",
    "kernels/test_columns.py",
    "walk/test_segment.py",
)
# 60 MB of messages, three times: plain Python takes longer over them than over all the others, and
# they run the same kernels.
LARGE = "walk/test_segment.py::test_long_messages_are_runs_up_to_a_size_whatever_the_window_reads"


def test_decoder_tests_pass_with_the_compiler_off() -> None:
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    # numpy warns where a scalar wraps around, as Kafka's long timestamps do; arrays never warn.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-W", "ignore:overflow encountered:RuntimeWarning"]
    command += ["--deselect", f"{HERE.relative_to(HERE.parents[1])}/{LARGE}"]
    done = subprocess.run(
        [*command, *(str(HERE / name) for name in FILES)],
        cwd=HERE.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout[-4000:]
