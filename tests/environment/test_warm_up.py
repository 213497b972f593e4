"""What a first run would wait for is done ahead, and said where it was not."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from seglake.environment import warm_up


def test_kernels_are_found_where_numba_keeps_them(tmp_path: Path) -> None:
    empty = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert not warm_up.kernels_are_compiled(empty)
    kernel = tmp_path / "kernels_0" / "record_kernel.decode_records-28.py311.nbi"
    kernel.parent.mkdir()
    kernel.touch()
    assert warm_up.kernels_are_compiled(empty)


def test_a_run_says_that_it_compiles_until_the_largest_kernel_is_there(tmp_path: Path) -> None:
    hint = warm_up.compilation_hint({"NUMBA_CACHE_DIR": str(tmp_path)})
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
    hint = warm_up.compilation_hint({"NUMBA_CACHE_DIR": str(tmp_path)})
    assert bool(hint()) is says


def test_where_no_cache_can_be_written_compiling_is_not_said_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = warm_up.compilation_hint({"NUMBA_CACHE_DIR": str(tmp_path)})
    assert hint() != ""
    monkeypatch.setattr(warm_up, "_LONGEST_SECONDS", -1)
    assert hint() == ""


def test_steps_are_named_as_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    monkeypatch.setattr(warm_up, "delta_jars", lambda *given: fetched.append("delta"))
    monkeypatch.setattr(warm_up, "s3_jars", lambda *given: fetched.append("s3"))
    monkeypatch.setattr(warm_up, "provide_java", lambda environment: "/java")
    steps: list[str] = []
    warm_up.warm_up(steps.append, with_s3=False)
    assert (fetched, len(steps)) == (["delta"], 4)
    warm_up.warm_up(steps.append, with_s3=True)
    assert fetched == ["delta", "s3", "delta"]
