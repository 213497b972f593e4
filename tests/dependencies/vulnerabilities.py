"""Asks pip-audit which pins have known vulnerabilities. Without a network: says so and goes on."""

import datetime
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from dependencies.accepted import Vulnerability

# Any: values of JSON.
_Package = dict[str, Any]

_OFFLINE = ("ConnectionError", "ProxyError", "SSLError", "Timeout", "Could not connect")


class Audited(NamedTuple):
    """What fails, what is only told, and how many versions were asked about."""

    failures: list[str]
    notes: list[str]
    asked_count: int


def audit(
    versions: Sequence[tuple[str, str]],
    accepted: Sequence[Vulnerability],
    today: datetime.date,
    options: Sequence[str] = (),
) -> Audited:
    """Ask about these versions; `options` are pip-audit's.

    A vulnerability fails once a version without it is there, unless it is accepted.

    Raises:
        RuntimeError: pip-audit failed, and not for want of a network.
    """
    failures = [
        f"{known.id} of {known.package} was accepted until {known.until} only: {known.reason}"
        for known in accepted
        if known.until <= today
    ]
    answer = _ask(versions, options)
    if answer is None:
        note = "vulnerabilities: not checked, the service cannot be reached from here"
        return Audited(failures, [note], 0)
    ids = {(known.package, known.id) for known in accepted}
    notes, met = [], set()
    for package in answer:
        for found in package.get("vulns", []):
            names = {(package["name"], id_) for id_ in (found["id"], *found.get("aliases", []))}
            line = f"{package['name']} {package['version']}: {found['id']}"
            if names & ids:
                met |= names & ids
                notes.append(f"{line}, accepted")
            elif found["fix_versions"]:
                failures.append(f"{line}, fixed in {', '.join(found['fix_versions'])}")
            else:
                notes.append(f"{line}, and no version without it is there yet")
    unknown = sum("skip_reason" in package for package in answer)
    if unknown:
        notes.append(f"vulnerabilities: the service knows nothing of {unknown} pinned versions")
    else:
        stale = sorted(ids - met)
        failures += [
            f"{id_} of {name}: accepted.toml names it, no pin has it" for name, id_ in stale
        ]
    return Audited(failures, notes, len(answer) - unknown)


def _ask(versions: Sequence[tuple[str, str]], options: Sequence[str]) -> list[_Package] | None:
    """What pip-audit answers of each version; None without a network."""
    answers: list[_Package] = []
    for lines in _apart(versions):
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.writelines(lines)
            file.flush()
            answer = _ask_once([f"--requirement={file.name}", *options])
        if answer is None:
            return None
        answers += answer
    return answers


def _ask_once(arguments: Sequence[str]) -> list[_Package] | None:
    command = [sys.executable, "-m", "pip_audit", "--format=json", "--progress-spinner=off"]
    command += ["--no-deps", "--disable-pip", "--timeout=10", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.stdout.startswith("{"):
        found: list[_Package] = json.loads(done.stdout)["dependencies"]
        return found
    if any(word in done.stderr for word in _OFFLINE):
        return None
    raise RuntimeError(f"pip-audit ended with {done.returncode}: {done.stderr[-2000:]}")


def _apart(versions: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Requirements for one call each, since one may name a package once only."""
    met: Counter[str] = Counter()
    calls: dict[int, list[str]] = {}
    for name, version in versions:
        calls.setdefault(met[name], []).append(f"{name}=={version}\n")
        met[name] += 1
    return [*calls.values()]
