"""What a first run would wait for is done ahead, and said where it was not."""

import io
from pathlib import Path

import pytest

from seglake.environment import warm_up


def test_kernels_are_found_where_numba_keeps_them(tmp_path: Path) -> None:
    empty = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert not warm_up.kernels_are_compiled(empty)
    kernel = tmp_path / "segment_codec_0" / "_record_kernel.decode_records-28.py311.nbi"
    kernel.parent.mkdir()
    kernel.touch()
    assert warm_up.kernels_are_compiled(empty)


@pytest.mark.parametrize(("is_terminal", "is_said"), [(True, True), (False, False)])
def test_a_person_is_told_why_the_first_run_takes_long(
    is_terminal: bool, is_said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", stderr)
    warm_up.say_if_first_run({"NUMBA_CACHE_DIR": str(tmp_path)})
    assert ("seglake warm-up" in stderr.getvalue()) == is_said


def test_steps_are_named_as_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    monkeypatch.setattr(warm_up, "delta_jars", lambda *given: fetched.append("delta"))
    monkeypatch.setattr(warm_up, "s3_jars", lambda *given: fetched.append("s3"))
    monkeypatch.setattr(warm_up, "provide_java", lambda environment: "/java")
    steps: list[str] = []
    warm_up.warm_up(steps.append, with_s3=False)
    assert (fetched, len(steps)) == (["delta"], 4)
    warm_up.warm_up(steps.append, with_s3=True)
    assert fetched == ["delta", "delta", "s3"]
