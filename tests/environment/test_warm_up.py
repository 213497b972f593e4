"""What a first run would wait for is done ahead, and said where it was not."""

import pytest

from seglake.environment import warm_up


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
