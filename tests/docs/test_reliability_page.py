"""Each promise of docs/reliability.md names tests that are there."""

import re
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "reliability.md").read_text("utf-8")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_each_promise_names_tests_that_are_there() -> None:
    table = _PAGE.partition("| promise |")[2].partition("\n\n")[0].splitlines()[2:]
    for row in table:
        named = _TEST.findall(row)
        assert named, row
        for path, name in named:
            assert f"def {name}(" in (_ROOT / path).read_text("utf-8"), (path, name)
