"""A first run says that it compiles, and only then."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from seglake.environment import compilation_hint


def test_kernels_are_found_where_numba_keeps_them(tmp_path: Path) -> None:
    empty = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert not compilation_hint.kernels_are_compiled(empty)
    kernel = tmp_path / "kernels_0" / "record_kernel.decode_records-28.py311.nbi"
    kernel.parent.mkdir()
    kernel.touch()
    assert compilation_hint.kernels_are_compiled(empty)


def test_a_run_says_that_it_compiles_until_the_largest_kernel_is_there(tmp_path: Path) -> None:
    hint = compilation_hint.compilation_hint({"NUMBA_CACHE_DIR": str(tmp_path)})
    assert "compiling the decoder" in hint()
    (tmp_path / "record_kernel.decode_records-28.py311.nbi").touch()
    assert hint() == ""
    (tmp_path / "record_kernel.decode_records-28.py311.nbi").unlink()
    assert hint() == ""  # it is not looked for again


@pytest.mark.parametrize(
    ("master", "says"), [("spark://host:7077", False), ("yarn", False), ("local[2]", True)]
)
def test_a_cluster_that_runs_nothing_yet_is_not_said_to_compile(
    master: str, says: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = SimpleNamespace(_active_spark_context=SimpleNamespace(master=master))
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(SparkContext=context))
    hint = compilation_hint.compilation_hint({"NUMBA_CACHE_DIR": str(tmp_path)})
    assert bool(hint()) is says


def test_where_no_cache_can_be_written_compiling_is_not_said_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = compilation_hint.compilation_hint({"NUMBA_CACHE_DIR": str(tmp_path)})
    assert hint() != ""
    monkeypatch.setattr(compilation_hint, "_LONGEST_SECONDS", -1)
    assert hint() == ""
