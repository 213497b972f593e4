"""The examples in docstrings of the pure rooms do what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

LIBS = Path(__file__).parents[1] / "libs"
PURE = ("kafka_log", "segment_codec", "value_codec")
MODULES = [
    path.relative_to(LIBS).with_suffix("").as_posix().replace("/", ".")
    for room in PURE
    for path in sorted((LIBS / "seglake" / room).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


def test_all_rooms_and_each_part_have_examples() -> None:
    folders = {name.rpartition(".")[0] for name in MODULES}
    parts = ("formats", "formats.side_files", "formats.internal_topics", "kernels", "walk")
    assert folders >= {
        "seglake.kafka_log",
        "seglake.value_codec.registry",
        *(f"seglake.segment_codec.{part}" for part in parts),
    }


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    shown: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    for example in doctest.DocTestFinder().find(import_module(name)):
        runner.run(example, out=shown.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(shown)
    assert runner.tries > 0
