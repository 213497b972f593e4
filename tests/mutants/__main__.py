"""Breaks a copy of the product, one mutant at a time, and says which test noticed: `make mutants`.

Each mutant is first met with the test that the catalogue names. If that one passes, the whole
default run decides, and the catalogue is told to be wrong or the mutant to survive. For a path of
the product, the plain breaks of its modules are made from their syntax; those are met with the
tests that mirror the module, then with all tests of its room.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutants.catalogue import ROOT, Mutant, catalogue
from mutants.generated import generated, room_of

_TREES = ROOT / "build" / "mutants"
_SOURCES = ("libs",)
_QUIET = ("-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider")
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[@]+)", re.MULTILINE)
_KERNELS = "/kernels/"  # the folder of the modules that numba compiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one mutant; `noticed_by` is None where it survived the default run."""

    mutant: Mutant
    noticed_by: str | None
    seconds: float

    @property
    def is_as_written(self) -> bool:
        if self.mutant.is_generated:
            return self.noticed_by is not None
        return self.noticed_by == self.mutant.caught_by


class Tree:
    """A copy of the working tree in which one mutant at a time lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def refresh(self) -> None:
        """Bring the copy up to date; times are kept, so compiled kernels stay valid."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\0")
        names = {name for name in listed if name and (ROOT / name).is_file()}
        for path in [path for path in self._folder.rglob("*") if path.is_file()]:
            place = path.relative_to(self._folder)
            if str(place) not in names and not {"__pycache__", "build"} & set(place.parts):
                path.unlink()
        for name in names:
            source, target = ROOT / name, self._folder / name
            if not target.exists() or target.stat().st_mtime_ns != source.stat().st_mtime_ns:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)

    def tested(self, tests: Iterable[str], mutant: Mutant | None = None) -> str | None:
        """Run tests, with a mutant or without, until one fails.

        Returns:
            The name of that one, or what else pytest ended with; None when all passed.
        """
        with tempfile.TemporaryDirectory() as kernels:
            if mutant is None:
                return self._run(tests, {})
            path = self._folder / mutant.file
            whole, times = path.read_text(encoding="utf-8"), path.stat()
            # Callers of a broken kernel would be taken from the cache, with the sound one inside.
            other = {"NUMBA_CACHE_DIR": kernels} if _KERNELS in mutant.file else {}
            try:
                path.write_text(mutant.broken(whole), encoding="utf-8")
                return self._run(tests, other)
            finally:
                path.write_text(whole, encoding="utf-8")
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _run(self, tests: Iterable[str], other: dict[str, str]) -> str | None:
        paths = os.pathsep.join(str(self._folder / source) for source in _SOURCES)
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **other}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *_QUIET, *tests],
            cwd=self._folder,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return None
        failed = _FAILED.search(done.stdout)
        return failed.group(1) if failed else f"pytest's exit code {done.returncode}"


def _clean(tree: Tree, mutants: Iterable[Mutant], selection: Sequence[str]) -> None:
    """See that the tests named pass while nothing is broken: else they prove nothing."""
    tests = sorted({mutant.caught_by for mutant in mutants})
    print(f"First the {len(tests)} tests that are named, with nothing broken", flush=True)
    failed = tree.tested([*selection, *tests])
    if failed is not None:
        sys.exit(f"{failed} fails without any mutant: mend it first")


def _outcome(tree: Tree, mutant: Mutant, selection: Sequence[str]) -> Outcome:
    started = time.monotonic()
    noticed = tree.tested([*selection, mutant.caught_by], mutant)
    if noticed is None:  # the catalogue's own test sees that the code is another
        others = [room_of(mutant)] if mutant.is_generated else ["--ignore=tests/test_mutants.py"]
        noticed = tree.tested([*selection, *others], mutant)
    return Outcome(mutant=mutant, noticed_by=noticed, seconds=time.monotonic() - started)


def _outcomes(
    trees: Sequence[Tree], mutants: Iterable[Mutant], selection: Sequence[str]
) -> Iterable[Outcome]:
    """One after the other from each tree, as they are done."""
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def judged(mutant: Mutant) -> Outcome:
        tree = free.get()
        try:
            return _outcome(tree, mutant, selection)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        try:
            for future in as_completed([pool.submit(judged, mutant) for mutant in mutants]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def main() -> int:
    """Exit code 0: each mutant was noticed, and by the test that the catalogue names."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="mutants, or paths of the product; none: all")
    parser.add_argument("-m", dest="markers", default="", help="as pytest's -m")
    arguments = parser.parse_args()
    paths = {name for name in arguments.names if (ROOT / name).exists()}
    names = set(arguments.names) - paths
    chosen = [each for each in catalogue() if each.name in names or not arguments.names]
    chosen += [mutant for path in sorted(paths) for mutant in generated(path)]
    if unknown := names - {choice.name for choice in chosen}:
        parser.error(f"no mutant has the name {', '.join(sorted(unknown))}")
    selection = ["-m", arguments.markers]
    trees = [Tree(_TREES / str(number)) for number in range(os.cpu_count() or 1)]
    for tree in trees:
        tree.refresh()
    _clean(trees[0], chosen, selection)
    wrong = []
    for outcome in _outcomes(trees, chosen, selection):
        noticed = outcome.noticed_by or "SURVIVED"
        print(f"{outcome.mutant.name:70} {outcome.seconds:6.1f} s  {noticed}", flush=True)
        if not outcome.is_as_written:
            wrong.append(outcome)
    for outcome in wrong:
        mutant, noticed_by = outcome.mutant, outcome.noticed_by
        print(f"{mutant.name}: not by {mutant.caught_by}, but {noticed_by or 'by none'}")
    survived = sum(outcome.noticed_by is None for outcome in wrong)
    print(f"{len(chosen)} mutants, {survived} survived, {len(wrong)} not caught by the test named")
    return bool(wrong)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted: the copies in build/mutants are mended by the next run")
