"""The packages that the product brings, as installed, and whether their licences are accepted."""

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from itertools import chain
from typing import NamedTuple

from license_expression import ExpressionError, Licensing, get_spdx_licensing
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dependencies.accepted import Accepted
from dependencies.pins import ROOT, RUN_TIME, pins_of

_SPDX: Licensing = get_spdx_licensing()


class Package(NamedTuple):
    """An installed package, with the names of those that it needs.

    `is_optional` where only an extra of the wheel needs it.
    """

    name: str
    version: str
    licence: str
    needs: tuple[str, ...]
    is_optional: bool


def run_time_packages(accepted: Accepted) -> list[Package]:
    """Those of the run time and of the extras, with what they need here, by name."""
    pinned = [pin.name for pin in pins_of(RUN_TIME) if pin.is_for_this_python]
    found: dict[str, Package] = {}
    for waiting, is_optional in ((pinned, False), (extras(), True)):
        while waiting:
            name = waiting.pop()
            if name in found or (installed := _installed(name)) is None:
                continue
            needs = _needs(installed)
            licence = _licence(installed, name, accepted)
            found[name] = Package(name, installed.version, licence, needs, is_optional)
            waiting += needs
    return sorted(found.values())


def extras() -> list[str]:
    """Packages of the extras of the wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = chain(*project["optional-dependencies"].values())
    return [canonicalize_name(Requirement(line).name) for line in wanted]


def refused_licences(packages: Iterable[Package], accepted: Accepted) -> list[str]:
    """What is wrong, a line each."""
    packages = list(packages)
    refused = [
        f"{package.name} {package.version}: its licence is not accepted: {package.licence or '?'}"
        for package in packages
        if not _is_accepted(package, accepted)
    ]
    needed = {package.name for package in packages}
    stale = sorted({*accepted.licence_of, *accepted.licence_for} - needed)
    return refused + [f"{name}: accepted.toml names it, and nothing needs it" for name in stale]


def _is_accepted(package: Package, accepted: Accepted) -> bool:
    if accepted.licence_for.get(package.name) == package.licence:
        return True
    try:
        return _holds(_SPDX.parse(package.licence, validate=True), accepted.licences)
    except ExpressionError:
        return False


# The library has no types: an expression, or a licence of one.
def _holds(expression: object, allowed: frozenset[str]) -> bool:
    parts = [_holds(part, allowed) for part in getattr(expression, "args", ())]
    if isinstance(expression, _SPDX.OR):
        return any(parts)
    if isinstance(expression, _SPDX.AND):
        return all(parts)
    return expression is not None and str(expression) in allowed


def _installed(name: str) -> Distribution | None:
    """None of a package that is for other systems only."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _needs(installed: Distribution) -> tuple[str, ...]:
    wanted = [Requirement(line) for line in installed.requires or ()]
    here = [of for of in wanted if of.marker is None or of.marker.evaluate({"extra": ""})]
    names = {canonicalize_name(of.name) for of in here}
    return tuple(sorted(name for name in names if _installed(name) is not None))


def _licence(installed: Distribution, name: str, accepted: Accepted) -> str:
    if name in accepted.licence_of:
        return accepted.licence_of[name]
    fields = [installed.metadata.get_all(field) for field in ("License-Expression", "License")]
    said = next((field[0] for field in fields if field), "")
    return re.sub(r"\s+", " ", said.strip())
