"""The trust store that a Java without this machine's certificates gets."""

import os
from pathlib import Path

import pytest

from seglake.environment.java_home import provide_java
from seglake.environment.trust_store import trust_store, write_trust_store


def test_trust_store_has_java_s_layout() -> None:
    content = trust_store([b"DER"])
    assert content[:-20] == (
        b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1"
        b"\0\0\0\2\0\1" + b"0" + b"\0" * 8 + b"\0\5X.509" + b"\0\0\0\3DER"
    )


@pytest.mark.spark
def test_java_reads_the_trust_store(tmp_path: Path) -> None:
    """Java's own keytool lists what was written, and accepts the digest."""
    import subprocess

    path = tmp_path / "trusted.jks"
    if not write_trust_store(path):
        pytest.fail("this machine trusts no certificate at all")
    environment = dict(os.environ)
    java = provide_java(environment)
    command = [str(java), "-m", "java.base/sun.security.tools.keytool.Main", "-list"]
    options = ["-keystore", str(path), "-storetype", "jks", "-storepass", "changeit"]
    answer = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    assert "trustedCertEntry" in answer.stdout
