"""Which engine a command line gets."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from seglake.environment import engines
from seglake.settings.settings import Settings


@pytest.mark.parametrize(("given", "processes"), [(99, 99), (0, os.cpu_count())])
def test_local_engine_has_as_many_processes_as_the_settings_say(
    given: int, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    @contextmanager
    def made(count: int, *, preloaded: Sequence[str]) -> Iterator[None]:
        asked.append(count)
        yield

    monkeypatch.setattr(engines, "LocalEngine", made)
    settings = Settings.from_mappings([("test", {"limits": {"local_processes": given}})])
    with engines.open_engine("local", settings, verbosity=0):
        assert asked == [processes]
