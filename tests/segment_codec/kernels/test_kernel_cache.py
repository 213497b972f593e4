"""Where compiled kernels are cached, in new processes: numba decides at import."""

import os
import subprocess
import sys
from pathlib import Path

KEPT_IN = """
from seglake.segment_codec.kernels import message_kernels, record_kernel
kernels = [record_kernel.decode_records]
kernels += [getattr(message_kernels, name) for name in ("scan_messages", "decode_messages")]
print(*{kernel._cache.cache_path for kernel in [*kernels, message_kernels.find_header]})
"""


def kept_in(**environment: str) -> str:
    path = os.pathsep.join(folder for folder in sys.path if folder)
    done = subprocess.run(
        [sys.executable, "-c", KEPT_IN],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_kernels_are_cached_where_numba_cache_dir_says(tmp_path: Path) -> None:
    assert Path(kept_in(NUMBA_CACHE_DIR=str(tmp_path))).parent == tmp_path


def test_kernels_work_without_a_cache() -> None:
    nowhere = "ZipCacheLocator"  # takes code in zip files only
    assert kept_in(NUMBA_CACHE_LOCATOR_CLASSES=nowhere) == "None"
