"""The deliberate breaks of the product that the tests must notice, read from the TOML files here.

Each names one passage of one file, what a slip would make of it, and the test that notices.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]


class MutantError(Exception):
    """An entry of the catalogue does not fit the code any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One break: `find`, which stands in `file` once, becomes `replace`.

    `caught_by` is a test as pytest names it, without its parameters: `tests/x/test_y.py::test_z`.
    """

    name: str
    file: str
    find: str
    replace: str
    caught_by: str

    def broken(self, text: str) -> str:
        """The file's text with the break in it.

        Raises:
            MutantError: the passage is not there, or is there more than once.
        """
        count = text.count(self.find)
        if count != 1:
            raise MutantError(f"{self.name}: its passage stands {count} times in {self.file}")
        return text.replace(self.find, self.replace)

    @property
    def is_generated(self) -> bool:
        """Whether it was made from the code's syntax: `caught_by` is then a file or folder."""
        return "::" not in self.caught_by


def catalogue() -> tuple[Mutant, ...]:
    """All breaks, by file and in their order there."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
        found += [Mutant(**entry) for entry in entries]
    return tuple(found)
