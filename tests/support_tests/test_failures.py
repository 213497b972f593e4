"""Tests the lines about a broken test at the end of a run."""

import pytest

pytest_plugins = ["pytester"]

_CONFTEST = """
from support.failures import OneScreen

def pytest_configure(config):
    config.pluginmanager.register(OneScreen())
"""


def test_a_broken_test_says_what_came_and_how_to_run_it_alone(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(_CONFTEST)
    path = pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.parametrize('number', [2, 3])\n"
        "def test_sum(number): assert list(range(1000)) == [number] * 1000"
    )
    printed = pytester.runpytest(
        "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:timeout"
    ).stdout.str()
    sections = printed.partition("broken: ")[2].split("broken: ")
    for section, number in zip(sections, (2, 3), strict=True):
        lines = section.partition("\n=")[0].splitlines()
        assert lines[0].startswith(f"{path.name}::test_sum[{number}]")
        assert f"assert [0, 1, 2, 3, 4, 5, ...] == [{number}, {number}" in lines[1]
        assert f"alone: .venv/bin/python -m pytest '{path.name}::test_sum[{number}]'" in lines
        assert len(lines) < 20
