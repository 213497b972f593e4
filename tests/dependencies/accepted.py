"""What `accepted.toml` accepts."""

import datetime
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("accepted.toml")


class Vulnerability(NamedTuple):
    """A vulnerability that is known, and accepted before a day."""

    id: str
    package: str
    reason: str
    until: datetime.date


class Accepted(NamedTuple):
    """Licences by their SPDX identifiers, and vulnerabilities.

    `licence_of` has the licences that packages do not say as SPDX expressions. `licence_for` are
    those that one package may have.
    """

    licences: frozenset[str]
    licence_of: dict[str, str]
    licence_for: dict[str, str]
    vulnerabilities: tuple[Vulnerability, ...]


def accepted(file: Path = FILE) -> Accepted:
    """Read the file; each exception must say why."""
    text = tomllib.loads(file.read_text("utf-8"))
    silent = [entry for entry in _exceptions(text) if not entry["reason"].strip()]
    if silent:
        raise ValueError(f"{file.name}: no reason is given for {silent[0]['package']}")
    return Accepted(
        licences=frozenset(text["licences"]),
        licence_of=dict(text["licence_of"]),
        licence_for={entry["package"]: entry["licence"] for entry in text.get("licence", [])},
        vulnerabilities=tuple(Vulnerability(**entry) for entry in text.get("vulnerability", [])),
    )


# Any: values of TOML.
def _exceptions(text: dict[str, Any]) -> list[dict[str, Any]]:
    return [*text.get("licence", []), *text.get("vulnerability", [])]
