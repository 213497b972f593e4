"""Vulnerabilities and licences of what is pinned, and the SBOM."""

import datetime
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from dependencies.accepted import Accepted, Vulnerability, accepted
from dependencies.bill import bill_of_materials
from dependencies.licences import Package, refused_licences, run_time_packages
from dependencies.pins import LOCKS, versions_of
from dependencies.vulnerabilities import audit

_ROOT = Path(__file__).parents[1]
_TODAY = datetime.date(2026, 11, 23)
_PINNED = [("hatchling", "1.33.0"), ("numpy", "2.4.6"), ("numpy", "2.5.5"), ("pyspark", "4.2.0")]
_KNOWN = {
    "numpy 2.4.6": ("GHSA-fixed", "2.4.7"),
    "pyspark 4.2.0": ("GHSA-open", None),
}


class _Database(BaseHTTPRequestHandler):
    """Answers as OSV does."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = asked["package"]["name"]
        found = _KNOWN.get(f"{name} {asked['version']}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"vulns": [_advisory(name, *found)]} if found else {}).encode())

    def log_message(self, *shown: object) -> None:
        """Keep stderr clean."""


def _advisory(name: str, id_: str, fixed: str | None) -> dict[str, Any]:  # Any: JSON
    events = [{"introduced": "0"}, *([{"fixed": fixed}] if fixed else [])]
    ranges = [{"type": "ECOSYSTEM", "events": events}]
    affected = [{"package": {"name": name, "ecosystem": "PyPI"}, "ranges": ranges}]
    return {"id": id_, "summary": "of a test", "aliases": ["CVE-1"], "affected": affected}


@pytest.fixture
def database() -> Iterator[list[str]]:
    """Options that let pip-audit ask a database of ours."""
    server = HTTPServer(("127.0.0.1", 0), _Database)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    yield ["--vulnerability-service=osv", f"--osv-url={url}/v1/query"]
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_vulnerability_that_a_newer_version_has_not_fails(database: list[str]) -> None:
    failures, notes, asked_count = audit(_PINNED, (), _TODAY, database)
    assert failures == ["numpy 2.4.6: CVE-1, fixed in 2.4.7"]
    assert notes == ["pyspark 4.2.0: CVE-1, and no version without it is there yet"]
    assert asked_count == len(_PINNED)


def test_a_vulnerability_is_accepted_until_a_day(database: list[str]) -> None:
    later = _TODAY + datetime.timedelta(1)
    known = Vulnerability("GHSA-fixed", "numpy", "never called", later)
    gone = known._replace(id="CVE-2")
    failures = audit(_PINNED[:2], [known, gone], _TODAY, database).failures
    assert failures == ["CVE-2 of numpy: accepted.toml names it, no pin has it"]
    (failure,) = audit(_PINNED[:2], [known], later, database).failures
    assert failure == f"GHSA-fixed of numpy was accepted until {later} only: never called"


def test_without_a_network_it_says_so_and_goes_on() -> None:
    nobody = ["--vulnerability-service=osv", "--osv-url=http://127.0.0.1:9/v1/query"]
    failures, notes, asked_count = audit(_PINNED[:1], (), _TODAY, nobody)
    assert (failures, asked_count) == ([], 0)
    assert notes == ["vulnerabilities: not checked, the service cannot be reached from here"]


def test_an_audit_that_fails_otherwise_is_a_failure() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)ended with 2: .*--no-such-option"):
        audit(_PINNED[:1], (), _TODAY, ["--no-such-option"])


def test_every_pin_is_asked_about() -> None:
    asked = set(versions_of(LOCKS))
    for lock in LOCKS:
        lines = re.findall(r"^([^\s#=]+)==([^\s\\;]+)", lock.read_text("utf-8"), re.MULTILINE)
        assert len(lines) > 5
        assert {*lines} <= asked


def test_the_licences_of_the_run_time_are_accepted() -> None:
    known = accepted()
    packages = run_time_packages(known)
    assert {"pyspark", "deltalake", "py4j", "requests"} <= {package.name for package in packages}
    assert refused_licences(packages, known) == []


@pytest.mark.parametrize(
    ("licence", "is_refused"),
    [
        ("MIT", False),
        ("MIT OR GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", True),
        ("(MIT OR GPL-3.0-only) AND ISC", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("GPL-3.0-only", True),
        ("MIT-like", True),
        ("", True),
    ],
)
def test_a_licence_is_accepted_by_each_of_its_parts(licence: str, is_refused: bool) -> None:
    listed = frozenset({"MIT", "ISC", "Apache-2.0 WITH LLVM-exception"})
    known = Accepted(listed, {}, {"other": "GPL-3.0-only"}, ())
    packages = [
        Package("this", "1", licence, (), False),
        Package("other", "1", "GPL-3.0-only", (), False),
    ]
    refused = refused_licences(packages, known)
    assert [line.split()[0] for line in refused] == ["this"] * is_refused
    assert refused_licences(packages[:1], known)[-1] == (
        "other: accepted.toml names it, and nothing needs it"
    )


def test_the_sbom_has_every_package_of_the_run_time_with_its_hashes() -> None:
    packages = run_time_packages(accepted())
    bill = json.loads(bill_of_materials(packages))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["purl"].startswith("pkg:pypi/seglake@")
    found = {component["purl"]: component for component in bill["components"]}
    lock = (_ROOT / "requirements.txt").read_text("utf-8")
    entries = re.split(r"\n(?=[a-z0-9])", lock)[1:]
    pinned = [entry for entry in entries if ";" not in entry.splitlines()[0]]
    assert len(pinned) > 15
    for entry in pinned:
        name, version = entry.split(" ", 1)[0].split("==")
        component = found[f"pkg:pypi/{name}@{version}"]
        hashes = {digest["content"] for digest in component["hashes"]}
        assert hashes == {*re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)}
        assert component["licenses"]
        assert component["scope"] == "required"
    assert found["pkg:npm/d3@7.9.0"]["hashes"][0]["content"].startswith("f2094bbf")
    assert found["pkg:maven/io.delta/delta-storage@4.4.0"]["scope"] == "optional"
    assert "://" not in "".join(found)
    references = {of["ref"]: of.get("dependsOn", []) for of in bill["dependencies"]}
    assert any(ref.startswith("pkg:pypi/py4j@") for ref in references["pkg:pypi/pyspark@4.2.0"])


def test_the_sbom_is_written_by_a_command(tmp_path: Path) -> None:
    file = tmp_path / "new" / "seglake.cdx.json"
    command = [sys.executable, "-m", "dependencies", "sbom", str(file)]
    subprocess.run(command, cwd=_ROOT / "tests", check=True)
    assert json.loads(file.read_text("utf-8"))["components"]
