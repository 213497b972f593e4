"""Compiles the Java programs of this folder, once for each version of them."""

import subprocess
from hashlib import sha256
from pathlib import Path

from bench.processes import ROOT

_FOLDER = ROOT / "build" / "bench" / "classes"


def compiled(name: str, jars: str) -> Path:
    """The folder with the classes of NAME.java, compiled against a class path."""
    source = Path(__file__).with_name(f"{name}.java")
    key = sha256(source.read_bytes() + jars.encode()).hexdigest()[:12]
    folder = _FOLDER / f"{name}-{key}"
    if not (folder / f"{name}.class").exists():
        command = ["javac", "-nowarn", "-cp", jars, "-d", str(folder), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}.java: {done.stderr}")
    return folder
